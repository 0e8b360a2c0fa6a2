"""Translation of bound expressions into text of Spark's SQL with the same meaning.

The text means the same under any settings of Spark's parser, and states types exactly: every literal has its
type, and all implicit casts of a bound expression are written out. For an expression that has no such text,
:class:`NoText` is raised.
"""

from collections.abc import Callable, Sequence
from typing import Final

import pyarrow as pa

from sqlfront_values.expression_text import operator_text
from sqlfront_values.expressions import AggregateCall, Call, Case, Cast, Column, Expr, Literal
from sqlfront_values.functions.registry import OPERATORS
from sqlfront_values.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    ddl,
    is_decimal,
    is_interval,
)

#: The engine's internal functions, which Spark doesn't have.
_OWN: Final = frozenset(
    {
        *("dayofweek_iso", "second_with_fraction", "year_of_week", "timestampadd", "timestampdiff"),
        *("interval_year", "interval_month", "interval_day", "interval_hour", "interval_minute"),
        *("interval_second", "get_item", "get_value", "get_field", "get_fields", "too many rows"),
    }
)
#: Characters that may have a special meaning inside of quotes.
_MARKS: Final = frozenset("'\\$")
_SUFFIXES: Final = {TINYINT: "Y", SMALLINT: "S", INT: "", BIGINT: "L"}


class NoText(Exception):
    """The error of an expression that has no text with the same meaning in Spark."""


def expression_text(expression: Expr, columns: Sequence[str]) -> str:
    """Return the expression as text of Spark's SQL; ``columns``: the SQL text of each input column, by
    ordinal.

    >>> name = Column(pa.string(), 1, "name")
    >>> expression_text(Call(pa.bool_(), "less", (name, Literal(pa.string(), "it's"))), ["id", "`name`"])
    "(`name` < CAST(X'69742773' AS STRING))"

    Raises NoText if the expression, or a part of it, has no text with the same meaning.
    """
    if is_interval(expression.type):
        raise NoText
    match expression:
        case Column(ordinal=ordinal):
            return columns[ordinal]
        case Literal():
            return _literal(expression)
        case Call(function=function) if function not in _OWN:
            return _call(function, [expression_text(each, columns) for each in expression.arguments])
        case Cast(operand=operand, safe=safe):
            name = "TRY_CAST" if safe else "CAST"
            return f"{name}({expression_text(operand, columns)} AS {_type(expression.type)})"
        case Case(branches=branches, otherwise=otherwise):
            parts = [
                f"WHEN {expression_text(condition, columns)} THEN {expression_text(value, columns)}"
                for condition, value in branches
            ]
            return f"CASE {' '.join(parts)} ELSE {expression_text(otherwise, columns)} END"
        case _:
            raise NoText


def aggregate_text(call: AggregateCall, columns: Sequence[str]) -> str:
    """Return an aggregate call as text of Spark's SQL; ``columns``: the SQL text of each input column, by
    ordinal. Raises NoText if the call, or a part of it, has no text with the same meaning.

    >>> aggregate_text(AggregateCall("count", (), pa.int64()), [])
    'count(*)'
    """
    if is_interval(call.type):
        raise NoText
    arguments = ", ".join(expression_text(argument, columns) for argument in call.arguments)
    if call.function == "count" and not call.arguments:
        arguments = "*"
    text = f"{call.function}({'DISTINCT ' if call.distinct else ''}{arguments})"
    if call.filter is None:
        return text
    return f"{text} FILTER (WHERE {expression_text(call.filter, columns)})"


def _call(function: str, arguments: list[str]) -> str:
    escapes = function in ("like", "ilike") and len(arguments) > 2
    if function in OPERATORS and not escapes:
        return operator_text(function, arguments)
    return f"{function}({', '.join(arguments)})"


def _literal(literal: Literal) -> str:
    value, kind = literal.value, literal.type
    if value is None:
        return "NULL" if pa.types.is_null(kind) else f"CAST(NULL AS {_type(kind)})"
    writer = _WRITERS.get(kind)
    if writer is not None:
        return writer(value)
    if is_decimal(kind):
        return f"CAST('{value:f}' AS {_type(kind)})"
    raise NoText


def _integer(suffix: str) -> Callable[[object], str]:
    return lambda value: f"{value}{suffix}"


def _fraction(kind: str) -> Callable[[object], str]:
    return lambda value: f"CAST('{value!r}' AS {kind})"


def _string(value: object) -> str:
    text = str(value)
    if not _MARKS.isdisjoint(text):  # their meaning depends on settings
        return f"CAST(X'{text.encode().hex()}' AS STRING)"
    return f"'{text}'"


_WRITERS: Final[dict[pa.DataType, Callable[..., str]]] = {
    **{kind: _integer(suffix) for kind, suffix in _SUFFIXES.items()},
    BOOLEAN: lambda value: str(value).upper(),
    FLOAT: _fraction("FLOAT"),
    DOUBLE: _fraction("DOUBLE"),
    STRING: _string,
    BINARY: lambda value: f"X'{value.hex()}'",
    DATE: lambda value: f"DATE'{value.isoformat()}'",
    TIMESTAMP: lambda value: f"timestamp_micros({pa.scalar(value, TIMESTAMP).value}L)",
    TIMESTAMP_NTZ: lambda value: f"TIMESTAMP_NTZ'{value.isoformat(' ')}'",
}


def _type(kind: pa.DataType) -> str:
    return ddl(kind).upper() if not pa.types.is_nested(kind) else ddl(kind)
