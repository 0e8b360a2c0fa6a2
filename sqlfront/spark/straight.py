"""What the session's members hold, as DataFrames of Spark's whose tasks read it straight from the members.

Nothing of it comes through this process. Rows of few bytes do, since for Spark they are a small file or a
literal then, which takes no Python worker. So does what is for a local master, whose tasks see this process's
files (that is as quick then, and takes less CPU), and what this process's own members have, which nobody else
reaches.
"""

from typing import TYPE_CHECKING, Final

import pyarrow as pa
from msgspec.structs import replace

from sqlfront.commands.run import Run
from sqlfront_connectors.memory.spread import How, SpreadSnapshot
from sqlfront_connectors.spark import loading
from sqlfront_connectors.spark.failures import ours
from sqlfront_engine.expressions import Column
from sqlfront_planner.binder import NO_ARGUMENTS
from sqlfront_planner.logical import Filter, Limit, LogicalPlan, Project, Scan, Sort
from sqlfront_planner.plan import QueryPlan
from sqlfront_planner.statistics.cardinality import Cardinality

if TYPE_CHECKING:
    from sqlfront.result import Result
    from sqlfront.session import Session
    from sqlfront_connectors.base import Snapshot
    from sqlfront_connectors.spark.link import SparkLink
    from sqlfront_connectors.spark.rows import HeldFrame

#: Rows of fewer bytes come through this process.
SMALL: Final = 32 << 20


def of_table(
    session: "Session", link: "SparkLink", snapshot: "Snapshot", columns: tuple[int, ...] | None = None
) -> "HeldFrame | None":
    """A version of a table, which is held until the frame is closed, at most until the session is; None for
    one that is to come through this process. ``columns``: ordinals, None = all. OperationalError if members
    are gone that have some of the rows."""
    cluster = session.cluster
    if cluster is None or cluster.door is None or not isinstance(snapshot, SpreadSnapshot):
        return None
    if (snapshot.statistics.size or 0) < SMALL or not link.has_executors:
        return None
    with ours():
        return loading.spread_frame(link.spark, snapshot, cluster.door, columns)


def of_result(session: "Session", link: "SparkLink", result: "Result") -> "HeldFrame | None":
    """The rows of a query, none of which anybody has read; None if they are to come through this process,
    which those in an order do as well.

    The columns of a table are read from its version. What has to be computed is stored by the members first,
    by another run of the query, and the result's own rows are those then, too. Errors: as the query's, and
    OperationalError if the members have no memory for the rows.
    """
    cluster, plan = session.cluster, result.plan
    if cluster is None or cluster.door is None or not isinstance(plan, QueryPlan):
        return None
    if _is_ordered(plan.optimized) or Cardinality().size(plan.optimized) < SMALL:
        return None
    if not link.has_executors:
        return None
    scanned = _columns_of_table(plan.optimized)
    if scanned is not None:
        frame = of_table(session, link, *scanned)
        return None if frame is None else _named(frame, plan)
    names = [f"c{place}" for place in range(len(plan.schema))]
    table = cluster.table("result", pa.schema(zip(names, plan.schema.types, strict=True)), None)
    run = Run(session, replace(NO_ARGUMENTS, values=tuple(result.values)), None)
    columns = tuple(Column(kind, place) for place, kind in enumerate(plan.schema.types))
    result.close()
    try:
        run.publish(table, Project(plan.bound, columns, tuple(names)), How.OVERWRITE)
        snapshot = table.snapshot()
        with ours():
            frame = loading.spread_frame(link.spark, snapshot, cluster.door)
    finally:
        table.drop()
    result.read_instead(run.rows(Scan(table.name, table, snapshot, tuple(range(len(names))))))
    return _named(frame, plan)


def _named(frame: "HeldFrame", plan: QueryPlan) -> "HeldFrame":
    """The frame with the names of the query's columns."""
    frame.data = frame.data.toDF(*plan.schema.names)
    return frame


def _is_ordered(plan: LogicalPlan) -> bool:
    """Whether the rows have an order that the query has asked for."""
    while isinstance(plan, Project | Filter | Limit):
        plan = plan.input
    return isinstance(plan, Sort)


def _columns_of_table(plan: LogicalPlan) -> "tuple[Snapshot, tuple[int, ...]] | None":
    """The version and the ordinals if the plan's rows are columns of all rows of a table."""
    taken: list[int] | None = None
    while isinstance(plan, Project):
        if not all(isinstance(each, Column) for each in plan.expressions):
            return None
        ordinals = [each.ordinal for each in plan.expressions if isinstance(each, Column)]
        taken = ordinals if taken is None else [ordinals[place] for place in taken]
        plan = plan.input
    if not isinstance(plan, Scan) or plan.filters or plan.limit is not None:
        return None
    places = range(len(plan.columns)) if taken is None else taken
    return plan.snapshot, tuple(plan.columns[place] for place in places)
