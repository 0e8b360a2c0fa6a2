"""Merging of a projection over a projection."""

from collections import Counter

from sqlfront_planner.expressions.rewriting import is_deterministic, is_trivial, substitute
from sqlfront_planner.logical import LogicalPlan, LogicalProject, transform_plan
from sqlfront_values.expressions import Column, Expr, walk
from sqlfront_values.settings import Settings


def merge_projections(plan: LogicalPlan, settings: Settings) -> LogicalPlan:
    """Merge a projection of a projection into one projection, unless that would compute an expression twice.

    Allowed if the inner expressions are deterministic and each nontrivial one is read once.

    >>> from sqlfront_planner.testing import example
    >>> print(example(merge_projections, "select x * 2 as y from (select a + 1 as x from t)"))
    Project: (a#0 + 1) * 2 AS y
      Scan: t [a, b]
    """
    return transform_plan(plan, _merge)


def _merge(plan: LogicalPlan) -> LogicalPlan:
    if not (isinstance(plan, LogicalProject) and isinstance(plan.input, LogicalProject)):
        return plan
    inner = plan.input.expressions
    reads = Counter(
        item.ordinal for outer in plan.expressions for item in walk(outer) if isinstance(item, Column)
    )
    if not all(_may_move(inner[place], count) for place, count in reads.items()):
        return plan
    merged = tuple(substitute(outer, inner) for outer in plan.expressions)
    return _merge(LogicalProject(plan.input.input, merged, plan.names))


def _may_move(expression: Expr, reads: int) -> bool:
    return is_trivial(expression) or (reads == 1 and is_deterministic(expression))
