"""Functions that build dates, timestamps and intervals from numbers, and numbers from dates, timestamps and
intervals."""

from decimal import Decimal
from typing import Final

import numpy as np
import pyarrow as pa

from sqlfront_values.arrow.arrays import from_numpy, from_values, numpy_view, valid_mask
from sqlfront_values.arrow.forms import Datum, unscaled
from sqlfront_values.errors import DatabaseError, DataError, spark_error
from sqlfront_values.evaluation_errors import interval_overflow
from sqlfront_values.expressions import Call
from sqlfront_values.functions.registry import Invocation, Kernel, Kind, ScalarFunction, register
from sqlfront_values.functions.rowwise import by_row, check_zone, columnar, local_instant
from sqlfront_values.functions.time.parsing import invalid_day
from sqlfront_values.java.civil import (
    MICROS_PER_DAY,
    MICROS_PER_HOUR,
    MICROS_PER_MINUTE,
    MICROS_PER_SECOND,
    checked_days,
    days_in_month,
)
from sqlfront_values.types import (
    BIGINT,
    DATE,
    DAY_TIME_INTERVAL,
    INT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    YEAR_MONTH_INTERVAL,
    decimal,
    is_decimal,
    is_fractional,
    physical,
)

_MAX_INT: Final = 2**31 - 1
_MAX_LONG: Final = 2**63 - 1

# ---- from fields


def _out_of_bounds(reason: str) -> DatabaseError:
    return spark_error("DATETIME_FIELD_OUT_OF_BOUNDS.WITHOUT_SUGGESTION", f"{reason}.")


def _check(name: str, value: int, low: int, high: int, shown: str = "") -> None:
    if not low <= value <= high:
        raise _out_of_bounds(f"Invalid value for {name} (valid values {shown or f'{low} - {high}'}): {value}")


def days_of(year: int, month: int, day: int) -> int:
    """Return the number of days from 1970-01-01 to a date of the proleptic Gregorian calendar; the number is
    negative for earlier dates.

    Raises DATETIME_FIELD_OUT_OF_BOUNDS if there is no such month or no such day in the month, and
    ARITHMETIC_OVERFLOW if the number exceeds a 32-bit integer.
    """
    _check("MonthOfYear", month, 1, 12)
    _check("DayOfMonth", day, 1, 31, "1 - 28/31")
    if day > days_in_month(year, month):
        raise _out_of_bounds(invalid_day(year, month, day))
    days = checked_days(year, month, day)
    if not -_MAX_INT - 1 <= days <= _MAX_INT:
        raise spark_error("ARITHMETIC_OVERFLOW", "overflow.")
    return days


@columnar
def _make_date(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    numbers = Invocation(INT, invocation.argument_types, invocation.length, invocation.settings)
    return by_row(days_of, arguments, numbers).view(DATE)


def _local_micros(year: int, month: int, day: int, hour: int, minute: int, seconds: Decimal) -> int:
    """Return a local time as microseconds since 1970. A ``seconds`` of exactly 60 means the first second of
    the next minute. Raises DataError with Spark's condition for a field out of its range."""
    days = days_of(year, month, day)
    _check("HourOfDay", hour, 0, 23)
    _check("MinuteOfHour", minute, 0, 59)
    whole = int(seconds)
    if whole == 60 and seconds != 60:
        raise spark_error(
            "INVALID_FRACTION_OF_SECOND",
            "Valid range for seconds is [0, 60] (inclusive), but the provided value is"
            f" {seconds.normalize():f}. To avoid this error, use `try_make_timestamp`, which returns NULL on"
            " error.",
        )
    if seconds != 60:
        _check("SecondOfMinute", whole if seconds >= 0 else min(whole, -1), 0, 59)
    micros = int(seconds * MICROS_PER_SECOND)
    return days * MICROS_PER_DAY + hour * MICROS_PER_HOUR + minute * MICROS_PER_MINUTE + micros


def _make_timestamp(*, safe: bool, local: bool = False) -> Kernel:
    @columnar
    def kernel(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
        session = invocation.settings.time_zone

        def make(
            year: int, month: int, day: int, hour: int, minute: int, seconds: Decimal, zone: str = session
        ) -> int | None:
            check_zone(zone)
            try:
                micros = _local_micros(year, month, day, hour, minute, seconds)
            except DataError:
                if safe:
                    return None
                raise
            instant = micros if local else local_instant(micros, zone)
            if not -_MAX_LONG - 1 <= instant <= _MAX_LONG:
                raise DataError("long overflow")  # Spark's error, also that of the try_ forms
            return instant

        numbers = Invocation(BIGINT, invocation.argument_types, invocation.length, invocation.settings)
        return by_row(make, arguments, numbers).view(invocation.type)

    return kernel


@columnar
def _make_dt_interval(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    def make(days: int = 0, hours: int = 0, minutes: int = 0, seconds: Decimal = Decimal(0)) -> int:
        whole = days * MICROS_PER_DAY + hours * MICROS_PER_HOUR + minutes * MICROS_PER_MINUTE
        micros = whole + int(seconds * MICROS_PER_SECOND)
        if not -_MAX_LONG - 1 <= micros <= _MAX_LONG:
            raise interval_overflow()
        return micros

    numbers = Invocation(BIGINT, invocation.argument_types, invocation.length, invocation.settings)
    return by_row(make, arguments, numbers).view(physical(DAY_TIME_INTERVAL))


@columnar
def _make_ym_interval(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    def make(years: int = 0, added: int = 0) -> int:
        total = years * 12 + added
        if not -_MAX_INT - 1 <= total <= _MAX_INT:
            raise interval_overflow()
        return total

    numbers = Invocation(INT, invocation.argument_types, invocation.length, invocation.settings)
    return by_row(make, arguments, numbers)


# ---- from and to counts since 1970


@columnar
def _timestamp_seconds(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    column, number_type = arguments[0], invocation.argument_types[0]
    if is_decimal(number_type):
        scale = 10**number_type.scale
        return from_values([_exact_micros(value, scale) for value in unscaled(column)], BIGINT).view(
            TIMESTAMP
        )
    if is_fractional(number_type):
        values = numpy_view(column).astype(np.float64) * MICROS_PER_SECOND
        finite = np.isfinite(values)
        limit = float(2**63)
        micros = np.where(finite & (np.abs(values) < limit), values, 0).astype(np.int64)
        micros[finite & (values >= limit)] = _MAX_LONG
        micros[finite & (values <= -limit)] = -_MAX_LONG - 1
        valid = valid_mask(column)
        return from_numpy(micros, TIMESTAMP, finite if valid is None else valid & finite)
    return _multiplied(column, MICROS_PER_SECOND, "seconds")


def _exact_micros(value: int | None, scale: int) -> int | None:
    if value is None:
        return None
    micros, rest = divmod(value * MICROS_PER_SECOND, scale)
    if rest:
        raise DataError("Rounding necessary")
    if not -_MAX_LONG - 1 <= micros <= _MAX_LONG:
        raise DataError("Overflow")
    return micros


def _multiplied(column: pa.Array, factor: int, unit: str) -> pa.Array:
    """Return a column of numbers, each of which counts units of ``factor`` microseconds since 1970, as
    timestamps; ``unit`` names the unit in errors. Raises DATETIME_OVERFLOW if a timestamp doesn't fit 64
    bits."""
    counts = numpy_view(column).astype(np.int64)
    valid = valid_mask(column)
    if valid is not None:
        counts = np.where(valid, counts, 0)
    beyond = np.abs(counts) > _MAX_LONG // factor
    if beyond.any():
        raise spark_error(
            "DATETIME_OVERFLOW",
            f"Datetime operation overflow: create a TIMESTAMP from {counts[beyond][0]}L {unit} since the"
            " epoch.",
        )
    return from_numpy(counts * factor, TIMESTAMP, valid)


@columnar
def _timestamp_millis(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    return _multiplied(arguments[0], 1000, "milliseconds")


@columnar
def _viewed(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    """Return the column's stored integers unchanged as values of the result's type, such as microseconds as
    timestamps."""
    return arguments[0].view(invocation.type)


def _floored(divisor: int) -> Kernel:
    @columnar
    def kernel(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
        column = arguments[0]
        return from_numpy(np.floor_divide(numpy_view(column), divisor), BIGINT, valid_mask(column))

    return kernel


def _seconds_fail(call: Call) -> bool:
    return not is_fractional(call.arguments[0].type)


# ---- fields of intervals


def _interval_field(unit: int, count: int | None) -> Kernel:
    """Make the kernel of a field of an interval: the number of entire units in the interval, modulo ``count``
    (None = all), with the interval's sign. ``unit`` is the unit in months or microseconds."""

    @columnar
    def kernel(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
        column = arguments[0]
        amounts = numpy_view(column).astype(np.int64)
        parts = np.abs(amounts) // unit
        parts = np.sign(amounts) * (parts if count is None else parts % count)
        return from_numpy(parts, physical(invocation.type), valid_mask(column))

    return kernel


#: The fields that EXTRACT takes from intervals: unit, number of units in the next larger unit, result type.
_INTERVAL_FIELDS: Final = {
    "interval_year": (YEAR_MONTH_INTERVAL, 12, None, INT, "1"),
    "interval_month": (YEAR_MONTH_INTERVAL, 1, 12, TINYINT, "2"),
    "interval_day": (DAY_TIME_INTERVAL, MICROS_PER_DAY, None, INT, "3"),
    "interval_hour": (DAY_TIME_INTERVAL, MICROS_PER_HOUR, 24, TINYINT, "4"),
    "interval_minute": (DAY_TIME_INTERVAL, MICROS_PER_MINUTE, 60, TINYINT, "5"),
    "interval_second": (DAY_TIME_INTERVAL, 1, MICROS_PER_MINUTE, decimal(8, 6), "Decimal('6.700000')"),
}
_INTERVAL_EXAMPLES: Final = {
    YEAR_MONTH_INTERVAL: "interval '1-2' year to month",
    DAY_TIME_INTERVAL: "interval '3 04:05:06.7' day to second",
}

_FIELDS: Final = (INT, INT, INT, INT, INT, decimal(16, 6))


def _timestamp_maker(name: str, *, safe: bool, local: bool) -> ScalarFunction:
    arguments: tuple[pa.DataType, ...] = _FIELDS if local else (*_FIELDS, STRING)
    made = "datetime.datetime(2014, 12, 28, 6, 30, 45, 887000)"
    return ScalarFunction(
        name,
        arguments,
        TIMESTAMP_NTZ if local else TIMESTAMP,
        _make_timestamp(safe=safe, local=local),
        optional=0 if local else 1,
        can_fail=not safe,
        example=(f"{name}(2014, 12, 28, 6, 30, 45.887)", made),
    )


register(
    ScalarFunction(
        "make_date",
        (INT, INT, INT),
        DATE,
        _make_date,
        can_fail=True,
        example=("make_date(2020, 2, 29)", "datetime.date(2020, 2, 29)"),
    ),
    *(
        _timestamp_maker(f"{prefix}make_timestamp{suffix}", safe=prefix == "try_", local=suffix == "_ntz")
        for prefix in ("", "try_")
        for suffix in ("", "_ltz", "_ntz")
    ),
    ScalarFunction(
        "make_dt_interval",
        (INT, INT, INT, decimal(18, 6)),
        DAY_TIME_INTERVAL,
        _make_dt_interval,
        optional=4,
        can_fail=True,
        example=(
            "make_dt_interval(1, 2, 3, 4.5)",
            "datetime.timedelta(days=1, seconds=7384, microseconds=500000)",
        ),
    ),
    ScalarFunction(
        "make_ym_interval",
        (INT, INT),
        YEAR_MONTH_INTERVAL,
        _make_ym_interval,
        optional=2,
        can_fail=True,
        example=("make_ym_interval(1, 2)", "14"),
    ),
    ScalarFunction(
        "timestamp_seconds",
        (Kind.NUMERIC,),
        TIMESTAMP,
        _timestamp_seconds,
        can_fail=_seconds_fail,
        exact=(0,),
        example=("timestamp_seconds(1.5)", "datetime.datetime(1970, 1, 1, 0, 0, 1, 500000)"),
    ),
    ScalarFunction(
        "timestamp_millis",
        (BIGINT,),
        TIMESTAMP,
        _timestamp_millis,
        can_fail=True,
        exact=(0,),
        example=("timestamp_millis(1500)", "datetime.datetime(1970, 1, 1, 0, 0, 1, 500000)"),
    ),
    ScalarFunction(
        "timestamp_micros",
        (BIGINT,),
        TIMESTAMP,
        _viewed,
        exact=(0,),
        example=("timestamp_micros(5)", "datetime.datetime(1970, 1, 1, 0, 0, 0, 5)"),
    ),
    ScalarFunction(
        "date_from_unix_date",
        (INT,),
        DATE,
        _viewed,
        example=("date_from_unix_date(1)", "datetime.date(1970, 1, 2)"),
    ),
    ScalarFunction(
        "unix_date", (DATE,), INT, _viewed, exact=(0,), example=("unix_date(date'1970-01-02')", "1")
    ),
    *(
        ScalarFunction(
            f"unix_{unit}",
            (Kind.ANY_TIMESTAMP,),
            BIGINT,
            _floored(divisor),
            exact=(0,),
            example=(f"unix_{unit}(timestamp'1970-01-01 00:00:01Z')", str(MICROS_PER_SECOND // divisor)),
        )
        for unit, divisor in (("seconds", MICROS_PER_SECOND), ("millis", 1000), ("micros", 1))
    ),
    *(
        ScalarFunction(
            name,
            (interval,),
            result,
            _interval_field(unit, count),
            example=(
                f"extract({name.removeprefix('interval_')} from {_INTERVAL_EXAMPLES[interval]})",
                answer,
            ),
        )
        for name, (interval, unit, count, result, answer) in _INTERVAL_FIELDS.items()
    ),
)
