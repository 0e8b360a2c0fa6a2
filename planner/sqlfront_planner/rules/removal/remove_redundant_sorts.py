"""Removal of sorts whose order has no effect."""

from typing import Final

from sqlfront_planner.logical import (
    LogicalAggregate,
    LogicalFilter,
    LogicalGenerate,
    LogicalLimit,
    LogicalPlan,
    LogicalProject,
    LogicalSort,
    over,
)
from sqlfront_values.settings import Settings
from sqlfront_values.stacks import deep

#: Aggregates whose value depends on the order of their rows.
ORDER_SENSITIVE: Final = frozenset(
    {
        "collect_list",
        "array_agg",
        "first",
        "first_value",
        "last",
        "last_value",
        "any_value",
        "listagg",
        "string_agg",
    }
)


def remove_redundant_sorts(plan: LogicalPlan, settings: Settings) -> LogicalPlan:
    """Remove every Sort without limit whose order the operator above loses or ignores: a join, another sort,
    a set operation, a window, an aggregation without order-sensitive functions.

    >>> from sqlfront_planner.testing import example
    >>> print(example(remove_redundant_sorts, "select max(a) from (select a from t order by b)"))
    Project: max#0 AS max(a)
      Aggregate: by [] max(a#0)
        Project: a#0
          Project: a#0, b#1 AS order1
            Scan: t [a, b]
    """
    return _visit(plan, ordered=True)


@deep
def _visit(plan: LogicalPlan, *, ordered: bool) -> LogicalPlan:
    """Return the plan without its redundant sorts. ``ordered``: whether an operator above the plan, or the
    query's result, depends on the order of the plan's rows."""
    match plan:
        case LogicalSort(limit=None, offset=0) if not ordered:
            return _visit(plan.input, ordered=False)
        case LogicalLimit():
            below = True
        case LogicalProject() | LogicalFilter() | LogicalGenerate():
            below = ordered
        case LogicalAggregate():
            below = any(call.function in ORDER_SENSITIVE for call in plan.calls)
        case _:
            below = False
    return over(plan, [_visit(child, ordered=below) for child in plan.inputs()])
