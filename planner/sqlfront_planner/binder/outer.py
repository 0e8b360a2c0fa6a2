"""What a subquery sees of its enclosing row, when that row changes under it."""

from collections.abc import Callable

import msgspec

from sqlfront_engine.expressions import Expr, transform
from sqlfront_planner.logical import LogicalPlan, OuterColumn, Subquery, transform_plan
from sqlfront_planner.rewriting import map_operands


def replace_outer(subquery: Subquery, rewrite: Callable[[OuterColumn], Expr]) -> Subquery:
    """The subquery with every column of its enclosing row replaced.

    Subqueries nested in it are left alone: their outer columns mean the subquery's own rows.
    """

    def replace(item: Expr) -> Expr:
        return rewrite(item) if isinstance(item, OuterColumn) else item

    def visit(plan: LogicalPlan) -> LogicalPlan:
        return map_operands(plan, lambda operand: transform(operand, replace))

    return msgspec.structs.replace(subquery, plan=transform_plan(subquery.plan, visit))
