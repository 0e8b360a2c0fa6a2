"""Columns of any type as integers that are equal exactly where the values are equal (by grouping's
equality)."""

from collections.abc import Callable, Hashable, Sequence
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sqlfront_values.arrow.arrays import from_numpy, numpy_view, valid_mask
from sqlfront_values.columns import lists
from sqlfront_values.columns.batches import Integers, Mask
from sqlfront_values.columns.hashing import IntegerTable
from sqlfront_values.columns.text import TextTable, is_hashable_text
from sqlfront_values.room import MOST_TEXT, BatchTooLargeError, claim
from sqlfront_values.types import BOOLEAN

#: The bound below which codes are combined by multiplication: a product of two bounds below it can be
#: compared in Python, and stays an int64.
MAX_BOUND: Final = 2**62


#: Bytes to group one element of an array: its code, twice, and the table of different arrays.
_LIST_BYTES: Final = 24
#: Rows of a column of strings to look at before encoding it, if the column has more than a few times this
#: many: encoding strings of many values in vain costs more than the look.
SAMPLE_ROWS: Final = 1024


class Codes(msgspec.Struct, frozen=True):
    """The codes of a column's rows: rows have equal codes exactly where their values are equal.
    ``0 <= value < bound``, except that a bound above :data:`MAX_BOUND` means arbitrary integers."""

    values: Integers
    bound: int


def canonical_floats(values: npt.NDArray[np.floating]) -> npt.NDArray[np.floating]:
    """Return a copy of the floats in which all NaNs have the same bits and all zeros are positive, so that
    equal values have equal bits."""
    # Adding 0.0 makes every zero positive.
    canonical = values + values.dtype.type(0.0)
    not_numbers = np.isnan(canonical)
    if not_numbers.any():
        canonical[not_numbers] = values.dtype.type(np.nan)
    return canonical


def canonical(column: pa.Array) -> pa.Array:
    """Return the column with all NaNs as one NaN and -0.0 as 0.0, also inside of arrays and structs: the form
    in which results show a group's key. Columns that hold no floats are returned unchanged."""
    data_type = column.type
    if pa.types.is_floating(data_type):
        values = canonical_floats(numpy_view(column))  # type: ignore[arg-type]
        return from_numpy(values, data_type, valid_mask(column))
    if not _holds_floats(data_type):
        return column
    if pa.types.is_list(data_type):
        parts = lists.take_apart(column)
        return lists.put_together(data_type, canonical(parts.flat()), parts.lengths, parts.valid)
    valid, children = valid_mask(column), [canonical(child) for child in column.flatten()]
    mask = None if valid is None else from_numpy(~valid, BOOLEAN)
    return pa.StructArray.from_arrays(children, fields=list(data_type), mask=mask)


def _holds_floats(data_type: pa.DataType) -> bool:
    """Return whether the type holds floats, also inside of arrays and structs."""
    if pa.types.is_list(data_type):
        return _holds_floats(data_type.value_type)
    if pa.types.is_struct(data_type):
        return any(_holds_floats(field.type) for field in data_type)
    return bool(pa.types.is_floating(data_type))


def as_integers(column: pa.Array) -> Integers | None:
    """Return an int64 per row such that the integers are equal exactly where the values are. Returns None for
    types that need more than one int64; the other types are numbers, dates, times, booleans, day-time
    intervals, and wide decimals as long as all values happen to fit. The integers under nulls are
    undefined."""
    data_type = column.type
    if pa.types.is_floating(data_type):
        canonical = canonical_floats(numpy_view(column))  # type: ignore[arg-type]
        return canonical.view(f"i{canonical.itemsize}").astype(np.int64, copy=False)
    if pa.types.is_decimal128(data_type):
        return narrow_decimals(column)
    if _is_fixed_width(data_type):
        return numpy_view(column).astype(np.int64, copy=False)
    return None


def decimal_words(column: pa.Array) -> npt.NDArray[np.int64]:
    """View the unscaled values of a decimal128 column as rows of two int64, (low word, high word); the bits
    of a low word are an unsigned number. The words under nulls are undefined."""
    length, offset = len(column), column.offset
    buffer = column.buffers()[1]
    if buffer is None or length == 0:
        return np.zeros((length, 2), np.int64)
    return np.frombuffer(buffer, np.int64, 2 * length, 16 * offset).reshape(-1, 2)


def narrow_decimals(column: pa.Array) -> Integers | None:
    """Return the unscaled values of a decimal128 column as int64 if all values, nulls aside, fit 64 bits,
    else None. The integers under nulls are undefined."""
    words = decimal_words(column)
    low = words[:, 0]
    fits = words[:, 1] == low >> 63
    if not fits.all():
        valid = valid_mask(column)
        if valid is None or not fits[valid].all():
            return None
    return np.ascontiguousarray(low)


def encode(column: pa.Array) -> Codes:
    """Return codes for a column in physical form, of any type: rows have equal codes exactly where their
    values are equal. Null is an ordinary value, equal to null."""
    data_type = column.type
    if pa.types.is_null(data_type):
        return Codes(np.zeros(len(column), np.int64), 1)
    if pa.types.is_dictionary(data_type):
        return _with_null(_dictionary_codes(column), column)
    if pa.types.is_struct(data_type):
        children = [encode(child) for child in column.flatten()]
        return _with_null(combine(children, len(column)), column)
    integers = as_integers(column)
    if integers is not None:
        return _encode_integers(integers, column)
    if pa.types.is_list(data_type):
        return _with_null(_encode_lists(column), column)
    hashable = to_hashable(column)
    if hashable is None:
        return _encode_objects(column.to_pylist())
    return _with_null(_encode_bytes(hashable), column)


def to_hashable(column: pa.Array) -> pa.Array | None:
    """Return the column in a type that Arrow's dictionary and lookup kernels know: strings and binaries
    unchanged, wide decimals as binaries of 16 bytes; None for nested types. The column must be one for which
    :func:`as_integers` returns None."""
    data_type = column.type
    if pa.types.is_decimal128(data_type):
        return column.view(pa.binary(16))
    if pa.types.is_string(data_type) or pa.types.is_binary(data_type):
        return column
    return None


def combine(codes: Sequence[Codes], length: int, compacted: Callable[[Codes], Codes] | None = None) -> Codes:
    """Combine several codes per row to one code per row; rows have equal results exactly where all their
    codes are equal. ``length`` is the number of rows, which get the code 0 if there are no codes.

    ``compacted`` is called where the product of the codes' bounds exceeds :data:`MAX_BOUND`, and renumbers
    codes so that their bound is lower. If ``compacted`` keeps the order of codes, the result sorts like the
    codes, the first codes deciding first. :func:`compact`, the default, keeps only equality.
    """
    compacted = compacted or compact
    if not codes:
        return Codes(np.zeros(length, np.int64), 1)
    result = codes[0]
    for other in codes[1:]:
        if result.bound * other.bound > MAX_BOUND:
            result = compacted(result)
        if result.bound * other.bound > MAX_BOUND:
            other = compacted(other)
        if other.bound == 1:
            continue
        result = Codes(result.values * other.bound + other.values, result.bound * other.bound)
    return result


def compact(codes: Codes) -> Codes:
    """Return new codes for the same rows with a bound of at most the number of rows: rows have equal new
    codes exactly where their given codes are equal."""
    return Codes(IntegerTable(codes.values).numbers, max(1, len(codes.values)))


def value_range(values: Integers, valid: Mask | None) -> tuple[int, int]:
    """Return the least and the greatest of the values where the mask ``valid`` is True (None = of all
    values); (0, -1) if there is no such value."""
    if valid is not None:
        values = values[valid]
    if len(values) == 0:
        return 0, -1
    return int(values.min()), int(values.max())


def _encode_integers(values: Integers, column: pa.Array) -> Codes:
    valid = valid_mask(column)
    low, high = value_range(values, valid)
    bound = max(1, high - low + 1)
    if bound > MAX_BOUND:
        codes = Codes(values, bound)
        return codes if valid is None else _with_null(compact(codes), column)
    distance = values - low if low else values
    if valid is None:
        return Codes(distance, bound)
    return Codes(np.where(valid, distance, bound), bound + 1)


def _encode_bytes(column: pa.Array) -> Codes:
    """Encode strings or binaries. If the column is long, its values are of similar lengths, and more than
    half of the first :data:`SAMPLE_ROWS` values are different, the codes are the numbers of a
    :class:`TextTable`; else the codes are the indices of Arrow's dictionary."""
    if len(column) > 4 * SAMPLE_ROWS and is_hashable_text(column):
        sample = column.slice(0, SAMPLE_ROWS)
        if 2 * len(sample.unique()) > SAMPLE_ROWS:
            table = TextTable(column)
            if table.exact:
                return Codes(table.numbers, table.missing)
    return _dictionary_codes(column.dictionary_encode())


def _dictionary_codes(column: pa.Array) -> Codes:
    """Return the indices of a dictionary array as codes, equal where the values are equal even if the
    dictionary holds a value twice (an expression can map two of its values to one). The codes under nulls are
    undefined."""
    indices = dictionary_indices(column)
    dictionary = column.dictionary
    unique = dictionary.dictionary_encode()
    if len(unique.dictionary) < len(dictionary):
        indices = numpy_view(unique.indices).astype(np.int64)[indices]
    return Codes(indices, max(1, len(dictionary)))


def dictionary_indices(column: pa.DictionaryArray) -> Integers:
    """Return the indices of a dictionary array, 0 for null."""
    indices = numpy_view(column.indices).astype(np.int64)
    valid = valid_mask(column)
    return indices if valid is None else np.where(valid, indices, 0)


def _with_null(codes: Codes, column: pa.Array) -> Codes:
    """Return the codes with one code more, which all rows get in which ``column`` is null; if the column has
    no nulls, return the codes unchanged."""
    valid = valid_mask(column)
    if valid is None:
        return codes
    return Codes(np.where(valid, codes.values, codes.bound), codes.bound + 1)


def _encode_lists(column: pa.Array) -> Codes:
    """Return the codes of a column of arrays, made from the bytes of their elements' codes. The codes under
    nulls are undefined. Raises BatchTooLargeError if the column's bytes exceed the greatest length of a
    text."""
    parts = lists.take_apart(column)
    elements = encode(parts.flat()).values
    size = elements.dtype.itemsize
    claim("grouping of arrays", _LIST_BYTES * len(elements))
    if len(elements) * size > MOST_TEXT:
        raise BatchTooLargeError(f"grouping arrays of {len(elements)} elements", len(elements) * size)
    offsets = np.zeros(len(column) + 1, np.int32)
    np.cumsum(parts.lengths * size, out=offsets[1:])
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(elements))]
    return _dictionary_codes(pa.Array.from_buffers(pa.binary(), len(column), buffers).dictionary_encode())


def _encode_objects(values: Sequence[object]) -> Codes:
    """Return the codes of nested values, given as Python objects, numbered by a Python dict."""
    numbers: dict[Hashable, int] = {}
    codes = [numbers.setdefault(hashable_value(value), len(numbers)) for value in values]
    return Codes(np.array(codes, np.int64), max(1, len(numbers)))


def hashable_value(value: object) -> Hashable:
    """Return a hashable stand-in for a (possibly nested) Python value. Stand-ins are equal exactly where
    SQL's grouping treats the values as equal."""
    if isinstance(value, float):
        return ("NaN",) if value != value else value + 0.0
    if isinstance(value, list | tuple):
        return tuple(hashable_value(item) for item in value)
    if isinstance(value, dict):
        return tuple((name, hashable_value(item)) for name, item in value.items())
    assert isinstance(value, Hashable)
    return value


def _is_fixed_width(data_type: pa.DataType) -> bool:
    """Return whether :func:`numpy_view` shows values of the type as numbers of at most 64 bits."""
    return bool(
        pa.types.is_integer(data_type)
        or pa.types.is_boolean(data_type)
        or pa.types.is_date32(data_type)
        or pa.types.is_timestamp(data_type)
        or pa.types.is_duration(data_type)
        or pa.types.is_decimal64(data_type)
    )
