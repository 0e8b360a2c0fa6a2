"""Casts of times of day (TIME): from and to texts, to another precision, to numbers, and from timestamps.

A time of day is a number of nanoseconds since midnight; a cast to a precision cuts off the digits behind it.
"""

import re
from typing import Final

import numpy as np
import pyarrow as pa

from sqlfront_values.arrow import kernels as pc
from sqlfront_values.arrow.arrays import from_numpy, numpy_dtype, numpy_view, scalar, valid_mask
from sqlfront_values.arrow.exchange import CLOCK
from sqlfront_values.arrow.forms import INT64, from_unscaled
from sqlfront_values.casts.datetimes import quick_or_by_row, seconds_of_day
from sqlfront_values.casts.decimals import fitted
from sqlfront_values.casts.numbers import Convert, int64_view
from sqlfront_values.casts.parsing import BLANKS, row_by_row
from sqlfront_values.columns.batches import Integers
from sqlfront_values.evaluation_errors import cast_overflow
from sqlfront_values.java.civil import MICROS_PER_DAY, NANOS_PER_MICRO, NANOS_PER_SECOND
from sqlfront_values.types import STRING, TimeType
from sqlfront_values.zones.wall_clock import to_wall_clock

#: Digits of nanoseconds.
_DIGITS: Final = 9
_CAST: Final = pc.get_function("cast")
_REPLACE: Final = pc.get_function("replace_substring_regex")
_TO_STRING: Final = pc.CastOptions.safe(STRING)
_TO_TIMESTAMP: Final = pc.CastOptions.safe(pa.timestamp("ns"))
_JOIN: Final = pc.get_function("binary_join_element_wise")
_FIRST_DAY: Final = scalar("1970-01-01", STRING)
_BLANK: Final = scalar(" ", STRING)
_TRAILING_ZEROS: Final = pc.ReplaceSubstringOptions(r"\.?0+$", "")
_PLAIN: Final = pc.MatchSubstringOptions(r"^[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?$")
_TIME: Final = re.compile(
    r"(T)?([0-9]{1,2})(?::([0-9]{1,2})(?::([0-9]{1,2})(?:\.([0-9]*))?)?)?[\0-\x20\x7f]*([AaPp][Mm])?"
)


def cut(nanos: int, precision: int) -> int:
    """Return the time with the digits of its seconds behind ``precision`` cut off.

    >>> cut(1_987_654_321, 3)
    1987000000
    """
    return int(nanos - nanos % 10 ** (_DIGITS - precision))


def time_to_time(target: TimeType) -> Convert:
    """Make the cast of times to ``target``, which cuts off digits behind its precision."""
    unit = 10 ** (_DIGITS - target.precision)

    def convert(values: pa.Array) -> pa.Array:
        nanos = numpy_view(values)
        return from_numpy(nanos - nanos % unit, INT64, valid_mask(values))

    return convert


# ---- texts


def parse_time(text: str) -> int:
    """Parse a time as Spark's cast does: ``[T]h[h]:m[m][:s[s][.f]]``, or ``Thh``, between blanks; behind it
    may stand AM or PM, with hours from 1 to 12. Digits behind nanoseconds are ignored. Returns the
    nanoseconds since midnight. Raises ValueError if the text is malformed.

    >>> parse_time("0:0:1.5"), parse_time(" 12:00:01 am ")
    (1500000000, 1000000000)
    """
    match = _TIME.fullmatch(text.strip(BLANKS))
    if match is None or not (match[1] or match[3]):
        raise ValueError
    _, hour, minute, second, fraction, half = match.groups()
    if half is not None:
        if not 1 <= int(hour) <= 12:
            raise ValueError
        hour = str(int(hour) % 12 + (12 if half[0] in "Pp" else 0))
    nanos = int((fraction or "")[:_DIGITS].ljust(_DIGITS, "0"))
    return seconds_of_day(hour, minute, second) * NANOS_PER_SECOND + nanos


def fraction_digits(text: str) -> int:
    """Return the number of digits of the seconds' fraction in a text that :func:`parse_time` accepts.

    >>> fraction_digits("0:0:1.50 PM")
    2
    """
    match = _TIME.fullmatch(text.strip(BLANKS))
    return len(match[5] or "") if match else 0


def time_text(nanos: int) -> str:
    """Format a time, given in nanoseconds since midnight, as Spark's cast to string does.

    >>> time_text(3_600_000_000_000), time_text(1_120_000_000)
    ('01:00:00', '00:00:01.12')
    """
    seconds, fraction = divmod(nanos, NANOS_PER_SECOND)
    text = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    return f"{text}.{fraction:09d}".rstrip("0") if fraction else text


def time_literal(nanos: int) -> str:
    """Return Spark's literal of a time, as names of columns and messages have it.

    >>> time_literal(1_500_000_000)
    "TIME '00:00:01.5'"
    """
    return f"TIME '{time_text(nanos)}'"


def string_to_time(target: TimeType, *, safe: bool) -> Convert:
    """Make the cast of texts (see :func:`parse_time`) to times of the type ``target``. A malformed text
    becomes null if ``safe``, else the cast raises CAST_INVALID_INPUT."""
    by_row = row_by_row(parse_time, target, safe=safe, storage=INT64)
    parse, shorten = quick_or_by_row(_PLAIN, _after_midnight, by_row), time_to_time(target)
    return lambda values: shorten(parse(values))


def _after_midnight(values: pa.Array) -> pa.Array:
    """Parse texts of plain notation: Arrow parses no times of day, but timestamps."""
    return _CAST.call([_JOIN.call([_FIRST_DAY, values, _BLANK])], _TO_TIMESTAMP).view(INT64)


def time_to_string(values: pa.Array) -> pa.Array:
    """Cast times to strings: ``HH:mm:ss``, and the fraction's digits without trailing zeros."""
    return _REPLACE.call([_CAST.call([values.view(CLOCK)], _TO_STRING)], _TRAILING_ZEROS)


# ---- numbers


def time_to_integral(source: TimeType, target: pa.DataType, *, safe: bool) -> Convert:
    """Make the cast of times to ``target``, an integral: whole seconds since midnight. Seconds beyond the
    type's bounds become null if ``safe``, else the cast raises CAST_OVERFLOW."""
    bound = 2 ** (target.bit_width - 1)

    def convert(values: pa.Array) -> pa.Array:
        valid = valid_mask(values)
        seconds = int64_view(values) // NANOS_PER_SECOND
        bad = seconds >= bound
        if valid is not None:
            bad &= valid
        if bad.any():
            if not safe:
                raise cast_overflow(time_literal(values[int(np.argmax(bad))].as_py()), source, target)
            valid = ~bad if valid is None else valid & ~bad
        return from_numpy(seconds.astype(numpy_dtype(target)), target, valid)

    return convert


def time_to_decimal(target: pa.DataType, *, safe: bool) -> Convert:
    """Make the cast of times to ``target``, a decimal: seconds since midnight, rounded to the type's scale.
    Seconds of too many digits become null if ``safe``, else the cast raises NUMERIC_VALUE_OUT_OF_RANGE."""
    return lambda values: from_unscaled(
        [
            None if value is None else fitted(value, _DIGITS, target, safe=safe)
            for value in values.to_pylist()
        ],
        target,
    )


# ---- timestamps


def timestamp_ntz_to_time(target: TimeType) -> Convert:
    """Make the cast of wall-clock times (timestamp_ntz) to the times of their days."""
    shorten = time_to_time(target)

    def convert(values: pa.Array) -> pa.Array:
        return shorten(from_numpy(_of_day(int64_view(values)), INT64, valid_mask(values)))

    return convert


def _of_day(micros: Integers) -> Integers:
    return micros % MICROS_PER_DAY * NANOS_PER_MICRO


def timestamp_to_time(target: TimeType, zone: str) -> Convert:
    """Make the cast of timestamps to the times of day that the wall clock of the time zone named ``zone``
    shows."""
    convert = timestamp_ntz_to_time(target)
    return lambda values: convert(to_wall_clock(values, zone))
