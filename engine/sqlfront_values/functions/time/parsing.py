"""Parsing of texts by a datetime pattern, with the rules of ``java.time`` in its strict mode.

Numbers have the digits that the pattern demands: ``MM`` two, ``M`` one or more, ``yyyy`` four or, with a
sign, more. If numbers follow each other without a separator, the first number leaves the other numbers their
digits. Words, such as names of months, are read in upper and lower case. Defaults of missing fields are the
year 1970, the first of January and midnight.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final

import msgspec

from sqlfront_values.errors import NotSupportedError
from sqlfront_values.functions.time.formatting import MONTHS
from sqlfront_values.functions.time.patterns import Field, Optional, Part, parse_pattern
from sqlfront_values.java.civil import days_from_civil, days_in_month, is_leap

#: Digits that a number without a width may have, as in java.time's DateTimeFormatterBuilder.
_MAX_DIGITS: Final = 19
#: The first of the hundred years that two digits mean, as in java.time (``ReducedPrinterParser.BASE_DATE``).
_BASE_YEAR: Final = 2000


class ParseError(ValueError):
    """An error for a text that does not fit the pattern; its message is the end of Spark's message for the
    text, such as ``could not be parsed at index 3``."""


class ParsedFields(msgspec.Struct):
    """The fields that were read from a text so far. ``numbers``: the numbers by pattern letter. ``zone``: the
    time zone, an offset in seconds or an identifier; None if no zone was read."""

    numbers: dict[str, int] = msgspec.field(default_factory=dict)
    zone: int | str | None = None

    def copy(self) -> "ParsedFields":
        """Return an independent copy."""
        return ParsedFields(dict(self.numbers), self.zone)


class ParsedTime(msgspec.Struct, frozen=True):
    """A local time that was read from a text. ``local``: microseconds since 1970. ``zone``: the time zone in
    the text, an offset in seconds or an identifier; None if the text has no zone."""

    local: int
    zone: int | str | None


#: A function that reads at a position and returns the next position; a negative result is the complement of
#: the position of a failure.
Reader = Callable[[str, int, ParsedFields], int]


@lru_cache(maxsize=256)
def parser(pattern: str) -> Callable[[str], ParsedTime]:
    """Return the function that parses a text by the datetime pattern, and raises ParseError for a text that
    does not fit.

    >>> parser("d.M.yyyy h:mm a")("29.2.2000 12:30 PM").local
    951827400000000

    Raises INVALID_DATETIME_PATTERN or INCONSISTENT_BEHAVIOR_CROSS_VERSION for a pattern that Spark refuses.
    """
    parts = parse_pattern(pattern, for_parsing=True)
    read = _sequence(parts)

    def parse(text: str) -> ParsedTime:
        fields = ParsedFields()
        place = read(text, 0, fields)
        if place < 0:
            raise ParseError(f"could not be parsed at index {~place}")
        if place < len(text):
            raise ParseError(f"could not be parsed, unparsed text found at index {place}")
        return ParsedTime(_resolve(fields.numbers), fields.zone)

    return parse


def _sequence(parts: tuple[Part, ...]) -> Reader:
    readers = [_reader(part, _following_digits(parts, index)) for index, part in enumerate(parts)]

    def read(text: str, place: int, fields: ParsedFields) -> int:
        for reader in readers:
            place = reader(text, place, fields)
            if place < 0:
                return place
        return place

    return read


def _following_digits(parts: tuple[Part, ...], index: int) -> int:
    """Return how many digits the number at ``index`` must leave to the fixed-width numbers that directly
    follow it. The result is 0 if the part is not a number or leaves no digits to other numbers."""
    part = parts[index]
    if not isinstance(part, Field) or _digits(part) is None:
        return 0
    if (
        index
        and isinstance(before := parts[index - 1], Field)
        and _digits(before) is not None
        and _is_fixed(part)
    ):
        return 0
    total = 0
    for follower in parts[index + 1 :]:
        if not isinstance(follower, Field) or not _is_fixed(follower):
            break
        total += follower.count
    return total


def _digits(part: Field) -> tuple[int, int] | None:
    """Return the least and the greatest number of digits that a field reads; None for a field that isn't read
    as a number."""
    letter, count = part.letter, part.count
    if letter == "y":
        return (2, 2) if count == 2 else (count, _MAX_DIGITS)
    if letter not in _RANGES or (letter in "ML" and count > 2):
        return None
    if letter == "D" and count == 2:
        return 2, 3
    return (1, _MAX_DIGITS) if count == 1 else (count, count)


def _is_fixed(part: Field) -> bool:
    digits = _digits(part)
    return digits is not None and digits[0] == digits[1]


def _reader(part: Part, following: int) -> Reader:
    if isinstance(part, str):
        return _literal(part)
    if isinstance(part, Optional):
        return _optional(_sequence(part.parts))
    digits = _digits(part)
    if digits is not None:
        return _number(part, digits, following)
    return _READERS[part.letter](part.count)


def _literal(expected: str) -> Reader:
    folded = expected.casefold()

    def read(text: str, place: int, fields: ParsedFields) -> int:
        end = place + len(expected)
        return end if text[place:end].casefold() == folded else ~place

    return read


def _optional(inner: Reader) -> Reader:
    def read(text: str, place: int, fields: ParsedFields) -> int:
        attempt = fields.copy()
        end = inner(text, place, attempt)
        if end < 0:
            return place
        fields.numbers, fields.zone = attempt.numbers, attempt.zone
        return end

    return read


def _number(part: Field, digits: tuple[int, int], following: int) -> Reader:
    letter = part.letter
    least, most = digits
    signed = least != most
    exceeds_pad = letter == "y" and part.count >= 4
    base = _BASE_YEAR if letter == "y" and part.count == 2 else 0

    def read(text: str, place: int, fields: ParsedFields) -> int:
        start, sign = place, ""
        if signed and text[place : place + 1] in ("+", "-") and place < len(text):
            sign = text[place]
            if sign == "+" and not exceeds_pad:
                return ~place
            place += 1
        end = place
        limit = min(len(text), place + most + following)
        while end < limit and "0" <= text[end] <= "9":
            end += 1
        if end - place < least:
            return ~start
        if following:
            end = place + max(least, end - place - following)
        length = end - place
        if exceeds_pad and ((sign == "+" and length <= least) or (not sign and length > least)):
            return ~start
        value = int(text[place:end])
        if sign == "-" and value == 0:
            return ~start
        value = base + (-value if sign == "-" else value)
        if fields.numbers.setdefault(letter, value) != value:
            return ~start
        return end

    return read


def _fraction(count: int) -> Reader:
    def read(text: str, place: int, fields: ParsedFields) -> int:
        match = re.compile(rf"[0-9]{{1,{count}}}").match(text, place)
        if match is None:
            return ~place
        fields.numbers["S"] = int(match[0].ljust(9, "0")[:6])
        return match.end()

    return read


def _word(letter: str, words: tuple[str, ...], first: int) -> Reader:
    """Return a reader of one of ``words``, in upper or lower case; the reader stores the word's index plus
    ``first`` as the number of the pattern letter ``letter``."""
    pattern = re.compile("|".join(sorted(words, key=len, reverse=True)), re.IGNORECASE)
    numbers = {word.lower(): index + first for index, word in enumerate(words)}

    def read(text: str, place: int, fields: ParsedFields) -> int:
        match = pattern.match(text, place)
        if match is None:
            return ~place
        fields.numbers[letter] = numbers[match[0].lower()]
        return match.end()

    return read


def _month(count: int) -> Reader:
    return _word("M", MONTHS if count == 4 else tuple(name[:3] for name in MONTHS), 1)


def _era(count: int) -> Reader:
    return _word("G", ("Before Christ", "Anno Domini") if count == 4 else ("BC", "AD"), 0)


#: Offsets by pattern letter and count: hours, and the optional or required rest.
_OFFSETS: Final = {
    1: r"([+-])(\d{2})(?:(\d{2}))?",
    2: r"([+-])(\d{2})(\d{2})",
    3: r"([+-])(\d{2}):(\d{2})",
    4: r"([+-])(\d{2})(\d{2})(\d{2})?",
    5: r"([+-])(\d{2}):(\d{2})(?::(\d{2}))?",
}
_GMT_OFFSETS: Final = {1: r"GMT(?:([+-])(\d{1,2})(?::(\d{2}))?)?", 4: r"GMT(?:([+-])(\d{2}):(\d{2}))?"}
_ZONE: Final = re.compile(r"[A-Za-z][A-Za-z0-9/_+:-]*|[+-]\d{1,2}(?::?\d{2}){0,2}")
#: Seconds of the largest offset of a time zone in Java (``ZoneOffset.MAX``).
_HOURS_LIMIT: Final = 18 * 3600


def _offset(regex: str, *, zulu: bool) -> Reader:
    pattern = re.compile(f"Z|{regex}" if zulu else regex, re.ASCII | re.IGNORECASE)

    def read(text: str, place: int, fields: ParsedFields) -> int:
        match = pattern.match(text, place)
        if match is None:
            return ~place
        sign, hours, minutes, seconds = (*match.groups("0"), "0")[:4]
        total = int(hours) * 3600 + int(minutes) * 60 + int(seconds)
        if int(minutes) > 59 or int(seconds) > 59 or total > _HOURS_LIMIT:
            return ~place
        fields.zone = -total if sign == "-" else total
        return match.end()

    return read


def _offset_of_z(count: int) -> Reader:
    if count < 4:
        return _offset(_OFFSETS[2], zulu=False)
    return _offset(_GMT_OFFSETS[4], zulu=False) if count == 4 else _offset(_OFFSETS[5], zulu=True)


def _zone(count: int) -> Reader:
    """Return a reader of zone identifiers; the number of letters, ``count``, makes no difference. The reader
    raises NotSupportedError for zone abbreviations except those of UTC and GMT, because others depend on the
    locale."""

    def read(text: str, place: int, fields: ParsedFields) -> int:
        match = _ZONE.match(text, place)
        if match is None:
            return ~place
        name = match[0]
        if "/" not in name and not re.match(r"[+-]|(UTC|GMT|UT|Z)\b", name):
            raise NotSupportedError(f"reading the time zone {name} by a datetime pattern")
        fields.zone = name
        return match.end()

    return read


_READERS: Final[dict[str, Callable[[int], Reader]]] = {
    "M": _month,
    "L": _month,
    "G": _era,
    "a": lambda count: _word("a", ("AM", "PM"), 0),
    "S": _fraction,
    "V": _zone,
    "v": _zone,
    "z": _zone,
    "O": lambda count: _offset(_GMT_OFFSETS[count], zulu=False),
    "X": lambda count: _offset(_OFFSETS[count], zulu=True),
    "x": lambda count: _offset(_OFFSETS[count], zulu=False),
    "Z": _offset_of_z,
}

# ---- from fields to a time

#: The numbers besides years, with Java's names and ranges.
_RANGES: Final = {
    "M": ("MonthOfYear", 1, 12),
    "L": ("MonthOfYear", 1, 12),
    "d": ("DayOfMonth", 1, 31),
    "D": ("DayOfYear", 1, 366),
    "H": ("HourOfDay", 0, 23),
    "k": ("ClockHourOfDay", 1, 24),
    "K": ("HourOfAmPm", 0, 11),
    "h": ("ClockHourOfAmPm", 1, 12),
    "m": ("MinuteOfHour", 0, 59),
    "s": ("SecondOfMinute", 0, 59),
}


def _resolve(numbers: dict[str, int]) -> int:
    for letter, value in numbers.items():
        if letter in _RANGES:
            name, low, high = _RANGES[letter]
            if not low <= value <= high:
                text = f"{low} - {high}" if letter != "d" else "1 - 28/31"
                text = "1 - 365/366" if letter == "D" else text
                raise ParseError(
                    f"could not be parsed: Invalid value for {name} (valid values {text}): {value}"
                )
    seconds = _hour(numbers) * 3600 + numbers.get("m", 0) * 60 + numbers.get("s", 0)
    return (_day(numbers) * 86_400 + seconds) * 1_000_000 + numbers.get("S", 0)


def _hour(numbers: dict[str, int]) -> int:
    if "H" in numbers:
        return numbers["H"]
    if "k" in numbers:
        return numbers["k"] % 24
    hour = numbers["h"] % 12 if "h" in numbers else numbers.get("K", 0)
    return hour + 12 * numbers.get("a", 0)


def _day(numbers: dict[str, int]) -> int:
    year = numbers.get("y", 1970)
    if numbers.get("G") == 0:
        year = 1 - year
    if "D" in numbers:
        if numbers["D"] == 366 and not is_leap(year):
            raise ParseError(
                f"could not be parsed: Invalid date 'DayOfYear 366' as '{year}' is not a leap year"
            )
        return days_from_civil(year, 1, 1) + numbers["D"] - 1
    month, day = numbers.get("M", numbers.get("L", 1)), numbers.get("d", 1)
    if day > days_in_month(year, month):
        raise ParseError(f"could not be parsed: {invalid_day(year, month, day)}")
    return days_from_civil(year, month, day)


def invalid_day(year: int, month: int, day: int) -> str:
    """Return Java's message for a ``day`` that is past the end of the month, such as ``Invalid date 'APRIL
    31'``."""
    if day == 29:
        return f"Invalid date 'February 29' as '{year}' is not a leap year"
    return f"Invalid date '{MONTHS[month - 1].upper()} {day}'"
