"""Which expressions may raise: those must not be evaluated for rows that don't ask for them."""

from sqlfront_engine.errors import InternalError
from sqlfront_engine.expressions import Call, Case, Cast, Column, Expr, Literal, Parameter, RunValue
from sqlfront_engine.functions.registry import ScalarFunction, lookup


def can_fail(expression: Expr) -> bool:
    """Whether evaluating the expression may raise a DataError for some rows."""
    match expression:
        case Column() | Literal() | Parameter() | RunValue():
            return False
        case Call():
            return entry_of(expression).fails(expression) or any(map(can_fail, expression.arguments))
        case Cast(operand=operand, safe=safe):
            from sqlfront_engine.casts import cast_can_fail  # noqa: PLC0415 - loaded when first needed

            return can_fail(operand) or (not safe and cast_can_fail(operand.type, expression.type))
        case Case():
            return any(map(can_fail, expression.children()))
        case _:
            raise unknown(expression)


def is_deterministic(expression: Expr) -> bool:
    """Whether the expression has the same value for the same row whenever it is evaluated."""
    if isinstance(expression, Call) and not entry_of(expression).deterministic:
        return False
    return all(map(is_deterministic, expression.children()))


def entry_of(call: Call) -> ScalarFunction:
    """The registry entry of a bound call."""
    entry = lookup(call.function)
    if entry is None:
        raise InternalError(f"the expression calls {call.function}, which is not registered")
    return entry


def unknown(expression: Expr) -> InternalError:
    """The error for an expression that the engine does not know."""
    return InternalError(f"{type(expression).__name__} must not reach the engine")
