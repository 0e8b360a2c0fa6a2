"""Python values as parameters of the driver.

Values of a declared Arrow type (nested types, intervals, TIMESTAMP_NTZ) become Arrow scalars, which the
driver takes with their type.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import pyarrow as pa

from sqlfront.sqlalchemy.elements import Keywords, Processor, Value
from sqlfront_values.arrow.arrays import from_values
from sqlfront_values.errors import DataError
from sqlfront_values.types import (
    TIMESTAMP,
    TIMESTAMP_NTZ,
    IntervalType,
    ddl,
    is_integral,
    is_year_month,
)


def scalar_maker(kind: pa.DataType) -> Processor:
    """Return a function that turns a Python value into an Arrow scalar of type ``kind``; it returns None for
    None, and raises DataError for a value of another type."""

    def scalar(value: object) -> object:
        return None if value is None else arrow_scalar(value, kind)

    return scalar


def arrow_scalar(value: object, kind: pa.DataType) -> pa.Scalar:
    """Return the value as an Arrow scalar of type ``kind``. Raises DataError for a value of another type.

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
    """Return the value in the form from which Arrow makes values of type ``kind``: structs as dictionaries,
    maps as lists of pairs, months as numbers. Raises TypeError or ValueError for a value of another type,
    also for a value that Arrow would silently change."""
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
