"""Rewriting of DISTINCT aggregates into two groupings."""

from typing import Final

from msgspec import structs
from msgspec.structs import replace

from sqlfront_planner.expressions.rewriting import nameless
from sqlfront_planner.logical import LogicalAggregate, LogicalPlan, LogicalProject, transform_plan
from sqlfront_values.expressions import AggregateCall, Call, Column, Expr, Literal
from sqlfront_values.functions.aggregates import registry as aggregates
from sqlfront_values.settings import Settings
from sqlfront_values.types import BIGINT, is_decimal

#: Aggregates for which DISTINCT changes nothing.
_INDIFFERENT: Final = frozenset({"min", "max", "bool_and", "bool_or", "every", "some", "any", "collect_set"})
#: The function that merges the values over parts of the rows into the value over all rows.
_MERGED_BY: Final = {"count": "sum", "min": "min", "max": "max", "sum": "sum"}


def rewrite_distinct_aggregates(plan: LogicalPlan, settings: Settings) -> LogicalPlan:
    """Rewrite ``count(DISTINCT x) GROUP BY k`` as ``count(x) GROUP BY k`` over the rows grouped by ``k, x``,
    which can run in parallel in two stages.

    Allowed if all DISTINCT calls have the same arguments and no FILTER. Other calls must be counts, minima,
    maxima or sums (not of decimals, whose type grows with each sum): they are computed for the inner groups
    and merged.

    >>> from sqlfront_planner.testing import example
    >>> print(example(rewrite_distinct_aggregates, "select a, count(distinct b) from t group by a"))
    Project: a#0, count#1 AS count(DISTINCT b)
      Aggregate: by [a#0] count(#1)
        Aggregate: by [a#0, b#1]
          Scan: t [a, b]
    """
    return transform_plan(plan, _rewrite)


def _rewrite(plan: LogicalPlan) -> LogicalPlan:
    if not isinstance(plan, LogicalAggregate) or not any(call.distinct for call in plan.calls):
        return plan
    calls = tuple(
        structs.replace(call, distinct=False) if call.distinct and call.function in _INDIFFERENT else call
        for call in plan.calls
    )
    plan = replace(plan, calls=calls)
    distinct = [call for call in calls if call.distinct]
    others = [call for call in calls if not call.distinct]
    if not distinct or any(call.filter is not None for call in distinct):
        return plan
    arguments = {tuple(map(nameless, call.arguments)) for call in distinct}
    constants = {_constants(call) for call in distinct}
    if len(arguments) > 1 or len(constants) > 1 or not all(map(_is_mergeable, others)):
        return plan
    return _two_levels(plan, distinct[0].arguments, constants.pop(), others)


def _constants(call: AggregateCall) -> tuple[int, ...]:
    """Return the positions of the call's arguments that must be the same for all rows, such as a fraction
    or a delimiter."""
    function = aggregates.lookup_aggregate(call.function)
    return () if function is None else function.constants


def _is_mergeable(call: AggregateCall) -> bool:
    return call.function in _MERGED_BY and not (call.function == "sum" and is_decimal(call.type))


def _two_levels(
    plan: LogicalAggregate, given: tuple[Expr, ...], constants: tuple[int, ...], others: list[AggregateCall]
) -> LogicalPlan:
    names = plan.names
    arguments = tuple(argument for place, argument in enumerate(given) if place not in constants)
    count = len(plan.keys)
    inner = LogicalAggregate(
        plan.input,
        (*plan.keys, *arguments),
        tuple(others),
        (*names[:count], *("" for _ in arguments), *(call.function for call in others)),
    )
    row = inner.row()
    grouped = iter(row[count : count + len(arguments)])
    values = tuple(argument if place in constants else next(grouped) for place, argument in enumerate(given))
    parts = iter(row[count + len(arguments) :])
    calls = tuple(
        AggregateCall(call.function, values, call.type)
        if call.distinct
        else AggregateCall(_MERGED_BY[call.function], (next(parts),), call.type)
        for call in plan.calls
    )
    outer = LogicalAggregate(inner, row[:count], calls, names)
    if plan.keys or not any(call.function == "count" for call in others):
        return outer
    # Without keys and rows the inner grouping has no row, so the sum would be null instead of the count 0.
    items = tuple(_or_zero(column, call) for column, call in zip(outer.row(), plan.calls, strict=True))
    return LogicalProject(outer, items, names)


def _or_zero(column: Column, call: AggregateCall) -> Expr:
    if call.function == "count" and not call.distinct:
        return Call(BIGINT, "coalesce", (column, Literal(BIGINT, 0)))
    return column
