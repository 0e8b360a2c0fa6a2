"""The texts of values in CSV records, as Spark's UnivocityGenerator writes them."""

from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Final

import numpy as np
import pyarrow as pa

from sqlfront_values.arrow.arrays import field_keys
from sqlfront_values.casts.interval_texts import interval_text
from sqlfront_values.casts.times import time_text
from sqlfront_values.errors import NotSupportedError
from sqlfront_values.functions.csv.settings import CsvSettings
from sqlfront_values.functions.time.formatting import Moment, formatter
from sqlfront_values.java.civil import MICROS_PER_DAY, MICROS_PER_MINUTE
from sqlfront_values.java.floats import float_text
from sqlfront_values.types import DATE, FLOAT, TIMESTAMP, TIMESTAMP_NTZ, IntervalType, is_time
from sqlfront_values.zones.wall_clock import wall_clock

#: A function that writes a value that is not null.
_Write = Callable[[object], str]
_EPOCH: Final = datetime(1970, 1, 1)
_EPOCH_UTC: Final = _EPOCH.replace(tzinfo=UTC)
_TICK: Final = timedelta(microseconds=1)
_CLOCK: Final = "yyyy-MM-dd'T'HH:mm:ss.SSS"


class ValueWriter:
    """A maker of functions that write values, as Python objects, to texts. ``null``: the text that the option
    nullValue gives for nulls inside of values, None = not given."""

    def __init__(self, settings: CsvSettings, zone: str, null: str | None) -> None:
        self._settings = settings
        self._zone = zone
        self._null = "" if null is None else f" {null}"

    def writer(self, kind: pa.DataType) -> _Write:
        """Return the function that writes a value of the type, not null."""
        if pa.types.is_list(kind):
            item = self.writer(kind.value_type)
            return lambda values: f"[{self._joined(list(map(self._nullable(item), values)))}]"  # type: ignore[call-overload]
        if pa.types.is_map(kind):
            return self._map(kind)
        if pa.types.is_struct(kind):
            return self._struct(kind)
        if kind == DATE:
            to_date = formatter(self._settings.date_format or "yyyy-MM-dd")
            return lambda value: to_date(Moment(_days(value) * MICROS_PER_DAY, 0, "UTC"))
        if kind == TIMESTAMP:
            return self._instant
        if kind == TIMESTAMP_NTZ:
            to_text = formatter(self._settings.ntz_format or _CLOCK)
            return lambda value: to_text(Moment(_micros(value, _EPOCH), 0, "UTC"))
        if isinstance(kind, IntervalType):
            return lambda value: interval_text(_amount(value), kind)
        if is_time(kind):
            return time_text  # type: ignore[return-value]
        return _single if kind == FLOAT else _plain

    def _nullable(self, write: _Write) -> Callable[[object], str | None]:
        return lambda value: None if value is None else write(value)

    def _joined(self, texts: Sequence[str | None]) -> str:
        """Return the texts of a collection's items with commas between; a null has no space before."""
        parts = [
            self._null if text is None else text if place == 0 else f" {text}"
            for place, text in enumerate(texts)
        ]
        return ",".join(parts)

    def _map(self, kind: pa.MapType) -> _Write:
        key, item = self.writer(kind.key_type), self.writer(kind.item_type)

        def write(value: object) -> str:
            assert isinstance(value, list)
            pairs = [
                f"{key(name)} ->{self._null if found is None else f' {item(found)}'}" for name, found in value
            ]
            return f"{{{self._joined(pairs)}}}"

        return write

    def _struct(self, kind: pa.StructType) -> _Write:
        writers = [
            (key, self._nullable(self.writer(field.type)))
            for key, field in zip(field_keys(kind), kind, strict=True)
        ]

        def write(value: object) -> str:
            assert isinstance(value, dict)
            return f"{{{self._joined([to_text(value[key]) for key, to_text in writers])}}}"

        return write

    def _instant(self, value: object) -> str:
        micros = _micros(value, _EPOCH_UTC)
        local = int(wall_clock(np.array([micros]), self._zone)[0])
        offset = local - micros
        letters = "XXX" if offset % MICROS_PER_MINUTE == 0 else "XXXXX"
        pattern = self._settings.timestamp_format or f"{_CLOCK}{letters}"
        return formatter(pattern)(Moment(local, offset, self._zone))


def _days(value: object) -> int:
    assert isinstance(value, date)
    return value.toordinal() - _EPOCH.toordinal()


def _micros(value: object, epoch: datetime) -> int:
    assert isinstance(value, datetime)
    return (value - epoch) // _TICK


def _amount(value: object) -> int:
    assert isinstance(value, timedelta | int)
    return value // _TICK if isinstance(value, timedelta) else value


def _single(value: object) -> str:
    assert isinstance(value, float)
    return float_text(value, single=True)


def _plain(value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case float():
            return float_text(value)
        case int() | Decimal() | str():
            return str(value)
        case bytes():
            return f"[{value.hex(' ').upper()}]"
        case _:
            raise NotSupportedError(f"to_csv of {type(value).__name__}")
