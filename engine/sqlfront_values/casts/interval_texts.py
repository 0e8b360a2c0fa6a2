"""Casts between strings and intervals: the text of each interval type, written and read."""

import re
from collections.abc import Callable
from typing import Final

import pyarrow as pa

from sqlfront_values.arrow.arrays import from_values
from sqlfront_values.arrow.forms import INT64
from sqlfront_values.casts.numbers import Convert
from sqlfront_values.casts.parsing import BLANKS
from sqlfront_values.errors import DatabaseError, DataError, spark_error
from sqlfront_values.types import INT, MICROS_OF, MONTHS_OF, STRING, IntervalType, is_year_month, units_of

#: The most days that a bigint of microseconds holds.
#: The greatest number of days before other units, and of a unit behind another one.
_MOST: Final = {"DAY": 106_751_991, "HOUR": 23, "MINUTE": 59, "SECOND": 59}
#: The signs of units in messages.
_SIGNS: Final = {"DAY": "d", "HOUR": "h", "MINUTE": "m", "SECOND": "s.n", "YEAR": "y", "MONTH": "m"}
_FRACTION: Final = r"(?:\.([0-9]{1,9}))?"


# ---- to strings


def interval_text(amount: int, kind: IntervalType) -> str:
    """Format a number of months or microseconds as Spark writes the interval.

    >>> from sqlfront_values.types import DAY_TIME_INTERVAL, INTERVALS
    >>> interval_text(93_784_500_000, DAY_TIME_INTERVAL), interval_text(-14, INTERVALS["YEAR", "YEAR"])
    ("INTERVAL '1 02:03:04.5' DAY TO SECOND", "INTERVAL '-1' YEAR")
    """
    body = _months_text(abs(amount), kind) if kind.first in MONTHS_OF else _time_text(abs(amount), kind)
    return f"INTERVAL '{'-' if amount < 0 else ''}{body}' {kind.units}"


def _months_text(months: int, kind: IntervalType) -> str:
    if kind.first == "MONTH":
        return str(months)
    return f"{months // 12}-{months % 12}" if kind.last == "MONTH" else str(months // 12)


def _time_text(micros: int, kind: IntervalType) -> str:
    """Format ``micros``, a number of microseconds that is not negative, as the fields of the interval type;
    the first field includes the amounts of larger units."""
    parts = []
    for unit in units_of(kind):
        count, micros = divmod(micros, MICROS_OF[unit])
        parts.append(str(count) if unit == "DAY" else f"{count:02d}")
    if kind.last == "SECOND" and micros:
        parts[-1] += f".{micros:06d}".rstrip("0")
    if kind.first == "DAY" and len(parts) > 1:
        return f"{parts[0]} {':'.join(parts[1:])}"
    return ":".join(parts)


def interval_to_string(source: IntervalType) -> Convert:
    """Make the cast of intervals of the type ``source`` to strings like
    ``INTERVAL '1 02:03:04.5' DAY TO SECOND``."""
    storage = INT if is_year_month(source) else INT64

    def convert(values: pa.Array) -> pa.Array:
        amounts = values.view(storage).to_pylist()
        return from_values(
            [None if amount is None else interval_text(amount, source) for amount in amounts], STRING
        )

    return convert


# ---- from strings


def string_to_interval(target: IntervalType, *, safe: bool) -> Convert:
    """Make the cast of texts to intervals of the type ``target``. A text holds the value alone (``1 02:03``),
    or a complete literal ``INTERVAL '1 02:03' DAY TO MINUTE`` with the units of ``target``.

    A malformed text, or a number out of its bounds, becomes null if ``safe``. Else the cast raises DataError:
    with the condition INVALID_INTERVAL_FORMAT for a malformed text, and for a number out of its bounds in an
    interval of years and months; without a condition, as in Spark, for other numbers out of bounds."""
    in_months = is_year_month(target)
    parse = _months_parser(target) if in_months else _time_parser(target)
    storage = INT if in_months else INT64

    def convert(values: pa.Array) -> pa.Array:
        amounts: list[int | None] = []
        for text in values.to_pylist():
            try:
                amounts.append(None if text is None else parse(text))
            except ValueError as error:
                if not safe:
                    raise _failure(error, text, target) from None
                amounts.append(None)
        return from_values(amounts, storage).view(target.storage_type)

    return convert


class _OutOfBoundsError(ValueError):
    """An error for a text that has the form of an interval, but one of whose numbers is out of bounds: a
    number of days, hours, minutes or seconds, which the error names, or one of years or months."""


def check_bound(unit: str, count: int) -> None:
    """Raise ValueError, with Spark's words, if the number ``count`` of a unit (``DAY`` to ``SECOND``) is out
    of the unit's bounds in a text of several units. The bound of days holds for the first unit, the others'
    for a unit behind another one."""
    if count > _MOST[unit]:
        raise _OutOfBoundsError(
            f"requirement failed: {unit.lower()} {count} outside range [0, {_MOST[unit]}]"
        )


_Parse = Callable[[str], int]


def _months_parser(target: IntervalType) -> _Parse:
    both = target.first != target.last
    pattern = re.compile(r"([+-])?([0-9]{1,9})" + (r"-([0-9]{1,2})" if both else ""))
    body_of = _body(target)

    def parse(text: str) -> int:
        outer, body = body_of(text)
        match = pattern.fullmatch(body)
        if match is None:
            raise ValueError
        rest = int(match[3]) if both else 0
        total = int(match[2]) * MONTHS_OF[target.first] + rest
        total = -total if outer != (match[1] == "-") else total
        if rest > 11 or not -(2**31) <= total < 2**31:
            raise _OutOfBoundsError
        return total

    return parse


def _time_parser(target: IntervalType) -> _Parse:
    units = units_of(target)
    numbers = "".join(
        rf"{' ' if units[place - 1] == 'DAY' else ':'}([0-9]{{1,2}})" for place in range(1, len(units))
    )
    pattern = re.compile(rf"([+-])?([0-9]{{1,9}}){numbers}{_FRACTION if target.last == 'SECOND' else ''}")
    body_of = _body(target)

    def parse(text: str) -> int:
        outer, body = body_of(text)
        match = pattern.fullmatch(body)
        if match is None:
            raise ValueError
        sign, first, *rest = match.groups()
        counts = [int(first), *(int(part) for part in rest[: len(units) - 1])]
        unbounded = 0 if len(units) > 1 and target.first == "DAY" else 1
        for unit, count in zip(units[unbounded:], counts[unbounded:], strict=True):
            check_bound(unit, count)
        micros = sum(count * MICROS_OF[unit] for unit, count in zip(units, counts, strict=True))
        if target.last == "SECOND":
            micros += int((rest[-1] or "")[:6].ljust(6, "0"))
        # Spark lets a number of days alone wrap around.
        return _as_bigint(-micros if outer != (sign == "-") else micros)

    return parse


def _as_bigint(number: int) -> int:
    return (number + 2**63) % 2**64 - 2**63


def _body(target: IntervalType) -> Callable[[str], tuple[bool, str]]:
    """Return a parser of the texts of intervals of the type ``target``.

    From ``INTERVAL -'1' DAY`` the parser returns whether a minus stands before the quotes, and the text in
    the quotes; from a value alone, such as ``-1``, False and the value. Raises ValueError for other texts."""
    units = r"\s+".join(target.units.split())
    pattern = re.compile(
        rf"(?:INTERVAL\s+([+-])?'([+-]?[^']*)'\s+{units}|([+-]?[0-9].*))", re.IGNORECASE | re.DOTALL
    )

    def body_of(text: str) -> tuple[bool, str]:
        match = pattern.fullmatch(text.strip(BLANKS))
        if match is None:
            raise ValueError
        return match[1] == "-", match[2] or match[3]

    return body_of


def _unmatched(text: str, target: IntervalType) -> DatabaseError:
    if is_year_month(target):
        kind, suffix = "year-month", ""
        form = "y-m" if target.first != target.last else _SIGNS[target.first]
    else:
        kind, suffix, units = "day-time", "_WITH_NOTICE", units_of(target)
        form = ":".join(_SIGNS[unit] for unit in units).replace("d:", "d ")
    return spark_error(
        f"INVALID_INTERVAL_FORMAT.UNMATCHED_FORMAT_STRING{suffix}",
        f"Error parsing '{text}' to interval. Please ensure that the value provided is in a valid format for"
        " defining an interval. You can reference the documentation for the correct format. Interval string"
        f" does not match {kind} format of `[+|-]{form}`, `INTERVAL [+|-]'[+|-]{form}' {target.units}` when"
        f" cast to interval {target.units.lower()}: {text}.",
    )


def _failure(error: ValueError, text: str, target: IntervalType) -> DatabaseError:
    if not isinstance(error, _OutOfBoundsError):
        return _unmatched(text, target)
    if not is_year_month(target):
        return DataError(str(error))
    return spark_error(
        "INVALID_INTERVAL_FORMAT.INTERVAL_PARSING",
        f"Error parsing '{text}' to interval. Please ensure that the value provided is in a valid format"
        " for defining an interval. You can reference the documentation for the correct format. Error"
        " parsing interval year-month string.",
    )
