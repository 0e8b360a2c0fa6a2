"""Raising the errors of constant expressions that can't be computed, even if no row needs their values."""

from contextlib import suppress

from sqlfront_planner.logical import LogicalLimit, LogicalPlan
from sqlfront_planner.rules.expressions.fold_constants import is_constant
from sqlfront_values.evaluate import check_constant
from sqlfront_values.expressions import Call, Case, Expr, Literal
from sqlfront_values.room import NotConstantError
from sqlfront_values.settings import Settings
from sqlfront_values.stacks import deep


@deep
def surface_constant_errors(plan: LogicalPlan, settings: Settings) -> LogicalPlan:
    """Raise the DataError of a constant expression that :func:`fold_constants` could not compute, as Spark
    does; return the plan unchanged if there is none.

    Branches of a CASE or COALESCE are exempt, since a row decides about them. The rule runs after column
    pruning, because a column that is never read never fails. Below LIMIT 0 no expression fails.

    >>> from sqlfront_planner.testing import example
    >>> example(surface_constant_errors, "select 1/0 from t")
    Traceback (most recent call last):
    sqlfront_values.errors.DataError: [DIVIDE_BY_ZERO] ...
    """
    if not (isinstance(plan, LogicalLimit) and plan.count == 0):
        for operand in plan.operands():
            _surface(operand, settings)
        for child in plan.inputs():
            surface_constant_errors(child, settings)
    return plan


@deep
def _surface(expression: Expr, settings: Settings) -> None:
    if isinstance(expression, Literal):
        return
    if is_constant(expression):
        with suppress(NotConstantError):
            check_constant(expression, settings)
        return
    for child in _always_evaluated(expression):
        _surface(child, settings)


def _always_evaluated(expression: Expr) -> tuple[Expr, ...]:
    match expression:
        case Case(branches=((condition, _), *_)):
            return (condition,)
        case Call(function="coalesce" | "nvl" | "ifnull" | "nvl2" | "if", arguments=(first, *_)):
            return (first,)
        case _:
            return expression.children()
