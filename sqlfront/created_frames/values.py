"""Conversion of Python values to the form that Arrow takes for a type of Spark."""

from datetime import date, datetime, timedelta
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Final

import pyarrow as pa

from sqlfront.created_frames.inference import INTERVAL, type_name
from sqlfront_planner.binder.context import typed_value
from sqlfront_values.errors import DataError
from sqlfront_values.java.surrogates import well_formed
from sqlfront_values.types import (
    BINARY,
    BOOLEAN,
    DATE,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    is_decimal,
    is_fractional,
    is_integral,
)

#: Precise enough that no decimal of 38 digits loses any.
_EXACT: Final = Context(prec=80)


def fitted(value: object, kind: pa.DataType, place: str, zone: str | None) -> object:
    """Return the value in the form that Arrow takes for the type ``kind``. As in PySpark, the value's class
    has to belong to the type (an int, Decimal or bool also serves as a text). ``zone``: the time zone of a
    datetime that has none, None = this machine's. ``place``: a description of the value's position, for
    messages. Raises DataError for a value of another class or out of range."""
    if value is None:
        return None
    if pa.types.is_struct(kind):
        return _struct(value, kind, place, zone)
    if pa.types.is_list(kind):
        if not isinstance(value, list | tuple):
            raise _refusal(value, kind, place)
        return [fitted(item, kind.value_type, f"an element of {place}", zone) for item in value]
    if pa.types.is_map(kind):
        return _map(value, kind, place, zone)
    return _atom(value, kind, place, zone)


def _struct(value: object, kind: pa.StructType, place: str, zone: str | None) -> dict[str, object]:
    """Return the fields of a struct by name, each fitted to its type: of a dict by the fields' names, of a
    list or tuple in order. Raises DataError for another object."""
    if isinstance(value, dict):
        items = [value.get(each.name) for each in kind]
    elif isinstance(value, list | tuple) and len(value) == kind.num_fields:
        items = list(value)
    else:
        raise _refusal(value, kind, place)
    return {
        each.name: fitted(item, each.type, f"{place}.{each.name}", zone)
        for each, item in zip(kind, items, strict=True)
    }


def _map(value: object, kind: pa.MapType, place: str, zone: str | None) -> list[tuple[object, object]]:
    if not isinstance(value, dict):
        raise _refusal(value, kind, place)
    if None in value:
        raise DataError(f"{place}: a key of a map is None", condition="NULL_MAP_KEY")
    return [
        (
            fitted(key, kind.key_type, f"a key of {place}", zone),
            fitted(item, kind.item_type, f"a value of {place}", zone),
        )
        for key, item in value.items()
    ]


def _atom(value: object, kind: pa.DataType, place: str, zone: str | None) -> object:
    match value:
        case bool() if kind == BOOLEAN:
            return value
        case int() if is_integral(kind) and not isinstance(value, bool):
            if not -(2 ** (kind.bit_width - 1)) <= value < 2 ** (kind.bit_width - 1):
                raise _refusal(value, kind, place)
            return value
        case float() if is_fractional(kind):
            return value
        case Decimal() if is_decimal(kind):
            return _decimal(value, kind, place)
        case bytes() | bytearray() if kind == BINARY:
            return bytes(value)
        case datetime() if kind == TIMESTAMP:
            return typed_value(value, zone)[0]
        case datetime() if kind == TIMESTAMP_NTZ:
            return value.replace(tzinfo=None)
        case datetime() if kind == DATE:
            return value.date()
        case date() if kind == DATE and not isinstance(value, datetime):
            return value
        case timedelta() if kind == INTERVAL:
            return value
        case bool() if kind == STRING:
            return str(value).lower()
        case str() | int() | Decimal() if kind == STRING:
            return well_formed(str(value))
    raise _refusal(value, kind, place)


def _decimal(value: Decimal, kind: pa.DataType, place: str) -> Decimal:
    """Return the value rounded half up to the type's scale, as Spark rounds. Raises DataError if the result
    has more digits than the type, or for NaN and infinity."""
    if not value.is_finite():
        raise _refusal(value, kind, place)
    rounded = value.quantize(Decimal(1).scaleb(-kind.scale), ROUND_HALF_UP, _EXACT)
    if len(rounded.as_tuple().digits) > kind.precision:
        raise _refusal(value, kind, place)
    return rounded


def _refusal(value: object, kind: pa.DataType, place: str) -> DataError:
    return DataError(
        f"{place}: {repr(value)[:100]} ({type(value).__name__}) is no value of {type_name(kind)}",
        sqlstate="22018",
    )
