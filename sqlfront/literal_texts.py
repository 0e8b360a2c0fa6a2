"""Python values written as literals of Spark's SQL. A literal has the same type and value as the Python value
has as a parameter of a statement."""

import math
from collections.abc import Callable
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any, Final, TypeAlias

import pyarrow as pa

from sqlfront_planner.binder.context import typed_value
from sqlfront_values.errors import DataError
from sqlfront_values.types import BIGINT, TIMESTAMP_NTZ, ddl, is_fractional, is_interval, is_year_month

#: A Python value of any SQL type.
Value: TypeAlias = Any

#: Characters of a string literal that are written otherwise. Spark reads a backslash as the begin of an
#: escape.
_ESCAPES: Final = str.maketrans(
    {"\\": "\\\\", "'": "\\'", "\0": "\\0", "\n": "\\n", "\r": "\\r", "\x1a": "\\Z"}
)
_MICROS: Final = timedelta(microseconds=1)


def argument_literal(value: Value, kind: pa.DataType) -> str:
    """Return the SQL literal of an argument's ``value``, which has the SQL type ``kind``; both are as
    :class:`~sqlfront_planner.binder.context.Arguments` stores them. Raises DataError for a value that no
    literal can express.

    >>> argument_literal(1, pa.int32()), argument_literal(1, pa.int64()), argument_literal(-1.5, pa.float64())
    ('1', '1L', '(-1.5D)')
    """
    if kind == BIGINT and value is not None:
        return _signed(f"{value}L")
    if value is None or typed_value(value)[1] == kind:
        return literal_of(value)
    if pa.types.is_nested(kind) or is_interval(kind) or kind == TIMESTAMP_NTZ:
        return typed_literal(value, kind)
    return f"CAST({literal_of(value)} AS {type_text(kind)})"


def typed_literal(value: Value, kind: pa.DataType) -> str:
    """Return a SQL expression that has the type ``kind`` and the value ``value``: a struct's value is a
    dictionary, a map's a list of pairs, an interval's of months a number.

    >>> typed_literal([1, None], pa.list_(pa.int64()))
    'CAST(array(1, NULL) AS array<bigint>)'
    """
    if value is None:
        return f"CAST(NULL AS {type_text(kind)})"
    if pa.types.is_nested(kind):
        return f"CAST({_nested(value, kind)} AS {type_text(kind)})"
    if is_year_month(kind):
        return f"make_ym_interval(0, {int(value)})"
    if is_interval(kind):
        return f"CAST({literal_of(value)} AS {type_text(kind)})"
    if kind == TIMESTAMP_NTZ:
        return f"TIMESTAMP_NTZ'{value.isoformat(' ')}'"
    if is_fractional(kind):
        return f"CAST({literal_of(float(value))} AS {type_text(kind)})"
    return literal_of(value)


def _nested(value: Value, kind: pa.DataType) -> str:
    if pa.types.is_struct(kind):
        fields = (f"{string_literal(each.name)}, {_item(value[each.name], each.type)}" for each in kind)
        return f"named_struct({', '.join(fields)})"
    if pa.types.is_map(kind):
        keys = typed_literal([key for key, _ in value], pa.list_(kind.key_type))
        items = typed_literal([item for _, item in value], pa.list_(kind.item_type))
        return f"map_from_arrays({keys}, {items})"
    return f"array({', '.join(_item(item, kind.value_type) for item in value)})"


def _item(value: Value, kind: pa.DataType) -> str:
    """Return the SQL of an element of an array or a field of a struct; a null needs no type here, since the
    array or struct is cast."""
    return "NULL" if value is None else typed_literal(value, kind)


def literal_of(value: object) -> str:
    r"""Return the SQL literal of a Python value, with the type that the value has as a parameter. A negative
    number is in parentheses, since two minus signs begin a comment. Raises DataError for a value that no
    literal can express.

    >>> print(literal_of("it's"), literal_of(Decimal("-1.50")), literal_of(b"a"), literal_of(None))
    'it\'s' (-1.50BD) X'61' NULL
    """
    for kind, writer in _WRITERS:
        if isinstance(value, kind):
            return writer(value)
    if isinstance(value, (list, tuple)):
        return f"array({', '.join(literal_of(item) for item in value)})"
    raise DataError(f"{value!r} ({type(value).__name__}) has no literal in SQL")


def string_literal(text: str) -> str:
    """Return the text as a SQL string literal."""
    return f"'{text.translate(_ESCAPES)}'"


def _integer(value: int) -> str:
    if -(2**63) <= value < 2**63:
        return _signed(str(int(value)))
    return _decimal(Decimal(value))


def _float(value: float) -> str:
    if math.isfinite(value):
        return _signed(f"{float(value)!r}D")
    return f"CAST('{value!r}' AS DOUBLE)"


def _decimal(value: Decimal) -> str:
    if not value.is_finite():
        raise DataError(f"the decimal {value} has no literal in SQL")
    return _signed(f"{value:f}BD")


def _signed(text: str) -> str:
    return f"({text})" if text.startswith("-") else text


def _datetime(value: datetime) -> str:
    return f"TIMESTAMP'{value.isoformat(' ')}'"


def _interval(value: timedelta) -> str:
    micros = value // _MICROS
    sign, micros = ("-" if micros < 0 else ""), abs(micros)
    seconds, micros = divmod(micros, 1_000_000)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    return f"INTERVAL '{sign}{days} {hours:02}:{minutes:02}:{seconds:02}.{micros:06}' DAY TO SECOND"


#: The writers by class of value; the first class that fits counts.
_WRITERS: Final[tuple[tuple[type, Callable[[Any], str]], ...]] = (
    (type(None), lambda _: "NULL"),
    (bool, lambda value: "true" if value else "false"),
    (int, _integer),
    (float, _float),
    (Decimal, _decimal),
    (str, string_literal),
    (bytes, lambda value: f"X'{value.hex()}'"),
    (bytearray, lambda value: f"X'{value.hex()}'"),
    (memoryview, lambda value: f"X'{value.hex()}'"),
    (datetime, _datetime),
    (date, lambda value: f"DATE'{value.isoformat()}'"),
    (timedelta, _interval),
    (pa.Scalar, lambda value: typed_literal(value.as_py(), value.type)),
)


def type_text(kind: pa.DataType) -> str:
    """Return Spark's name of a type in the form that SQL can read: names of fields are in backticks.

    >>> type_text(pa.struct([("a b", pa.int32())]))
    'struct<`a b`: int>'
    """
    if pa.types.is_struct(kind):
        fields = (f"`{each.name.replace('`', '``')}`: {type_text(each.type)}" for each in kind)
        return f"struct<{', '.join(fields)}>"
    if pa.types.is_list(kind):
        return f"array<{type_text(kind.value_type)}>"
    if pa.types.is_map(kind):
        return f"map<{type_text(kind.key_type)}, {type_text(kind.item_type)}>"
    return ddl(kind)
