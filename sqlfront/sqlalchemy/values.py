"""Python values as parameters of the driver, and as literals of Spark's SQL.

Both of a value mean the same: a literal has the type and the value that the driver gives the parameter.
Values of a declared Arrow type (nested types, intervals, TIMESTAMP_NTZ) become Arrow scalars, which the
driver takes with their type.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa

from sqlfront.sqlalchemy.elements import Keywords, Processor, Value
from sqlfront_values.arrow.arrays import from_values
from sqlfront_values.errors import DataError
from sqlfront_values.types import (
    TIMESTAMP,
    TIMESTAMP_NTZ,
    IntervalType,
    ddl,
    is_fractional,
    is_integral,
    is_interval,
    is_year_month,
)

#: Characters of a string literal that are written otherwise. Spark reads a backslash as the begin of an
#: escape.
_ESCAPES: Final = str.maketrans(
    {"\\": "\\\\", "'": "\\'", "\0": "\\0", "\n": "\\n", "\r": "\\r", "\x1a": "\\Z"}
)
_MICROS: Final = timedelta(microseconds=1)


def scalar_maker(kind: pa.DataType) -> Processor:
    """A function from a Python value to the Arrow scalar of the type; None stays None."""

    def scalar(value: object) -> object:
        return None if value is None else arrow_scalar(value, kind)

    return scalar


def arrow_scalar(value: object, kind: pa.DataType) -> pa.Scalar:
    """The value as an Arrow scalar. Raises DataError for a value that isn't one of the type.

    >>> arrow_scalar((1, None), pa.struct([("a", pa.int32()), ("b", pa.string())])).as_py()
    {'a': 1, 'b': None}
    """
    try:
        return _scalar(plain(value, kind), kind)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise DataError(f"{value!r} ({type(value).__name__}) is no value of {ddl(kind)}: {error}") from error


def _scalar(value: Value, kind: pa.DataType) -> pa.Scalar:
    if isinstance(kind, IntervalType):
        return pa.ExtensionArray.from_storage(kind, from_values([value], kind.storage_type))[0]
    return from_values([value], kind)[0]


def plain(value: Value, kind: pa.DataType) -> Value:
    """The value in the form in which Arrow reads values of the type: structs as dictionaries, maps as lists
    of pairs, months as numbers. Raises TypeError or ValueError for a value that Arrow would change."""
    if value is None:
        return None
    if pa.types.is_struct(kind):
        return _struct(value, kind)
    if pa.types.is_map(kind):
        pairs = value.items() if isinstance(value, Mapping) else value
        return [(plain(key, kind.key_type), plain(item, kind.item_type)) for key, item in pairs]
    if pa.types.is_list(kind):
        if isinstance(value, (str, bytes, Mapping)):
            raise TypeError("an array's value is a sequence")
        return [plain(item, kind.value_type) for item in value]
    if is_year_month(kind):
        return value.months if isinstance(value, pa.MonthDayNano) else value
    if is_integral(kind) and int(value) != value:
        raise ValueError("the number has a fraction")
    if kind == TIMESTAMP and isinstance(value, datetime) and value.tzinfo is None:
        raise ValueError("the datetime has no time zone")
    if kind == TIMESTAMP_NTZ and isinstance(value, datetime) and value.tzinfo is not None:
        raise ValueError("the datetime has a time zone")
    return value


def _struct(value: Value, kind: pa.StructType) -> Keywords:
    names = [field.name for field in kind]
    if isinstance(value, Mapping):
        unknown = [str(name) for name in value if name not in names]
        if unknown:
            raise ValueError(f"the struct has no field {', '.join(unknown)}; its fields: {', '.join(names)}")
        items: Sequence[Any] = [value.get(name) for name in names]
    else:
        items = list(value)
        if isinstance(value, (str, bytes)) or len(items) != len(names):
            raise ValueError(f"the struct has {len(names)} fields")
    return {field.name: plain(item, field.type) for field, item in zip(kind, items, strict=True)}


def typed_literal(value: Value, kind: pa.DataType) -> str:
    """The SQL of a value, in the form of :func:`plain`, of the type.

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
    """A value in a collection, whose cast gives a null its type."""
    return "NULL" if value is None else typed_literal(value, kind)


def literal_of(value: object) -> str:
    """The SQL of a value with the type that the driver gives the value as a parameter. A negative number
    stands in parentheses, since two minus signs begin a comment. Raises DataError for a value without a
    literal.

    >>> print(literal_of("it's"), literal_of(Decimal("-1.50")), literal_of(b"a"), literal_of(None))
    'it\\'s' (-1.50BD) X'61' NULL
    """
    for kind, writer in _WRITERS:
        if isinstance(value, kind):
            return writer(value)
    if isinstance(value, (list, tuple)):
        return f"array({', '.join(literal_of(item) for item in value)})"
    raise DataError(f"{value!r} ({type(value).__name__}) has no literal in SQL")


def string_literal(text: str) -> str:
    """The SQL of a text."""
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
    """Spark's name of a type as SQL reads it: names of fields stand in backticks.

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
