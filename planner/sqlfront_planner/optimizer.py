"""The optimizer: a list of rules, each a function from plan to plan.

A rule keeps the plan's answer: types, order and number of columns, and the multiset of rows. Names of columns
are for display only; those of the result are taken from the bound plan. Order is significant: each rule says
in its docstring what it needs from those before. A rule that concerns certain nodes only is neither loaded
nor run for plans without them.
"""

from collections.abc import Callable
from functools import cached_property
from importlib import import_module
from typing import Final, cast

from sqlfront_engine.expressions import Call, Case, Cast, walk
from sqlfront_engine.settings import Settings
from sqlfront_planner.logical import (
    Aggregate,
    Exists,
    Filter,
    InSubquery,
    Join,
    Limit,
    LogicalPlan,
    ScalarSubquery,
    SetOperation,
    Sort,
    walk_plan,
)

#: A rewrite of the whole plan; ``Settings`` are the session's, for what folds constants.
Rewrite = Callable[[LogicalPlan, Settings], LogicalPlan]


class Rule:
    """The rewrite ``name`` in the module :mod:`sqlfront_planner.rules` of the same name.

    ``concerns``: the nodes and expressions of which a plan must hold one for the rule to change anything;
    none given: any plan.
    """

    def __init__(self, name: str, *concerns: type) -> None:
        self.name = name
        self.concerns = frozenset(concerns)

    def __call__(self, plan: LogicalPlan, settings: Settings) -> LogicalPlan:
        """The rewritten plan."""
        return self.rewrite(plan, settings)

    @cached_property
    def rewrite(self) -> Rewrite:
        """The rule's function, loaded when first asked for."""
        return cast(Rewrite, getattr(import_module(f"sqlfront_planner.rules.{self.name}"), self.name))


_SUBQUERIES: Final = (ScalarSubquery, Exists, InSubquery)

RULES: Final = (
    Rule("fold_constants"),
    Rule("simplify_expressions", Filter, Call, Case, Cast, *_SUBQUERIES),
    Rule("unnest_subqueries", *_SUBQUERIES),
    Rule("flatten_unions", SetOperation),
    Rule("turn_right_joins", Join),
    Rule("eliminate_outer_joins", Join),
    Rule("push_down_filters", Filter, Join),
    Rule("reduce_aggregates", Join),
    Rule("reorder_joins", Join),
    Rule("extract_join_keys", Join),
    Rule("remove_redundant_sorts", Sort),
    Rule("prune_columns"),
    Rule("surface_constant_errors", Call, Case, Cast),
    Rule("propagate_empty"),
    Rule("rewrite_distinct_aggregates", Aggregate),
    Rule("merge_projections"),
    Rule("push_down_limits", Limit),
)


def optimize(plan: LogicalPlan, settings: Settings | None = None) -> LogicalPlan:
    """The plan after all rules: without subquery expressions, fit for lowering."""
    settings = settings or Settings()
    held: set[type] | None = None
    for rule in RULES:
        if rule.concerns:
            held = _held_by(plan) if held is None else held
            if rule.concerns.isdisjoint(held):
                continue
        rewritten = rule(plan, settings)
        if rewritten is not plan:
            plan, held = rewritten, None
    return plan


def _held_by(plan: LogicalPlan) -> set[type]:
    """The classes of the nodes and of the expressions in a plan (not in the plans of subqueries)."""
    held: set[type] = set()
    for node in walk_plan(plan):
        held.add(type(node))
        for operand in node.operands():
            held.update(map(type, walk(operand)))
    return held
