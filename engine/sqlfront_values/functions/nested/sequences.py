"""sequence: arrays that count from a start to a stop, of numbers, dates or timestamps."""

from collections.abc import Callable
from typing import Final

import msgspec
import numpy as np
import pyarrow as pa

from sqlfront_values.arrow.arrays import from_numpy, numpy_view, valid_mask
from sqlfront_values.arrow.forms import Datum, full_array
from sqlfront_values.columns.batches import Integers, Mask
from sqlfront_values.columns.lists import both_valid, put_together
from sqlfront_values.errors import DatabaseError, DataError, spark_error
from sqlfront_values.functions.nested.array_shapes import MAX_SIZE
from sqlfront_values.functions.registry import Invocation, Kind, ScalarFunction, register
from sqlfront_values.functions.rowwise import columnar
from sqlfront_values.functions.time import calendar_dates
from sqlfront_values.functions.time.arithmetic import move_instants
from sqlfront_values.java.civil import MICROS_PER_DAY
from sqlfront_values.room import claim
from sqlfront_values.types import DATE, TIMESTAMP, is_integral, is_year_month

#: Bytes to make a value: its row, step, start and stop beside it.
_PER_VALUE: Final = 56
#: The days of the shortest month; gives a first bound of the length of a sequence in months.
_LEAST_MONTH: Final = 28


def _numbers(datum: Datum, length: int) -> tuple[Integers, Mask | None]:
    column = full_array(datum, length)
    valid = valid_mask(column)
    return numpy_view(column).astype(np.int64), valid


@columnar
def _sequence(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    length, kind = invocation.length, invocation.type.value_type
    (start, start_known), (stop, stop_known) = (_numbers(datum, length) for datum in arguments[:2])
    valid = both_valid(start_known, stop_known)
    if len(arguments) > 2:
        step, step_known = _numbers(arguments[2], length)
        valid = both_valid(valid, step_known)
    else:
        one = 1 if is_integral(kind) or kind == DATE else MICROS_PER_DAY
        step = np.where(start <= stop, one, -one)
    in_months = len(arguments) > 2 and is_year_month(invocation.argument_types[2])
    if kind == DATE and in_months:
        _check_granularity(step != 0, "year to month", valid)
    elif kind == DATE and len(arguments) > 2:
        step = _whole_days(step, valid)
    if valid is not None:
        start, stop = np.where(valid, start, 0), np.where(valid, stop, 0)
        step = np.where(valid, step, 1)
    _check_direction(start, stop, step)
    zone = invocation.settings.time_zone if kind == TIMESTAMP else "UTC"
    stride = _stride(kind, zone, in_months=in_months)
    values, lengths = _counted(start, stop, step, valid, stride)
    return put_together(invocation.type, from_numpy(values, kind), lengths, valid)


def _whole_days(step: Integers, valid: Mask | None) -> Integers:
    days, rest = np.divmod(step, MICROS_PER_DAY)
    _check_granularity((days != 0) & (rest == 0), "day to second", valid)
    return days


def _check_granularity(fits: Mask, units: str, valid: Mask | None) -> None:
    """Raise DataError if a step doesn't lead from date to date, of the rows where ``valid`` is true."""
    if not (fits if valid is None else fits[valid]).all():
        raise DataError(
            f"sequence step must be an interval {units} of day granularity if start and end values are dates",
            condition="_LEGACY_ERROR_TEMP_3242",
        )


def _check_direction(start: Integers, stop: Integers, step: Integers) -> None:
    wrong = ~(
        ((step > 0) & (start <= stop)) | ((step < 0) & (start >= stop)) | ((step == 0) & (start == stop))
    )
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise DataError(
            f"requirement failed: Illegal sequence boundaries: {start[row]} to {stop[row]} by {step[row]}"
        )


class Stride(msgspec.Struct, frozen=True):
    """The kind of steps of SQL's ``sequence(start, stop, step)``, such as numbers, days or months.
    ``advance(start, steps, step)`` returns the values ``steps`` times ``step`` after the start. ``unit`` is
    the least distance between two values that a step of 1 makes; ``spare`` is the number of values that a
    sequence may have beyond the count by units (a day may have 23 hours, a month 28 days)."""

    advance: Callable[[Integers, Integers, Integers], Integers]
    unit: int = 1
    spare: int = 0


def _stride(kind: pa.DataType, zone: str, *, in_months: bool) -> Stride:
    if kind == DATE and in_months:
        return Stride(
            lambda start, steps, step: calendar_dates.add_months(start, steps * step), _LEAST_MONTH, 1
        )
    if is_integral(kind) or kind == DATE:
        return Stride(lambda start, steps, step: start + steps * step)
    return Stride(
        lambda start, steps, step: move_instants(start, steps * step, zone, in_months=in_months),
        _LEAST_MONTH * MICROS_PER_DAY if in_months else 1,
        1,
    )


def _counted(
    start: Integers, stop: Integers, step: Integers, valid: Mask | None, stride: Stride
) -> tuple[Integers, Integers]:
    """Return the values of the sequences of all rows, end to end, and the number of values of each row; rows
    where ``valid`` is false have none. Raises COLLECTION_SIZE_LIMIT_EXCEEDED.PARAMETER for a too long
    sequence."""
    size = np.maximum(np.abs(step) * stride.unit, 1)
    count = np.abs(stop.astype(np.float64) - start) // size + 1
    if len(count) and count.max() > MAX_SIZE:
        row = int(count.argmax())
        raise _too_long(abs(int(stop[row]) - int(start[row])) // int(size[row]) + 1)
    lengths = np.abs(stop - start) // size + 1 + stride.spare
    if valid is not None:
        lengths = np.where(valid, lengths, 0)
    claim("sequence", int(lengths.sum()) * _PER_VALUE, len(start))
    rows = np.repeat(np.arange(len(start)), lengths)
    steps = np.arange(len(rows)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    values = stride.advance(start[rows], steps, step[rows])
    inside = np.where(step[rows] > 0, values <= stop[rows], values >= stop[rows])
    inside &= (steps == 0) | (step[rows] != 0)
    if inside.all():
        return values, lengths
    return values[inside], np.bincount(rows[inside], minlength=len(start))


def _too_long(size: int) -> DatabaseError:
    return spark_error(
        "COLLECTION_SIZE_LIMIT_EXCEEDED.PARAMETER",
        f"Can't create array with {size} elements which exceeding the array size limit {MAX_SIZE}, the value"
        " of parameter(s) `count` in the function `sequence` is invalid.",
    )


def _array_of(types: tuple[pa.DataType, ...]) -> pa.DataType:
    return pa.list_(types[0])


register(
    ScalarFunction(
        "sequence",
        (Kind.COMMON, Kind.COMMON, Kind.ANY),
        _array_of,
        _sequence,
        optional=1,
        can_fail=True,
        elementwise_values=False,
        example=("sequence(1, 5, 2)", "[1, 3, 5]"),
    ),
)
