"""Queries over tables of sqlfront and of Spark: Spark filters, projects and groups its own tables, and a
light job does the rest.

Rows from Spark pass through this process, so they have to be few: at most :data:`MOST_MOVED` bytes, or, if
that is more, as many bytes as Spark would have to get of sqlfront's tables to run the query. sqlfront's
copies of Spark's tables don't count there, since Spark has their rows itself.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

import msgspec
import pyarrow as pa

from sqlfront.commands.run import scans_of
from sqlfront.lanes.request import StatementRequest
from sqlfront.spark.fragments import Select, replace_fragments, select_of
from sqlfront.state.cached_table import CachedTable
from sqlfront_connectors.arrow import ArrowTable
from sqlfront_connectors.spark.link import SparkLink
from sqlfront_connectors.spark.table import SparkTable
from sqlfront_planner.binder import Arguments, bind
from sqlfront_planner.catalog import TableEntry
from sqlfront_planner.expressions.rewriting import rewrite_operands
from sqlfront_planner.logical import (
    LogicalAggregate,
    LogicalPlan,
    LogicalProject,
    LogicalScan,
    map_inputs,
    walk_plan,
)
from sqlfront_planner.plan import Template
from sqlfront_planner.planning import optimize_all
from sqlfront_planner.recursion import LogicalRecursion
from sqlfront_planner.rules.aggregates.partial_aggregates import push_partial_aggregates
from sqlfront_planner.run_values import RunValues
from sqlfront_planner.shared_rows import rewrite_shared, shared_scan
from sqlfront_planner.statements.structs import Query
from sqlfront_planner.statistics.cardinality import Cardinality, column_bytes, table_rows
from sqlfront_values.errors import DataError, NotSupportedError
from sqlfront_values.expressions import transform
from sqlfront_values.room import in_units
from sqlfront_values.settings import Settings
from sqlfront_values.types import INT

if TYPE_CHECKING:
    from sqlfront.state.context import Context
    from sqlfront_connectors.spark.run import SparkRun

#: Bytes that may come from Spark for a query that Spark could run as well. The rows pass through this process
#: one stream at a time; above this size Spark's executors are the better place. Not measured.
MOST_MOVED: Final = 64 << 20
#: The assumed ratio of groups to rows, because the number of distinct keys is unknown: ten rows per group. A
#: lower ratio sends more queries the mixed way, a higher ratio more to Spark.
_GROUPED: Final = 0.1
#: The schema of a part of which only the number of rows matters.
_COUNTED: Final = pa.schema([("c0", INT)])


class SparkPart(msgspec.Struct, frozen=True):
    """A part of a mixed query that Spark runs: ``select`` is the SELECT by which Spark computes the rows of
    ``plan``."""

    select: Select
    plan: LogicalPlan

    @property
    def schema(self) -> pa.Schema:
        """The names and logical types of the columns of the part's rows; one constant column for a part of
        which only the number of rows matters."""
        return self.plan.schema if self.plan.width else _COUNTED

    def scan(self, batches: Iterable[pa.RecordBatch]) -> LogicalScan:
        """Return a scan of a table with the rows ``batches``, which Spark gave for this part, in physical
        form."""
        table = ArrowTable.of(self.select.text, self.schema, batches)
        return LogicalScan(table.name, table, table.snapshot(), tuple(range(self.plan.width)))


class MixedQuery(msgspec.Struct, frozen=True):
    """A query over tables of sqlfront and of Spark; its parameters are literals in ``plan``. ``parts``: the
    parts that Spark runs, by the texts of their SELECTs. ``moved``: the estimated number of bytes that Spark
    sends for the parts. ``held``: the number of bytes of the query's tables that Spark doesn't have.
    ``reads_here``: whether the query reads any table of sqlfront's."""

    plan: LogicalPlan
    parts: Mapping[str, SparkPart]
    moved: float
    held: float
    reads_here: bool

    @property
    def most_moved(self) -> float:
        """The greatest number of bytes that Spark may send for the parts; for more bytes, Spark should run
        the whole query."""
        return max(MOST_MOVED, self.held)

    @property
    def reason(self) -> str:
        """The reason for the mixed lane, in words."""
        return (
            f"Spark filters, projects and groups {self._tables}"
            if self.parts
            else "the query needs no row of Spark's"
        )

    @property
    def _tables(self) -> str:
        return ", ".join(sorted({part.select.table for part in self.parts.values()}))

    def check(self) -> None:
        """Raise NotSupportedError if Spark should run the whole query: because it reads no table of
        sqlfront's, or because the parts give more than :attr:`most_moved` bytes by estimate."""
        if not self.reads_here:
            raise NotSupportedError(f"the query reads tables of Spark only: {self._tables}")
        if self.moved > self.most_moved:
            raise NotSupportedError(f"Spark would send about {in_units(int(self.moved))} for the query")

    def with_rows(self, rows: Mapping[str, Iterable[pa.RecordBatch]]) -> LogicalPlan:
        """Return the plan with each part replaced by a scan of its rows. ``rows`` has the rows of the parts,
        in physical form, by the texts of the parts; a missing part has no rows."""
        return self.with_scans(lambda part: part.scan(rows.get(part.select.text, ())))

    def with_scans(self, scan: Callable[[SparkPart], LogicalScan]) -> LogicalPlan:
        """Return the plan with each part replaced by the scan that ``scan(part)`` returns."""
        return _everywhere(
            self.plan,
            lambda plan: replace_fragments(plan, lambda part, select: scan(SparkPart(select, part))),
        )

    def fetched(
        self, run_part: Callable[[str], "SparkRun"], most: float, spent: dict[str, float] | None = None
    ) -> LogicalPlan:
        """Run the parts concurrently in Spark, and return the plan with each part replaced by its rows.
        ``run_part`` begins the run of a part in Spark, given the part's text. ``spent`` receives, by the text
        of each part, the seconds until its last row has arrived. Raises NotSupportedError if the rows take
        more than ``most`` bytes, or have other types than planned, and Spark's errors."""
        runs: dict[str, SparkRun] = {}
        left, began = _Allowance(most), time.perf_counter()
        rows: dict[str, tuple[pa.RecordBatch, ...]] = {}
        try:
            for text in self.parts:
                runs[text] = run_part(text)
            for text, part in runs.items():
                rows[text] = left.taken(self.parts[text], part)
                if spent is not None:
                    spent[text] = time.perf_counter() - began
            return self.with_rows(rows)
        finally:
            for part in runs.values():
                part.cancel()


class _Allowance:
    """A limit of ``most`` bytes on the rows that Spark sends for a query. The methods count bytes while rows
    are read, and raise NotSupportedError beyond the limit."""

    def __init__(self, most: float) -> None:
        self._most = most
        self._left = most

    def taken(self, part: SparkPart, run: "SparkRun") -> tuple[pa.RecordBatch, ...]:
        """Read all rows of a part from ``run``, the part's run in Spark, and return them. Raises
        NotSupportedError if Spark gives other types than planned, or if the query's rows exceed the limit of
        bytes."""
        if run.schema.types != part.schema.types:
            raise NotSupportedError(f"Spark answers with other types than planned: {part.select.text}")
        return tuple(self.take(run.batches()))

    def take(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the batches as Spark delivers them, and count their bytes. Raises NotSupportedError at the
        batch that exceeds the limit of bytes."""
        for batch in batches:
            self._left -= batch.nbytes
            if self._left < 0:
                raise NotSupportedError(f"Spark would send more than {in_units(int(self._most))}")
            yield batch


def given(run: "SparkRun", most: float) -> LogicalPlan:
    """Read all rows of a query that Spark runs from ``run``, and return a plan that scans these rows. Raises
    NotSupportedError if the rows take more than ``most`` bytes, and Spark's errors."""
    table = ArrowTable.of("query", run.schema, _Allowance(most).take(run.batches()))
    return LogicalScan(table.name, table, table.snapshot(), tuple(range(len(table.schema))))


def fetched(
    context: "Context", request: StatementRequest, bound: LogicalPlan, link: SparkLink
) -> LogicalPlan:
    """Return a bound plan over tables of sqlfront or of Spark, for a statement that Spark can't run, with
    rows that ``link`` fetches now in place of Spark's tables. Raises NotSupportedError if these rows need
    more memory than the members have."""
    values, settings, most = request.arguments.values, context.settings, context.memory
    run_part = partial(link.run, timeout=context.limit(request), query=request.query)
    try:
        return split_plan(bound, values, settings, group=True).fetched(run_part, most)
    except DataError:  # perhaps in rows that were grouped before the join, and have no join partner
        return split_plan(bound, values, settings, group=False).fetched(run_part, most)


def rehearsed(context: "Context", query: Query, arguments: Arguments) -> LogicalPlan:
    """Return, for EXPLAIN, the logical plan of a query over tables of sqlfront or of Spark for a statement
    that Spark can't run. The plan has empty tables in place of Spark's: Spark runs nothing."""
    return mixed_query(context, query, arguments).with_rows({})


def mixed_query(context: "Context", query: Query, arguments: Arguments, *, group: bool = True) -> MixedQuery:
    """Bind and optimize a query that may name relations of Spark's, find the parts that Spark runs, and
    return the result as a mixed query. ``group``: whether Spark groups rows before they are joined. Raises
    the binder's errors, and NotSupportedError if no SQL text can be written for the scan of a table of
    Spark's."""
    bound = bind(query, context.catalog.with_elsewhere(), context.bind_settings, arguments)
    return split_plan(bound, arguments.values, context.settings, group=group)


def split_plan(
    bound: LogicalPlan, values: Sequence[object], settings: Settings, *, group: bool
) -> MixedQuery:
    """Optimize a bound query that may read relations of Spark's, find the parts that Spark runs, and return
    the result as a mixed query. ``values``: the values of the query's parameters; ``group``: as for
    :func:`mixed_query`. Raises NotSupportedError if no SQL text can be written for the scan of a table of
    Spark's."""
    literals = Template.literals(values, RunValues(settings))
    optimized = _everywhere(
        optimize_all(bound, settings),
        lambda plan: rewrite_operands(plan, lambda item: transform(item, literals)),
    )
    plan = optimized
    if group:
        plan = _everywhere(optimized, lambda plan: push_partial_aggregates(plan, _is_groupable))
    named = LogicalProject(plan, plan.row(), tuple(bound.schema.names))
    parts: dict[str, SparkPart] = {}

    def found(plan: LogicalPlan, select: Select) -> LogicalPlan:
        part = parts.setdefault(select.text, SparkPart(select, plan))
        return part.scan(())

    rest = _everywhere(named, lambda plan: replace_fragments(plan, found))
    for scan in scans_of(rest):
        if isinstance(scan.table, SparkTable):
            raise NotSupportedError(f"`{scan.name}` has no SQL text for its scan")
    moved = sum(_moved(part.plan) for part in parts.values())
    scans = tuple(scans_of(bound))
    reads_here = any(not isinstance(scan.table, SparkTable) for scan in scans)
    return MixedQuery(named, parts, moved, sum(map(_held, scans)), reads_here)


def _everywhere(plan: LogicalPlan, rewrite: Callable[[LogicalPlan], LogicalPlan]) -> LogicalPlan:
    """Apply ``rewrite`` to the plan, and to the plans inside it whose rows are computed once and read several
    times; return the new plan."""

    def inside(inner: LogicalPlan) -> LogicalPlan:
        return map_inputs(inner, rewrite) if isinstance(inner, LogicalRecursion) else rewrite(inner)

    return rewrite(rewrite_shared(plan, lambda table, inner: shared_scan(table.name, inside(inner))))


def _is_groupable(plan: LogicalPlan) -> bool:
    select = select_of(plan)
    return select is not None and select.keys is None and select.limit is None


def _moved(part: LogicalPlan) -> float:
    """Return the estimated number of bytes that Spark sends for a part."""
    grouped = any(isinstance(node, LogicalAggregate) for node in walk_plan(part))
    return Cardinality().size(part) * (_GROUPED if grouped else 1.0)


def _held(scan: LogicalScan) -> float:
    """Return the number of bytes that Spark would have to get of a scan's table to run the query itself; 0
    for Spark's tables and copies of them."""
    table = scan.table
    if isinstance(table, CachedTable) and isinstance(table.origin, TableEntry):
        table = table.origin.table
    if isinstance(table, SparkTable):
        return 0.0
    return table_rows(scan) * sum(column_bytes(column) for column in scan.row())
