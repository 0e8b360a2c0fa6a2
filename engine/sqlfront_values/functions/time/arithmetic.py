"""The operators plus, minus, times and divided by on dates, timestamps and intervals.

The operators ``add``, ``subtract``, ``multiply`` and ``divide``
(:mod:`sqlfront_values.functions.numbers.arithmetic`) use this module when their left operand is a date,
timestamp or interval; :func:`prepare_temporal` knows the combinations:

==================== ===================== ============================================================
date                 +- interval           date; a day-time interval must be of whole days
timestamp (both)     +- interval           the same timestamp; days and months are those of the calendar
date - date                                day-time interval of whole days
timestamp - timestamp                      day-time interval between the local times (both of one type)
time of day          +- day-time interval  time of day
time - time                                day-time interval, cut off to microseconds
interval             * number, / number    the same interval, rounded half up
==================== ===================== ============================================================
"""

from collections.abc import Callable
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sqlfront_values.arrow.arrays import from_numpy, from_values, numpy_view, valid_mask
from sqlfront_values.arrow.forms import Datum, full_array
from sqlfront_values.casts.interval_texts import interval_text
from sqlfront_values.casts.times import time_literal
from sqlfront_values.errors import DataError, InternalError, spark_error
from sqlfront_values.evaluation_errors import arithmetic_overflow
from sqlfront_values.functions.registry import PreparedKernel, Signature
from sqlfront_values.functions.time import calendar_dates
from sqlfront_values.java.civil import MICROS_PER_DAY, NANOS_PER_DAY, NANOS_PER_MICRO
from sqlfront_values.types import (
    DATE,
    INTERVALS,
    TIMESTAMP,
    IntervalType,
    is_interval,
    is_time,
    is_year_month,
    physical,
)
from sqlfront_values.zones.wall_clock import fixed_offset, instants_of, wall_clock

Integers = npt.NDArray[np.int64]
Rule = Callable[[Integers, Integers], npt.NDArray[np.int32] | Integers]

_MAX_INT: Final = 2**31 - 1
_MAX_LONG: Final = 2**63 - 1
#: The context of Spark's decimals during multiplication and division.
_DECIMAL: Final = Context(prec=38, rounding=ROUND_HALF_UP)


def is_temporal(data_type: pa.DataType) -> bool:
    """Return whether the type is a date, a timestamp with or without time zone, a time of day, or an
    interval."""
    return bool(pa.types.is_temporal(data_type)) or is_interval(data_type) or is_time(data_type)


def prepare_temporal(operation: str, signature: Signature) -> PreparedKernel:
    """Make the kernel of the operator ``operation`` ("add", "subtract", "multiply" or "divide") for operands
    of the signature's types, of which the left is a date, timestamp or interval. The kernel raises
    ARITHMETIC_OVERFLOW, INTERVAL_DIVIDED_BY_ZERO, or DataError if a result doesn't fit its type."""
    left, right = signature.argument_types
    sign = -1 if operation == "subtract" else 1
    if operation in ("multiply", "divide"):
        return lambda arguments, length: _scale_interval(operation, arguments, signature, length)
    if is_time(left):
        return _vectorised(_clock_rule(right, sign), signature)
    if is_interval(right) and left == DATE:
        rule = _months_after_date if is_year_month(right) else _interval_after_date
        return _vectorised(lambda days, interval: rule(days, sign * interval), signature)
    if is_interval(right):
        zone = signature.settings.time_zone if left == TIMESTAMP else "UTC"
        after = _months_after_instant if is_year_month(right) else _interval_after_instant
        return _vectorised(lambda micros, interval: after(micros, sign * interval, zone), signature)
    if left == right and left == DATE:
        return _vectorised(_days_between, signature)
    if left == right:
        zone = signature.settings.time_zone if left == TIMESTAMP else "UTC"
        return _vectorised(lambda end, start: _micros_between(end, start, zone), signature)
    raise InternalError(f"no {operation} of {left} and {right}")


def _vectorised(rule: Rule, signature: Signature) -> PreparedKernel:
    """Make a kernel of two arguments from ``rule``, a function of two int64 vectors without nulls, where a
    constant argument is a vector of one value. The result is null where an argument is null."""

    form = physical(signature.type)

    def run(arguments: tuple[Datum, ...], length: int) -> Datum:
        columns = [pa.repeat(datum, 1) if isinstance(datum, pa.Scalar) else datum for datum in arguments]
        constant = all(isinstance(datum, pa.Scalar) for datum in arguments)
        if any(isinstance(datum, pa.Scalar) and not datum.is_valid for datum in arguments):
            result = pa.nulls(1 if constant else length, form)
        else:
            valid = _both_valid(columns)
            values = [_integers(column, valid) for column in columns]
            result = from_numpy(rule(values[0], values[1]), form, valid)
        return result[0] if constant else result

    return run


def _integers(column: pa.Array, valid: npt.NDArray[np.bool_] | None) -> Integers:
    """Return the column's values as int64, with zero in rows where the mask ``valid`` is false: the result is
    null there, and zeros can't overflow."""
    values = numpy_view(column).astype(np.int64)
    if valid is not None:
        values = np.where(valid, values, 0)
    return values


def _both_valid(columns: list[pa.Array]) -> npt.NDArray[np.bool_] | None:
    masks = [mask for column in columns if (mask := valid_mask(column)) is not None]
    if not masks:
        return None
    return masks[0] if len(masks) == 1 else masks[0] & masks[1]


# ---- times of day


def _clock_rule(right: pa.DataType, sign: int) -> Rule:
    """Return the rule of a time moved by an interval of the type ``right``, forwards or, by a ``sign`` of -1,
    backwards; of the difference of two times if ``right`` is a time."""
    if isinstance(right, IntervalType):
        kind = INTERVALS[right.last, right.last]
        return lambda nanos, interval: _clock_after(nanos, sign * interval, kind)
    return _micros_between_clocks


def _micros_between_clocks(end: Integers, start: Integers) -> Integers:
    nanos = end - start
    return np.sign(nanos) * (np.abs(nanos) // NANOS_PER_MICRO)


def _clock_after(nanos: Integers, interval: Integers, kind: IntervalType) -> Integers:
    """Return times plus intervals in microseconds, which messages show as the type ``kind``. Raises
    ARITHMETIC_OVERFLOW for an interval whose nanoseconds don't fit a bigint, DATETIME_OVERFLOW for a time
    before or after the day."""
    if np.any(np.abs(interval) > _MAX_LONG // NANOS_PER_MICRO):
        raise arithmetic_overflow()
    moved = nanos + interval * NANOS_PER_MICRO
    wrong = (moved < 0) | (moved >= NANOS_PER_DAY)
    if wrong.any():
        row = int(np.argmax(wrong))
        amount, time = (int(values[row if len(values) > 1 else 0]) for values in (interval, nanos))
        raise spark_error(
            "DATETIME_OVERFLOW",
            f"Datetime operation overflow: add {interval_text(amount, kind)} to the time value"
            f" {time_literal(time)}.",
        )
    return moved


# ---- dates


def _interval_after_date(days: Integers, interval: Integers) -> npt.NDArray[np.int32]:
    """Return dates plus intervals, as days since 1970. The intervals are in microseconds, whole days; a
    result beyond 32 bits wraps around, as in Spark."""
    return (days + interval // MICROS_PER_DAY).astype(np.int32)


def _months_after_date(days: Integers, interval: Integers) -> npt.NDArray[np.int32]:
    if len(interval) == 1:
        return calendar_dates.months_later(days, int(interval[0]))
    return calendar_dates.checked_days(calendar_dates.add_months(days, interval))


def _days_between(end: Integers, start: Integers) -> Integers:
    days = end - start
    if len(days) and int(np.abs(days).max()) > _MAX_INT:
        raise DataError("integer overflow")
    return days * MICROS_PER_DAY


# ---- timestamps


def _interval_after_instant(micros: Integers, interval: Integers, zone: str) -> Integers:
    """Return instants plus intervals, both in microseconds: the whole days of an interval are days in the
    calendar of the time zone ``zone``, the rest is elapsed time. Raises DataError on overflow."""
    if fixed_offset(zone) is not None:
        return _checked_sum(micros, interval)
    days = (interval - np.fmod(interval, MICROS_PER_DAY)) // MICROS_PER_DAY
    local = wall_clock(micros, zone)
    moved = instants_of(local + days * MICROS_PER_DAY, zone, preferred=local - micros)
    return _checked_sum(np.where(days == 0, micros, moved), interval - days * MICROS_PER_DAY)


def _months_after_instant(micros: Integers, interval: Integers, zone: str) -> Integers:
    local = wall_clock(micros, zone)
    days = local // MICROS_PER_DAY
    moved = calendar_dates.add_months(days, interval)
    if len(moved) and int(np.abs(moved).max()) > _MAX_LONG // MICROS_PER_DAY - 1:
        raise DataError("long overflow")
    return instants_of(
        moved * MICROS_PER_DAY + (local - days * MICROS_PER_DAY), zone, preferred=local - micros
    )


def move_instants(micros: Integers, interval: Integers, zone: str, *, in_months: bool) -> Integers:
    """Return instants, in microseconds since 1970 UTC, plus intervals: in months if ``in_months``, else in
    microseconds. Months and whole days are those of the calendar in the time zone ``zone``. Raises DataError
    on overflow."""
    return (_months_after_instant if in_months else _interval_after_instant)(micros, interval, zone)


def _checked_sum(left: Integers, right: Integers) -> Integers:
    total = left + right
    if (((left ^ total) & (right ^ total)) < 0).any():
        raise DataError("long overflow")
    return total


def _micros_between(end: Integers, start: Integers, zone: str) -> Integers:
    return _checked_difference(wall_clock(end, zone), wall_clock(start, zone))


def _checked_difference(left: Integers, right: Integers) -> Integers:
    difference = left - right
    if (((left ^ right) & (left ^ difference)) < 0).any():
        raise DataError("long overflow")
    return difference


# ---- intervals times numbers


def _scale_interval(operation: str, arguments: tuple[Datum, ...], signature: Signature, length: int) -> Datum:
    constant = all(isinstance(datum, pa.Scalar) for datum in arguments)
    rows = 1 if constant else length
    interval, number = (full_array(datum, rows) for datum in arguments)
    in_months = is_year_month(signature.argument_types[0])
    storage = pa.int32() if in_months else pa.int64()
    amounts = interval.view(storage).to_pylist()
    bound = _MAX_INT if in_months else _MAX_LONG
    scaled = [
        None if amount is None or factor is None else scale_amount(operation, amount, factor, bound)
        for amount, factor in zip(amounts, number.to_pylist(), strict=True)
    ]
    result = from_values(scaled, storage).view(physical(signature.type))
    return result[0] if constant else result


def scale_amount(operation: str, amount: int, number: float | Decimal, bound: int) -> int:
    """Return the amount of an interval, ``amount / number`` if ``operation`` is "divide", else ``amount *
    number``; halves are rounded away from zero. Raises INTERVAL_DIVIDED_BY_ZERO; DataError if the result's
    magnitude exceeds ``bound``.

    >>> scale_amount("divide", -5, 2, 100), scale_amount("multiply", 5, Decimal("0.5"), 100)
    (-3, 3)
    """
    if operation == "divide" and number == 0:
        raise spark_error(
            "INTERVAL_DIVIDED_BY_ZERO",
            "Division by zero. Use `try_divide` to tolerate divisor being 0 and return NULL instead.",
        )
    exact: Decimal
    if isinstance(number, float):
        product = amount / number if operation == "divide" else amount * number
        if product != product or product in (float("inf"), float("-inf")):
            raise DataError("input is infinite or NaN")
        exact = Decimal(product)
    else:
        combine = _DECIMAL.divide if operation == "divide" else _DECIMAL.multiply
        exact = combine(Decimal(amount), Decimal(number))
    rounded = int(exact.to_integral_value(ROUND_HALF_UP))
    if not -bound - 1 <= rounded <= bound:
        raise DataError("integer overflow" if bound == _MAX_INT else "long overflow")
    return rounded
