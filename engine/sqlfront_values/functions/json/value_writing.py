"""The JSON texts of single values of any type, as ``to_json`` writes them."""

import base64
from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Final

import numpy as np
import pyarrow as pa

from sqlfront_values.arrow.arrays import field_keys
from sqlfront_values.casts.interval_texts import interval_text
from sqlfront_values.casts.times import time_text
from sqlfront_values.errors import NotSupportedError
from sqlfront_values.functions.json.values import write_string
from sqlfront_values.functions.time.formatting import Moment, formatter
from sqlfront_values.java.civil import MICROS_PER_MINUTE
from sqlfront_values.java.floats import float_text
from sqlfront_values.types import FLOAT, STRING, TIMESTAMP, VOID, IntervalType, ddl, is_time, is_variant
from sqlfront_values.variants.reading import variant_of
from sqlfront_values.variants.texts import json_text
from sqlfront_values.zones.wall_clock import wall_clock

#: A function that writes a value that is not null.
Writer = Callable[[object], str]
_EPOCH: Final = datetime(1970, 1, 1)
_EPOCH_UTC: Final = _EPOCH.replace(tzinfo=UTC)
_TICK: Final = timedelta(microseconds=1)


def writer(data_type: pa.DataType, zone: str) -> Writer:
    """Return the function that writes a value of ``data_type``, not null, as JSON text; timestamps are
    written as the wall clock of the time zone ``zone`` shows them. Raises NotSupportedError for types that
    can't be written."""
    if pa.types.is_struct(data_type):
        return _struct_writer(data_type, zone)
    if pa.types.is_map(data_type):
        item = _nullable(writer(data_type.item_type, zone))
        if data_type.key_type not in (STRING, VOID):
            raise NotSupportedError(f"to_json of {ddl(data_type)}")
        return lambda pairs: _braces(f"{write_string(key)}:{item(value)}" for key, value in pairs)  # type: ignore[attr-defined]
    if pa.types.is_list(data_type):
        element = _nullable(writer(data_type.value_type, zone))
        return lambda items: f"[{','.join(map(element, items))}]"  # type: ignore[call-overload]
    if data_type == TIMESTAMP:
        return lambda value: write_string(_instant_text(value, zone))
    if is_variant(data_type):
        return lambda value: json_text(variant_of(value), zone)  # type: ignore[arg-type]
    if isinstance(data_type, IntervalType):
        return lambda value: write_string(interval_text(_amount(value), data_type))
    if is_time(data_type):
        return lambda value: write_string(time_text(value))  # type: ignore[arg-type]
    single = data_type == FLOAT
    return lambda value: _plain(value, single=single)


def _amount(value: object) -> int:
    """Return the months or microseconds of an interval's Python value."""
    assert isinstance(value, timedelta | int)
    return value // _TICK if isinstance(value, timedelta) else value


def _struct_writer(data_type: pa.StructType, zone: str) -> Writer:
    """Return the function that writes a struct, a Python value of ``data_type``, as a JSON object; null
    fields are left out."""
    writers = [
        (key, write_string(field.name), writer(field.type, zone))
        for key, field in zip(field_keys(data_type), data_type, strict=True)
    ]

    def write(value: object) -> str:
        assert isinstance(value, dict)
        return _braces(
            f"{quoted}:{write_field(value[key])}"
            for key, quoted, write_field in writers
            if value[key] is not None
        )

    return write


def _braces(members: Iterable[str]) -> str:
    return f"{{{','.join(members)}}}"


def _nullable(write: Writer) -> Writer:
    return lambda value: "null" if value is None else write(value)


def _instant_text(value: object, zone: str) -> str:
    assert isinstance(value, datetime)
    micros = (value - _EPOCH_UTC) // _TICK
    local = int(wall_clock(np.array([micros]), zone)[0])
    offset = local - micros
    letters = "XXX" if offset % MICROS_PER_MINUTE == 0 else "XXXXX"
    return formatter(f"yyyy-MM-dd'T'HH:mm:ss.SSS{letters}")(Moment(local, offset, zone))


def _plain(value: object, *, single: bool) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case float():
            text = float_text(value, single=single)
            return text if text[-1].isdigit() else f'"{text}"'
        case Decimal():
            return str(value)
        case int():
            return str(value)
        case str():
            return write_string(value)
        case bytes():
            return write_string(base64.b64encode(value).decode())
        case datetime():
            moment = Moment((value - _EPOCH) // _TICK, 0, "UTC")
            return write_string(formatter("yyyy-MM-dd'T'HH:mm:ss.SSS")(moment))
        case date():
            return write_string(f"{value.year:04}-{value.month:02}-{value.day:02}")
        case _:
            raise NotSupportedError(f"to_json of {type(value).__name__}")
