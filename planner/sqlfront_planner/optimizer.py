"""The optimizer: a list of rules, each a function from plan to plan.

A rule preserves the plan's result: types, order and number of columns, and the multiset of rows. Names of
columns are for display only; the result takes its names from the bound plan. The order of the rules matters:
the docstring of each rule says what it requires of the rules that run before it. A rule for certain nodes
only is neither loaded nor run for plans without such nodes.
"""

from collections.abc import Callable
from functools import cached_property
from importlib import import_module
from typing import Final, cast

from sqlfront_engine.join_kinds import JoinKind
from sqlfront_planner import merged_sessions
from sqlfront_planner.logical import (
    LogicalAggregate,
    LogicalFilter,
    LogicalJoin,
    LogicalLimit,
    LogicalPlan,
    LogicalScan,
    LogicalSetOperation,
    LogicalSort,
    LogicalWindow,
    Subquery,
)
from sqlfront_values.expressions import Call, Case, Cast, Column, Expr, Literal, Parameter
from sqlfront_values.room import check
from sqlfront_values.settings import Settings

#: A rewrite of the whole plan. ``Settings`` are the session's settings, for rules that fold constants.
Rewrite = Callable[[LogicalPlan, Settings], LogicalPlan]


class Rule:
    """A rule of the optimizer, named by its module in :mod:`sqlfront_planner.rules`, such as
    ``joins.reorder_joins``; the module's function of the same name is the rewrite.

    ``concerns``: constructs (see :func:`constructs`) of which a plan must have at least one, else the rule is
    skipped; if none are given, the rule runs on every plan. ``brings``: the rule may add constructs to the
    plan, for which later rules then run.
    """

    def __init__(self, module: str, *concerns: object, brings: bool = False) -> None:
        self.module = module
        self.name = module.rpartition(".")[2]
        self.concerns = frozenset(concerns)
        self.brings = brings

    def __call__(self, plan: LogicalPlan, settings: Settings) -> LogicalPlan:
        """Apply the rule to the plan; return the rewritten plan."""
        return self.rewrite(plan, settings)

    @cached_property
    def rewrite(self) -> Rewrite:
        """The rule's function; the first access imports its module."""
        return cast(Rewrite, getattr(import_module(f"sqlfront_planner.rules.{self.module}"), self.name))


RULES: Final = (
    Rule("expressions.fold_constants", Literal, Parameter),
    Rule("expressions.simplify_expressions", LogicalFilter, Call, Case, Cast),
    Rule("subqueries.unnest_subqueries", Subquery, brings=True),
    Rule("removal.flatten_unions", LogicalSetOperation),
    Rule("joins.turn_right_joins", JoinKind.RIGHT, brings=True),
    Rule("joins.eliminate_outer_joins", JoinKind.LEFT, JoinKind.FULL),
    Rule("pushdown.push_down_filters", LogicalFilter, LogicalJoin),
    Rule("aggregates.reduce_aggregates", LogicalAggregate),
    Rule("joins.reorder_joins", LogicalJoin),
    Rule("joins.extract_join_keys", LogicalJoin),
    Rule("removal.remove_redundant_sorts", LogicalSort),
    Rule("removal.prune_columns"),
    Rule("expressions.surface_constant_errors", Literal),
    Rule("removal.propagate_empty", Literal, LogicalLimit, LogicalSort),
    Rule("aggregates.rewrite_distinct_aggregates", LogicalAggregate),
    Rule("removal.merge_projections"),
    Rule("pushdown.push_down_limits", LogicalLimit),
)


def optimize(
    plan: LogicalPlan, settings: Settings | None = None, held: frozenset[object] | None = None
) -> LogicalPlan:
    """Apply all rules that concern the plan, in the order of :data:`RULES`. The result has no subquery
    expressions and is ready for lowering. ``settings``: the session's settings, None = the defaults.
    ``held``: the plan's :func:`constructs` if the caller has computed them, else None. Raises
    NotSupportedError for a filter of merged sessions."""
    settings = settings or Settings()
    if held is None:
        held = constructs(plan)
    for rule in RULES:
        if rule.concerns and rule.concerns.isdisjoint(held):
            continue
        check()
        rewritten = rule.rewrite(plan, settings)
        if rule.brings and rewritten is not plan:
            held = constructs(rewritten)
        plan = rewritten
    if LogicalWindow in held:
        merged_sessions.refuse_filtered_sessions(plan)
    return plan


def constructs(plan: LogicalPlan) -> frozenset[object]:
    """Return the constructs of a plan, subqueries included: the classes of its nodes, expressions and tables,
    and the kinds of its joins. A call without arguments is a constant and counts as a :class:`Literal`, too;
    any subquery counts as a :class:`Subquery`."""
    held: set[object] = set()
    seen: set[int] = set()
    items: list[LogicalPlan | Expr] = [plan]
    for item in items:  # the loop appends
        held.add(type(item))
        if isinstance(item, Column):
            continue
        if isinstance(item, Expr):
            children = item.children()
            items += children
            if isinstance(item, Subquery):
                held.add(Subquery)
                items.append(item.plan)
            elif isinstance(item, Call) and not children:
                held.add(Literal)
        elif id(item) not in seen:
            seen.add(id(item))
            items += item.operands()
            items += item.inputs()
            if isinstance(item, LogicalJoin):
                held.add(item.kind)
            elif isinstance(item, LogicalScan):
                held.add(type(item.table))
    return frozenset(held)
