"""Sameness of bound expressions: expressions that differ in the order or the grouping of operands mean the
same if the operator allows it."""

from typing import Final

from sqlfront_planner.expressions.rewriting import nameless
from sqlfront_values.expressions import Call, Expr, HigherOrder, Lambda, transform, walk

_ASSOCIATIVE: Final = frozenset({"add", "multiply", "bit_and_op", "bit_or_op", "bit_xor_op", "and", "or"})
_COMMUTATIVE: Final = _ASSOCIATIVE | {"equal"}
_MIRRORED: Final = {"greater": "less", "greater_equal": "less_equal"}


def is_same(key: Expr, expression: Expr) -> bool:
    """Return whether an expression means the same as a grouping key; in Spark ``b + a`` equals ``a + b``, and
    ``b > a`` equals ``a < b``. The names of lambdas' parameters make no difference."""
    if key == expression:
        return True
    if key.type == expression.type and any(isinstance(item, HigherOrder) for item in walk(key)):
        return _unnamed(key) == _unnamed(expression)
    both_calls = isinstance(key, Call) and isinstance(expression, Call) and key.type == expression.type
    return both_calls and meaning_of(key) == meaning_of(expression)


def _unnamed(expression: Expr) -> Expr:
    """Return the expression with bodies of lambdas without names of their columns."""
    return transform(expression, _without_names)


def _without_names(item: Expr) -> Expr:
    if not isinstance(item, HigherOrder):
        return item
    lambdas = tuple([Lambda(one.parameters, nameless(_unnamed(one.body))) for one in item.lambdas])
    return HigherOrder(item.type, item.function, item.arguments, item.captured, lambdas)


def meaning_of(expression: Expr) -> Expr:
    """Return a canonical form of an expression: expressions that mean the same (:func:`is_same`) have equal
    forms."""
    return transform(expression, _in_order) if isinstance(expression, Call) else expression


def _in_order(expression: Expr) -> Expr:
    """Return the expression, with the operands of its top call in a canonical order if the order doesn't
    matter, and ``>`` written as ``<``."""
    if not isinstance(expression, Call):
        return expression
    if expression.function in _MIRRORED:
        return Call(expression.type, _MIRRORED[expression.function], expression.arguments[::-1])
    if expression.function in _COMMUTATIVE:
        return expression.with_children(tuple(sorted(_chain(expression, expression), key=repr)))
    return expression


def _chain(expression: Expr, top: Call) -> list[Expr]:
    """Return the operands of a chain of one associative function and type, such as ``a + b + c``, whatever
    its grouping; ``top`` is the chain's outermost call. An expression that doesn't continue the chain is an
    operand."""
    same = isinstance(expression, Call) and (expression.function, expression.type) == (top.function, top.type)
    if not same or top.function not in _ASSOCIATIVE:
        return [expression] if expression is not top else list(top.arguments)
    return [operand for part in expression.children() for operand in _chain(part, top)]
