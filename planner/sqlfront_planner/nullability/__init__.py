"""The columns of a query that may hold nulls, as Spark's schema says (``nullable``, ``containsNull``).

The answer follows from the bound plan: the functions, the literals, the kinds of joins. It is only computed
when somebody asks, since no query runs faster or slower for it."""

from collections.abc import Sequence

from sqlfront_engine.generators import Generator
from sqlfront_engine.join_kinds import JoinKind
from sqlfront_planner.binder.relations.range_table import RangeTable
from sqlfront_planner.lateral_joins import LogicalLateralJoin
from sqlfront_planner.logical import (
    LogicalAggregate,
    LogicalFilter,
    LogicalGenerate,
    LogicalJoin,
    LogicalPlan,
    LogicalProject,
    LogicalScalarRow,
    LogicalScan,
    LogicalSetOperation,
    LogicalValues,
    LogicalWindow,
    PassingPlan,
    SetKind,
)
from sqlfront_planner.nullability.expressions import ReadNulls, nulls_of
from sqlfront_planner.nullability.functions import TOP_ITEMS
from sqlfront_planner.nullability.nulls import Nulls, everywhere, inner_types, nowhere
from sqlfront_planner.recursion import LevelRows, LogicalRecursion
from sqlfront_planner.shared_rows import SharedRows
from sqlfront_values.expressions import AggregateCall, WindowCall

__all__ = ["Nulls", "column_nulls", "everywhere"]

#: Aggregate functions that never give null, and of these those that collect rows into a list.
_COUNTS = frozenset(
    {
        "count",
        "count_if",
        "approx_count_distinct",
        "schema_of_variant_agg",
        "grouping_id",
        "grouping",
        "regr_count",
        "bitmap_and_agg",
        "bitmap_construct_agg",
        "bitmap_or_agg",
        "count_min_sketch",
        "hll_sketch_agg",
        "hll_union_agg",
        "theta_sketch_agg",
        "theta_union_agg",
        "theta_intersection_agg",
    }
    | {f"kll_{made}_{kind}" for made in ("sketch_agg", "merge_agg") for kind in ("bigint", "double", "float")}
)
_LISTS = frozenset({"collect_list", "collect_set", "array_agg"})
#: The most frequent items, and states of them, of which the third field is null.
_STATE = Nulls(False, (Nulls(False), Nulls(False), Nulls(True), Nulls(False)))
_TOP_K = {
    "approx_top_k": TOP_ITEMS,
    "approx_top_k_accumulate": _STATE,
    "approx_top_k_combine": _STATE,
}
#: Aggregate functions whose lists have no nulls.
_QUANTILES = frozenset({"approx_percentile", "percentile_approx", "percentile"})
#: Window functions that never give null.
_RANKS = frozenset({"row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile"})


def column_nulls(plan: LogicalPlan, values: Sequence[object] = ()) -> tuple[Nulls, ...]:
    """Return for each column of the bound plan where its values may be null. ``values``: the values of the
    plan's parameters."""
    return tuple(_Nullability(values).of_plan(plan, ()))


class _Nullability:
    """The walk over one plan; a node that stands in several places is looked at once."""

    def __init__(self, values: Sequence[object]) -> None:
        self._values = values
        self._known: dict[tuple[int, int], Sequence[Nulls]] = {}
        # The nulls of the rows that the step of a recursion reads, by the key of the rows: Spark takes all of
        # its columns for nullable.
        self._levels: dict[str, Sequence[Nulls]] = {}

    def of_plan(self, plan: LogicalPlan, outer: Sequence[Nulls]) -> Sequence[Nulls]:
        """Return the nulls of a plan's columns; ``outer``: those of the enclosing query's row."""
        key = (id(plan), id(outer))
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._of_node(plan, outer)
        return known

    def _of_node(self, plan: LogicalPlan, outer: Sequence[Nulls]) -> Sequence[Nulls]:
        if isinstance(plan, LogicalScan) and isinstance(plan.table, SharedRows):
            shared = self.of_plan(plan.table.plan, outer)
            return [shared[place] for place in plan.columns]
        if isinstance(plan, LogicalScan) and isinstance(plan.table, LevelRows):
            return [self._levels[plan.table.key][place] for place in plan.columns]
        if isinstance(plan, LogicalRecursion):
            anchor = self.of_plan(plan.anchor, outer)
            self._levels[plan.level.key] = [each.if_any(True) for each in anchor]
            pairs = zip(anchor, self.of_plan(plan.step, outer), strict=True)
            return [mine | other for mine, other in pairs]
        if isinstance(plan, LogicalScan):
            make = nowhere if isinstance(plan.table, RangeTable) else everywhere
            return [make(column.type) for column in plan.row()]
        inputs = [self.of_plan(each, outer) for each in plan.inputs()]
        row = inputs[0] if inputs else ()
        scope = ReadNulls(row, outer, self._values, self.of_plan)
        match plan:
            case LogicalValues(rows=rows):
                columns = zip(*rows, strict=True)
                return [_union([nulls_of(item, scope) for item in column]) for column in columns]
            case LogicalProject(expressions=expressions):
                return [nulls_of(each, scope) for each in expressions]
            case LogicalFilter():
                return row
            case LogicalScalarRow():
                return [each.if_any(True) for each in row]
            case PassingPlan():
                return row
            case LogicalJoin(kind=kind):
                return _joined(kind, inputs)
            case LogicalLateralJoin(kind=kind, subquery=subquery):
                return _joined(kind, [row, self.of_plan(subquery.plan, row)])
            case LogicalAggregate(keys=keys, calls=calls):
                return [*(nulls_of(key, scope) for key in keys), *(_aggregate(call, scope) for call in calls)]
            case LogicalWindow(calls=calls):
                return [*row, *(_window(call, scope) for call in calls)]
            case LogicalGenerate():
                return [*row, *_generated(plan, [nulls_of(each, scope) for each in plan.arguments])]
            case LogicalSetOperation(kind=kind):
                if kind in (SetKind.EXCEPT, SetKind.EXCEPT_ALL):
                    return row
                meets = kind in (SetKind.INTERSECT, SetKind.INTERSECT_ALL)
                pairs = zip(*inputs, strict=True)
                return [_both(column) if meets else _union(column) for column in pairs]
        return [everywhere(column.type) for column in plan.row()]


def _generated(plan: LogicalGenerate, arguments: Sequence[Nulls]) -> Sequence[Nulls]:
    """Return the nulls of the columns that a generator adds."""
    kinds, position = plan.types, [Nulls(False)] if plan.generator is Generator.POSEXPLODE else []
    first = arguments[0].parts
    match plan.generator:
        case Generator.EXPLODE | Generator.POSEXPLODE if first:
            keys = [Nulls(False, everywhere(kinds[-2]).parts)] if len(kinds) - len(position) == 2 else []
            found = [*position, *keys, *first]
        case Generator.INLINE if first:
            found = [each.if_any(first[0].value) for each in first[0].parts]
        case Generator.STACK:
            width = len(kinds)
            found = [_union(arguments[place::width]).if_any(True) for place in range(width)]
        case _:
            found = [everywhere(kind) for kind in kinds]
    return [each.if_any(plan.outer) for each in found]


def _union(column: Sequence[Nulls]) -> Nulls:
    found = column[0]
    for each in column[1:]:
        found |= each
    return found


def _both(column: Sequence[Nulls]) -> Nulls:
    return Nulls(all(each.value for each in column), column[0].parts)


def _joined(kind: JoinKind, inputs: Sequence[Sequence[Nulls]]) -> Sequence[Nulls]:
    left, right = inputs
    if kind in (JoinKind.SEMI, JoinKind.ANTI):
        return left
    if kind in (JoinKind.RIGHT, JoinKind.FULL):
        left = [each.if_any(True) for each in left]
    if kind in (JoinKind.LEFT, JoinKind.FULL):
        right = [each.if_any(True) for each in right]
    return [*left, *right]


def _aggregate(call: AggregateCall, scope: ReadNulls) -> Nulls:
    if call.function in _COUNTS:
        return Nulls(False)
    if call.function in _TOP_K:
        return _TOP_K[call.function]
    if call.function in _LISTS:
        inside = nulls_of(call.arguments[0], scope)
        return Nulls(False, (Nulls(False, inside.parts),))
    if call.function == "collect_union":
        parts = nulls_of(call.arguments[0], scope).parts or everywhere(call.type).parts
        return Nulls(False, (Nulls(len(call.arguments) > 1, parts[0].parts),))
    alike = [
        nulls_of(each, scope) for each in call.arguments if each.type == call.type and inner_types(call.type)
    ]
    return Nulls(True, alike[0].parts) if alike else everywhere(call.type)


def _window(call: WindowCall, scope: ReadNulls) -> Nulls:
    if call.function in _RANKS or call.function in _COUNTS:
        return Nulls(False)
    if call.function in _TOP_K:
        return _TOP_K[call.function]
    if call.function in ("lag", "lead") and len(call.arguments) > 2:
        return nulls_of(call.arguments[0], scope) | nulls_of(call.arguments[2], scope)
    if call.function in _LISTS:
        return Nulls(False, (Nulls(False, nulls_of(call.arguments[0], scope).parts),))
    if call.function == "merge sessions":
        return nulls_of(call.arguments[0], scope)
    return everywhere(call.type)
