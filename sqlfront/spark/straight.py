"""What the session's members hold, as DataFrames of Spark's whose tasks read it straight from the members.

Nothing of it comes through this process. Rows of few bytes do, since for Spark they are a small file or a
literal then, which takes no Python worker. So does what is for a local master, whose tasks see this process's
files (that is as quick then, and takes less CPU), and what this process's own members have, which nobody else
reaches.
"""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from msgspec.structs import replace

from sqlfront.commands.run import Run
from sqlfront_connectors.memory.spread import How, SpreadSnapshot
from sqlfront_connectors.spark import loading
from sqlfront_connectors.spark.failures import ours
from sqlfront_planner.binder import NO_ARGUMENTS
from sqlfront_planner.logical import Filter, Limit, LogicalPlan, Project, Scan, Sort
from sqlfront_planner.plan import QueryPlan
from sqlfront_planner.statistics.cardinality import Cardinality
from sqlfront_values.expressions import Column

if TYPE_CHECKING:
    from sqlfront.result import Result
    from sqlfront.session import Session
    from sqlfront_connectors.spark.link import SparkLink
    from sqlfront_connectors.spark.rows import HeldFrame

#: Rows of fewer bytes come through this process.
SMALL: Final = 32 << 20


def of_table(session: "Session", link: "SparkLink", scan: Scan) -> "HeldFrame | None":
    """All rows of a table's version, which is held until the frame is closed, at most until the session is;
    None if they are to come through this process. The rows of files, and of frames in this process, are
    stored by the members first. OperationalError if members are gone that have some of the rows, or have no
    memory for them."""
    if (scan.snapshot.statistics.size or 0) < SMALL or not _is_reached(session, link):
        return None
    if isinstance(scan.snapshot, SpreadSnapshot):
        return _spread(session, link, scan, scan.schema)
    with _stored(Run(session, NO_ARGUMENTS, None), scan) as stored:
        return _spread(session, link, stored, scan.schema)


def of_result(session: "Session", link: "SparkLink", result: "Result") -> "HeldFrame | None":
    """The rows of a query, none of which anybody has read; None if they are to come through this process,
    which those in an order do as well.

    The columns of a table are read from its version. What has to be computed is stored by the members first,
    by another run of the query, and the result's own rows are those then, too. Errors: as the query's, and
    those of :func:`of_table`.
    """
    plan = result.plan
    if not isinstance(plan, QueryPlan) or _is_ordered(plan.optimized):
        return None
    if Cardinality().size(plan.optimized) < SMALL or not _is_reached(session, link):
        return None
    result.close()
    run = Run(session, replace(NO_ARGUMENTS, values=tuple(result.values)), None)
    scan = _scan_of(plan.optimized)
    with nullcontext(scan) if scan is not None else _stored(run, plan.bound) as scan:
        frame = _spread(session, link, scan, plan.schema)
    result.read_instead(run.rows(scan))
    return frame


def _is_reached(session: "Session", link: "SparkLink") -> bool:
    """Whether Spark's tasks are to read what members have."""
    return session.cluster is not None and session.cluster.door is not None and link.has_executors


@contextmanager
def _stored(run: Run, plan: LogicalPlan) -> Iterator[Scan]:
    """The rows of a plan as a version that members hold; within the block somebody is to hold it further."""
    assert run.session.cluster is not None
    row = plan.row()
    names = tuple(f"c{place}" for place in range(len(row)))
    schema = pa.schema([(name, column.type) for name, column in zip(names, row, strict=True)])
    table = run.session.cluster.table("result", schema, None)
    try:
        columns = tuple(Column(column.type, place) for place, column in enumerate(row))
        run.publish(table, Project(plan, columns, names), How.OVERWRITE)
        yield Scan(table.name, table, table.snapshot(), tuple(range(len(row))))
    finally:
        table.drop()


def _spread(session: "Session", link: "SparkLink", scan: Scan, names: pa.Schema) -> "HeldFrame":
    """What the scan reads, with those names of columns."""
    assert isinstance(scan.snapshot, SpreadSnapshot)
    assert session.cluster is not None
    assert session.cluster.door is not None
    with ours():
        frame = loading.spread_frame(link.spark, scan.snapshot, session.cluster.door, scan.columns)
    frame.data = frame.data.toDF(*names.names)
    return frame


def _is_ordered(plan: LogicalPlan) -> bool:
    """Whether the rows have an order that the query has asked for."""
    while isinstance(plan, Project | Filter | Limit):
        plan = plan.input
    return isinstance(plan, Sort)


def _scan_of(plan: LogicalPlan) -> Scan | None:
    """The scan that gives the plan's rows, if these are columns of all rows of a table that is spread over
    members."""
    taken: list[int] | None = None
    while isinstance(plan, Project):
        ordinals = [each.ordinal for each in plan.expressions if isinstance(each, Column)]
        if len(ordinals) < len(plan.expressions):
            return None
        taken = ordinals if taken is None else [ordinals[place] for place in taken]
        plan = plan.input
    if not isinstance(plan, Scan) or plan.filters or plan.limit is not None:
        return None
    if not isinstance(plan.snapshot, SpreadSnapshot):
        return None
    return plan if taken is None else replace(plan, columns=tuple(plan.columns[place] for place in taken))
