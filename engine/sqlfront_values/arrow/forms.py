"""Physical forms: decimals as scaled integers, dictionary strings as plain strings.

Kernels work on the forms that Arrow processes quickly. A ``decimal64`` array is an int64 array with a scale
beside it (:func:`scaled`, :func:`from_scaled`, zero-copy); a ``decimal128`` array is a pair of int64 per
value. Work that only one of many rows needs is done on Python integers (:func:`unscaled`,
:func:`from_unscaled`).
"""

from collections.abc import Sequence
from decimal import Decimal
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sqlfront_values.arrow import kernels as pc
from sqlfront_values.arrow.arrays import bitmap, numpy_view, scalar, valid_mask
from sqlfront_values.room import UNCOUNTED, claim
from sqlfront_values.types import MAX_SHORT_PRECISION, STRING, is_string_like, physical

#: A column of values, or one value for all rows.
Datum: TypeAlias = pa.Array | pa.Scalar

INT64: Final = pa.int64()
BOOL: Final = pa.bool_()
_DECIMAL64_ID: Final = pa.decimal64(1, 0).id
_NULL_ID: Final = pa.null().id
_DECIMAL128_ID: Final = pa.decimal128(1, 0).id
_LOW_64: Final = 2**64 - 1
TRUE: Final = scalar(True, BOOL)
FALSE: Final = scalar(False, BOOL)


def is_scalar(datum: Datum) -> bool:
    """Return whether the datum is a scalar, one value that counts for all rows; False for an array."""
    return isinstance(datum, pa.Scalar)


def plain(datum: Datum) -> Datum:
    """Return a dictionary array decoded to plain strings, any other datum unchanged. Raises
    BatchTooLargeError or TooLargeError if there is no room for the strings."""
    if isinstance(datum, pa.DictionaryArray):
        claim_decoded(datum)
        return datum.dictionary_decode()
    return datum


def claim_decoded(column: pa.DictionaryArray) -> None:
    """Claim room for the column's strings as :func:`plain` decodes them, without decoding. Raises
    BatchTooLargeError if there is no room for them, TooLargeError if the column has a single row."""
    known: int = column.dictionary.nbytes
    if known * len(column) <= UNCOUNTED:
        return
    lengths = _LENGTH.call([column.dictionary])
    claim("a repeated text", _SUM.call([_TAKE.call([lengths, column.indices])]).as_py() or 0, len(column))


def constant(value: object, data_type: pa.DataType) -> pa.Scalar:
    """Return the Arrow scalar, in physical form, of a literal: ``value`` is a Python value (None = null) of
    the logical type ``data_type``."""
    return scalar(value, physical(data_type))


def to_array(datum: Datum, length: int) -> pa.Array:
    """Return the datum as an array of ``length`` rows: a scalar repeated (a string as a dictionary array
    whose dictionary has one value), an array unchanged."""
    if not isinstance(datum, pa.Scalar):
        return datum
    if datum.type.id == STRING.id and length > 1 and datum.is_valid:
        codes = pa.Array.from_buffers(pa.int32(), length, [None, pa.py_buffer(bytes(4 * length))])
        return pa.DictionaryArray.from_arrays(codes, pa.repeat(datum, 1))
    return _repeated(datum, length)


def full_array(datum: Datum, length: int) -> pa.Array:
    """Return the datum as an array of ``length`` rows without a dictionary: a scalar repeated, a dictionary
    array decoded, any other array unchanged."""
    return _repeated(datum, length) if isinstance(datum, pa.Scalar) else plain(datum)


def _repeated(value: pa.Scalar, length: int) -> pa.Array:
    # Arrow can't repeat a list zero times.
    if length > 1 and (pa.types.is_nested(value.type) or is_string_like(value.type)) and value.is_valid:
        claim("a repeated value", length * pa.repeat(value, 1).nbytes, length)
    return pa.repeat(value, length) if length else pa.nulls(0, value.type)


def nulls(data_type: pa.DataType) -> pa.Scalar:
    """Return the null scalar of a logical type, in physical form."""
    return pa.nulls(1, physical(data_type))[0]


def scaled(datum: Datum) -> Datum:
    """Return the unscaled values of a decimal64 datum (value times ten to the scale) as an int64 datum;
    zero-copy for arrays."""
    if isinstance(datum, pa.Scalar):
        value = datum.as_py()
        return scalar(None if value is None else unscale(value, datum.type.scale), INT64)
    return datum.view(INT64)


def from_scaled(values: Datum, data_type: pa.DataType) -> Datum:
    """Build a decimal datum of the logical ``data_type``, in physical form, from its unscaled values: an
    int64 datum whose values are known to fit the type's precision. This function is the inverse of
    :func:`scaled`, for types of any precision."""
    if isinstance(values, pa.Scalar):
        return (
            pa.repeat(values, 1).view(physical(data_type))[0]
            if _is_short(data_type)
            else from_scaled(pa.repeat(values, 1), data_type)[0]
        )
    if _is_short(data_type):
        return values.view(physical(data_type))
    numbers = np.frombuffer(values.buffers()[1], np.int64, len(values), values.offset * 8)
    wide = np.empty((len(values), 2), np.int64)
    wide[:, 0] = numbers
    np.right_shift(numbers, 63, out=wide[:, 1])
    return pa.Array.from_buffers(data_type, len(values), [_validity(values), pa.py_buffer(wide)])


def _is_short(data_type: pa.DataType) -> bool:
    return bool(data_type.precision <= MAX_SHORT_PRECISION)


def _validity(array: pa.Array) -> pa.Buffer | None:
    """Return the validity bitmap of the array's values, without the array's offset; None if no value is
    null."""
    if array.null_count == 0:
        return None
    if array.offset == 0:
        return array.buffers()[0]
    return bitmap(valid_mask(array))


def widened(datum: Datum) -> Datum:
    """Convert a decimal64 datum to decimal128 of the same precision and scale; return any other datum
    unchanged."""
    data_type = datum.type
    if data_type.id != _DECIMAL64_ID:
        return datum
    wide = pa.decimal128(data_type.precision, data_type.scale)
    if isinstance(datum, pa.Scalar):
        return scalar(datum.as_py(), wide)
    numbers = (
        np.frombuffer(datum.buffers()[1], np.int64, len(datum), datum.offset * 8) if len(datum) else _EMPTY
    )
    pairs = np.empty((len(datum), 2), np.int64)
    pairs[:, 0] = numbers
    np.right_shift(numbers, 63, out=pairs[:, 1])
    return pa.Array.from_buffers(wide, len(datum), [_validity(datum), pa.py_buffer(pairs)])


_EMPTY: Final = np.zeros(0, np.int64)


def narrowed(datum: Datum) -> Datum:
    """Convert a decimal128 of at most 18 digits to decimal64, the inverse of :func:`widened`; return any
    other datum unchanged."""
    data_type = datum.type
    if data_type.id != _DECIMAL128_ID or data_type.precision > MAX_SHORT_PRECISION:
        return datum
    short = pa.decimal64(data_type.precision, data_type.scale)
    if isinstance(datum, pa.Scalar):
        return scalar(datum.as_py(), short)
    low = _pairs(datum)[:, 0].copy()
    return pa.Array.from_buffers(short, len(datum), [_validity(datum), pa.py_buffer(low)])


def _pairs(array: pa.Array) -> npt.NDArray[np.int64]:
    """View a decimal128 array as rows of two int64: the low half of the value's 128 bits, then the high
    half."""
    if len(array) == 0:
        return np.zeros((0, 2), np.int64)
    return np.frombuffer(array.buffers()[1], np.int64, 2 * len(array), 16 * array.offset).reshape(-1, 2)


def narrow_words(array: pa.Array) -> npt.NDArray[np.int64] | None:
    """Return the unscaled values of a decimal128 array as int64 (undefined under nulls) if all values, nulls
    aside, fit 64 bits, else None."""
    pairs = _pairs(array)
    low = pairs[:, 0].copy()
    misfits = pairs[:, 1] != low >> 63
    if misfits.any():
        valid = valid_mask(array)
        if valid is None or (misfits & valid).any():
            return None
    return low


def unscaled(array: pa.Array) -> list[int | None]:
    """Return the unscaled values of a decimal array (value times ten to the scale) as Python integers, None
    for null."""
    if array.type.id == _DECIMAL64_ID:
        values: list[int | None] = array.view(INT64).to_pylist()
        return values
    pairs = _pairs(array)
    numbers = [(high << 64) | (low & _LOW_64) for low, high in zip(*pairs.T.tolist(), strict=True)]
    valid = valid_mask(array)
    if valid is None:
        return list(numbers)
    return [number if keep else None for number, keep in zip(numbers, valid.tolist(), strict=True)]


def from_unscaled(values: Sequence[int | None], data_type: pa.DataType) -> pa.Array:
    """Build a decimal array of the logical ``data_type``, in physical form, from unscaled values (None =
    null) that fit the type; the inverse of :func:`unscaled`."""
    valid = np.fromiter((value is not None for value in values), np.bool_, len(values))
    size = 8 if _is_short(data_type) else 16
    data = b"".join((value or 0).to_bytes(size, "little", signed=True) for value in values)
    return pa.Array.from_buffers(physical(data_type), len(values), [bitmap(valid), pa.py_buffer(data)])


def unscale(value: Decimal, scale: int) -> int:
    """Return the exact integer ``value * 10**scale``.

    >>> unscale(Decimal("-1.50"), 3)
    -1500
    """
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    number = int("".join(map(str, digits)))
    shift = exponent + scale
    number = number * 10**shift if shift >= 0 else number // 10**-shift
    return -number if sign else number


def rounded(value: int, scale: int, target: int) -> int:
    """Convert an unscaled value from ``scale`` digits after the point to ``target`` digits; halves are
    rounded away from zero.

    >>> rounded(1995, 3, 2), rounded(-1995, 3, 2), rounded(15, 1, 3)
    (200, -200, 1500)
    """
    if target >= scale:
        return value * 10 ** (target - scale)
    unit = 10 ** (scale - target)
    number = (abs(value) + unit // 2) // unit
    return -number if value < 0 else number


def decimal_text(value: int, scale: int) -> str:
    """Format the number ``value / 10**scale`` in plain notation, with all ``scale`` digits after the point.

    >>> decimal_text(-5, 3), decimal_text(150, 0)
    ('-0.005', '150')
    """
    if scale <= 0:
        return str(value * 10**-scale)
    digits = str(abs(value)).rjust(scale + 1, "0")
    return f"{'-' if value < 0 else ''}{digits[:-scale]}.{digits[-scale:]}"


def select(mask: pa.Array, if_true: Datum, if_false: Datum, data_type: pa.DataType) -> pa.Array:
    """Return an array with ``if_true`` where the boolean ``mask`` is true, else (false or null) ``if_false``.
    Both are arrays of the mask's length or scalars, of the logical ``data_type`` in physical form, not
    dictionary arrays."""
    if mask.null_count:
        mask = _COALESCE.call([mask, FALSE])
    if is_string_like(data_type):
        claim("a choice of texts", _spread(if_true, len(mask)) + _spread(if_false, len(mask)), len(mask))
    if holds_void(data_type):
        return _gathered(mask, if_true, if_false)
    if data_type.id == _DECIMAL128_ID and _is_short(data_type):
        chosen = _IF_ELSE.call([mask, scaled(if_true), scaled(if_false)])
        return chosen.view(physical(data_type))
    return _IF_ELSE.call([mask, if_true, if_false])


def holds_void(data_type: pa.DataType) -> bool:
    """Return whether the type is or contains void; Arrow's kernels can't choose among values of such
    types."""
    if data_type.id == _NULL_ID:
        return True
    fields = range(data_type.num_fields) if pa.types.is_nested(data_type) else ()
    return any(holds_void(data_type.field(place).type) for place in fields)


def _gathered(mask: pa.Array, if_true: Datum, if_false: Datum) -> pa.Array:
    """Return the result of :func:`select`, for types that Arrow's ``if_else`` refuses, by one gather from
    both inputs; ``mask`` has no nulls."""
    first, second = full_array(if_true, len(mask)), full_array(if_false, len(mask))
    rows = np.arange(len(mask))
    places = np.where(numpy_view(mask), rows, rows + len(mask))
    indices = pa.Array.from_buffers(INT64, len(mask), [None, pa.py_buffer(places)])
    return pc.take(pa.concat_arrays([first, second]), indices)


def _spread(text: Datum, rows: int) -> int:
    """Return the number of bytes of a column of texts, or of a single text repeated for ``rows`` rows."""
    if isinstance(text, pa.Scalar):
        return len(text.as_buffer()) * rows if text.is_valid else 0
    size: int = text.get_total_buffer_size()
    return size if size <= UNCOUNTED else text.nbytes


_LENGTH: Final = pc.function("binary_length")
_SUM: Final = pc.function("sum")
_TAKE: Final = pc.function("array_take")
_IF_ELSE: Final = pc.function("if_else")
_COALESCE: Final = pc.function("coalesce")
