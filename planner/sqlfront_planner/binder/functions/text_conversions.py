"""Binding of to_char and to_varchar, whose meaning depends on the type of their first argument."""

from typing import Final

from sqlglot import exp

from sqlfront_planner.binder.expressions.arguments import CallBinders, call_function, function_name
from sqlfront_planner.binder.expressions.expression_binder import ExpressionBinder
from sqlfront_planner.binder.functions.times import date_format
from sqlfront_planner.binder.names.shown_names import quoted
from sqlfront_planner.binder.trees.handlers import failure
from sqlfront_planner.types import DATETIMES
from sqlfront_values import types
from sqlfront_values.evaluate import evaluate_scalar
from sqlfront_values.expressions import Expr, Literal

#: The notations of binary values; ``decode`` also takes the notation itself.
_NOTATIONS: Final = {"base64": "base64", "hex": "hex", "utf-8": "decode"}


def _to_char(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
    """Bind ``to_char(value, format)``: a date or timestamp by date_format, a binary by its notation, any
    other value as a number."""
    operands = binder.bind_all(node.expressions)
    if operands[0].type in DATETIMES or types.is_time(operands[0].type):
        return date_format(binder, operands, node)
    if operands[0].type == types.BINARY:
        return _binary_text(binder, operands, node)
    return call_function(binder, "to_char", operands, node)


def binary_notation(binder: ExpressionBinder, notation: Expr, node: exp.Anonymous) -> str:
    """Return the constant text that ``notation``, the second argument of the call ``node``, is. Raises
    NON_FOLDABLE_ARGUMENT if the argument reads a row or isn't a string."""
    name = function_name(node)
    known = binder.context.constant(notation, node) if notation.type == types.STRING else None
    if known is None:
        raise failure(
            "NON_FOLDABLE_ARGUMENT",
            f"The function {quoted((name,))} requires the parameter `format` to be a foldable expression of "
            f"the"
            f' type "{types.sql_name(notation.type)}", but the actual argument is a non-foldable.',
            node,
        )
    value = evaluate_scalar(known, binder.context.settings.evaluation)
    if not isinstance(value, str):
        raise failure(
            "INVALID_PARAMETER_VALUE.NULL",
            f"The value of parameter(s) `format` in {quoted((name,))} is invalid: expects a non-NULL value.",
            node,
        )
    return value


def _binary_text(binder: ExpressionBinder, operands: list[Expr], node: exp.Anonymous) -> Expr:
    text = binary_notation(binder, operands[1], node)
    function = _NOTATIONS.get(text.lower().strip())
    if function is None:
        raise failure(
            "INVALID_PARAMETER_VALUE.BINARY_FORMAT",
            f"The value of parameter(s) `format` in {quoted((function_name(node),))} is invalid: expects "
            f"one of"
            f" binary formats 'base64', 'hex', 'utf-8', but got '{text}'.",
            node,
        )
    notation = [Literal(types.STRING, text)] if function == "decode" else []
    return call_function(binder, function, [operands[0], *notation], node)


TEXT_CONVERSIONS: Final[CallBinders] = {"to_char": (_to_char, 2, 2), "to_varchar": (_to_char, 2, 2)}
