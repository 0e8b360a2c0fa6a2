"""Replacement of right joins by left joins."""

from sqlfront_engine.join_kinds import JoinKind
from sqlfront_planner.expressions.rewriting import remap, selected
from sqlfront_planner.logical import JoinKey, LogicalJoin, LogicalPlan, transform_plan
from sqlfront_values.settings import Settings


def turn_right_joins(plan: LogicalPlan, settings: Settings) -> LogicalPlan:
    """Turn a RIGHT join into a LEFT join with its sides exchanged, so that later rules need to handle only
    LEFT joins.

    >>> from sqlfront_planner.testing import example
    >>> print(example(turn_right_joins, "select t.a, c from t right join u on t.a = u.a"))
    Project: a#0, c#3
      Project: a#2, b#3, a#0, c#1
        Join: left on a#2 = a#0
          Scan: u [a, c]
          Scan: t [a, b]
    """
    return transform_plan(plan, _turn)


def _turn(plan: LogicalPlan) -> LogicalPlan:
    if not (isinstance(plan, LogicalJoin) and plan.kind is JoinKind.RIGHT):
        return plan
    left, right = plan.left.width, plan.right.width
    places = [*range(right, right + left), *range(right)]
    condition = None if plan.condition is None else remap(plan.condition, places)
    keys = tuple(JoinKey(key.right, key.left, key.null_safe) for key in plan.keys)
    return selected(LogicalJoin(plan.right, plan.left, JoinKind.LEFT, condition, keys), places)
