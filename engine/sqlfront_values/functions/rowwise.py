"""Code that the kernels share: calling conventions, byte views, and Python code over distinct values.

A kernel receives arrays and scalars mixed. :func:`columnar` wraps a kernel that does not handle calls with
scalars alone. :func:`by_row` is the last resort, for functions that neither an Arrow kernel nor numpy
computes as Spark does: it calls Python once per distinct value.
"""

from collections.abc import Callable
from functools import wraps
from itertools import islice
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sqlfront_values.arrow.arrays import (
    from_numpy,
    from_values,
    numpy_view,
    scalar_to_python,
    to_python,
    valid_mask,
)
from sqlfront_values.arrow.forms import Datum
from sqlfront_values.errors import DatabaseError, NotSupportedError, spark_error
from sqlfront_values.functions.registry import Invocation, Kernel
from sqlfront_values.room import check
from sqlfront_values.settings import Settings
from sqlfront_values.types import BIGINT, DATE, physical
from sqlfront_values.zones.names import zone_of
from sqlfront_values.zones.wall_clock import instants_of

#: Rows: shorter columns are not worth a search for repeated values.
_FEW_ROWS: Final = 64
#: Calls of Python code between two checks whether the query should stop: some milliseconds of usual calls.
_ROWS_BETWEEN_CHECKS: Final = 256

Integers = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]
Offsets = npt.NDArray[np.int32]


def columnar(kernel: Kernel) -> Kernel:
    """Wrap a kernel so that it receives at least one array: if all arguments are scalars, convert the first
    to an array of one row, and the result back to a scalar."""

    @wraps(kernel)
    def wrapper(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
        if any(isinstance(argument, pa.Array) for argument in arguments):
            return kernel(arguments, invocation)
        single = Invocation(invocation.type, invocation.argument_types, 1, invocation.settings)
        first = tuple(pa.repeat(argument, 1) for argument in arguments[:1])
        result = kernel((*first, *arguments[1:]), single)
        return result[0] if isinstance(result, pa.Array) else result

    return wrapper


def nulls(invocation: Invocation) -> pa.Array:
    """Return a column of ``invocation.length`` nulls, in the physical form of the result type of
    ``invocation``."""
    return pa.nulls(invocation.length, physical(invocation.type))


def by_row(
    function: Callable[..., object],
    arguments: tuple[Datum, ...],
    invocation: Invocation,
    *,
    null_aware: bool = False,
) -> pa.Array:
    """Return the column of the results of ``function``, which is called with the Python values of each row;
    rows of equal values may share a call. A row with a null gives null without a call; if ``null_aware``, the
    function is called, with None for null."""
    result_type = physical(invocation.type)
    if not null_aware and any(
        not argument.is_valid for argument in arguments if isinstance(argument, pa.Scalar)
    ):
        return nulls(invocation)
    numbers = _row_numbers(arguments) if invocation.length >= _FEW_ROWS else None
    if numbers is None:
        return _call(function, arguments, invocation.length, result_type, null_aware)
    first = np.flatnonzero(np.diff(np.maximum.accumulate(numbers), prepend=-1))
    rows = from_numpy(first, BIGINT)
    distinct = tuple(
        argument.take(rows) if isinstance(argument, pa.Array) else argument for argument in arguments
    )
    found = _call(function, distinct, len(first), result_type, null_aware)
    return found.take(from_numpy(numbers, BIGINT))


def row_kernel(function: Callable[..., object], *, null_aware: bool = False) -> Kernel:
    """Make a kernel that calls ``function`` with the Python values of each row; rows of equal values may
    share a call. A row with a null gives null without a call; if ``null_aware``, the function is called, with
    None for null."""

    @columnar
    def kernel(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
        return by_row(function, arguments, invocation, null_aware=null_aware)

    return kernel


def constants(arguments: tuple[Datum, ...]) -> tuple[object, ...] | None:
    """Return the Python values of the arguments if all are scalars and none is null; else None."""
    if any(isinstance(argument, pa.Array) or not argument.is_valid for argument in arguments):
        return None
    return tuple(scalar_to_python(argument) for argument in arguments)


def map_values(function: Callable[..., object], column: pa.Array, data_type: pa.DataType) -> pa.Array:
    """Return a column of type ``data_type`` with the results of ``function``, which is called with each
    distinct Python value of ``column``; null gives null."""
    invocation = Invocation(data_type, (data_type,), len(column), Settings())
    return by_row(function, (column,), invocation)


def _call(
    function: Callable[..., object],
    arguments: tuple[Datum, ...],
    length: int,
    result_type: pa.DataType,
    null_aware: bool,
) -> pa.Array:
    if not arguments:
        return from_values([function()] * length, result_type)
    try:
        columns = [
            to_python(argument) if isinstance(argument, pa.Array) else [scalar_to_python(argument)] * length
            for argument in arguments
        ]
    except OverflowError:
        raise NotSupportedError("a date or timestamp beyond the years 1 to 9999 in this function") from None
    rows = zip(*columns, strict=True)
    skips = not null_aware and any(
        argument.null_count for argument in arguments if isinstance(argument, pa.Array)
    )
    results: list[object] = []
    while some := tuple(islice(rows, _ROWS_BETWEEN_CHECKS)):
        check()
        results += (
            [None if None in row else function(*row) for row in some]
            if skips
            else [function(*row) for row in some]
        )
    return from_values(results, result_type)


def _row_numbers(arguments: tuple[Datum, ...]) -> Integers | None:
    """Number the distinct rows of the arguments, in the order of their first occurrence, and return each
    row's number. Return None if most rows are distinct, or if a column's type can't be encoded."""
    numbers: Integers | None = None
    for column in (argument for argument in arguments if isinstance(argument, pa.Array)):
        if pa.types.is_nested(column.type) or pa.types.is_decimal64(column.type):
            return None
        encoded = column.dictionary_encode(null_encoding="encode")
        if numbers is not None:
            both = numbers * len(encoded.dictionary) + integers(encoded.indices)
            encoded = from_numpy(both, BIGINT).dictionary_encode()
        if len(encoded.dictionary) * 2 > len(column):
            return None
        numbers = integers(encoded.indices)
    return numbers


def bytes_view(array: pa.Array) -> tuple[Offsets, Bytes]:
    """Return the offsets (one more than the array has rows) and the entire byte buffer of a string or binary
    array.

    Row ``i`` is ``data[offsets[i]:offsets[i + 1]]``; the range of a null is undefined but within the
    buffer.
    """
    _, offset_buffer, data_buffer = array.buffers()
    if offset_buffer is None or len(array) == 0:
        return np.zeros(len(array) + 1, np.int32), np.zeros(0, np.uint8)
    offsets = np.frombuffer(offset_buffer, np.int32, len(array) + 1, array.offset * 4)
    return offsets, np.zeros(0, np.uint8) if data_buffer is None else np.frombuffer(data_buffer, np.uint8)


def is_ascii(array: pa.Array) -> bool:
    """Return whether all characters of the string array are ASCII, so that Arrow's kernels over bytes give
    the results of those over characters."""
    offsets, data = bytes_view(array)
    used = data[offsets[0] : offsets[-1]]
    return used.size == 0 or int(used.max()) < 128


def integers(array: pa.Array) -> Integers:
    """Return the values of an integer array as int64, zero under nulls."""
    values = numpy_view(array).astype(np.int64)
    valid = valid_mask(array)
    if valid is not None:
        values[~valid] = 0
    return values


def micros_of(column: pa.Array) -> Integers:
    """Return the values of a timestamp column (or another column of 64-bit integers) as int64, in
    microseconds since 1970 for timestamps; undefined under nulls."""
    return numpy_view(column).astype(np.int64, copy=False)


def as_numbers(datum: Datum) -> Datum:
    """Return a column or scalar of dates as days since 1970 (int32), of timestamps as microseconds since 1970
    (int64), so that Python code gets integers."""
    storage = pa.int32() if datum.type == DATE else pa.int64()
    return pa.repeat(datum, 1).view(storage)[0] if isinstance(datum, pa.Scalar) else datum.view(storage)


def from_numbers(
    function: Callable[..., object], arguments: tuple[Datum, ...], invocation: Invocation
) -> pa.Array:
    """Return a column of dates or timestamps. ``function`` is called with the Python values of each row, and
    returns the result as an integer: days or microseconds since 1970. A row with a null gives null without a
    call."""
    storage = pa.int32() if invocation.type == DATE else pa.int64()
    inner = Invocation(storage, invocation.argument_types, invocation.length, invocation.settings)
    return by_row(function, arguments, inner).view(invocation.type)


def local_instant(local: int, zone: str) -> int:
    """Return the instant, in microseconds since 1970 UTC, at which the clock of the time zone ``zone`` shows
    ``local``, the time in microseconds since 1970 by that clock. A time that the clock shows twice means the
    earlier instant; a time that the clock skips is read with the offset before the gap. Raises
    INVALID_TIMEZONE if there is no such zone."""
    try:
        return int(instants_of(np.array([local]), zone)[0])
    except ValueError:
        raise invalid_zone(zone) from None


def check_zone(zone: str) -> None:
    """Raise INVALID_TIMEZONE if there is no time zone ``zone``."""
    try:
        zone_of(zone)
    except ValueError:
        raise invalid_zone(zone) from None


def invalid_zone(zone: str) -> DatabaseError:
    """Build Spark's error INVALID_TIMEZONE for a name ``zone`` that is no time zone."""
    return spark_error(
        "INVALID_TIMEZONE",
        f"The timezone: {zone} is invalid. The timezone must be either a region-based zone ID or a zone"
        " offset. Region IDs must have the form 'area/city', such as 'America/Los_Angeles'. Zone offsets must"
        " be in the format '(+|-)HH', '(+|-)HH:mm' or '(+|-)HH:mm:ss', e.g '-08' , '+01:00' or '-13:33:33',"
        " and must be in the range from -18:00 to +18:00. 'Z' and 'UTC' are accepted as synonyms for"
        " '+00:00'.",
    )
