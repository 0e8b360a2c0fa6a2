"""Checks and rewrites of subqueries that read the enclosing query's row, for clauses in which Spark allows no
such subquery, and for grouping, which changes that row."""

from collections.abc import Callable

import msgspec
from sqlglot import exp

from sqlfront_planner.binder.trees.handlers import unsupported
from sqlfront_planner.expressions.rewriting import is_correlated, map_operands
from sqlfront_planner.logical import (
    LogicalPlan,
    OuterColumn,
    ScalarSubquery,
    Subquery,
    distinct_nodes,
    transform_plan,
)
from sqlfront_values.expressions import Expr, columns_used, transform, walk


def refuse_correlated(expression: Expr, place: str, node: exp.Expr) -> None:
    """Raise NotSupportedError if the expression has a scalar subquery that reads the enclosing query's row.
    ``place`` names the clause in the message, such as "in ORDER BY"."""
    if any(isinstance(item, ScalarSubquery) and is_correlated(item.plan) for item in walk(expression)):
        raise unsupported(f"A correlated subquery {place}", node)


def ordinals_read(subquery: Subquery) -> set[int]:
    """Return the ordinals of the enclosing query's columns that a subquery and its operands read."""
    found = set().union(*map(columns_used, subquery.children()))
    for plan in distinct_nodes(subquery.plan):
        for operand in plan.operands():
            found |= {item.ordinal for item in walk(operand) if isinstance(item, OuterColumn)}
    return found


def replace_outer(subquery: Subquery, rewrite: Callable[[OuterColumn], Expr]) -> Subquery:
    """Return the subquery with ``rewrite`` applied to every column of the enclosing row that its plan reads.

    Nested subqueries stay unchanged, since their enclosing rows are rows of this subquery.
    """

    def replace(item: Expr) -> Expr:
        return rewrite(item) if isinstance(item, OuterColumn) else item

    def visit(plan: LogicalPlan) -> LogicalPlan:
        return map_operands(plan, lambda operand: transform(operand, replace))

    return msgspec.structs.replace(subquery, plan=transform_plan(subquery.plan, visit))
