"""Types that a text gives: columns as in CREATE TABLE, one type, or the JSON form of a type."""

import json
from collections.abc import Callable
from functools import lru_cache
from typing import Final, NoReturn

import pyarrow as pa

from sqlfront_planner.statement import parse
from sqlfront_planner.statements.structs import CreateTable
from sqlfront_planner.syntax.lexer import tokens_of
from sqlfront_values.errors import DatabaseError, Error, NotSupportedError, ProgrammingError, spark_error

_VALUE: Final = "value"
_SYNTAX: Final = "PARSE_SYNTAX_ERROR"
#: Types of Spark that aren't supported here, by the names in DDL.
_UNSUPPORTED: Final = frozenset({"TIME", "INTERVAL", "GEOGRAPHY", "GEOMETRY", "OBJECT"})
_BRACKETS: Final = {"<": 1, "(": 1, ">": -1, ")": -1}
_INCOMPLETE: Final = {
    "ARRAY": ("an element type", "ARRAY<INT>"),
    "MAP": ("a key type and a value type", "MAP<TIMESTAMP, INT>"),
    "STRUCT": ("at least one field type", "STRUCT<name STRING, phone DECIMAL(10, 0)>"),
}
#: Names of types in JSON that differ from those in DDL.
_JSON_NAMES: Final = {"integer": "int", "long": "bigint", "short": "smallint", "byte": "tinyint"}


@lru_cache(maxsize=64)
def type_of_text(text: str) -> pa.DataType:
    """Return the type that a text gives, all parts of which may be null.

    >>> type_of_text("a INT, b ARRAY<STRING>")
    StructType(struct<a: int32, b: list<item: string>>)

    Raises the error of Spark's parser for any other text, and NotSupportedError for a type of Spark's that
    isn't supported.
    """
    if not any(kind != "<space>" for kind in tokens_of(text).kinds):
        raise spark_error("PARSE_EMPTY_STATEMENT", "Syntax error, unexpected empty statement.")
    columns = None if _has_colon(text) else _attempt(lambda: _declared(f"STRUCT<{text}\n>"))
    if columns is not None:
        return columns
    try:
        found = _declared(f"{text}\n")
    except DatabaseError:
        found = _of_json_text(text)
        if found is None:
            raise
    return found


def _has_colon(text: str) -> bool:
    """Return whether the text has a colon outside of brackets: between a column and its type, where Spark
    allows none."""
    depth = 0
    for kind in tokens_of(text).kinds:
        depth += _BRACKETS.get(kind, 0)
        if kind == ":" and depth == 0:
            return True
    return False


def _attempt(read: Callable[[], pa.DataType]) -> pa.DataType | None:
    try:
        return read()
    except NotSupportedError as error:
        if error.condition is None or error.condition == "UNSUPPORTED_CHAR_OR_VARCHAR_AS_STRING":
            raise
        return None
    except ProgrammingError as error:
        if error.condition == "INVALID_IDENTIFIER":
            raise
        return None


def _declared(written: str) -> pa.DataType:
    """Parse the text of a type as in CREATE TABLE. Raises Spark's errors for other texts."""
    try:
        parsed = parse(f"CREATE TABLE t ({_VALUE} {written})")
    except Error as error:
        _raise_as_spark(error, written)
    if not isinstance(parsed, CreateTable) or parsed.schema is None or parsed.schema.names != [_VALUE]:
        raise spark_error(_SYNTAX, f"Syntax error in the schema {written.strip()!r}.")
    return _bare(parsed.schema.field(0).type)


def _raise_as_spark(error: Error, written: str) -> NoReturn:
    """Raise the error that Spark has for the text of a type where CREATE TABLE has ``error``."""
    bare = written.strip().upper()
    if bare in _INCOMPLETE:
        missing, example = _INCOMPLETE[bare]
        raise spark_error(
            f"INCOMPLETE_TYPE_DEFINITION.{bare}",
            f'Incomplete complex type: The definition of "{bare}" type is incomplete. You must provide '
            f'{missing}. For example: "{example}".',
        )
    if isinstance(error, NotSupportedError) and error.condition is None:
        if "A column of type" in error.message:
            raise spark_error(
                "UNSUPPORTED_CHAR_OR_VARCHAR_AS_STRING",
                "The char/varchar type can't be used in the table schema.",
            )
        raise NotSupportedError(f"The schema {written.strip()!r} is not supported.")
    if error.condition == "UNSUPPORTED_DATATYPE":
        word = error.message.split('"')[1]
        if word in _UNSUPPORTED:
            raise NotSupportedError(f"The type {word} in a schema is not supported.")
    assert error.condition is not None
    raise spark_error(error.condition, error.message)


def _bare(kind: pa.DataType) -> pa.DataType:
    """Return the type without comments on its fields and without NOT NULL."""
    if pa.types.is_list(kind):
        return pa.list_(_bare(kind.value_type))
    if pa.types.is_map(kind):
        return pa.map_(_bare(kind.key_type), _bare(kind.item_type))
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, _bare(field.type)) for field in kind])
    return kind


def _of_json_text(text: str) -> pa.DataType | None:
    """Return the type that a text in JSON gives (``DataType.json``); None for another text."""
    try:
        return _of_json(json.loads(text))
    except (ValueError, KeyError, TypeError, AttributeError, ProgrammingError):
        return None


def _of_json(value: object) -> pa.DataType:
    if isinstance(value, str):
        name = _JSON_NAMES.get(value, value)
        if value in ("array", "map", "struct", "udt") or not name.islower():
            raise ValueError(value)
        return _declared(name)
    if not isinstance(value, dict):
        raise TypeError(value)
    match value["type"]:
        case "struct":
            return pa.struct([(field["name"], _of_json(field["type"])) for field in value["fields"]])
        case "array":
            return pa.list_(_of_json(value["elementType"]))
        case "map":
            return pa.map_(_of_json(value["keyType"]), _of_json(value["valueType"]))
        case _:
            raise ValueError(value["type"])
