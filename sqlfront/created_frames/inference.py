"""The types of Python values by PySpark's rules (``_infer_type`` and ``_merge_type`` in its ``types``)."""

from collections.abc import Iterable, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import reduce
from typing import Final

import pyarrow as pa

from sqlfront_connectors.forms import logical_schema
from sqlfront_values.errors import DataError, ProgrammingError
from sqlfront_values.types import BIGINT, BINARY, BOOLEAN, DATE, DOUBLE, STRING, TIMESTAMP, VOID, ddl, decimal

#: Intervals of days and times, as Arrow data have them.
INTERVAL: Final = pa.duration("us")
#: The type of any Decimal.
DECIMAL: Final = decimal(38, 18)
#: The types of values by the values' classes; a class stands before those that it is derived from.
_TYPES: Final[tuple[tuple[tuple[type, ...], pa.DataType], ...]] = (
    ((bool,), BOOLEAN),
    ((int,), BIGINT),
    ((float,), DOUBLE),
    ((str,), STRING),
    ((bytes, bytearray), BINARY),
    ((Decimal,), DECIMAL),
    ((datetime,), TIMESTAMP),
    ((date,), DATE),
    ((timedelta,), INTERVAL),
)


def row_type(row: object, place: str) -> pa.StructType:
    """Return the type of a row, or of a struct. A dict gives its fields in the order of their names, a Row or
    named tuple by its field names; fields of other tuples and lists are ``_1``, ``_2`` ... ``place``: a
    description of the row's position, for messages. Raises ProgrammingError for an object of another class.
    """
    match row:
        case dict() if all(isinstance(name, str) for name in row):
            return _struct(sorted(row), [row[name] for name in sorted(row)], place)
        case tuple() | list():
            names = getattr(row, "__fields__", None) or getattr(row, "_fields", None)
            return _struct(names or [f"_{number}" for number in range(1, len(row) + 1)], row, place)
    raise ProgrammingError(
        f"{place} is {repr(row)[:100]}; a row is a tuple, list, Row, named tuple, or a dict of texts to "
        "values. Single values need a schema such as 'INT'"
    )


def _struct(names: Sequence[str], values: Sequence[object], place: str) -> pa.StructType:
    pairs = zip(names, values, strict=True)
    return pa.struct([(str(name), _type_of(value, f"{place}, {name}")) for name, value in pairs])


def common_type(kinds: Iterable[pa.DataType], place: str) -> pa.DataType:
    """Return the type that has the values of all types ``kinds``; void if there are no types. ``place`` names
    the column in messages. Raises DataError if the types have no common type."""
    return reduce(lambda left, right: _merged(left, right, place), kinds, VOID)


def _type_of(value: object, place: str) -> pa.DataType:
    if value is None:
        return VOID
    for classes, kind in _TYPES:
        if isinstance(value, classes):
            return kind
    match value:
        case dict():
            keys = common_type((_type_of(key, place) for key in value), place)
            if keys == VOID:  # of an empty map nothing is known
                return VOID
            return pa.map_(keys, common_type((_type_of(item, place) for item in value.values()), place))
        case list():
            return pa.list_(common_type((_type_of(item, place) for item in value), place))
        case tuple():
            return row_type(value, place)
    raise ProgrammingError(
        f"{place}: a value of the class {type(value).__name__} has no type; expected None, bool, int, float, "
        "str, bytes, Decimal, date, datetime, timedelta, or a list, dict, tuple or Row of such values"
    )


def _merged(left: pa.DataType, right: pa.DataType, place: str) -> pa.DataType:
    if left == right or right == VOID:
        return left
    if left == VOID:
        return right
    if pa.types.is_list(left) and pa.types.is_list(right):
        return pa.list_(_merged(left.value_type, right.value_type, place))
    if pa.types.is_map(left) and pa.types.is_map(right):
        key = _merged(left.key_type, right.key_type, place)
        return pa.map_(key, _merged(left.item_type, right.item_type, place))
    if pa.types.is_struct(left) and pa.types.is_struct(right):
        fields = {each.name: each.type for each in left}
        for each in right:
            fields[each.name] = _merged(fields.get(each.name, VOID), each.type, place)
        return pa.struct(list(fields.items()))
    if STRING in (left, right) and not (pa.types.is_nested(left) or pa.types.is_nested(right)):
        return STRING
    raise DataError(
        f"{place}: values of the types {type_name(left)} and {type_name(right)} have no common type; give a "
        "schema such as 'a DOUBLE'"
    )


def type_name(kind: pa.DataType) -> str:
    """Return Spark's name of the type, such as ``array<int>``."""
    return ddl(logical_schema(pa.schema([("value", kind)])).field(0).type)


def has_void(kind: pa.DataType) -> bool:
    """Return whether the type, or a type inside of it, is void: unknown, since all values were None.

    >>> has_void(pa.list_(pa.null())), has_void(pa.struct([("a", pa.int64())]))
    (True, False)
    """
    if pa.types.is_struct(kind):
        return any(has_void(each.type) for each in kind)
    if pa.types.is_map(kind):
        return has_void(kind.key_type) or has_void(kind.item_type)
    return has_void(kind.value_type) if pa.types.is_list(kind) else bool(kind == VOID)
