"""Equal keys of new maps: an error, or the last of them counts (``spark.sql.mapKeyDedupPolicy``)."""

from msgspec.structs import replace

from sqlfront_planner.expressions.rewriting import map_operands
from sqlfront_planner.logical import LogicalPlan, Subquery, transform_plan
from sqlfront_values.expressions import Call, Expr, HigherOrder, Lambda, transform
from sqlfront_values.functions.nested.map_building import KEEPING_LAST, MAP_MAKERS


def keep_last(plan: LogicalPlan) -> LogicalPlan:
    """Return the plan with functions that keep the last of equal keys (LAST_WIN) in the place of those that
    raise DUPLICATED_MAP_KEY."""
    return transform_plan(plan, lambda node: map_operands(node, last_kept))


def last_kept(expression: Expr) -> Expr:
    """Return the expression with functions that keep the last of equal keys."""
    return transform(expression, _last_kept)


def _last_kept(expression: Expr) -> Expr:
    if isinstance(expression, HigherOrder):
        bodies = tuple(Lambda(each.parameters, last_kept(each.body)) for each in expression.lambdas)
        expression = replace(expression, lambdas=bodies)
    if isinstance(expression, Call | HigherOrder) and expression.function in MAP_MAKERS:
        return replace(expression, function=f"{expression.function} {KEEPING_LAST}")
    if isinstance(expression, Subquery):
        return replace(expression, plan=keep_last(expression.plan))
    return expression
