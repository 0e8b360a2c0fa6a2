"""Expressions that may raise: the evaluator must skip rows that don't need the value."""

from typing import Final

from sqlfront_values import casts
from sqlfront_values.errors import InternalError
from sqlfront_values.expressions import (
    Call,
    Case,
    Cast,
    Chain,
    Column,
    Expr,
    HigherOrder,
    Literal,
    Parameter,
    Previous,
    RunValue,
    walk_computation,
)
from sqlfront_values.functions import registry

#: Functions of lambdas that may raise although their lambdas do not: for null and repeated keys of maps, and
#: comparisons without a result.
_FAILING: Final = frozenset({"transform_keys", "transform_keys keeping last", "array_sort"})


def can_fail(expression: Expr) -> bool:
    """Return whether evaluating the expression, its operands included, may raise an error for some rows."""
    return any(map(_fails_itself, walk_computation(expression)))


def _fails_itself(expression: Expr) -> bool:
    """Return whether the expression may raise an error although its operands do not. Raises InternalError for
    an expression that the engine does not know."""
    match expression:
        case Column() | Literal() | Parameter() | RunValue() | Case() | Chain() | Previous():
            return False
        case Call():
            return entry_of(expression).fails(expression)
        case HigherOrder(function=function):
            return function in _FAILING
        case Cast(operand=operand, safe=safe):
            return not safe and casts.cast_can_fail(operand.type, expression.type)
        case _:
            raise unknown(expression)


def is_deterministic(expression: Expr) -> bool:
    """Return whether the expression, its operands included, has the same value for the same row at every
    evaluation."""
    return all(
        not isinstance(item, Call) or entry_of(item).deterministic for item in walk_computation(expression)
    )


def entry_of(call: Call) -> "registry.ScalarFunction":
    """Return the registry's description of the function that a bound call calls. Raises InternalError if the
    function is not registered."""
    entry = registry.lookup(call.function)
    if entry is None:
        raise InternalError(f"the expression calls {call.function}, which is not registered")
    return entry


def unknown(expression: Expr) -> InternalError:
    """Build the error for an expression that the engine does not know."""
    return InternalError(f"{type(expression).__name__} must not reach the engine")
