"""The optimizer: a list of rules, each a function from plan to plan.

A rule keeps the plan's answer: types, order and number of columns, and the multiset of rows. Names of columns
are for display only; those of the result are taken from the bound plan. Order is significant: each rule says
in its docstring what it needs from those before.
"""

from collections.abc import Callable
from typing import Final

from sqlfront_engine.functions.registry import Settings
from sqlfront_planner.logical import LogicalPlan
from sqlfront_planner.rules.eliminate_outer_joins import eliminate_outer_joins
from sqlfront_planner.rules.extract_join_keys import extract_join_keys
from sqlfront_planner.rules.flatten_unions import flatten_unions
from sqlfront_planner.rules.fold_constants import fold_constants
from sqlfront_planner.rules.merge_projections import merge_projections
from sqlfront_planner.rules.propagate_empty import propagate_empty
from sqlfront_planner.rules.prune_columns import prune_columns
from sqlfront_planner.rules.push_down_filters import push_down_filters
from sqlfront_planner.rules.push_down_limits import push_down_limits
from sqlfront_planner.rules.reduce_aggregates import reduce_aggregates
from sqlfront_planner.rules.remove_redundant_sorts import remove_redundant_sorts
from sqlfront_planner.rules.reorder_joins import reorder_joins
from sqlfront_planner.rules.rewrite_distinct_aggregates import rewrite_distinct_aggregates
from sqlfront_planner.rules.simplify_expressions import simplify_expressions
from sqlfront_planner.rules.surface_constant_errors import surface_constant_errors
from sqlfront_planner.rules.turn_right_joins import turn_right_joins
from sqlfront_planner.rules.unnest_subqueries import unnest_subqueries

#: A rewrite of the whole plan; ``Settings`` are the session's, for what folds constants.
Rule = Callable[[LogicalPlan, Settings], LogicalPlan]

RULES: Final[tuple[Rule, ...]] = (
    fold_constants,
    simplify_expressions,
    unnest_subqueries,
    flatten_unions,
    turn_right_joins,
    eliminate_outer_joins,
    push_down_filters,
    reduce_aggregates,
    reorder_joins,
    extract_join_keys,
    remove_redundant_sorts,
    prune_columns,
    surface_constant_errors,
    propagate_empty,
    rewrite_distinct_aggregates,
    merge_projections,
    push_down_limits,
)


def optimize(plan: LogicalPlan, settings: Settings | None = None) -> LogicalPlan:
    """The plan after all rules: without subquery expressions, fit for lowering."""
    settings = settings or Settings()
    for rule in RULES:
        plan = rule(plan, settings)
    return plan
