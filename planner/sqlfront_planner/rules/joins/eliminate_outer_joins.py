"""Replacement of outer joins by inner joins if the plan drops the unmatched rows."""

from collections.abc import Iterable

from msgspec.structs import replace

from sqlfront_engine.generators import Generator
from sqlfront_engine.join_kinds import JoinKind
from sqlfront_planner.expressions.rewriting import null_rejected_columns, strict_columns
from sqlfront_planner.logical import (
    LogicalAggregate,
    LogicalFilter,
    LogicalGenerate,
    LogicalJoin,
    LogicalPlan,
    LogicalProject,
    LogicalSort,
    LogicalWindow,
    over,
)
from sqlfront_values.expressions import Expr, conjuncts
from sqlfront_values.settings import Settings
from sqlfront_values.stacks import deep

Rejected = frozenset[int]


def eliminate_outer_joins(plan: LogicalPlan, settings: Settings) -> LogicalPlan:
    """Turn a LEFT join into an INNER join if the nodes above drop every row whose right columns are null;
    turn a FULL join into a LEFT or INNER join by the same reasoning.

    A condition above (a filter, an inner or semi join) that is not true if a column of one side is null drops
    all rows in which the outer join has put nulls for this side, perhaps with others.

    >>> from sqlfront_planner.testing import example
    >>> print(example(eliminate_outer_joins, "select b from t left join u on t.a = u.a where c > 1"))
    Project: b#1
      Filter: c#3 > 1
        Join: inner on a#0 = a#2
          Scan: t [a, b]
          Scan: u [a, c]
    """
    return _visit(plan, frozenset())


@deep
def _visit(plan: LogicalPlan, rejected: Rejected) -> LogicalPlan:
    """Return the plan with its outer joins rewritten. ``rejected``: the columns of the plan's row for which
    the nodes above drop every row with a null."""
    match plan:
        case LogicalFilter():
            return _over(plan, [rejected | _rejected_by(conjuncts(plan.condition))])
        case LogicalProject():
            items = (strict_columns(plan.expressions[place]) for place in rejected)
            return _over(plan, [frozenset[int]().union(*items)])
        case LogicalAggregate():
            keys = (strict_columns(plan.keys[place]) for place in rejected if place < len(plan.keys))
            return _over(plan, [frozenset[int]().union(*keys)])
        case LogicalSort(limit=None, offset=0):
            return _over(plan, [rejected])
        case LogicalWindow():
            # Rows that are dropped above the window still count in the frames of other rows.
            return _over(plan, [frozenset()])
        case LogicalGenerate():
            below = frozenset(place for place in rejected if place < plan.input.width)
            if not plan.outer and plan.generator not in (Generator.STACK, Generator.JSON_TUPLE):
                below |= strict_columns(plan.arguments[0])  # null gives no rows
            return _over(plan, [below])
        case LogicalJoin():
            return _visit_join(plan, rejected)
        case _:
            return _over(plan, [frozenset()] * len(plan.inputs()))


def _over(plan: LogicalPlan, rejected: Iterable[Rejected]) -> LogicalPlan:
    pairs = zip(plan.inputs(), rejected, strict=True)
    return over(plan, [_visit(child, columns) for child, columns in pairs])


def _rejected_by(parts: Iterable[Expr]) -> Rejected:
    return frozenset[int]().union(*(null_rejected_columns(part) for part in parts))


def _visit_join(plan: LogicalJoin, rejected: Rejected) -> LogicalPlan:
    width = plan.left.width
    needs_left = any(place < width for place in rejected)
    needs_right = any(place >= width for place in rejected)
    kind = _strengthened(plan.kind, needs_left, needs_right)
    join = plan if kind is plan.kind else replace(plan, kind=kind)
    on = _rejected_by(() if plan.condition is None else conjuncts(plan.condition))
    keys = [key for key in plan.keys if not key.null_safe]
    on = on.union(*(strict_columns(key.left) for key in keys))
    on |= {width + place for key in keys for place in strict_columns(key.right)}
    left = rejected if kind is not JoinKind.FULL else frozenset()
    right = rejected if kind is JoinKind.INNER else frozenset()
    if kind in (JoinKind.INNER, JoinKind.SEMI):
        left |= on
    if kind in (JoinKind.INNER, JoinKind.SEMI, JoinKind.LEFT, JoinKind.ANTI):
        right |= on
    return _over(
        join,
        [
            frozenset(place for place in left if place < width),
            frozenset(place - width for place in right if place >= width),
        ],
    )


def _strengthened(kind: JoinKind, needs_left: bool, needs_right: bool) -> JoinKind:
    """Return the kind of join that gives exactly the rows that the nodes above keep. ``needs_left`` and
    ``needs_right``: the nodes above drop the rows without a partner on that side, since they drop rows with
    a null in a column of that side."""
    match kind:
        case JoinKind.LEFT if needs_right:
            return JoinKind.INNER
        case JoinKind.FULL if needs_left and needs_right:
            return JoinKind.INNER
        case JoinKind.FULL if needs_left:
            return JoinKind.LEFT
        case _:
            return kind
