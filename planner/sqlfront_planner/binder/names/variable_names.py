"""Spark's text of SQL variables in names of result columns, which shows the variable's value:
``variablereference(system.session.x=5)``."""

import re
from decimal import Decimal
from typing import Final

import pyarrow as pa

from sqlfront_planner.binder.names.shown_names import quoted
from sqlfront_values import evaluate, types
from sqlfront_values.expressions import Cast, Literal
from sqlfront_values.settings import Settings

#: What follows a whole number of these types in SQL.
_SUFFIXES: Final = {types.BIGINT: "L", types.SMALLINT: "S", types.TINYINT: "Y", types.INT: ""}
_ESCAPES: Final = str.maketrans({"\\": "\\\\", "'": "\\'"})


def variable_text(name: str, value: Literal, settings: Settings) -> str:
    """Return the text of a variable with this value."""
    return f"variablereference(system.session.{_part(name.lower())}={value_sql(value, settings)})"


def _part(name: str) -> str:
    """Return a name with backticks if it needs them."""
    return name if re.fullmatch(r"\w+", name) and not name.isdigit() else quoted((name,))


def value_sql(literal: Literal, settings: Settings) -> str:
    """Return a value as Spark writes it in SQL.

    >>> value_sql(Literal(types.BIGINT, 5), Settings("UTC"))
    '5L'
    """
    kind, value = literal.type, literal.value
    if value is None:
        return "NULL" if kind == types.VOID else f"CAST(NULL AS {types.sql_name(kind)})"
    if kind in _SUFFIXES:
        return f"{value}{_SUFFIXES[kind]}"
    if kind == types.BOOLEAN:
        return str(value).lower()
    if types.is_string(kind):
        return f"'{str(value).translate(_ESCAPES)}'"
    if isinstance(value, Decimal):
        return f"{value}BD"
    if kind == types.BINARY and isinstance(value, bytes):
        return f"X'{value.hex().upper()}'"
    if pa.types.is_nested(kind):
        return _nested(literal, settings)
    text = evaluate.evaluate_scalar(Cast(types.STRING, literal), settings)
    if kind == types.DOUBLE:
        return f"{text}D"
    if kind == types.FLOAT:
        return f"CAST({text} AS FLOAT)"
    return str(text) if types.is_interval(kind) else f"{types.sql_name(kind).partition('(')[0]} '{text}'"


def _nested(literal: Literal, settings: Settings) -> str:
    kind, value = literal.type, literal.value
    if pa.types.is_struct(kind):
        assert isinstance(value, dict)
        parts = [
            f"'{field.name}', {value_sql(Literal(field.type, item), settings)}"
            for field, item in zip(kind, value.values(), strict=True)
        ]
        return f"NAMED_STRUCT({', '.join(parts)})"
    assert isinstance(value, list)
    if pa.types.is_map(kind):
        pairs = [
            value_sql(Literal(side, item), settings)
            for pair in value
            for side, item in zip((kind.key_type, kind.item_type), pair, strict=True)
        ]
        return f"MAP({', '.join(pairs)})"
    return f"ARRAY({', '.join(value_sql(Literal(kind.value_type, item), settings) for item in value)})"
