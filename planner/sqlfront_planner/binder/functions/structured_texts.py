"""Binding of the functions over JSON, CSV and XML texts whose schema and options are constants."""

import json
from typing import Final

import pyarrow as pa
from sqlglot import exp

from sqlfront_planner.binder.expressions.arguments import CallBinders
from sqlfront_planner.binder.expressions.expression_binder import ExpressionBinder
from sqlfront_planner.binder.functions.function_options import (
    argument_text,
    check_corrupt_field,
    check_mode,
    given_options,
    reading_call,
    schema_call,
    schema_of,
)
from sqlfront_planner.binder.trees.handlers import failure, unsupported
from sqlfront_values import types
from sqlfront_values.expressions import Call, Expr, Literal
from sqlfront_values.functions.csv.options import check_readable, function_settings
from sqlfront_values.functions.csv.settings import CsvMode
from sqlfront_values.functions.json.typed.function_options import read_settings
from sqlfront_values.functions.json.typed.settings import JsonMode
from sqlfront_values.functions.xml.typed.settings import XmlMode, xml_settings
from sqlfront_values.types import STRING


def _from_json(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
    text, schema, *rest = node.expressions
    binder.bind(text)  # errors of its own come first
    written, kind = schema_of(binder, schema, node)
    options = given_options(binder, rest[0], node) if rest else {}
    name = "entries" if pa.types.is_map(kind) else f"from_json({binder.name(text)})"
    _check_schema(name, kind, node)
    operand = argument_text(binder, name, text, node)
    settings = read_settings(options)
    check_mode("from_json", drops=settings.mode is JsonMode.DROPMALFORMED, node=node)
    if pa.types.is_struct(kind):
        check_corrupt_field(kind, settings.corrupt_column, node)
    return reading_call("from_json", kind, operand, written, options)


def _check_schema(name: str, kind: pa.DataType, node: exp.Expr) -> None:
    if not pa.types.is_nested(kind) and not types.is_variant(kind):
        raise failure(
            "DATATYPE_MISMATCH.INVALID_JSON_SCHEMA",
            f"{_schema_mismatch(name, kind)} must be a struct, an array, a map or a variant.",
            node,
        )
    _check_map_keys("INVALID_JSON_MAP_KEY_TYPE", name, kind, node)


def _schema_mismatch(name: str, kind: pa.DataType) -> str:
    return f'Cannot resolve "{name}" due to data type mismatch: Input schema "{types.sql_name(kind)}"'


def _check_map_keys(condition: str, name: str, kind: pa.DataType, node: exp.Expr) -> None:
    """Raise the subclass ``condition`` of DATATYPE_MISMATCH for a map whose keys aren't texts."""
    if not _has_text_keys(kind):
        raise failure(
            f"DATATYPE_MISMATCH.{condition}",
            f"{_schema_mismatch(name, kind)} can only contain STRING as a key type for a MAP.",
            node,
        )


def _has_text_keys(kind: pa.DataType) -> bool:
    """Return whether all maps in the type have texts as keys."""
    if pa.types.is_map(kind):
        return kind.key_type == STRING and _has_text_keys(kind.item_type)
    if pa.types.is_list(kind):
        return _has_text_keys(kind.value_type)
    return not pa.types.is_struct(kind) or all(_has_text_keys(field.type) for field in kind)


def _schema_of_json(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
    return schema_call(binder, "json", node)


def _from_csv(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
    text, schema, *rest = node.expressions
    binder.bind(text)  # errors of its own come first
    written, kind = schema_of(binder, schema, node)
    options = given_options(binder, rest[0], node) if rest else {}
    if not pa.types.is_struct(kind):
        raise failure(
            "INVALID_SCHEMA.NON_STRUCT_TYPE",
            f'The input schema "{binder.name(schema)}" is not a valid schema string. The input expression'
            f' should be evaluated to struct type, but got "{types.sql_name(kind)}".',
            node,
        )
    operand = argument_text(binder, f"from_csv({binder.name(text)})", text, node)
    settings = function_settings(options)
    check_readable(settings)
    check_mode("from_csv", drops=settings.mode is CsvMode.DROP, node=node)
    check_corrupt_field(kind, settings.corrupt, node)
    for field in kind:
        if pa.types.is_nested(field.type):
            raise failure(
                "UNSUPPORTED_DATATYPE", f'Unsupported data type "{types.sql_name(field.type)}".', node
            )
        if field.type == types.VOID:
            raise unsupported("A field of the type VOID in from_csv", node)
    return reading_call("from_csv", kind, operand, written, options)


def _schema_of_csv(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
    return schema_call(binder, "csv", node)


def _to_csv(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
    struct, *rest = node.expressions
    options = given_options(binder, rest[0], node) if rest else {}
    operand = binder.bind(struct)
    if operand.type == types.VOID:
        return Literal(STRING, None)
    if not pa.types.is_struct(operand.type) or types.holds_variant(operand.type):
        raise failure(
            "DATATYPE_MISMATCH.UNSUPPORTED_INPUT_TYPE",
            f'Cannot resolve "to_csv({binder.name(struct)})" due to data type mismatch: The input of `to_csv`'
            f' can\'t be "{types.sql_name(operand.type)}" type data.',
            node,
        )
    function_settings(options)
    return Call(STRING, "to_csv", (operand, Literal(STRING, json.dumps(options))))


def _from_xml(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
    text, schema, *rest = node.expressions
    written, kind = schema_of(binder, schema, node)
    options = given_options(binder, rest[0], node) if rest else {}
    name = f"from_xml({binder.name(text)})"
    if not pa.types.is_struct(kind) and not types.is_variant(kind):
        raise failure(
            "DATATYPE_MISMATCH.INVALID_XML_SCHEMA",
            f"{_schema_mismatch(name, kind)} must be a struct or a variant.",
            node,
        )
    _check_map_keys("INVALID_XML_MAP_KEY_TYPE", name, kind, node)
    operand = argument_text(binder, name, text, node)
    settings = xml_settings(options)
    check_mode("from_xml", drops=settings.mode is XmlMode.DROPMALFORMED, node=node)
    if pa.types.is_struct(kind):
        check_corrupt_field(kind, settings.corrupt_column, node)
    return reading_call("from_xml", kind, operand, written, options)


def _schema_of_xml(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
    call = schema_call(binder, "xml", node)
    options = given_options(binder, node.expressions[1], node) if len(node.expressions) > 1 else {}
    drops = xml_settings(options).mode is XmlMode.DROPMALFORMED
    check_mode("schema_of_xml", drops=drops, node=node)
    return call


def _to_xml(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
    struct, *rest = node.expressions
    options = given_options(binder, rest[0], node) if rest else {}
    operand = binder.bind(struct)
    if operand.type == types.VOID:
        return Literal(STRING, None)
    if not pa.types.is_struct(operand.type):
        raise failure(
            "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE",
            f'Cannot resolve "to_xml({binder.name(struct)})" due to data type mismatch: The first parameter'
            f' requires the "STRUCT" type, however it has the type "{types.sql_name(operand.type)}".',
            node,
        )
    return Call(STRING, "to_xml", (operand, Literal(STRING, json.dumps(options))))


#: The functions of this module.
STRUCTURED_TEXTS: Final[CallBinders] = {
    "from_json": (_from_json, 2, 3),
    "schema_of_json": (_schema_of_json, 1, 2),
    "from_csv": (_from_csv, 2, 3),
    "schema_of_csv": (_schema_of_csv, 1, 2),
    "to_csv": (_to_csv, 1, 2),
    "from_xml": (_from_xml, 2, 3),
    "schema_of_xml": (_schema_of_xml, 1, 2),
    "to_xml": (_to_xml, 1, 2),
}
