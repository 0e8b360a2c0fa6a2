"""Functions of times of day (TIME): made from fields, numbers and texts, their differences and units, and the
timestamps that a date and a time make.

A time is a number of nanoseconds since midnight. The fields of times (``hour``, ``second``, ...) are in
:mod:`.fields`, the operators plus and minus in :mod:`.arithmetic`.
"""

from decimal import Decimal
from typing import Final

import numpy as np
import pyarrow as pa

from sqlfront_values.arrow.arrays import from_numpy, from_values, numpy_view, scalar, valid_mask
from sqlfront_values.arrow.forms import Datum, full_array, unscaled
from sqlfront_values.casts.times import parse_time
from sqlfront_values.errors import DatabaseError, DataError, NotSupportedError, spark_error
from sqlfront_values.functions.registry import Invocation, Kernel, Kind, ScalarFunction, register
from sqlfront_values.functions.rowwise import by_row, columnar, local_instant
from sqlfront_values.functions.time.column_formatting import format_local
from sqlfront_values.functions.time.formatting import letters_of
from sqlfront_values.functions.time.parsing import parser
from sqlfront_values.java.civil import MICROS_PER_DAY, NANOS_PER_DAY, NANOS_PER_MICRO, NANOS_PER_SECOND
from sqlfront_values.types import (
    BIGINT,
    DATE,
    INT,
    STRING,
    TIME,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    decimal,
    is_decimal,
    is_fractional,
    is_time,
    physical,
)
from sqlfront_values.zones.wall_clock import from_wall_clock

_SECONDS: Final = decimal(14, 6)
_DEFAULT_PATTERN: Final = "HH:mm:ss.SSSSSS"
#: The units of time_diff and time_trunc, in nanoseconds.
_UNITS: Final = {
    "HOUR": 3600 * NANOS_PER_SECOND,
    "MINUTE": 60 * NANOS_PER_SECOND,
    "SECOND": NANOS_PER_SECOND,
    "MILLISECOND": 1_000_000,
    "MICROSECOND": NANOS_PER_MICRO,
}
#: Letters of datetime patterns that times have fields for; all others are of dates and zones.
_LETTERS: Final = frozenset("HhKkmsSaAnN")
#: The part of a pattern that asks for more digits than those of microseconds.
_NANOS: Final = "SSSSSSS"
_MAX_LONG: Final = 2**63 - 1


def _out_of_bounds(reason: str) -> DatabaseError:
    return spark_error("DATETIME_FIELD_OUT_OF_BOUNDS.WITHOUT_SUGGESTION", f"{reason}.")


def _overflow() -> DatabaseError:
    return _out_of_bounds("Overflow in TIME conversion")


# ---- from fields and numbers


def _check(name: str, value: int, high: int) -> None:
    if not 0 <= value <= high:
        raise _out_of_bounds(f"Invalid value for {name} (valid values 0 - {high}): {value}")


def _made(hour: int, minute: int, seconds: Decimal) -> int:
    """Return the time of three fields. Raises DATETIME_FIELD_OUT_OF_BOUNDS for a field out of its range."""
    _check("HourOfDay", hour, 23)
    _check("MinuteOfHour", minute, 59)
    whole = int(seconds)
    if not 0 <= seconds < 60:
        raise _out_of_bounds(f"Invalid value for SecondOfMinute (valid values 0 - 59): {whole}")
    return (hour * 60 + minute) * _UNITS["MINUTE"] + int(seconds * NANOS_PER_SECOND)


def _numbers(invocation: Invocation) -> Invocation:
    """Return the invocation with the type of stored times as the result's."""
    return Invocation(BIGINT, invocation.argument_types, invocation.length, invocation.settings)


@columnar
def _make_time(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    return by_row(_made, arguments, _numbers(invocation))


def _within_day(nanos: int) -> int:
    if not -_MAX_LONG - 1 <= nanos <= _MAX_LONG:
        raise _overflow()
    if not 0 <= nanos < NANOS_PER_DAY:
        raise _out_of_bounds(
            "Invalid TIME value: must be between 00:00:00 and 23:59:59.999999999, but got"
            f" {nanos} nanoseconds"
        )
    return nanos


def _from_number(unit: int) -> Kernel:
    """Make a kernel of times from whole numbers of ``unit`` nanoseconds."""
    most = (NANOS_PER_DAY - 1) // unit

    @columnar
    def kernel(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
        counts, valid = numpy_view(arguments[0]).astype(np.int64), valid_mask(arguments[0])
        wrong = (counts < 0) | (counts > most)
        if valid is not None:
            wrong &= valid
        if wrong.any():
            _within_day(int(counts[np.argmax(wrong)]) * unit)
        # The product of a number under a null may wrap around.
        return from_numpy(counts * unit, BIGINT, valid)

    return kernel


_from_whole_seconds: Final = _from_number(NANOS_PER_SECOND)


@columnar
def _from_seconds(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    kind, column = invocation.argument_types[0], arguments[0]
    if is_fractional(kind):
        return from_values([_of_float(value) for value in column.to_pylist()], BIGINT)
    if is_decimal(kind):
        unit = 10**kind.scale
        return from_values(
            [None if value is None else _of_ratio(value, unit) for value in unscaled(column)], BIGINT
        )
    return _from_whole_seconds(arguments, invocation)


def _of_float(seconds: float | None) -> int | None:
    if seconds is None:
        return None
    if seconds != seconds or seconds in (float("inf"), float("-inf")):
        raise _out_of_bounds("Cannot convert NaN or Infinite value to TIME")
    # As Java's cast, which gives the nearest bound for a double beyond bigint.
    nanos = max(-(2.0**63), min(seconds * NANOS_PER_SECOND, 2.0**63))
    return _within_day(min(int(nanos), _MAX_LONG))


def _of_ratio(value: int, unit: int) -> int:
    """Return the time of ``value / unit`` seconds. Digits behind nanoseconds are an overflow, as in Spark."""
    nanos, rest = divmod(value * NANOS_PER_SECOND, unit)
    if rest:
        raise _overflow()
    return _within_day(nanos)


# ---- to numbers


@columnar
def _to_seconds(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    column = arguments[0]
    micros = (numpy_view(column).astype(np.int64) + NANOS_PER_MICRO // 2) // NANOS_PER_MICRO
    return from_numpy(micros, physical(_SECONDS), valid_mask(column))


def _count(unit: int) -> Kernel:
    """Make a kernel that counts whole units of ``unit`` nanoseconds in times."""

    @columnar
    def kernel(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
        column = arguments[0]
        return from_numpy(numpy_view(column).astype(np.int64) // unit, BIGINT, valid_mask(column))

    return kernel


# ---- from and to texts


def _unparsed(text: str, pattern: str) -> DatabaseError:
    return spark_error(
        "CANNOT_PARSE_TIME",
        f"The input string '{text}' cannot be parsed to a TIME value because it does not match to the"
        f" datetime format '{pattern}'.",
    )


def _read(text: str, pattern: str | None) -> int:
    """Return the time of a text, by the datetime ``pattern`` (None = as by CAST)."""
    if pattern is not None and _NANOS in pattern:
        raise NotSupportedError("to_time with a pattern of nanoseconds")
    try:
        if pattern is None:
            return parse_time(text)
        return parser(pattern)(text).local % MICROS_PER_DAY * NANOS_PER_MICRO
    except ValueError:
        raise _unparsed(text, _DEFAULT_PATTERN if pattern is None else pattern) from None


def _to_time(*, safe: bool) -> Kernel:
    def read(text: str, pattern: str | None = None) -> int | None:
        try:
            return _read(text, pattern)
        except DatabaseError:
            if safe:
                return None
            raise

    @columnar
    def kernel(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
        return by_row(read, arguments, _numbers(invocation))

    return kernel


@columnar
def _formatted(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    nanos, pattern = arguments
    if isinstance(nanos, pa.Array) and isinstance(pattern, pa.Scalar) and pattern.is_valid:
        return _texts(nanos, pattern.as_py())

    def one(value: int, text: str) -> object:
        return _texts(from_values([value], BIGINT), text)[0].as_py()

    return by_row(one, arguments, invocation)


def _texts(times: pa.Array, pattern: str) -> pa.Array:
    """Format times by a datetime pattern. Raises INVALID_PARAMETER_VALUE.PATTERN for a pattern with a field
    that times don't have."""
    if any(letter.isalpha() and letter not in _LETTERS for letter, _ in letters_of(pattern)):
        raise spark_error(
            "INVALID_PARAMETER_VALUE.PATTERN",
            f"The value of parameter(s) `format` in `date_format` is invalid: '{pattern}'.",
        )
    nanos, valid = numpy_view(times).astype(np.int64), valid_mask(times)
    if _NANOS in pattern and np.any(nanos % NANOS_PER_MICRO):
        raise NotSupportedError("date_format of nanoseconds")
    return format_local(nanos // NANOS_PER_MICRO, np.zeros_like(nanos), "UTC", pattern, valid)


# ---- units


def _unit(name: str, function: str) -> int:
    unit = _UNITS.get(name.upper())
    if unit is None:
        raise spark_error(
            "INVALID_PARAMETER_VALUE.TIME_UNIT",
            f"The value of parameter(s) `unit` in `{function}` is invalid: expects one of the units 'HOUR', "
            f"'MINUTE', 'SECOND', 'MILLISECOND', 'MICROSECOND', but got ''{name}''.",
        )
    return unit


def _cut_off(unit: str, nanos: int) -> int:
    return nanos - nanos % _unit(unit, "time_trunc")


@columnar
def _time_trunc(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    unit, times = arguments
    if isinstance(unit, pa.Scalar) and unit.is_valid and isinstance(times, pa.Array):
        size, nanos = _unit(unit.as_py(), "time_trunc"), numpy_view(times).astype(np.int64)
        return from_numpy(nanos - nanos % size, BIGINT, valid_mask(times))
    return by_row(_cut_off, arguments, _numbers(invocation))


def _units_between(unit: str, start: int, end: int) -> int:
    count = abs(end - start) // _unit(unit, "time_diff")
    return count if end >= start else -count


@columnar
def _time_diff(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    return by_row(_units_between, arguments, invocation)


# ---- beside a date


def _timestamp(*, local: bool) -> Kernel:
    """Make the kernel of timestamps from a date, a time, and perhaps a time zone (else the session's);
    ``local``: without a time zone."""

    @columnar
    def kernel(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
        clocks = by_row(_clock, tuple(map(_stored, arguments[:2])), _numbers(invocation))
        if len(arguments) == 3:
            return by_row(local_instant, (clocks, arguments[2]), _numbers(invocation)).view(TIMESTAMP)
        moments = full_array(clocks, invocation.length).view(TIMESTAMP_NTZ)
        return moments if local else from_wall_clock(moments, invocation.settings.time_zone)

    return kernel


def _stored(datum: Datum) -> Datum:
    """Return dates as numbers of days, times as they are."""
    if isinstance(datum, pa.Scalar):
        return scalar(datum.value, BIGINT) if datum.type == DATE else datum
    return datum.view(INT) if datum.type == DATE else datum


def _clock(days: int, nanos: int) -> int:
    clock = days * MICROS_PER_DAY + nanos // NANOS_PER_MICRO
    if not -_MAX_LONG - 1 <= clock <= _MAX_LONG:
        raise DataError("long overflow")
    return clock


def _same_time(kinds: tuple[pa.DataType, ...]) -> pa.DataType:
    return kinds[1] if is_time(kinds[1]) else TIME


_NOON: Final = str(12 * _UNITS["HOUR"])

register(
    ScalarFunction(
        "make_time",
        (INT, INT, decimal(16, 6)),
        TIME,
        _make_time,
        can_fail=True,
        example=("make_time(12, 0, 0)", _NOON),
    ),
    *(
        ScalarFunction(
            name,
            (kind,),
            TIME,
            kernel,
            can_fail=True,
            exact=(0,),
            example=(f"{name}({count})", _NOON),
        )
        for name, kind, kernel, count in (
            ("time_from_seconds", Kind.NUMERIC, _from_seconds, 43_200),
            ("time_from_millis", Kind.INTEGRAL, _from_number(1_000_000), 43_200_000),
            ("time_from_micros", Kind.INTEGRAL, _from_number(NANOS_PER_MICRO), 43_200_000_000),
        )
    ),
    *(
        ScalarFunction(
            name, (Kind.TIME,), kind, kernel, exact=(0,), example=(f"{name}(TIME'00:00:01.5')", shown)
        )
        for name, kind, kernel, shown in (
            ("time_to_seconds", _SECONDS, _to_seconds, "Decimal('1.500000')"),
            ("time_to_millis", BIGINT, _count(1_000_000), "1500"),
            ("time_to_micros", BIGINT, _count(NANOS_PER_MICRO), "1500000"),
        )
    ),
    *(
        ScalarFunction(
            name,
            (STRING, STRING),
            TIME,
            _to_time(safe=safe),
            optional=1,
            can_fail=not safe,
            exact=(0, 1),
            example=(f"{name}('12.00', 'HH.mm')", _NOON),
        )
        for name, safe in (("to_time", False), ("try_to_time", True))
    ),
    ScalarFunction("text of a time", (Kind.TIME, STRING), STRING, _formatted, can_fail=True),
    ScalarFunction(
        "time_trunc",
        (STRING, Kind.TIME),
        _same_time,
        _time_trunc,
        can_fail=True,
        example=("time_trunc('HOUR', TIME'12:30:00')", _NOON),
    ),
    ScalarFunction(
        "time_diff",
        (STRING, Kind.TIME, Kind.TIME),
        BIGINT,
        _time_diff,
        can_fail=True,
        example=("time_diff('HOUR', TIME'10:00:00', TIME'12:30:00')", "2"),
    ),
    ScalarFunction(
        "timestamp of a date and a time",
        (DATE, Kind.TIME, STRING),
        TIMESTAMP,
        _timestamp(local=False),
        optional=1,
        can_fail=True,
        exact=(0, 1),
    ),
    ScalarFunction(
        "timestamp_ntz of a date and a time",
        (DATE, Kind.TIME),
        TIMESTAMP_NTZ,
        _timestamp(local=True),
        can_fail=True,
        exact=(0, 1),
    ),
)
