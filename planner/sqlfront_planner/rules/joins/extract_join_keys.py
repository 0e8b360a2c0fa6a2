"""Extraction of join keys from equalities between the two sides of a join."""

from msgspec.structs import replace

from sqlfront_planner.logical import LogicalJoin, LogicalPlan, transform_plan
from sqlfront_planner.rules.joins.join_graph import split_keys
from sqlfront_values.expressions import conjunction, conjuncts
from sqlfront_values.settings import Settings


def extract_join_keys(plan: LogicalPlan, settings: Settings) -> LogicalPlan:
    """Turn every conjunct ``left expression = right expression`` (or ``<=>``) of a join's condition into a
    key of a hash join.

    Joins of every kind may be rewritten, since keys and condition together decide which rows match.

    >>> from sqlfront_planner.testing import example
    >>> print(example(extract_join_keys, "select * from t left join u on t.a = u.a and b < c"))
    Join: left on a#0 = right.a#0 AND b#1 < c#3
      Scan: t [a, b]
      Scan: u [a, c]
    """
    return transform_plan(plan, _extract)


def _extract(plan: LogicalPlan) -> LogicalPlan:
    if not isinstance(plan, LogicalJoin) or plan.condition is None:
        return plan
    keys, rest = split_keys(conjuncts(plan.condition), plan.left.width)
    if not keys:
        return plan
    return replace(plan, keys=(*plan.keys, *keys), condition=conjunction(rest))
