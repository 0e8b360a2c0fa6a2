"""Single values of Arrow arrays as Python objects: what a lookup of a few rows reads.

A call costs 50 to 300 ns and no kernel; ``array[i].as_py()`` costs a microsecond, a batch for one row ten.
"""

import datetime
from collections.abc import Callable
from decimal import Context, Decimal
from typing import Final

import pyarrow as pa

from sqlfront_engine.arrays import numpy_view, to_python
from sqlfront_engine.types import is_decimal

#: The value of a row, None = null.
Reader = Callable[[int], object]

_EPOCH_DAY: Final = datetime.date(1970, 1, 1).toordinal()
_EPOCH: Final = datetime.datetime(1970, 1, 1)
_EPOCH_UTC: Final = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
#: Dictionaries of up to that many values are turned into Python strings at once.
_SMALL_DICTIONARY: Final = 4096


def value_reader(array: pa.Array) -> Reader:
    """The logical values of an array in physical form, as a Literal holds them: a Decimal, a date, an aware
    datetime in UTC for a timestamp with a zone. A call raises OverflowError or ValueError for a date beyond
    Python's years.

    >>> value_reader(pa.array(["a", None]))(0), value_reader(pa.array(["a", None]))(1)
    ('a', None)
    """
    convert = _from_storage(array.type)
    stored = storage_reader(array)
    if convert is None:
        return stored
    if array.null_count:
        return lambda row: None if (value := stored(row)) is None else convert(value)
    return lambda row: convert(stored(row))


def storage_reader(array: pa.Array) -> Reader:
    """The values as they are stored: numbers for dates, timestamps, durations and decimal64, in whose order
    they sort."""
    data_type = array.type
    if pa.types.is_dictionary(data_type):
        read = _dictionary_reader(array)
    elif pa.types.is_string(data_type) or pa.types.is_binary(data_type):
        read = _bytes_reader(array, text=pa.types.is_string(data_type))
    elif pa.types.is_boolean(data_type):
        read = _boolean_reader(array)
    elif _has_storage(data_type):
        read = numpy_view(array).data.__getitem__
    else:
        return lambda row: to_python(array.slice(row, 1))[0]
    return _unless_null(array, read)


def to_storage(data_type: pa.DataType) -> Callable[[object], object] | None:
    """How a logical value becomes what :func:`storage_reader` gives of a column that holds it; None: it is
    the same."""
    if pa.types.is_date32(data_type):
        return lambda value: value.toordinal() - _EPOCH_DAY  # type: ignore[attr-defined]
    if pa.types.is_timestamp(data_type):
        epoch = _EPOCH if data_type.tz is None else _EPOCH_UTC
        return lambda value: (value - epoch) // _MICROSECOND  # type: ignore[operator]
    if pa.types.is_duration(data_type):
        return lambda value: value // _MICROSECOND  # type: ignore[operator]
    if pa.types.is_decimal64(data_type):
        scale = data_type.scale
        exact = Context(prec=40).scaleb
        return lambda value: int(exact(value, scale))  # type: ignore[arg-type]
    return None


_MICROSECOND: Final = datetime.timedelta(microseconds=1)


def _from_storage(data_type: pa.DataType) -> Callable[..., object] | None:
    if pa.types.is_date32(data_type):
        from_ordinal = datetime.date.fromordinal
        return lambda days: from_ordinal(days + _EPOCH_DAY)
    if pa.types.is_timestamp(data_type):
        epoch, delta = _EPOCH if data_type.tz is None else _EPOCH_UTC, datetime.timedelta
        return lambda micros: epoch + delta(0, 0, micros)
    if pa.types.is_duration(data_type):
        delta = datetime.timedelta
        return lambda micros: delta(0, 0, micros)
    if pa.types.is_decimal64(data_type):
        scale = -data_type.scale
        exact = Context(prec=40).scaleb  # whatever the thread's own context says
        return lambda number: exact(Decimal(number), scale)
    return None


def _has_storage(data_type: pa.DataType) -> bool:
    """Whether the values are fixed-width numbers to Python."""
    if is_decimal(data_type):
        return bool(pa.types.is_decimal64(data_type))
    return bool(
        pa.types.is_integer(data_type)
        or pa.types.is_floating(data_type)
        or pa.types.is_date32(data_type)
        or pa.types.is_timestamp(data_type)
        or pa.types.is_duration(data_type)
    )


def _unless_null(array: pa.Array, read: Reader) -> Reader:
    if array.null_count == 0:
        return read
    bits, offset = memoryview(array.buffers()[0]), array.offset

    def value(row: int) -> object:
        place = row + offset
        return read(row) if bits[place >> 3] >> (place & 7) & 1 else None

    return value


def _boolean_reader(array: pa.Array) -> Reader:
    buffer, offset = array.buffers()[1], array.offset
    bits = memoryview(buffer if buffer is not None else b"")

    def value(row: int) -> bool:
        place = row + offset
        return bool(bits[place >> 3] >> (place & 7) & 1)

    return value


def _bytes_reader(array: pa.Array, *, text: bool) -> Reader:
    _, starts, content = array.buffers()
    first = array.offset
    if starts is None or len(array) == 0:
        return lambda row: "" if text else b""
    offsets = memoryview(starts)[4 * first : 4 * (first + len(array) + 1)].cast("i")
    data = memoryview(content if content is not None else b"")
    if text:
        return lambda row: str(data[offsets[row] : offsets[row + 1]], "utf-8")
    return lambda row: bytes(data[offsets[row] : offsets[row + 1]])


def _dictionary_reader(array: pa.DictionaryArray) -> Reader:
    codes = numpy_view(array.indices).data
    if len(array.dictionary) <= _SMALL_DICTIONARY:
        values = array.dictionary.to_pylist()
        return lambda row: values[codes[row]]
    read = storage_reader(array.dictionary)
    return lambda row: read(codes[row])
