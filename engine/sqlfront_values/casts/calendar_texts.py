"""Texts of calendar intervals, such as ``'1 month 2 days 3.5 seconds'``: Spark's
``IntervalUtils.stringToInterval``."""

import re
from typing import Final, NamedTuple

_PAIR: Final = (
    r"(?P<sign>[+-]?)\s*(?P<whole>\d*)(?:(?P<point>\.)(?P<fraction>\d{0,9}))?\s+"
    r"(?P<unit>year|month|week|day|hour|minute|second|millisecond|microsecond)s?(?:\s+|$)"
)
_PREFIX: Final = "interval"
_MONTHS: Final = {"year": 12, "month": 1}
_DAYS: Final = {"week": 7, "day": 1}
_MICROS: Final = {
    "hour": 3_600_000_000,
    "minute": 60_000_000,
    "second": 1_000_000,
    "millisecond": 1_000,
    "microsecond": 1,
}
#: The characters that Java calls white space, of those that a text's bytes can be.
_SPACES: Final = " \t\n\x0b\x0c\r\x1c\x1d\x1e\x1f"


class CalendarInterval(NamedTuple):
    """An interval of calendar months and days, which differ in length, and microseconds, each with a sign of
    its own."""

    months: int
    days: int
    micros: int


def calendar_interval(text: str) -> CalendarInterval | None:
    """Return the interval of a text; None if the text is no interval, or if a part is out of its range (32
    bits for months and days, 64 for microseconds). Only seconds have a fraction.

    >>> calendar_interval("interval 1 year -2 days 1.5 seconds")
    CalendarInterval(months=12, days=-2, micros=1500000)
    >>> calendar_interval("1.5 hours"), calendar_interval("1hour"), calendar_interval("")
    (None, None, None)
    """
    body = text.strip(_SPACES).lower()
    if body.startswith(_PREFIX):
        body = body[len(_PREFIX) :]
        if body[:1] not in tuple(_SPACES):
            return None
    body = body.lstrip(_SPACES)
    months = days = micros = place = 0
    pattern = re.compile(_PAIR, re.ASCII)
    while place < len(body):
        pair = pattern.match(body, place)
        if pair is None or not _is_number(pair):
            return None
        place, unit = pair.end(), pair["unit"]
        sign = -1 if pair["sign"] == "-" else 1
        amount = sign * int(pair["whole"] or 0)
        if unit in _MONTHS:
            months += _MONTHS[unit] * amount
        elif unit in _DAYS:
            days += _DAYS[unit] * amount
        else:
            micros += _MICROS[unit] * amount + sign * (int((pair["fraction"] or "").ljust(9, "0")) // 1000)
        fits = abs(amount) < 1 << 63 and _in_bits(months, 31) and _in_bits(days, 31) and _in_bits(micros, 63)
        if not fits:
            return None
    return CalendarInterval(months, days, micros) if place else None


def _is_number(pair: re.Match[str]) -> bool:
    """Return whether a pair has digits, and a fraction only for seconds. Behind a sign, a point alone is a
    number for Spark."""
    if pair["point"] is None:
        return bool(pair["whole"])
    has_digits = pair["whole"] or pair["fraction"] or pair["sign"]
    return bool(has_digits) and pair["unit"] == "second"


def _in_bits(value: int, bits: int) -> bool:
    return -(1 << bits) <= value < 1 << bits
