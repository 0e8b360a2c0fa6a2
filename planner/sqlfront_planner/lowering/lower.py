"""Lowering of a plan, with one case per logical node."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import msgspec
import pyarrow as pa
from msgspec.structs import replace

from sqlfront_engine.dag import DAG, Distribution
from sqlfront_engine.join_kinds import FILTERING_JOINS
from sqlfront_engine.processors import set_difference, union
from sqlfront_engine.processors.sink import ResultSink
from sqlfront_engine.processors.sources import scalar_row
from sqlfront_engine.processors.sources.values import Values as ValuesProcessor
from sqlfront_planner.expressions.rewriting import is_deterministic, remap, substitute
from sqlfront_planner.lanes import COLLECT_ROWS, held_size
from sqlfront_planner.logical import (
    JoinKey,
    LogicalAggregate,
    LogicalFilter,
    LogicalGenerate,
    LogicalJoin,
    LogicalLimit,
    LogicalPlan,
    LogicalProject,
    LogicalScalarRow,
    LogicalScan,
    LogicalSetOperation,
    LogicalSort,
    LogicalValues,
    LogicalWindow,
    SetKind,
)
from sqlfront_planner.lowering import aggregates, generators, joins, sorts, windows
from sqlfront_planner.lowering.builder import Builder, Fragment, ScanVertex, StorageTarget
from sqlfront_planner.lowering.scans import lower_rows, lower_scan
from sqlfront_planner.pruning.scans import KeyConditions
from sqlfront_planner.statistics.cardinality import Cardinality
from sqlfront_values.errors import InternalError
from sqlfront_values.expressions import Column, Expr, Literal, SortKey, conjuncts
from sqlfront_values.room import check
from sqlfront_values.stacks import LEVELS_OF_A_STACK, on_fresh_stack

if TYPE_CHECKING:
    from sqlfront_engine.processors.set_difference import SetKind as DifferenceKind

_DIFFERENCES: Final[dict[SetKind, "DifferenceKind"]] = {
    SetKind.INTERSECT: "intersect",
    SetKind.INTERSECT_ALL: "intersect_all",
    SetKind.EXCEPT: "except",
    SetKind.EXCEPT_ALL: "except_all",
}


class LoweredQuery(msgspec.Struct, frozen=True):
    """A query's DAG, which ends in a ResultSink, and its ``scans``. ``resources`` are the objects that the
    sources need at run time, by key. ``distributed``: the DAG runs on all members, else in this process
    alone."""

    dag: DAG
    scans: tuple[ScanVertex, ...]
    resources: Mapping[str, object]
    distributed: bool = False


def lower(
    plan: LogicalPlan,
    cardinality: Cardinality,
    *,
    parallel: bool,
    exchange: bool = True,
    conditions: KeyConditions | None = None,
) -> LoweredQuery:
    """Lower a plan to the DAG for one member. If ``parallel`` is False, every vertex has one instance; if
    ``exchange`` is False, no row is routed by key. ``cardinality`` estimates the numbers of rows,
    ``conditions`` are the key conditions of the query's scans."""
    builder = Builder(cardinality, parallel, exchange, conditions=conditions or KeyConditions())
    return _lower(plan, builder, None)


def lower_distributed(
    plan: LogicalPlan,
    cardinality: Cardinality,
    *,
    parallel: bool,
    collect_rows: float = COLLECT_ROWS,
    store: StorageTarget | None = None,
    conditions: KeyConditions | None = None,
    divides: bool = False,
) -> LoweredQuery:
    """Lower a plan to the DAG for several members, each with several instances of a vertex if ``parallel``.

    The coordinator collects inputs of up to ``collect_rows`` rows instead of exchanging them. With ``store``
    each member stores the rows of its partitions, and the DAG's result is the members' reports.
    ``cardinality`` estimates the numbers of rows, ``conditions`` are the key conditions of the query's
    scans. ``divides``: see :class:`~sqlfront_planner.lowering.builder.Builder`."""
    builder = Builder(
        cardinality,
        parallel,
        distributed=True,
        collect_rows=0 if divides else collect_rows,
        conditions=conditions or KeyConditions(),
        divides=divides,
    )
    return _lower(plan, builder, store)


def _lower(plan: LogicalPlan, builder: Builder, store: StorageTarget | None) -> LoweredQuery:
    result = _Lowering(builder).lower(plan)
    if store is not None:
        result = builder.store(result, store)
    builder.to_one(result, builder.vertex("result", ResultSink(), parallel=False))
    distributed = builder.distributed and any(
        edge.distribution is not Distribution.LOCAL for edge in builder.dag.edges
    )
    return LoweredQuery(builder.dag, tuple(builder.scans), builder.resources, distributed)


class _Lowering:
    """The lowering of one plan: adds the plan's nodes, inputs first, to the DAG of ``builder``."""

    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self.depth = 0

    def lower(self, plan: LogicalPlan) -> Fragment:
        """Lower the plan to a fragment that emits the plan's rows."""
        check()
        self.depth += 1
        if self.depth % LEVELS_OF_A_STACK:
            fragment = self._lower(plan)
        else:
            fragment = on_fresh_stack(self._lower, plan)
        self.depth -= 1
        return fragment

    def _lower(self, plan: LogicalPlan) -> Fragment:
        match plan:
            case LogicalProject():
                return self.rows(plan.input, plan.expressions, plan)
            case LogicalFilter() | LogicalScan():
                return self.rows(plan, None, plan)
            case LogicalValues():
                return self.values(plan)
            case LogicalJoin():
                return self.join(plan, tuple(range(plan.width)))
            case LogicalAggregate():
                return self.aggregate(plan)
            case LogicalWindow():
                return self.window(plan, None, None, plan)
            case LogicalGenerate():
                return generators.lower_generate(
                    self.builder, plan, self.lower(plan.input), tuple(range(plan.width))
                )
            case LogicalSort():
                return sorts.lower_sort(self.builder, plan, self.lower(plan.input))
            case LogicalLimit():
                return sorts.lower_limit(self.builder, plan, self.lower(plan.input))
            case LogicalScalarRow():
                source = self.lower(plan.input)
                return self.builder.gather("scalar", scalar_row.ScalarRow(plan.schema), source)
            case LogicalSetOperation():
                return self.set_operation(plan)
            case _:
                raise InternalError(f"{plan.label} can't be lowered")

    def rows(self, plan: LogicalPlan, expressions: Sequence[Expr] | None, whole: LogicalPlan) -> Fragment:
        """Lower ``plan`` followed by a projection to ``expressions`` (None: all columns). ``whole`` is the
        plan with its projection, whose names and types the result has. A filter at the plan's top and the
        projection become one vertex."""
        condition: Expr | None = None
        if isinstance(plan, LogicalFilter):
            condition, plan = plan.condition, plan.input
        if isinstance(plan, LogicalScan):
            if condition is not None:
                plan = plan.with_operands((*plan.filters, *conjuncts(remap(condition, plan.columns))))
            source, condition = lower_scan(self.builder, plan)
            if condition is not None and expressions is None:
                expressions = plan.row()
            return lower_rows(self.builder, source, condition, expressions, whole)
        if isinstance(plan, LogicalJoin) and condition is None and expressions is not None:
            ordinals = _ordinals(expressions)
            if ordinals is not None:
                return self.join(plan, ordinals)
        if isinstance(plan, LogicalGenerate) and condition is None and expressions is not None:
            ordinals = _ordinals(expressions)
            if ordinals is not None:
                return generators.lower_generate(self.builder, plan, self.lower(plan.input), ordinals)
        if isinstance(plan, LogicalWindow):
            return self.window(plan, condition, expressions, whole)
        return lower_rows(self.builder, self.lower(plan), condition, expressions, whole)

    def values(self, plan: LogicalValues) -> Fragment:
        """Lower rows of literals to one source; a row with computed values becomes a projection of a row
        without columns."""
        rows = tuple(tuple(item for item in row if isinstance(item, Literal)) for row in plan.rows)
        if all(len(literals) == len(row) for literals, row in zip(rows, plan.rows, strict=True)):
            processor = ValuesProcessor(plan.output, rows)
            return Fragment(self.builder.source("values", processor, parallel=False), False)
        one = LogicalValues(pa.schema([]), ((),))
        names = tuple(plan.output.names)
        branches = tuple(LogicalProject(one, row, names) for row in plan.rows)
        return self.lower(
            branches[0] if len(branches) == 1 else LogicalSetOperation(SetKind.UNION_ALL, branches)
        )

    def join(self, plan: LogicalJoin, output: tuple[int, ...]) -> Fragment:
        if not joins.key_columns(plan):
            plan, output = _with_key_columns(plan, output)
        left, right, hold_left = joins.lower_sides(self.builder, plan, self.lower)
        return joins.lower_join(self.builder, plan, left, right, output, hold_left=hold_left)

    def aggregate(self, plan: LogicalAggregate) -> Fragment:
        child, keys = _with_columns(plan.input, plan.keys)
        return aggregates.lower_aggregate(self.builder, plan, keys, self.lower(child))

    def window(
        self,
        plan: LogicalWindow,
        condition: Expr | None,
        expressions: Sequence[Expr] | None,
        whole: LogicalPlan,
    ) -> Fragment:
        """Lower a window, followed by a filter by ``condition`` (None: no filter) and a projection to
        ``expressions`` (None: all columns). ``whole`` is the window with that filter and projection.

        The processor partitions and orders by columns. Computed expressions of the window become additional
        columns, which the filter and the projection drop again."""
        child, places = _with_columns(
            plan.input, (*plan.partition, *(expression for expression, _ in plan.order))
        )
        partition = places[: len(plan.partition)]
        order = tuple(
            SortKey(place, order)
            for place, (_, order) in zip(places[len(plan.partition) :], plan.order, strict=True)
        )
        wide = replace(plan, input=child)
        most = windows.most_rows(plan, condition)
        result = windows.lower_window(self.builder, wide, partition, order, self.lower(child), most)
        if child.width > plan.input.width:
            row = wide.row()
            kept = (*row[: plan.input.width], *row[child.width :])
            condition = None if condition is None else substitute(condition, kept)
            expressions = kept if expressions is None else [substitute(item, kept) for item in expressions]
        if condition is None and expressions is None:
            return result
        return lower_rows(self.builder, result, condition, expressions, whole)

    def set_operation(self, plan: LogicalSetOperation) -> Fragment:
        branches = [self.lower(branch) for branch in plan.branches]
        builder = self.builder
        if builder.divides and plan.kind is SetKind.UNION_ALL:
            # A durable job's task would else hold these rows beside those that a scan of another branch
            # holds.
            branches = [
                builder.divided(fragment) if held_size(branch) else fragment
                for branch, fragment in zip(plan.branches, branches, strict=True)
            ]
        parallel = any(branch.parallel for branch in branches)
        if plan.kind is SetKind.UNION_ALL:
            vertex = builder.vertex("union", union.Union(tuple(plan.schema.names)), parallel=parallel)
            # One branch after the other, in the text's order: LIMIT without an order takes the first rows.
            # Over several members the branches have no order, and no branch waits for another.
            for ordinal, branch in enumerate(branches):
                priority = 0 if builder.distributed else ordinal
                if parallel:
                    builder.deal(branch, vertex, ordinal, priority=priority)
                else:
                    builder.keep(branch, vertex, ordinal, priority=priority)
            return Fragment(vertex, parallel, in_pieces=all(branch.in_pieces for branch in branches))
        rows = sum(map(builder.cardinality.rows, plan.branches))
        exchange = parallel and builder.exchanges(rows)
        vertex = builder.vertex(
            plan.kind.value, set_difference.SetDifference(_DIFFERENCES[plan.kind]), parallel=exchange
        )
        columns = tuple(range(plan.width))
        for ordinal, branch in enumerate(branches):
            if exchange:
                builder.spread(branch, vertex, columns, ordinal)
            else:
                builder.to_one(branch, vertex, ordinal)
        return Fragment(vertex, exchange, columns if exchange else None, in_pieces=exchange)


def _ordinals(expressions: Sequence[Expr]) -> tuple[int, ...] | None:
    """Return the ordinals of the columns that a projection selects; None if the projection computes an
    expression."""
    ordinals = tuple(item.ordinal for item in expressions if isinstance(item, Column))
    return ordinals if len(ordinals) == len(expressions) else None


def _with_columns(plan: LogicalPlan, wanted: tuple[Expr, ...]) -> tuple[LogicalPlan, tuple[int, ...]]:
    """Return the plan with a column for each of the ``wanted`` expressions, and the ordinals of these
    columns. An expression that is no column is added after the plan's columns."""
    ordinals = _ordinals(wanted)
    if ordinals is not None:
        return plan, ordinals
    row = plan.row()
    items: list[Expr] = list(row)
    places = []
    for expression in wanted:
        if isinstance(expression, Column):
            places.append(expression.ordinal)
        else:
            places.append(len(items))
            items.append(expression)
    names = (*(column.name for column in row), *("" for _ in items[len(row) :]))
    if isinstance(plan, LogicalProject) and all(map(is_deterministic, plan.expressions)):
        merged = tuple(substitute(item, plan.expressions) for item in items[len(row) :])
        return LogicalProject(plan.input, (*plan.expressions, *merged), names), tuple(places)
    return LogicalProject(plan, tuple(items), names), tuple(places)


def _with_key_columns(plan: LogicalJoin, output: tuple[int, ...]) -> tuple[LogicalJoin, tuple[int, ...]]:
    """Return the join with each key as a column of its input, added where needed, and the ordinals in the new
    join's row of the columns ``output`` of the given join's row."""
    left, left_places = _with_columns(plan.left, tuple(key.left for key in plan.keys))
    right, right_places = _with_columns(plan.right, tuple(key.right for key in plan.keys))
    left_row, right_row = left.row(), right.row()
    keys = tuple(
        JoinKey(left_row[mine], right_row[other], key.null_safe)
        for mine, other, key in zip(left_places, right_places, plan.keys, strict=True)
    )
    before = plan.left.width
    where = [
        *range(before),
        *(left.width + place for place in range(plan.right.width)),
    ]
    condition = None if plan.condition is None else remap(plan.condition, where)
    join = LogicalJoin(left, right, plan.kind, condition, keys)
    if plan.kind in FILTERING_JOINS:
        return join, output
    return join, tuple(where[place] for place in output)
