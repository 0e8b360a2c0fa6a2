"""Which expressions may raise: those must not be evaluated for rows that don't ask for them."""

from typing import TYPE_CHECKING

from sqlfront_engine.errors import InternalError
from sqlfront_engine.expressions import Call, Case, Cast, Column, Expr, Literal, Parameter, RunValue
from sqlfront_engine.lazy_modules import lazy_module

if TYPE_CHECKING:
    from sqlfront_engine import casts
    from sqlfront_engine.functions import registry
else:
    casts = lazy_module("sqlfront_engine.casts")
    registry = lazy_module("sqlfront_engine.functions.registry")


def can_fail(expression: Expr) -> bool:
    """Whether evaluating the expression may raise a DataError for some rows."""
    match expression:
        case Column() | Literal() | Parameter() | RunValue():
            return False
        case Call():
            return entry_of(expression).fails(expression) or any(map(can_fail, expression.arguments))
        case Cast(operand=operand, safe=safe):
            return can_fail(operand) or (not safe and casts.cast_can_fail(operand.type, expression.type))
        case Case():
            return any(map(can_fail, expression.children()))
        case _:
            raise unknown(expression)


def is_deterministic(expression: Expr) -> bool:
    """Whether the expression has the same value for the same row whenever it is evaluated."""
    if isinstance(expression, Call) and not entry_of(expression).deterministic:
        return False
    return all(map(is_deterministic, expression.children()))


def entry_of(call: Call) -> "registry.ScalarFunction":
    """The registry entry of a bound call."""
    entry = registry.lookup(call.function)
    if entry is None:
        raise InternalError(f"the expression calls {call.function}, which is not registered")
    return entry


def unknown(expression: Expr) -> InternalError:
    """The error for an expression that the engine does not know."""
    return InternalError(f"{type(expression).__name__} must not reach the engine")
