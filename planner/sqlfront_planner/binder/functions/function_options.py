"""Arguments of the functions over JSON, CSV and XML texts that are constants: schemas, and maps of
options."""

import json

import pyarrow as pa
from sqlglot import exp

from sqlfront_planner.binder.expressions.expression_binder import ExpressionBinder
from sqlfront_planner.binder.functions.schema_texts import type_of_text
from sqlfront_planner.binder.trees.handlers import failure, unsupported
from sqlfront_values import types
from sqlfront_values.errors import DatabaseError
from sqlfront_values.evaluate import evaluate_scalar
from sqlfront_values.expressions import Call, Expr, Literal
from sqlfront_values.types import STRING, VOID


def schema_of(binder: ExpressionBinder, schema: exp.Expr, node: exp.Expr) -> tuple[str, pa.DataType]:
    """Return the text that the argument ``schema`` of the call ``node`` gives, and the type that this text
    names. Raises INVALID_SCHEMA.NON_STRING_LITERAL for an argument that isn't a constant text."""
    bound = binder.bind(schema)
    known = binder.context.constant(bound, node)
    text = None
    if known is not None and known.type == STRING:
        text = evaluate_scalar(known, binder.context.settings.evaluation)
    if not isinstance(text, str):
        raise failure(
            "INVALID_SCHEMA.NON_STRING_LITERAL",
            f'The input schema "{binder.name(schema)}" is not a valid schema string. The input expression'
            " must be string literal and not null.",
            node,
        )
    try:
        return text, type_of_text(text)
    except DatabaseError as error:
        if error.condition is None:
            raise
        raise failure(error.condition, error.message, node) from None


def given_options(binder: ExpressionBinder, options: exp.Expr, node: exp.Expr) -> dict[str, str]:
    """Return the options that an argument of the call ``node`` gives. Raises INVALID_OPTIONS for an argument
    other than ``map('key', 'value', ...)``."""
    bound = binder.bind(options)
    if not isinstance(bound, Call) or bound.function != "map":
        raise failure(
            "INVALID_OPTIONS.NON_MAP_FUNCTION",
            "Invalid options: Must use the `map()` function for options.",
            node,
        )
    if bound.type != pa.map_(STRING, STRING):
        raise failure(
            "INVALID_OPTIONS.NON_STRING_TYPE",
            "Invalid options: A type of keys and values in `map()` must be string, but got "
            f'"{types.sql_name(bound.type)}".',
            node,
        )
    given: dict[str, str] = {}
    for key, value in zip(bound.arguments[::2], bound.arguments[1::2], strict=True):
        texts = [_constant_text(binder, part, node) for part in (key, value)]
        given[texts[0]] = texts[1]
    if 2 * len(given) < len(bound.arguments):
        # The map itself refuses a key that is there twice, or takes the last.
        evaluate_scalar(bound, binder.context.settings.evaluation)
    return given


def _constant_text(binder: ExpressionBinder, part: Expr, node: exp.Expr) -> str:
    known = binder.context.constant(part, node)
    value = None if known is None else evaluate_scalar(known, binder.context.settings.evaluation)
    if not isinstance(value, str):
        raise unsupported("An option that is not a constant text", node)
    return value


def argument_text(binder: ExpressionBinder, shown: str, argument: exp.Expr, node: exp.Expr) -> Expr:
    """Return the bound first argument of the call ``node``, a text. ``shown``: the call's name in messages.
    Raises DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE for an argument of another type."""
    operand = binder.bind(argument)
    if operand.type == VOID:
        return Literal(STRING, None)
    if not types.is_string(operand.type):
        raise failure(
            "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE",
            f'Cannot resolve "{shown}" due to data type mismatch: The first parameter requires the "STRING"'
            f' type, however "{binder.name(argument)}" has the type "{types.sql_name(operand.type)}".',
            node,
        )
    return operand


def schema_call(binder: ExpressionBinder, form: str, node: exp.Anonymous) -> Expr:
    """Return the call of schema_of_json, schema_of_csv or schema_of_xml (``form`` is ``json``, ``csv`` or
    ``xml``), whose text must be a constant."""
    text, *rest = node.expressions
    options = given_options(binder, rest[0], node) if rest else {}
    name = f"schema_of_{form}"
    head = f'Cannot resolve "{name}({binder.name(text)})" due to data type mismatch:'
    bound = binder.bind(text)
    known = binder.context.constant(bound, node)
    if known is None:
        raise failure(
            "DATATYPE_MISMATCH.NON_FOLDABLE_INPUT",
            f'{head} the input `{form}` should be a foldable "STRING" expression; however, got'
            f' "{binder.name(text)}".',
            node,
        )
    value = evaluate_scalar(known, binder.context.settings.evaluation)
    if value is None:
        raise failure("DATATYPE_MISMATCH.UNEXPECTED_NULL", f"{head} The {form} must not be null.", node)
    argument_text(binder, f"{name}({binder.name(text)})", text, node)
    return Call(STRING, name, (Literal(STRING, value), Literal(STRING, json.dumps(options))))


def check_mode(name: str, *, drops: bool, node: exp.Expr) -> None:
    """Raise PARSE_MODE_UNSUPPORTED if the option mode of the function ``name`` is DROPMALFORMED."""
    if drops:
        raise failure(
            "PARSE_MODE_UNSUPPORTED",
            f"The function `{name}` doesn't support the DROPMALFORMED mode. Acceptable modes are PERMISSIVE"
            " and FAILFAST.",
            node,
        )


def check_corrupt_field(kind: pa.StructType, name: str, node: exp.Expr) -> None:
    """Raise INVALID_CORRUPT_RECORD_TYPE if the field ``name``, for the texts of malformed records, is no
    string."""
    place = kind.get_field_index(name)
    if place >= 0 and kind.field(place).type != STRING:
        raise failure(
            "INVALID_CORRUPT_RECORD_TYPE",
            f"The column `{name}` for corrupt records must have the nullable STRING type, but got"
            f' "{types.sql_name(kind.field(place).type)}".',
            node,
        )


def reading_call(name: str, kind: pa.DataType, operand: Expr, schema: str, options: dict[str, str]) -> Expr:
    """Return the call of from_json, from_csv or from_xml with a result of the type ``kind``; ``schema`` is
    the type's text in the query."""
    arguments: tuple[Expr, ...] = (operand, Literal(STRING, schema), Literal(STRING, json.dumps(options)))
    if types.holds_own(kind):
        # The physical form of the result doesn't tell the units of intervals.
        arguments = (*arguments, Literal(kind, None))
    return Call(kind, name, arguments)
