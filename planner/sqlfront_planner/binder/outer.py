"""What a subquery sees of its enclosing row, when that row changes under it."""

from collections.abc import Callable

import msgspec
from sqlglot import exp

from sqlfront_planner.binder.syntax import unsupported
from sqlfront_planner.logical import (
    Exists,
    InSubquery,
    LogicalPlan,
    OuterColumn,
    ScalarSubquery,
    Subquery,
    transform_plan,
)
from sqlfront_planner.rewriting import map_operands
from sqlfront_planner.rules.decorrelation import is_correlated
from sqlfront_values.expressions import Expr, transform, walk


def refuse_correlated(expression: Expr, place: str, node: exp.Expr) -> None:
    """Raise NotSupportedError for a scalar subquery that reads the row around it, where Spark has none."""
    if any(isinstance(item, ScalarSubquery) and is_correlated(item.plan) for item in walk(expression)):
        raise unsupported(f"A correlated subquery {place}", node)


def refuse_predicates(expression: Expr, place: str, node: exp.Expr) -> None:
    """Raise NotSupportedError for EXISTS, and IN over a query, where Spark has neither."""
    if any(isinstance(item, Exists | InSubquery) for item in walk(expression)):
        raise unsupported(f"EXISTS or IN over a query {place}", node)


def replace_outer(subquery: Subquery, rewrite: Callable[[OuterColumn], Expr]) -> Subquery:
    """The subquery with every column of its enclosing row replaced.

    Subqueries nested in it are left alone: their outer columns mean the subquery's own rows.
    """

    def replace(item: Expr) -> Expr:
        return rewrite(item) if isinstance(item, OuterColumn) else item

    def visit(plan: LogicalPlan) -> LogicalPlan:
        return map_operands(plan, lambda operand: transform(operand, replace))

    return msgspec.structs.replace(subquery, plan=transform_plan(subquery.plan, visit))
