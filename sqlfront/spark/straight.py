"""Spark DataFrames whose tasks read rows directly from the session's members.

The rows do not pass through this process. Three kinds of rows do, for which the functions return None: few
bytes, which Spark gets as a small file or a literal, without a Python worker; rows for a local master, whose
tasks read this process's files (as fast, with less CPU time); and rows of members in this process, which no
other process reaches.
"""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from msgspec.structs import replace

from sqlfront.commands.run import StatementRun
from sqlfront.lanes.request import StatementRequest
from sqlfront_connectors.memory.spread.snapshot import SpreadSnapshot
from sqlfront_connectors.spark.failures import ours
from sqlfront_connectors.spark.transfer import loading
from sqlfront_planner.binder import NO_ARGUMENTS
from sqlfront_planner.logical import (
    LogicalFilter,
    LogicalLimit,
    LogicalPlan,
    LogicalProject,
    LogicalScan,
    LogicalSort,
)
from sqlfront_planner.plan import QueryPlan
from sqlfront_planner.statistics.cardinality import Cardinality
from sqlfront_values.expressions import Column

if TYPE_CHECKING:
    from sqlfront.results.result import Result
    from sqlfront.state.context import Context
    from sqlfront_connectors.spark.link import SparkLink
    from sqlfront_connectors.spark.rows import HeldFrame

#: Bytes: smaller rows pass through this process, because starting Spark tasks that ask the members costs more
#: than the detour. Not measured.
SMALL: Final = 32 << 20


def of_table(context: "Context", link: "SparkLink", scan: LogicalScan) -> "HeldFrame | None":
    """Return a DataFrame of all rows of a table's version, which Spark's tasks read from the members
    directly; the version is kept until the frame or the session is closed. None if the rows should pass
    through this process. Rows of files, and of frames in this process, are stored on the members first.
    Raises OperationalError if members with some of the rows are gone, or members lack the memory for the
    rows."""
    if (scan.snapshot.statistics.size or 0) < SMALL or not _is_reached(context, link):
        return None
    if isinstance(scan.snapshot, SpreadSnapshot):
        return _spread(context, link, scan, scan.schema)
    with _stored(StatementRun(context), scan) as stored:
        return _spread(context, link, stored, scan.schema)


def of_result(context: "Context", link: "SparkLink", result: "Result") -> "HeldFrame | None":
    """Return a DataFrame of the rows of a query's result, which Spark's tasks read from the members directly;
    no row of the result may have been read. None if the rows should pass through this process, as ordered
    rows always do.

    If the query only takes columns of a table, Spark's tasks read the table's version. Other rows are stored
    on the members first, by another run of the query; ``result`` then reads the stored rows, too. Raises the
    query's errors, and OperationalError if members are gone or lack the memory for the rows.
    """
    plan = result.plan
    if not isinstance(plan, QueryPlan) or _is_ordered(plan.optimized):
        return None
    if Cardinality().size(plan.optimized) < SMALL or not _is_reached(context, link):
        return None
    result.stop_job()
    run = StatementRun(
        context, StatementRequest(arguments=replace(NO_ARGUMENTS, values=tuple(result.values)))
    )
    scan = _scan_of(plan.optimized)
    with nullcontext(scan) if scan is not None else _stored(run, plan.bound) as scan:
        frame = _spread(context, link, scan, plan.schema)
    result.read_instead(run.rows(scan))
    return frame


def _is_reached(context: "Context", link: "SparkLink") -> bool:
    """Return whether Spark's tasks should read rows from the members: the members accept connections from
    other processes, and the tasks run in executors."""
    return context.cluster is not None and context.cluster.door is not None and link.has_executors


@contextmanager
def _stored(run: StatementRun, plan: LogicalPlan) -> Iterator[LogicalScan]:
    """Return a context in which the rows of a plan are stored in a table on the members; its value is a scan
    of all columns. At its end the table is dropped; a caller that needs the rows longer has to hold the
    scan's snapshot before."""
    assert run.context.cluster is not None
    row = plan.row()
    names = tuple(f"c{place}" for place in range(len(row)))
    schema = pa.schema([(name, column.type) for name, column in zip(names, row, strict=True)])
    table = run.context.cluster.table("result", schema, None)
    try:
        columns = tuple(Column(column.type, place) for place, column in enumerate(row))
        run.store(table, LogicalProject(plan, columns, names), overwrite=True)
        yield LogicalScan(table.name, table, table.snapshot(), tuple(range(len(row))))
    finally:
        table.drop()


def _spread(context: "Context", link: "SparkLink", scan: LogicalScan, names: pa.Schema) -> "HeldFrame":
    """Return a DataFrame of the scan's rows whose tasks read from the members. ``names``: the schema with the
    names of its columns."""
    assert isinstance(scan.snapshot, SpreadSnapshot)
    assert context.cluster is not None
    assert context.cluster.door is not None
    with ours():
        frame = loading.spread_frame(link.spark, scan.snapshot, context.cluster.door, scan.columns)
    frame.data = frame.data.toDF(*names.names)
    return frame


def _is_ordered(plan: LogicalPlan) -> bool:
    """Return whether an ORDER BY decides the order of the plan's rows."""
    while isinstance(plan, LogicalProject | LogicalFilter | LogicalLimit):
        plan = plan.input
    return isinstance(plan, LogicalSort)


def _scan_of(plan: LogicalPlan) -> LogicalScan | None:
    """Return the scan that gives the plan's rows, if the plan only takes columns of all rows of a table whose
    rows the members hold; None for other plans."""
    taken: list[int] | None = None
    while isinstance(plan, LogicalProject):
        ordinals = [each.ordinal for each in plan.expressions if isinstance(each, Column)]
        if len(ordinals) < len(plan.expressions):
            return None
        taken = ordinals if taken is None else [ordinals[place] for place in taken]
        plan = plan.input
    if not isinstance(plan, LogicalScan) or plan.filters or plan.limit is not None:
        return None
    if not isinstance(plan.snapshot, SpreadSnapshot):
        return None
    return plan if taken is None else replace(plan, columns=tuple(plan.columns[place] for place in taken))
