"""The optimizer: a list of rules, each a function from plan to plan.

A rule keeps the plan's answer: types, order and number of columns, and the multiset of rows. Names of columns
are for display only; those of the result are taken from the bound plan. Order is significant: each rule says
in its docstring what it needs from those before.
"""

from collections.abc import Callable
from typing import Final

from sqlfront_engine.functions.registry import Settings
from sqlfront_planner.logical import LogicalPlan
from sqlfront_planner.rules.merge_projections import merge_projections
from sqlfront_planner.rules.prune_columns import prune_columns
from sqlfront_planner.rules.push_down_filters import push_down_filters
from sqlfront_planner.rules.push_down_limits import push_down_limits

#: A rewrite of the whole plan; ``Settings`` are the session's, for what folds constants.
Rule = Callable[[LogicalPlan, Settings], LogicalPlan]

RULES: Final[tuple[Rule, ...]] = (
    push_down_filters,
    prune_columns,
    merge_projections,
    push_down_limits,
)


def optimize(plan: LogicalPlan, settings: Settings | None = None) -> LogicalPlan:
    """The plan after all rules: without subquery expressions, fit for lowering."""
    settings = settings or Settings()
    for rule in RULES:
        plan = rule(plan, settings)
    return plan
