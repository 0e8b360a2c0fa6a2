"""Casts among intervals and numbers, and from strings to intervals.

Spark casts between a number and an interval by the interval's last unit: here seconds and months.
"""

import re
from collections.abc import Callable
from typing import Final

import numpy as np
import pyarrow as pa

from sqlfront_engine.arrays import from_numpy, from_values, numpy_view, valid_mask
from sqlfront_engine.casts.decimals import fitted
from sqlfront_engine.casts.numbers import Convert, integral_to_integral, number_text
from sqlfront_engine.casts.parsing import BLANKS
from sqlfront_engine.errors import DatabaseError, DataError, spark_error
from sqlfront_engine.failures import cast_overflow
from sqlfront_engine.forms import INT64, decimal_text, from_months, from_unscaled, months, rounded, unscaled
from sqlfront_engine.types import DAY_TIME_INTERVAL, YEAR_MONTH_INTERVAL

MICROS_PER_SECOND: Final = 1_000_000
_MOST_DAYS: Final = 106_751_991

# ---- intervals and numbers


def day_time_to_integral(target: pa.DataType, *, safe: bool) -> Convert:
    """Whole seconds of the interval."""
    narrow = integral_to_integral(INT64, target, safe=safe)

    def convert(values: pa.Array) -> pa.Array:
        micros = numpy_view(values)
        seconds = np.sign(micros) * (np.abs(micros) // MICROS_PER_SECOND)
        return narrow(from_numpy(seconds, INT64, valid_mask(values)))

    return convert


def year_month_to_integral(target: pa.DataType, *, safe: bool) -> Convert:
    """Months of the interval."""
    narrow = integral_to_integral(pa.int32(), target, safe=safe)
    return lambda values: narrow(months(values))


def day_time_to_decimal(target: pa.DataType, *, safe: bool) -> Convert:
    """Seconds of the interval with their fraction."""
    return _to_decimal(lambda values: values.view(INT64), 6, target, safe=safe)


def year_month_to_decimal(target: pa.DataType, *, safe: bool) -> Convert:
    """Months of the interval."""
    return _to_decimal(months, 0, target, safe=safe)


def _to_decimal(
    integers: Callable[[pa.Array], pa.Array], scale: int, target: pa.DataType, *, safe: bool
) -> Convert:
    def convert(values: pa.Array) -> pa.Array:
        numbers = integers(values).to_pylist()
        fit = [None if number is None else fitted(number, scale, target, safe=safe) for number in numbers]
        return from_unscaled(fit, target)

    return convert


def number_to_day_time(source: pa.DataType, *, safe: bool) -> Convert:
    """Seconds, rounded to microseconds."""
    convert = _from_number(source, 6, 63, DAY_TIME_INTERVAL, safe=safe)
    return lambda values: from_values(convert(values), INT64).view(DAY_TIME_INTERVAL)


def number_to_year_month(source: pa.DataType, *, safe: bool) -> Convert:
    """Months, rounded to whole ones."""
    convert = _from_number(source, 0, 31, YEAR_MONTH_INTERVAL, safe=safe)
    return lambda values: from_months(from_values(convert(values), pa.int32()))


def _from_number(
    source: pa.DataType, scale: int, bits: int, target: pa.DataType, *, safe: bool
) -> Callable[[pa.Array], list[int | None]]:
    """Integrals or decimals times ten to the ``scale``, as integers of so many bits and a sign."""
    decimals = pa.types.is_decimal(source)
    given = source.scale if decimals else 0

    def one(value: int | None) -> int | None:
        if value is None:
            return None
        number = rounded(value, given, scale)
        if -(2**bits) <= number < 2**bits:
            return number
        if safe:
            return None
        text = f"{decimal_text(value, given)}BD" if decimals else number_text(value, source)
        raise cast_overflow(text, source, target)

    return lambda values: [one(value) for value in (unscaled(values) if decimals else values.to_pylist())]


# ---- strings to intervals

_DAY_TIME: Final = re.compile(
    r"(?:INTERVAL\s+([+-])?'([+-]?[^']*)'\s+DAY\s+TO\s+SECOND|([+-]?[0-9].*))", re.IGNORECASE | re.DOTALL
)
_DAY_TIME_VALUE: Final = re.compile(
    r"([+-])?([0-9]{1,9}) ([0-9]{1,2}):([0-9]{1,2}):([0-9]{1,2})(?:\.([0-9]{1,9}))?"
)
_YEAR_MONTH: Final = re.compile(
    r"(?:INTERVAL\s+([+-])?'([+-]?[^']*)'\s+YEAR\s+TO\s+MONTH|([+-]?[0-9].*))", re.IGNORECASE | re.DOTALL
)
_YEAR_MONTH_VALUE: Final = re.compile(r"([+-])?([0-9]{1,9})-([0-9]{1,2})")


def string_to_day_time(*, safe: bool) -> Convert:
    """``[+-]d h:m:s[.n]``, also inside ``INTERVAL '...' DAY TO SECOND``."""

    def parse(text: str) -> int:
        outer, body = _interval_body(_DAY_TIME, text)
        match = _DAY_TIME_VALUE.fullmatch(body)
        if match is None:
            raise ValueError
        days, hours, minutes, seconds = (int(part) for part in match.group(2, 3, 4, 5))
        if days > _MOST_DAYS or hours > 23 or minutes > 59 or seconds > 59:
            raise _OutOfBoundsError
        micros = int((match[6] or "")[:6].ljust(6, "0"))
        total = (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * MICROS_PER_SECOND + micros
        return -total if outer != (match[1] == "-") else total

    def error(text: str) -> DatabaseError:
        return _interval_error(text, "day-time", "d h:m:s.n", "day to second", "_WITH_NOTICE")

    def out_of_bounds(text: str) -> DatabaseError:
        return DataError(f"The interval '{text}' has a number out of its bounds.")

    def convert(values: pa.Array) -> pa.Array:
        return _intervals(parse, (error, out_of_bounds), values, INT64, safe=safe).view(DAY_TIME_INTERVAL)

    return convert


def string_to_year_month(*, safe: bool) -> Convert:
    """``[+-]y-m``, also inside ``INTERVAL '...' YEAR TO MONTH``."""

    def parse(text: str) -> int:
        outer, body = _interval_body(_YEAR_MONTH, text)
        match = _YEAR_MONTH_VALUE.fullmatch(body)
        if match is None:
            raise ValueError
        total = int(match[2]) * 12 + int(match[3])
        total = -total if outer != (match[1] == "-") else total
        if int(match[3]) > 11 or not -(2**31) <= total < 2**31:
            raise _OutOfBoundsError
        return total

    def error(text: str) -> DatabaseError:
        return _interval_error(text, "year-month", "y-m", "year to month", "")

    def out_of_bounds(text: str) -> DatabaseError:
        return spark_error(
            "INVALID_INTERVAL_FORMAT.INTERVAL_PARSING",
            f"Error parsing '{text}' to interval. Please ensure that the value provided is in a valid format"
            " for defining an interval. You can reference the documentation for the correct format. Error"
            " parsing interval year-month string.",
        )

    def convert(values: pa.Array) -> pa.Array:
        return from_months(_intervals(parse, (error, out_of_bounds), values, pa.int32(), safe=safe))

    return convert


def _interval_body(pattern: re.Pattern[str], text: str) -> tuple[bool, str]:
    """Whether there is a minus before the quotes, and what stands between them."""
    match = pattern.fullmatch(text.strip(BLANKS))
    if match is None:
        raise ValueError
    return match[1] == "-", match[2] or match[3]


class _OutOfBoundsError(ValueError):
    """The text has the form of an interval, but one of its numbers is too large."""


def _intervals(
    parse: Callable[[str], int],
    errors: tuple[Callable[[str], DatabaseError], Callable[[str], DatabaseError]],
    values: pa.Array,
    storage: pa.DataType,
    *,
    safe: bool,
) -> pa.Array:
    numbers: list[int | None] = []
    for text in values.to_pylist():
        try:
            numbers.append(None if text is None else parse(text))
        except ValueError as error:
            if not safe:
                raise errors[isinstance(error, _OutOfBoundsError)](text) from None
            numbers.append(None)
    return from_values(numbers, storage)


def _interval_error(text: str, kind: str, form: str, name: str, suffix: str) -> DatabaseError:
    return spark_error(
        f"INVALID_INTERVAL_FORMAT.UNMATCHED_FORMAT_STRING{suffix}",
        f"Error parsing '{text}' to interval. Please ensure that the value provided is in a valid format for"
        " defining an interval. You can reference the documentation for the correct format. Interval string"
        f" does not match {kind} format of `[+|-]{form}`, `INTERVAL [+|-]'[+|-]{form}' {name.upper()}` when"
        f" cast to interval {name}: {text}.",
    )
