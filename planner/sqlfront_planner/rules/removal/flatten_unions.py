"""Flattening of nested unions."""

from sqlfront_planner.logical import LogicalPlan, LogicalSetOperation, SetKind, transform_plan
from sqlfront_values.settings import Settings


def flatten_unions(plan: LogicalPlan, settings: Settings) -> LogicalPlan:
    """Replace a UNION ALL that is a branch of a UNION ALL by its branches.

    >>> from sqlfront_planner.testing import example
    >>> print(example(flatten_unions, "select a from t union all select b from t union all select c from u"))
    SetOperation: union all
      Project: a#0
        Scan: t [a, b]
      Project: b#1
        Scan: t [a, b]
      Project: c#1
        Scan: u [a, c]
    """
    return transform_plan(plan, _flatten)


def _flatten(plan: LogicalPlan) -> LogicalPlan:
    if not (isinstance(plan, LogicalSetOperation) and plan.kind is SetKind.UNION_ALL):
        return plan
    branches: list[LogicalPlan] = []
    for branch in plan.branches:
        nested = isinstance(branch, LogicalSetOperation) and branch.kind is SetKind.UNION_ALL
        branches.extend(branch.inputs() if nested else (branch,))
    return plan if len(branches) == len(plan.branches) else LogicalSetOperation(plan.kind, tuple(branches))
