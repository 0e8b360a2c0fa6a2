"""Casts among dates, timestamps, intervals and numbers, and from strings to dates and timestamps."""

import re
from datetime import date, datetime, tzinfo
from decimal import ROUND_HALF_EVEN, Context, Decimal
from typing import Final

import numpy as np
import pyarrow as pa

from sqlfront_values import room
from sqlfront_values.arrow import kernels as pc
from sqlfront_values.arrow.arrays import from_numpy, from_values, numpy_view, valid_mask
from sqlfront_values.arrow.forms import INT64, from_unscaled, unscaled
from sqlfront_values.casts.decimals import fitted
from sqlfront_values.casts.numbers import Convert, int64_view, number_text
from sqlfront_values.casts.parsing import BLANKS, malformed, row_by_row
from sqlfront_values.errors import DataError
from sqlfront_values.evaluation_errors import cast_overflow, invalid_input
from sqlfront_values.java.civil import MICROS_PER_DAY, MICROS_PER_SECOND, checked_days
from sqlfront_values.types import BIGINT, DATE, DOUBLE, TIMESTAMP, TIMESTAMP_NTZ
from sqlfront_values.zones.names import zone_of
from sqlfront_values.zones.wall_clock import from_wall_clock, offset_micros, to_wall_clock

#: The last day whose midnight fits 64 bits of microseconds; its negative is the first such day.
_LAST_DAY: Final = (2**63 - 1) // MICROS_PER_DAY
_EPOCH: Final = date(1970, 1, 1)
_CAST: Final = pc.get_function("cast")
_MATCH: Final = pc.get_function("match_substring_regex")
_INT64_BOUND: Final = 2.0**63
#: Java's MathContext.DECIMAL128.
_DECIMAL128: Final = Context(prec=34, rounding=ROUND_HALF_EVEN)

# ---- among temporal types


def date_to_timestamp(zone: str, *, safe: bool) -> Convert:
    """Make the cast of dates to timestamps, midnight in the time zone named ``zone``. A date beyond the range
    of timestamps becomes null if ``safe``, else the cast raises DataError."""
    to_clock = date_to_timestamp_ntz(safe=safe)
    return lambda values: from_wall_clock(to_clock(values), zone)


def date_to_timestamp_ntz(*, safe: bool) -> Convert:
    """Make the cast of dates to timestamp_ntz, midnight of the day. A date whose microseconds since 1970
    exceed 64 bits becomes null if ``safe``, else the cast raises DataError with Java's message."""

    def convert(values: pa.Array) -> pa.Array:
        days, valid = numpy_view(values).astype(np.int64), valid_mask(values)
        far = np.abs(days) > _LAST_DAY
        if far.any():
            if valid is not None:
                far &= valid
            if far.any() and not safe:
                raise DataError("long overflow")
            valid = ~far if valid is None else valid & ~far
            days = np.where(valid, days, 0)
        return from_numpy(days * MICROS_PER_DAY, TIMESTAMP_NTZ, valid)

    return convert


def timestamp_ntz_to_date(values: pa.Array) -> pa.Array:
    """Cast wall-clock times (timestamp_ntz) to the dates of their days."""
    days = np.floor_divide(numpy_view(values), MICROS_PER_DAY).astype(np.int32)
    return from_numpy(days, DATE, valid_mask(values))


def timestamp_to_date(zone: str) -> Convert:
    """Make the cast of timestamps to dates, the days that the wall clock of the time zone named ``zone``
    shows."""
    return lambda values: timestamp_ntz_to_date(to_wall_clock(values, zone))


def to_clock(zone: str) -> Convert:
    """Make the cast of timestamps to timestamp_ntz, the times that the wall clock of the time zone ``zone``
    shows."""
    return lambda values: to_wall_clock(values, zone)


def from_clock(zone: str) -> Convert:
    """Make the cast of timestamp_ntz to timestamps, the instants at which the wall clock of the time zone
    named ``zone`` shows those times."""
    return lambda values: from_wall_clock(values, zone)


# ---- timestamps and numbers


def timestamp_to_integral(target: pa.DataType, *, safe: bool) -> Convert:
    """Make the cast of timestamps to ``target``, an integral: whole seconds since 1970, rounded down. Seconds
    beyond the type's bounds become null if ``safe``, else the cast raises CAST_OVERFLOW."""
    bound = 2 ** (target.bit_width - 1)

    def convert(values: pa.Array) -> pa.Array:
        valid = valid_mask(values)
        seconds = np.floor_divide(numpy_view(values), MICROS_PER_SECOND)
        bad = (seconds < -bound) | (seconds >= bound)
        if valid is not None:
            bad &= valid
        if bad.any():
            if not safe:
                raise cast_overflow(_timestamp_literal(values, int(np.argmax(bad))), TIMESTAMP, target)
            valid = ~bad if valid is None else valid & ~bad
        return from_numpy(seconds.astype(f"i{target.bit_width // 8}"), target, valid)

    return convert


def _timestamp_literal(values: pa.Array, row: int) -> str:
    clock = _CAST.call([values.slice(row, 1).view(pa.timestamp("us"))], pc.CastOptions.safe(pa.string()))
    return f"TIMESTAMP '{re.sub(r'[.]?0+$', '', clock[0].as_py())}'"


def timestamp_to_float(target: pa.DataType) -> Convert:
    """Make the cast of timestamps to ``target``, a float or a double: seconds since 1970 with their
    fraction."""

    def convert(values: pa.Array) -> pa.Array:
        seconds = int64_view(values) / float(MICROS_PER_SECOND)
        return from_numpy(seconds.astype(f"f{target.bit_width // 8}"), target, valid_mask(values))

    return convert


def timestamp_to_decimal(target: pa.DataType, *, safe: bool) -> Convert:
    """Make the cast of timestamps to ``target``, a decimal: seconds since 1970, rounded to the type's scale.
    Seconds of too many digits become null if ``safe``, else the cast raises NUMERIC_VALUE_OUT_OF_RANGE."""
    return lambda values: from_unscaled(
        [
            None if value is None else fitted(value, 6, target, safe=safe)
            for value in values.view(INT64).to_pylist()
        ],
        target,
    )


def integral_to_timestamp(values: pa.Array) -> pa.Array:
    """Cast integrals, seconds since 1970, to timestamps. Seconds beyond the range of timestamps become the
    least or the greatest timestamp, as in Spark."""
    seconds = numpy_view(values).astype(np.int64)
    limit = np.iinfo(np.int64).max // MICROS_PER_SECOND
    micros = np.clip(seconds, -limit, limit) * MICROS_PER_SECOND
    micros[seconds > limit] = np.iinfo(np.int64).max
    micros[seconds < -limit] = np.iinfo(np.int64).min
    return from_numpy(micros, TIMESTAMP, valid_mask(values))


def float_to_timestamp(*, safe: bool) -> Convert:
    """Make the cast of floats, seconds since 1970, to timestamps, cut off to microseconds. NaN, infinities
    and seconds beyond the range of timestamps become null if ``safe``, else the cast raises
    CAST_INVALID_INPUT (NaN, infinities) or CAST_OVERFLOW."""

    def micros(value: float | None) -> int | None:
        if value is None:
            return None
        product = value * MICROS_PER_SECOND
        if -_INT64_BOUND <= product <= _INT64_BOUND:
            return min(int(product), 2**63 - 1)
        if safe:
            return None
        if product != product or value in (float("inf"), float("-inf")):
            raise invalid_input(number_text(value, DOUBLE), DOUBLE, TIMESTAMP)
        raise cast_overflow(number_text(product, DOUBLE), DOUBLE, BIGINT)

    return lambda values: from_values([micros(value) for value in values.to_pylist()], INT64).view(TIMESTAMP)


def decimal_to_timestamp(source: pa.DataType) -> Convert:
    """Make the cast of decimals of the type ``source``, seconds since 1970, to timestamps, cut off to
    microseconds. As in Spark, the number of microseconds is rounded to 34 digits, and only its low 64 bits
    count, so that no value is refused."""

    def micros(value: int | None) -> int | None:
        if value is None:
            return None
        product = _DECIMAL128.multiply(Decimal(value).scaleb(-source.scale, _DECIMAL128), MICROS_PER_SECOND)
        low = int(product) & (2**64 - 1)
        return low - 2**64 if low >= 2**63 else low

    return lambda values: from_values([micros(value) for value in unscaled(values)], INT64).view(TIMESTAMP)


# ---- strings to dates and timestamps

_PLAIN_DATE: Final = pc.MatchSubstringOptions(r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$")
_PLAIN_TIMESTAMP: Final = pc.MatchSubstringOptions(
    r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?$"
)
_DATE: Final = re.compile(r"([+-]?)([0-9]{4,7})(?:-([0-9]{1,2})(?:-([0-9]{1,2})(?:[ T].*)?)?)?", re.DOTALL)
_DAY: Final = r"([+-]?)([0-9]{4,6})(?:-([0-9]{1,2})(?:-([0-9]{1,2}))?)?"
_CLOCK: Final = r"([0-9]{1,2})(?::([0-9]{1,2})(?::([0-9]{1,2})(?:\.([0-9]*))?(.*))?)?"
_TIMESTAMP: Final = re.compile(rf"{_DAY}(?:[ T]{_CLOCK})?", re.DOTALL)
_TIME: Final = re.compile(rf"(T)?{_CLOCK}", re.DOTALL)


def string_to_date(*, safe: bool) -> Convert:
    """Make the cast of texts to dates. A text is well-formed if it is ``[+-]yyyy[yyy][-m[m][-d[d]]]`` between
    blanks; behind a complete date, text after a blank or a T is ignored. A malformed text becomes null if
    ``safe``, else the cast raises CAST_INVALID_INPUT."""

    def one(text: str | None) -> int | None:
        if text is None:
            return None
        try:
            return parse_date(text)
        except ValueError:
            if safe:
                return None
            raise malformed(text, DATE) from None

    def by_row(values: pa.Array) -> pa.Array:
        return from_values([one(text) for text in values.to_pylist()], pa.int32()).view(DATE)

    return quick_or_by_row(_PLAIN_DATE, _by_arrow(DATE), by_row)


def quick_or_by_row(pattern: pc.MatchSubstringOptions, by_arrow: Convert, by_row: Convert) -> Convert:
    """Make a cast of texts that chooses a parser for each array: ``by_arrow``, a cast of Arrow's, if all
    texts match ``pattern`` (plain notation) and Arrow accepts them; else ``by_row``, which parses text by
    text."""

    def convert(values: pa.Array) -> pa.Array:
        matches = _MATCH.call([values], pattern)
        if matches.true_count == len(values) - values.null_count:
            try:
                return by_arrow(values)
            except pa.ArrowInvalid:
                pass
        return by_row(values)

    return convert


def _by_arrow(target: pa.DataType) -> Convert:
    options = pc.CastOptions.safe(target)
    return lambda values: _CAST.call([values], options)


def parse_date(text: str) -> int:
    """Parse a date as Spark's cast does, to days since 1970. Raises ValueError if the text is malformed or
    there is no such date.

    >>> parse_date(" 1970-1-2 "), parse_date("1970-01-03Tanything")
    (1, 2)
    """
    match = _DATE.fullmatch(text.strip(BLANKS))
    if match is None:
        raise ValueError
    sign, year, month, day = match.groups()
    return checked_days(-int(year) if sign == "-" else int(year), int(month or 1), int(day or 1))


def string_to_timestamp(zone: str, *, safe: bool) -> Convert:
    """Make the cast of texts to timestamps. A text is a date, optionally a time of day with a fraction,
    optionally a time zone (else the time zone named ``zone``, the session's, counts). A time of day alone
    is a time of the current day in its zone.

    A malformed text becomes null if ``safe``, else the cast raises CAST_INVALID_INPUT.
    """
    session = zone_of(zone)

    def instant(text: str) -> int:
        try:
            clock, name = parse_timestamp(text)
            its_zone = session if name is None else zone_of(name)
        except ValueError:
            since_midnight, name = _parse_time(text)
            its_zone = session if name is None else zone_of(name)
            clock = _today(its_zone) * MICROS_PER_DAY + since_midnight
        return clock - offset_micros(clock, its_zone)

    by_row = row_by_row(instant, TIMESTAMP, safe=safe, storage=INT64)
    quick = quick_or_by_row(_PLAIN_TIMESTAMP, _by_arrow(TIMESTAMP_NTZ), by_row)

    def convert(values: pa.Array) -> pa.Array:
        parsed = quick(values)
        return from_wall_clock(parsed, zone) if parsed.type.equals(TIMESTAMP_NTZ) else parsed

    return convert


def string_to_timestamp_ntz(*, safe: bool) -> Convert:
    """Make the cast of texts to timestamp_ntz. A text is a date, optionally a time of day with a fraction,
    optionally a time zone, which is checked and ignored. A malformed text becomes null if ``safe``, else the
    cast raises CAST_INVALID_INPUT."""

    def clock_of(text: str) -> int:
        clock, name = parse_timestamp(text)
        if name is not None:
            zone_of(name)
        return clock

    by_row = row_by_row(clock_of, TIMESTAMP_NTZ, safe=safe, storage=INT64)
    return quick_or_by_row(_PLAIN_TIMESTAMP, _by_arrow(TIMESTAMP_NTZ), by_row)


def parse_timestamp(text: str) -> tuple[int, str | None]:
    """Parse a timestamp as Spark's cast does. Returns the microseconds since 1970 of the wall-clock time, and
    the time zone's name, unchecked, or None if the text has no time zone. Raises ValueError if the text is
    malformed.

    >>> parse_timestamp("1970-01-01 00:00:01.5 Europe/Paris")
    (1500000, 'Europe/Paris')
    """
    match = _TIMESTAMP.fullmatch(text.strip(BLANKS))
    if match is None:
        raise ValueError
    sign, year, month, day, hour, minute, second, fraction, zone = match.groups()
    if hour is not None and day is None:
        raise ValueError
    days = checked_days(-int(year) if sign == "-" else int(year), int(month or 1), int(day or 1))
    clock = days * MICROS_PER_DAY + _micros(hour, minute, second, fraction)
    if not -(2**63) <= clock < 2**63:
        raise ValueError
    return clock, (zone or "").strip() or None


def _micros(hour: str | None, minute: str | None, second: str | None, fraction: str | None) -> int:
    """Return the microseconds since midnight of a time of day, whose missing fields (None) count as 0. Raises
    ValueError if a field is out of range."""
    micros = int((fraction or "")[:6].ljust(6, "0"))
    return seconds_of_day(hour, minute, second) * MICROS_PER_SECOND + micros


def seconds_of_day(hour: str | None, minute: str | None, second: str | None) -> int:
    """Return the seconds since midnight of a time of day, whose missing fields (None) count as 0. Raises
    ValueError if a field is out of range."""
    hours, minutes, seconds = int(hour or 0), int(minute or 0), int(second or 0)
    if hours > 23 or minutes > 59 or seconds > 59:
        raise ValueError
    return (hours * 60 + minutes) * 60 + seconds


def _parse_time(text: str) -> tuple[int, str | None]:
    """Parse a time of day without a date, ``[T]h[h]:m[m][:s[s][.f]][zone]`` or ``Th[h]``, as Spark's cast to
    TIMESTAMP does. Returns the microseconds since midnight, and the time zone's name, unchecked, or None if
    the text has no time zone. Raises ValueError if the text is malformed."""
    match = _TIME.fullmatch(text.strip(BLANKS))
    if match is None or not (match[1] or match[3]):
        raise ValueError
    return _micros(*match.group(2, 3, 4, 5)), (match[6] or "").strip() or None


def _today(zone: tzinfo) -> int:
    """Return the current day in a time zone, in days since 1970. Raises NotConstantError while a constant is
    computed for a plan."""
    room.vary("the current day")
    return (datetime.now(zone).date() - _EPOCH).days
