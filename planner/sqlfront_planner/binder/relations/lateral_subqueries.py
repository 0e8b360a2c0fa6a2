"""Binding of LATERAL before a subquery, and of the joins of LATERAL."""

from typing import Final

from sqlglot import exp

from sqlfront_engine.join_kinds import JoinKind
from sqlfront_planner.binder.protocols import Queries
from sqlfront_planner.binder.relations import joins
from sqlfront_planner.binder.scope import Relation, Scope
from sqlfront_planner.binder.trees.handlers import failure, unsupported
from sqlfront_planner.expressions.rewriting import is_deterministic
from sqlfront_planner.lateral_joins import LateralSubquery, LogicalLateralJoin, gives_one_row_at_most
from sqlfront_planner.logical import LogicalPlan, all_nodes
from sqlfront_values.types import VOID

_OUTER_JOINS: Final = frozenset({JoinKind.RIGHT, JoinKind.FULL})


def lateral_kind(join: exp.Join) -> JoinKind:
    """Return the kind of a join with LATERAL, INNER or LEFT. Raises INCOMPATIBLE_JOIN_TYPES,
    INVALID_LATERAL_JOIN_TYPE, UNSUPPORTED_FEATURE.LATERAL_JOIN_USING."""
    if str(join.args.get("method") or "").upper() == "NATURAL":
        raise failure("INCOMPATIBLE_JOIN_TYPES", "The join types LATERAL and NATURAL are incompatible.", join)
    kind = joins.join_kind(join)
    if kind not in (JoinKind.INNER, JoinKind.LEFT):
        words = f"{kind.value.upper()} OUTER" if kind in _OUTER_JOINS else f"LEFT {kind.value.upper()}"
        raise failure(
            "INVALID_LATERAL_JOIN_TYPE",
            f"The {words} JOIN with LATERAL correlation is not allowed because an OUTER subquery cannot "
            "correlate to its join partner. Remove the LATERAL correlation or use an INNER JOIN, or LEFT "
            "OUTER JOIN instead.",
            join,
        )
    if join.args.get("using"):
        raise failure(
            "UNSUPPORTED_FEATURE.LATERAL_JOIN_USING",
            "The feature is not supported: JOIN USING with LATERAL correlation.",
            join,
        )
    return kind


def is_written(condition: exp.Expr | None) -> bool:
    """Return whether a condition of ON stands in the text: the parser adds TRUE to a join without ON. A TRUE
    of the text has parentheses (:mod:`sqlfront_planner.tokens.laterals`)."""
    return condition is not None and not (isinstance(condition, exp.Boolean) and condition.this)


def join_subquery(
    queries: Queries, left: Relation, right: Relation, join: exp.Join, parent: Scope | None
) -> Relation:
    """Bind ``left [LEFT] JOIN LATERAL (SELECT ...) [ON condition]``, whose subquery, bound over the scope of
    ``left``, is ``right``. Raises UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY for a subquery of nondeterministic
    functions, unless there is one row at most on the left, and for such a condition."""
    kind = lateral_kind(join)
    if not _repeats(right.plan) and not gives_one_row_at_most(left.plan):
        raise failure(
            "UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY.NON_DETERMINISTIC_LATERAL_SUBQUERIES",
            "Unsupported subquery expression: Non-deterministic lateral subqueries are not supported when "
            "joining with outer relations that produce more than one row.",
            join,
        )
    both = joins.side_by_side(left, right, kind)
    condition = join.args.get("on")
    bound = None
    if condition is not None and is_written(condition):
        if condition.find(exp.Query) is not None:
            raise unsupported("A subquery in the condition of a LATERAL join", condition)
        bound = joins.join_condition(queries, both, condition, parent, left.plan.width, is_lateral=True)
    plan = LogicalLateralJoin(left.plan, LateralSubquery(VOID, right.plan), kind, bound)
    return Relation(plan, both.columns)


def _repeats(plan: LogicalPlan) -> bool:
    """Return whether all expressions of the plan are deterministic."""
    return all(is_deterministic(operand) for node in all_nodes(plan) for operand in node.operands())
