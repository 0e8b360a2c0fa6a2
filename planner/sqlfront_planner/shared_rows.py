"""Subplans that a query computes once although the query reads them in several places.

A DAG is a tree: a subplan that is read twice is computed twice. That is right only if both computations give
the same rows. If the rows may differ (:func:`is_repeatable` returns False), the plan scans a
:class:`SharedRows` instead of the subplan, which a separate job computes before the query's job. Spark does
the same for WITH queries that call nondeterministic functions; a view is bound anew for each use, with other
random numbers.
"""

import itertools
from collections import Counter
from collections.abc import Callable
from typing import Final

import pyarrow as pa
from msgspec import structs
from msgspec.structs import replace

from sqlfront_connectors import base
from sqlfront_engine.processors.sources import held_rows
from sqlfront_planner.expressions.rewriting import is_deterministic, map_operands
from sqlfront_planner.logical import (
    LogicalAggregate,
    LogicalLimit,
    LogicalPlan,
    LogicalScan,
    LogicalSort,
    LogicalWindow,
    Subquery,
    all_nodes,
    distinct_nodes,
    transform_plan,
)
from sqlfront_planner.recursion import LevelRows, LogicalRecursion
from sqlfront_planner.statistics.cardinality import Cardinality
from sqlfront_values.expressions import AggregateCall, Expr, transform
from sqlfront_values.functions.legacy import WRAPPING_SUM

_ADDING: Final = frozenset({"sum", "avg", "mean", "try_sum", "try_avg", WRAPPING_SUM})
_COUNTING: Final = frozenset({"count", "count_if", "approx_count_distinct"})
_CHOOSING: Final = frozenset({"min", "max", "bool_and", "bool_or", "every", "some", "any"})
_COMBINING: Final = frozenset({"bit_and", "bit_or", "bit_xor"})
#: Aggregates whose value doesn't depend on the order of the rows, unless they add floats.
_ORDERLESS: Final = _ADDING | _COUNTING | _CHOOSING | _COMBINING

_numbers = itertools.count(1)


class SharedRows:
    """A table of the rows of ``plan``, a subplan that a query reads in several places: in each run a job
    computes the rows once, for all scans of this object. The table has a single version, and is its own
    snapshot. ``name``: the table's name in EXPLAIN."""

    #: The name of the format, ``shared``.
    format = "shared"
    #: None: the rows are not partitioned by key.
    partitioning: base.Partitioning | None = None
    #: The version, always 0.
    version = 0

    def __init__(self, name: str, plan: LogicalPlan) -> None:
        self.name = name
        self.plan = plan
        #: The name of the job's resource that holds the rows.
        self.key = f"shared-{next(_numbers)}"

    @property
    def schema(self) -> pa.Schema:
        """The plan's schema."""
        return self.plan.schema

    @property
    def statistics(self) -> "base.TableStatistics":
        """Statistics of the table: only the estimated number of rows."""
        return base.TableStatistics(rows=int(Cardinality().rows(self.plan)))

    def snapshot(self) -> "SharedRows":
        """Return the table itself, its only version."""
        return self

    def exact_filters(self, filters: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """Return no filter, since the scan applies none of the filters exactly."""
        return ()

    def scan(self, request: "base.ScanRequest") -> "base.ScanPlan":
        """Plan a source that reads the requested columns of the rows. The job finds the rows among its
        resources, under :attr:`key`."""
        return base.ScanPlan(held_rows.HeldRows(self.key, self.name, request.columns))

    def drop(self) -> None:
        """Do nothing: the table has nothing to free."""


#: The classes of the tables whose rows jobs of the query itself compute.
OWN_TABLES: Final = (SharedRows, LevelRows)


def scan_of(table: SharedRows) -> LogicalScan:
    """Make a scan of all columns of a table whose rows are computed once for several scans."""
    return LogicalScan(table.name, table, table, tuple(range(table.plan.width)))


def shared_scan(name: str, plan: LogicalPlan) -> LogicalScan:
    """Make a table of the plan's rows, called ``name``, and return a scan of all its columns. If a query has
    this scan in several places, the rows are computed only once."""
    return scan_of(SharedRows(name, plan))


def is_repeatable(plan: LogicalPlan, known: set[int] | None = None) -> bool:
    """Return whether computing the plan twice gives the same rows, whatever the order of the input rows.
    ``known``: the ids of nodes that are known to be repeatable, which are skipped; if the plan is repeatable,
    the ids of its nodes are added to the set."""
    asked = set[int](known or ())
    found = all(_is_repeatable_node(node) for node in all_nodes(plan, seen=asked))
    if found and known is not None:
        known |= asked
    return found


def varies_by_order_only(plan: LogicalPlan) -> bool:
    """Return whether the plan's functions are all deterministic but its rows may still differ between two
    runs, because they depend on the order of the input rows (a LIMIT, a window), or on a table without
    repeatable reads."""
    parts = (plan, *(table.plan for table in shared_rows(plan)))
    if len(parts) == 1 and is_repeatable(plan):
        return False
    return all(
        is_deterministic(operand) for part in parts for node in all_nodes(part) for operand in node.operands()
    )


def _is_repeatable_node(node: LogicalPlan) -> bool:
    match node:
        case LogicalWindow():
            return False
        case LogicalScan() if not base.is_repeatable(node.snapshot):
            return False
        case LogicalLimit(count=count, offset=offset) | LogicalSort(limit=count, offset=offset) if (
            count is not None or offset
        ):
            return False
        case LogicalAggregate() if not all(map(_is_orderless, node.calls)):
            return False
        case _:
            return all(map(is_deterministic, node.operands()))


def _is_orderless(call: AggregateCall) -> bool:
    return call.function in _ORDERLESS and not (
        call.function in _ADDING and any(pa.types.is_floating(item.type) for item in call.arguments)
    )


def shared_rows(plan: LogicalPlan) -> tuple[SharedRows, ...]:
    """Return the tables of rows computed once for several scans (:class:`SharedRows`) that the plan reads,
    directly or indirectly. Each table appears once, after the tables that it reads."""
    found: dict[str, SharedRows] = {}

    def collect(plan: LogicalPlan) -> None:
        for node in all_nodes(plan):
            if (
                isinstance(node, LogicalScan)
                and isinstance(node.table, SharedRows)
                and node.table.key not in found
            ):
                collect(node.table.plan)
                found[node.table.key] = node.table

    collect(plan)
    return tuple(found.values())


def has_shared_rows(plan: LogicalPlan) -> bool:
    """Return whether an optimized plan, which has no subquery expressions left, scans a table whose rows are
    computed once for several scans (:class:`SharedRows`)."""
    return any(
        isinstance(node, LogicalScan) and isinstance(node.table, SharedRows) for node in distinct_nodes(plan)
    )


def inline_single_uses(plan: LogicalPlan) -> LogicalPlan:
    """Replace each scan of a :class:`SharedRows`, a table whose rows are computed once for several scans, by
    the plan of the rows if the query has no other scan of the table, unless the rows are a recursion's."""
    tables = shared_rows(plan)
    if not tables:
        return plan
    uses = Counter(
        node.table.key
        for part in (plan, *(table.plan for table in tables))
        for node in all_nodes(part, repeated=True)
        if isinstance(node, LogicalScan) and isinstance(node.table, SharedRows)
    )

    def place(table: SharedRows, rewritten: LogicalPlan) -> LogicalPlan:
        is_inlined = uses[table.key] == 1 and not isinstance(rewritten, LogicalRecursion)
        return rewritten if is_inlined else shared_scan(table.name, rewritten)

    return rewrite_shared(plan, place)


def rewrite_shared(plan: LogicalPlan, place: Callable[[SharedRows, LogicalPlan], LogicalPlan]) -> LogicalPlan:
    """Rewrite the plan of each :class:`SharedRows` (a table whose rows are computed once for several scans),
    and replace the table's scans by the plan ``place(table, rewritten plan)``. ``place`` is called once per
    table, after the tables that the table reads. If it returns a scan of such a table, each replaced scan
    keeps its own columns, and only reads them from that scan's table."""
    if not shared_rows(plan):
        return plan
    known: dict[str, LogicalPlan] = {}

    def node(item: LogicalPlan) -> LogicalPlan:
        item = map_operands(item, lambda operand: transform(operand, expression))
        if not (isinstance(item, LogicalScan) and isinstance(item.table, SharedRows)):
            return item
        table = item.table
        if table.key not in known:
            known[table.key] = place(table, transform_plan(table.plan, node))
        placed = known[table.key]
        if isinstance(placed, LogicalScan) and isinstance(placed.table, SharedRows):
            return replace(item, table=placed.table, snapshot=placed.snapshot)
        return placed

    def expression(item: Expr) -> Expr:
        if not isinstance(item, Subquery):
            return item
        inner = transform_plan(item.plan, node)
        return item if inner is item.plan else structs.replace(item, plan=inner)

    return transform_plan(plan, node)
