"""Partial aggregation: group one relation of a join before the join, to move fewer rows.

Not among the optimizer's rules: local rows cost so little that grouping twice doesn't pay.
:mod:`sqlfront.spark`, whose rows come from another system, applies the rewrite.
"""

from collections.abc import Callable, Iterator
from typing import Final

import msgspec
import pyarrow as pa
from msgspec.structs import replace

from sqlfront_planner.expressions.rewriting import is_deterministic, remap, substitute
from sqlfront_planner.logical import (
    LogicalAggregate,
    LogicalPlan,
    LogicalProject,
    call_operands,
    transform_plan,
    with_call_operands,
)
from sqlfront_planner.rules.joins.join_graph import (
    JoinGraph,
    JoinInput,
    build,
    flatten,
    is_join_tree,
    left_deep,
)
from sqlfront_values.expressions import AggregateCall, Call, Cast, Column, Expr, Literal, columns_used
from sqlfront_values.functions.aggregates.registry import lookup_aggregate
from sqlfront_values.types import BIGINT, DOUBLE

#: The function that merges the values over parts of the rows into the value over all rows.
_MERGED_BY: Final = {"count": "sum", "min": "min", "max": "max", "sum": "sum"}


def push_partial_aggregates(plan: LogicalPlan, wanted: Callable[[LogicalPlan], bool]) -> LogicalPlan:
    """Group the rows of one table or subplan before it is joined, and merge the groups after the joins. This
    is done below an aggregation over inner joins if all its calls read only columns of one of the joined
    relations. ``wanted`` returns whether the plan of a relation may be grouped; the first relation for which
    it returns True is grouped.

    Rows of the relation that agree in all columns that keys and join conditions read find the same partners,
    so sums, counts, minima and maxima over such rows can replace the rows. Means become sums and counts,
    except means of decimals. The plan's result stays the same; the order of the joins is lost. But an
    aggregate may fail for rows without a partner, over which the original plan wouldn't have computed it.
    """
    return transform_plan(plan, lambda node: _rewrite(node, wanted))


def _rewrite(plan: LogicalPlan, wanted: Callable[[LogicalPlan], bool]) -> LogicalPlan:
    if not isinstance(plan, LogicalAggregate):
        return plan
    merged = _without_projection(plan)
    if not is_join_tree(merged.input):
        return plan
    graph = flatten(merged.input)
    for relation in graph.relations:
        if not relation.filters and wanted(relation.plan):
            return _two_steps(merged, graph, relation) or plan
    return plan


def _without_projection(plan: LogicalAggregate) -> LogicalAggregate:
    """Merge the aggregation with its input, if the input is a deterministic projection; else return the
    aggregation unchanged."""
    below = plan.input
    if not isinstance(below, LogicalProject) or not all(map(is_deterministic, below.expressions)):
        return plan
    merged = plan.with_operands(tuple(substitute(item, below.expressions) for item in plan.operands()))
    assert isinstance(merged, LogicalAggregate)
    return replace(merged, input=below.input)


class _Parts(msgspec.Struct, frozen=True):
    """An aggregate call split in two steps: ``calls`` aggregate a part of a group, over the graph's row (the
    columns of all joined relations, see :class:`.JoinGraph`). Then the results of all parts are merged, and
    ``merge`` computes the original call's value from the merged results."""

    calls: tuple[AggregateCall, ...]
    merge: Callable[[tuple[Expr, ...]], Expr]


def _parts(call: AggregateCall) -> _Parts | None:
    """Split an aggregate call into a call per part and a merge; None if the call can't be split."""
    if call.distinct or not all(map(is_deterministic, call_operands(call))):
        return None
    if call.function in _MERGED_BY:
        return _Parts((call,), lambda merged: _as_type(merged[0], call))
    if call.function in ("avg", "mean") and call.type == DOUBLE:
        summed = replace(call, function="sum", arguments=(_cast(call.arguments[0]),), type=DOUBLE)
        return _Parts(
            (summed, replace(call, function="count", type=BIGINT)),
            lambda merged: Call(DOUBLE, "divide", (merged[0], _cast(merged[1]))),
        )
    return None


def _cast(expression: Expr) -> Expr:
    return expression if expression.type == DOUBLE else Cast(DOUBLE, expression)


def _as_type(merged: Expr, call: AggregateCall) -> Expr:
    """Return the merged value with the original call's type and nullability: a count is never null, and a
    sum of sums has a wider type than the sum."""
    if call.function == "count":
        return Call(BIGINT, "coalesce", (merged, Literal(BIGINT, 0)))
    return merged if merged.type == call.type else Cast(call.type, merged)


def _two_steps(plan: LogicalAggregate, graph: JoinGraph, relation: JoinInput) -> LogicalPlan | None:
    """Group the rows of ``relation``, join, and merge the groups of the joined rows. Return None if the
    result could differ from that of ``plan``, the aggregation over the joins of ``graph``."""
    above = plan.with_operands(tuple(remap(item, graph.row) for item in plan.operands()))
    assert isinstance(above, LogicalAggregate)
    own = range(relation.start, relation.start + relation.plan.width)
    read = {place for call in above.calls for item in call_operands(call) for place in columns_used(item)}
    compared = _compared(above.keys, graph)
    kept = sorted({place for item in compared for place in columns_used(item) if place in own})
    parts = [part for call in above.calls if (part := _parts(call)) is not None]
    if not kept or not read <= set(own) or len(parts) < len(above.calls):
        return None
    if not all(map(is_deterministic, compared)):
        return None  # rows that agree in the kept columns may have different keys, or partners
    columns = relation.plan.row()
    if any(_holds_floats(columns[place - relation.start].type) for place in kept):
        return None  # -0.0 and 0.0 are one group, but different values
    first = [call for part in parts for call in part.calls]

    def local(item: Expr) -> Expr:
        return remap(item, {place: place - relation.start for place in own})

    grouped = LogicalAggregate(
        relation.plan,
        tuple(columns[place - relation.start] for place in kept),
        tuple(with_call_operands(call, map(local, call_operands(call))) for call in first),
        (*(columns[place - relation.start].name for place in kept), *(call.function for call in first)),
    )
    places = _places(graph, relation, kept, grouped.width)
    joined = _joined(graph, relation, grouped, places)
    values = range(relation.start + len(kept), relation.start + grouped.width)
    used = sorted({places[place] for key in above.keys for place in columns_used(key)} | set(values))
    below = build(replace(joined, row=tuple(used)), left_deep(joined))
    where = {place: index for index, place in enumerate(used)}
    keys = tuple(remap(remap(key, places), where) for key in above.keys)
    row = below.row()
    merging = tuple(_merging(call, row[where[place]]) for call, place in zip(first, values, strict=True))
    outer = LogicalAggregate(
        below, keys, merging, (*plan.names[: len(keys)], *(call.function for call in merging))
    )
    given = outer.row()
    rest = iter(given[len(keys) :])
    merged = [part.merge(tuple(next(rest) for _ in part.calls)) for part in parts]
    return LogicalProject(outer, (*given[: len(keys)], *merged), plan.names)


def _holds_floats(data_type: pa.DataType) -> bool:
    if pa.types.is_nested(data_type):
        return any(_holds_floats(data_type.field(index).type) for index in range(data_type.num_fields))
    return pa.types.is_floating(data_type)


def _compared(keys: tuple[Expr, ...], graph: JoinGraph) -> tuple[Expr, ...]:
    """Return the expressions over the graph's row (the columns of all joined relations) on which the groups
    and the joins depend: the aggregation's keys, and the predicates of the joins."""
    return (*keys, *graph.predicates, *(item for each in graph.relations for item in each.predicates))


def _places(graph: JoinGraph, relation: JoinInput, kept: list[int], width: int) -> dict[int, int]:
    """Return the new ordinals, by the old ones, of the columns of the graph's row (the columns of all joined
    relations), after ``relation`` is replaced by a relation of ``width`` columns, which begins with the
    columns ``kept``. Columns that are gone have no entry."""
    moved = width - relation.plan.width
    end = relation.start + relation.plan.width
    places = {place: relation.start + index for index, place in enumerate(kept)}
    for place in range(len(graph.columns())):
        if place < relation.start:
            places[place] = place
        elif place >= end:
            places[place] = place + moved
    return places


def _joined(graph: JoinGraph, relation: JoinInput, grouped: LogicalPlan, places: dict[int, int]) -> JoinGraph:
    """Return the graph in which ``grouped`` replaces the plan of ``relation``. ``places``: the new ordinals
    of the columns of the graph's row, see :func:`_places`."""

    def relations() -> Iterator[JoinInput]:
        for each in graph.relations:
            predicates = tuple(remap(item, places) for item in each.predicates)
            if each is relation:
                yield replace(each, plan=grouped, predicates=predicates)
            else:
                start = each.start if each.start < relation.start else places[each.start]
                yield replace(each, start=start, predicates=predicates)

    return JoinGraph(tuple(relations()), tuple(remap(item, places) for item in graph.predicates), ())


def _merging(call: AggregateCall, value: Column) -> AggregateCall:
    """Return the aggregate call that merges the results of ``call`` over parts; ``value`` is the column of
    these results."""
    function = lookup_aggregate(_MERGED_BY[call.function])
    assert function is not None
    return AggregateCall(function.name, (value,), function.result_type((value.type,)))
