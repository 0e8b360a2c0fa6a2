"""Single values of Arrow arrays as Python objects, for look-ups of a few rows.

A call of a reader takes 50 to 300 ns and calls no Arrow kernel; ``array[i].as_py()`` takes a microsecond,
making a batch of one row ten.
"""

import datetime
from collections.abc import Callable, Sequence
from decimal import Context, Decimal
from typing import Final, cast

import pyarrow as pa

from sqlfront_values.arrow.arrays import numpy_view, to_python
from sqlfront_values.columns.tuples import tuple_function
from sqlfront_values.types import is_decimal

#: A function from a row to its value, None = null.
Reader = Callable[[int], object]

_EPOCH_DAY: Final = datetime.date(1970, 1, 1).toordinal()
_EPOCH: Final = datetime.datetime(1970, 1, 1)
_EPOCH_UTC: Final = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
#: Independent of the thread's own decimal context.
_EXACT: Final = Context(prec=40)
#: Values of a dictionary up to which all are converted to Python strings at once; of a larger dictionary a
#: slice of rows may need only a few values.
_SMALL_DICTIONARY: Final = 4096


def value_reader(array: pa.Array) -> Reader:
    """Return a function from a row number to the row's logical value in ``array`` (in physical form), None
    for null. A value has the class that a Literal stores: a Decimal, a date, an aware datetime in UTC for a
    timestamp with a zone. The function raises OverflowError or ValueError for a date beyond Python's years.

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


def row_reader(arrays: Sequence[pa.Array]) -> Callable[[int], tuple[object, ...]]:
    """Return a function from a row number to the tuple of the row's logical values, one from each of the
    arrays (in physical form, of equal length); None for null.

    >>> row_reader([pa.array([1, 2]), pa.array(["a", None])])(1)
    (2, None)
    """
    parts: list[str] = []
    values: dict[str, object] = {}
    for place, array in enumerate(arrays):
        code, names = _written_out(array, f"_{place}")
        parts.append(code)
        values |= names
    return cast(Callable[[int], tuple[object, ...]], tuple_function("row", parts, values))


def _written_out(array: pa.Array, name: str) -> tuple[str, dict[str, object]]:
    """Return a Python expression that reads the value of row number ``row`` from ``array``, to be used as a
    part for :func:`tuple_function`, and the objects that the expression refers to by name; their names begin
    with ``name``."""
    data_type = array.type
    if array.null_count or not (_has_storage(data_type) or pa.types.is_string(data_type)):
        return f"{name}(row)", {name: value_reader(array)}
    if pa.types.is_string(data_type):
        parts = _byte_parts(array)
        if parts is None:
            return f"{name}(row)", {name: value_reader(array)}
        text = f"str({name}[{name}o[row] : {name}o[row + 1]], 'utf-8')"
        return text, {name: parts[1], f"{name}o": parts[0], "str": str}
    stored: dict[str, object] = {name: numpy_view(array).data}
    if pa.types.is_date32(data_type):
        return f"date({name}[row] + {_EPOCH_DAY})", {**stored, "date": datetime.date.fromordinal}
    if pa.types.is_decimal64(data_type):
        names = {"scaleb": _EXACT.scaleb, "Decimal": Decimal}
        return f"scaleb(Decimal({name}[row]), {-data_type.scale})", stored | names
    if pa.types.is_integer(data_type) or pa.types.is_floating(data_type):
        return f"{name}[row]", stored
    return f"{name}(row)", {name: value_reader(array)}


def storage_reader(array: pa.Array) -> Reader:
    """Return a function from a row number to the row's stored value in ``array``, None for null. Dates,
    timestamps, durations and decimal64 are stored as numbers, which sort like the values; of other types the
    function returns the logical value."""
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
    """Return the function that converts a logical value, not null, to the stored value that
    :func:`storage_reader` returns; None if the logical and the stored value are the same."""
    if pa.types.is_date32(data_type):
        return lambda value: value.toordinal() - _EPOCH_DAY  # type: ignore[attr-defined]
    if pa.types.is_timestamp(data_type):
        epoch = _EPOCH if data_type.tz is None else _EPOCH_UTC
        return lambda value: (value - epoch) // _MICROSECOND  # type: ignore[operator]
    if pa.types.is_duration(data_type):
        return lambda value: value // _MICROSECOND  # type: ignore[operator]
    if pa.types.is_decimal64(data_type):
        scale = data_type.scale
        exact = _EXACT.scaleb
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
        exact = _EXACT.scaleb
        return lambda number: exact(Decimal(number), scale)
    return None


def _has_storage(data_type: pa.DataType) -> bool:
    """Return whether Python reads a value of the type as one fixed-width number from the array's memory."""
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


def _byte_parts(array: pa.Array) -> tuple[memoryview, memoryview] | None:
    """Return the offsets of an array of strings or binaries (one more than the array has values), and the
    bytes into which the offsets point; None if the array has no values."""
    _, starts, content = array.buffers()
    first = array.offset
    if starts is None or len(array) == 0:
        return None
    offsets = memoryview(starts)[4 * first : 4 * (first + len(array) + 1)].cast("i")
    return offsets, memoryview(content if content is not None else b"")


def _bytes_reader(array: pa.Array, *, text: bool) -> Reader:
    parts = _byte_parts(array)
    if parts is None:
        return lambda row: "" if text else b""
    offsets, data = parts
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
