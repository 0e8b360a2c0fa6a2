"""Arrow arrays from and to numpy and Python values, without pandas.

pyarrow imports pandas (0.3 s, where it is installed) inside ``pa.array``, ``pa.scalar``, ``Array.to_numpy``
and at a kernel call with a bare Python operand. The engine therefore makes its arrays from buffers, in this
module only. Everything is zero-copy where the layouts allow it.
"""

import datetime
import struct
from collections.abc import Callable, Sequence
from decimal import Context, Decimal
from typing import TYPE_CHECKING, Final, cast

import numpy as np
import pyarrow as pa

from sqlfront_values.arrow import kernels as pc
from sqlfront_values.room import MOST_TEXT, claim
from sqlfront_values.types import DICTIONARY_STRING

if TYPE_CHECKING:
    import numpy.typing as npt

_EPOCH_DATE: Final = datetime.date(1970, 1, 1).toordinal()
_EPOCH: Final = datetime.datetime(1970, 1, 1)
_EPOCH_UTC: Final = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_MICROSECOND: Final = datetime.timedelta(microseconds=1)
_NONZERO: Final = pc.function("indices_nonzero")
#: Rows from which on numpy finds the set bits several times faster than Arrow.
_MANY_ROWS: Final = 4096
#: Precise enough that no decimal of 38 digits is rounded.
_EXACT: Final = Context(prec=80)

#: The struct codes of fixed-width types with Python values that pack directly.
_PACK: Final[dict[pa.DataType, str]] = {
    pa.int8(): "b",
    pa.int16(): "h",
    pa.int32(): "i",
    pa.int64(): "q",
    pa.float32(): "f",
    pa.float64(): "d",
}

#: The packers by type id, for one value: dispatch by id is cheap, hashing a type is not.
_PACK_ONE: Final[dict[int, Callable[..., bytes]]] = {
    **{data_type.id: struct.Struct(code).pack for data_type, code in _PACK.items()},
    pa.bool_().id: struct.Struct("?").pack,
    pa.date32().id: lambda value: struct.pack("i", value.toordinal() - _EPOCH_DATE),
}
_PACK_OFFSETS: Final = struct.Struct("ii").pack
_STRING: Final = pa.string().id
_DECIMAL64: Final = pa.decimal64(1, 0).id


def numpy_view(array: pa.Array) -> "npt.NDArray[np.generic]":
    """Return the values of a fixed-width array (numbers, dates, timestamps, durations, decimal64) as a numpy
    array, without a copy.

    Dates come as int32, timestamps, durations and decimal64 as int64. The values under nulls are undefined.
    Booleans are unpacked (a copy) to ``bool``.
    """
    data_type = array.type
    length, offset = len(array), array.offset
    if pa.types.is_boolean(data_type):
        buffer = array.buffers()[1]
        bits = np.frombuffer(buffer, np.uint8) if buffer is not None else np.zeros(0, np.uint8)
        start = offset // 8
        return np.unpackbits(bits[start : (offset + length + 7) // 8], bitorder="little")[
            offset - 8 * start : offset - 8 * start + length
        ].view(np.bool_)
    dtype = numpy_dtype(data_type)
    buffer = array.buffers()[1]
    if buffer is None or length == 0:
        return np.zeros(length, dtype)
    return np.frombuffer(buffer, dtype, length, offset * dtype.itemsize)


def numpy_dtype(data_type: pa.DataType) -> np.dtype[np.generic]:
    """Return the numpy type in which :func:`numpy_view` shows a fixed-width Arrow type, such as int32 for
    dates."""
    if pa.types.is_floating(data_type):
        return np.dtype(f"f{data_type.bit_width // 8}")
    if pa.types.is_boolean(data_type):
        return np.dtype(np.bool_)
    sign = "u" if pa.types.is_unsigned_integer(data_type) else "i"
    return np.dtype(f"{sign}{data_type.bit_width // 8}")


def valid_mask(array: pa.Array) -> "npt.NDArray[np.bool_] | None":
    """Return a mask with a boolean per row, True where the array is not null; None if the array has no
    nulls."""
    if array.null_count == 0:
        return None
    if pa.types.is_null(array.type):
        return np.zeros(len(array), np.bool_)
    return numpy_view(array.is_valid()).astype(np.bool_, copy=False)


def true_rows(condition: pa.Array) -> pa.Array:
    """Return an array of the row numbers, ascending, at which a boolean array is true (neither false nor
    null).

    >>> true_rows(from_values([True, None, False, True], pa.bool_())).to_pylist()
    [0, 3]
    """
    if len(condition) < _MANY_ROWS:
        return _NONZERO.call([condition])
    values = numpy_view(condition)
    valid = valid_mask(condition)
    rows = np.flatnonzero(values if valid is None else values & valid)  # type: ignore[operator]
    return from_numpy(rows, pa.int64())


def from_numpy(
    values: "npt.NDArray[np.generic]",
    data_type: pa.DataType,
    valid: "npt.NDArray[np.bool_] | None" = None,
) -> pa.Array:
    """Build an array of the fixed-width ``data_type`` over numpy values in the layout of :func:`numpy_view`;
    zero-copy except for booleans. ``valid`` is a mask, False where the result is null; None = no nulls."""
    length = len(values)
    if data_type == pa.bool_():
        data = pa.py_buffer(np.packbits(values.astype(np.bool_, copy=False), bitorder="little"))
    else:
        data = pa.py_buffer(np.ascontiguousarray(values, numpy_dtype(data_type)))
    return pa.Array.from_buffers(data_type, length, [bitmap(valid), data])


def bitmap(valid: "npt.NDArray[np.bool_] | None") -> pa.Buffer | None:
    """Pack a mask (False = null) into Arrow's validity bitmap; None if the mask is None or True
    everywhere."""
    if valid is None or valid.all():
        return None
    return pa.py_buffer(np.packbits(valid, bitorder="little"))


def without_validity(array: pa.Array) -> pa.Array:
    """Return the array without its validity bitmap if the array has no nulls; arrays with nulls and nested
    arrays are returned unchanged. Readers of Parquet make bitmaps without nulls; kernels count nulls anew in
    every slice of an array with a bitmap, and go slower."""
    bitmap_buffer, *data = array.buffers()
    if bitmap_buffer is None or array.null_count or pa.types.is_nested(array.type):
        return array
    if pa.types.is_dictionary(array.type):
        return pa.DictionaryArray.from_arrays(without_validity(array.indices), array.dictionary)
    return pa.Array.from_buffers(array.type, len(array), [None, *data], 0, array.offset)


def from_values(values: Sequence[object], data_type: pa.DataType) -> pa.Array:
    """Build an array of Python values (None = null), like ``pa.array(values, data_type)`` but without pandas
    for all primitive types; nested types fall back to pyarrow."""
    if len(values) == 1 and (single := _single(values[0], data_type)) is not None:
        return single
    if data_type == DICTIONARY_STRING:
        return from_values(values, pa.string()).dictionary_encode()
    if pa.types.is_null(data_type):
        return pa.nulls(len(values))
    if pa.types.is_string(data_type) or pa.types.is_binary(data_type):
        return _from_strings(values, data_type)
    convert = _to_storage(data_type)
    if convert is None:
        return pa.array(values, data_type)
    valid = np.fromiter((value is not None for value in values), np.bool_, len(values))
    if pa.types.is_decimal128(data_type):
        raw = b"".join(
            bytes(16) if value is None else convert(value).to_bytes(16, "little", signed=True)
            for value in values
        )
        return pa.Array.from_buffers(data_type, len(values), [bitmap(valid), pa.py_buffer(raw)])
    storage = [0 if value is None else convert(value) for value in values]
    return from_numpy(np.array(storage, numpy_dtype(data_type)), data_type, valid)


def _single(value: object, data_type: pa.DataType) -> pa.Array | None:
    """Build an array of one value (None = null) of the most common types, at a quarter of the cost of
    :func:`from_values`. Returns None for other types."""
    if value is None:
        return pa.nulls(1, data_type)
    pack = _PACK_ONE.get(data_type.id)
    if pack is not None:
        buffers = [None, pa.py_buffer(pack(value))]
    elif data_type.id == _STRING and isinstance(value, str):
        data = value.encode()
        buffers = [None, pa.py_buffer(_PACK_OFFSETS(0, len(data))), pa.py_buffer(data)]
    elif data_type.id == _DECIMAL64:
        number = int(_EXACT.scaleb(cast("Decimal", value), data_type.scale))
        buffers = [None, pa.py_buffer(struct.pack("q", number))]
    else:
        return None
    return pa.Array.from_buffers(data_type, 1, buffers)


def scalar(value: object, data_type: pa.DataType) -> pa.Scalar:
    """Build a scalar of one value (None = null), like ``pa.scalar(value, data_type)`` but without pandas."""
    return from_values((value,), data_type)[0]


def repeat(value: object, data_type: pa.DataType, length: int) -> pa.Array:
    """Build an array of ``length`` rows that all hold ``value`` (None = null)."""
    return pa.repeat(scalar(value, data_type), length)


def _from_strings(values: Sequence[object], data_type: pa.DataType) -> pa.Array:
    encoded = [
        b"" if value is None else value.encode() if isinstance(value, str) else bytes(value)  # type: ignore[call-overload]
        for value in values
    ]
    offsets = np.zeros(len(values) + 1, np.int32)
    lengths = np.fromiter(map(len, encoded), np.int64, len(encoded))
    claim("a column of texts", int(lengths.sum()), len(encoded), MOST_TEXT)
    np.cumsum(lengths, out=offsets[1:])
    valid = np.fromiter((value is not None for value in values), np.bool_, len(values))
    buffers = [bitmap(valid), pa.py_buffer(offsets), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(data_type, len(values), buffers)


def _to_storage(data_type: pa.DataType):  # type: ignore[no-untyped-def]
    """Return the function from a non-null Python value to the number that Arrow stores for the value (days,
    microseconds, an unscaled decimal); None for types without such numbers, such as nested types."""
    if data_type in _PACK or pa.types.is_boolean(data_type):
        return lambda value: value
    if pa.types.is_date32(data_type):
        return lambda value: value.toordinal() - _EPOCH_DATE
    if pa.types.is_timestamp(data_type):
        return _timestamp_to_micros
    if pa.types.is_duration(data_type):
        return lambda value: value // _MICROSECOND
    if pa.types.is_decimal(data_type):
        scale = data_type.scale
        return lambda value: int(_EXACT.scaleb(Decimal(value), scale))
    return None


def _timestamp_to_micros(value: datetime.datetime) -> int:
    return (value - (_EPOCH if value.tzinfo is None else _EPOCH_UTC)) // _MICROSECOND


def to_python(array: pa.Array) -> list[object]:
    """Return the values as Python objects, like ``array.to_pylist()`` but without pandas for timestamps.
    Timestamps with a zone come as aware datetimes in UTC; the keys of structs are :func:`field_keys`."""
    if not pa.types.is_timestamp(array.type):
        if pa.types.is_nested(array.type) and _repeats_names(array.type):
            return [_with_keys(scalar) for scalar in array]
        return array.to_pylist()
    epoch = _EPOCH if array.type.tz is None else _EPOCH_UTC
    micros: list[int | None] = array.view(pa.int64()).to_pylist()
    return [None if value is None else epoch + datetime.timedelta(microseconds=value) for value in micros]


def scalar_to_python(scalar: pa.Scalar) -> object:
    """Return the Python value of a scalar, None for null. A struct becomes a dict with the fields' names as
    keys, or with their positions as text if a name repeats (:func:`field_keys`)."""
    return to_python(pa.repeat(scalar, 1))[0] if pa.types.is_nested(scalar.type) else scalar.as_py()


def field_keys(data_type: pa.StructType) -> list[str]:
    """Return the keys of the Python dict that stands for a struct, in field order: the fields' names, or the
    fields' positions as text if a name repeats at any depth."""
    fields = list(data_type)
    if _repeats_names(data_type):
        return [str(position) for position in range(len(fields))]
    return [field.name for field in fields]


def _with_keys(scalar: pa.Scalar) -> object:
    """Return the Python value of a scalar whose type has a repeated field name, which pyarrow cannot convert;
    structs become dicts with the keys of :func:`field_keys`."""
    if not scalar.is_valid or not pa.types.is_nested(scalar.type):
        return scalar.as_py()
    if pa.types.is_struct(scalar.type):
        keys = field_keys(scalar.type)
        return {key: _with_keys(scalar[position]) for position, key in enumerate(keys)}
    if pa.types.is_map(scalar.type):
        return [(_with_keys(entry[0]), _with_keys(entry[1])) for entry in scalar.values]
    return [_with_keys(item) for item in scalar.values]


def _repeats_names(data_type: pa.DataType) -> bool:
    """Return whether a struct in the type, at any depth, has two fields of the same name."""
    fields = [data_type.field(index) for index in range(data_type.num_fields)]
    if pa.types.is_struct(data_type) and len({field.name for field in fields}) < len(fields):
        return True
    return any(pa.types.is_nested(field.type) and _repeats_names(field.type) for field in fields)
