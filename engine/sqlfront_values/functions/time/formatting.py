"""Formatting of local times by a datetime pattern."""

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np

from sqlfront_values.errors import NotSupportedError
from sqlfront_values.functions.time import zone_names
from sqlfront_values.functions.time.patterns import Field, Optional, Part, parse_pattern
from sqlfront_values.java.civil import MICROS_PER_SECOND, civil_from_days, days_from_civil
from sqlfront_values.zones.names import java_id
from sqlfront_values.zones.wall_clock import fixed_offset

if TYPE_CHECKING:
    from sqlfront_values.functions.time.zone_names import ZoneNames

MONTHS: Final = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
DAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_QUARTERS: Final = ("1st quarter", "2nd quarter", "3rd quarter", "4th quarter")
_SECONDS_PER_DAY: Final = 86_400
#: Letters of a year's pattern from which on a longer year has a sign, as in java.time
#: (SignStyle.EXCEEDS_PAD).
_ISO_PADDED: Final = 4
#: Letters of a zone's pattern that ask for the whole name.
_WHOLE_NAME: Final = 4
#: The most letters of an offset without seconds.
_WITHOUT_SECONDS: Final = 3
#: Digits of a fraction that are milliseconds.
_MILLIS: Final = 3
#: Regions whose zone is called UTC.
_UTC_NAMES: Final = frozenset(
    {"UTC", "Etc/UTC", "UCT", "Etc/UCT", "Zulu", "Etc/Zulu", "Universal", "Etc/Universal"}
)


class Moment:
    """A local time split into fields.

    The constructor's ``local`` is the time in microseconds since 1970 by the clock of the time zone ``zone``,
    its ``offset`` the clock's distance from UTC in microseconds. As an attribute, ``offset`` is that distance
    in whole seconds; ``fraction`` is the second's fraction in microseconds, and ``days`` counts from
    1970-01-01."""

    __slots__ = ("day", "days", "fraction", "month", "offset", "second_of_day", "year", "zone")

    def __init__(self, local: int, offset: int, zone: str) -> None:
        seconds, self.fraction = divmod(local, MICROS_PER_SECOND)
        self.days, self.second_of_day = divmod(seconds, _SECONDS_PER_DAY)
        self.year, self.month, self.day = civil_from_days(self.days)
        self.offset = offset // MICROS_PER_SECOND
        self.zone = zone

    @property
    def hour(self) -> int:
        """The hour, 0 to 23."""
        return self.second_of_day // 3600


Formatter = Callable[[Moment], str]


@lru_cache(maxsize=256)
def formatter(pattern: str) -> Formatter:
    """Return the function that formats a :class:`Moment` by the datetime pattern. Raises
    INVALID_DATETIME_PATTERN or INCONSISTENT_BEHAVIOR_CROSS_VERSION for a pattern that Spark refuses. The
    returned function raises NotSupportedError if the pattern has the name of the time zone, and Java doesn't
    know the moment's zone.

    >>> formatter("EEE, d MMM yyyy h:mm a")(Moment(951827400000000, 0, "UTC"))
    'Tue, 29 Feb 2000 12:30 PM'
    """
    writers = [write for _, write in letters_of(pattern)]
    return lambda moment: "".join([write(moment) for write in writers])


@lru_cache(maxsize=256)
def letters_of(pattern: str) -> tuple[tuple[str, Formatter], ...]:
    """Return the parts of the datetime pattern in their order: the letter of each, and the function that
    formats a :class:`Moment` by it. The letter of a literal text is ``'``; a fraction ``S`` of more than
    three digits is followed by a part with the letter ``n`` for the digits behind the third. An empty pattern
    has an empty literal. Raises the errors of :func:`formatter`."""
    parts = parse_pattern(pattern, for_parsing=False)
    return tuple(_writers(parts, _has_era(parts))) or (("'", _literal("")),)


def _has_era(parts: tuple[Part, ...]) -> bool:
    return any(
        _has_era(part.parts) if isinstance(part, Optional) else isinstance(part, Field) and part.letter == "G"
        for part in parts
    )


def _writers(parts: tuple[Part, ...], has_era: bool) -> Iterator[tuple[str, Formatter]]:
    for part in parts:
        if isinstance(part, Optional):
            yield from _writers(part.parts, has_era)
        elif isinstance(part, Field):
            yield part.letter, _writer(part, has_era)
            if part.letter == "S" and part.count > _MILLIS:
                yield "n", _digits_behind_millis(part.count)
        else:
            yield "'", _literal(part)


def _literal(text: str) -> Formatter:
    return lambda moment: text


def _writer(part: Field, has_era: bool) -> Formatter:
    letter, count = part.letter, part.count
    if letter == "y":
        return lambda moment: _year(_year_of_era(moment.year) if has_era else moment.year, count)
    if letter in _NUMBERS:
        number = _NUMBERS[letter]
        if letter in "MLqQ" and count > 2:
            return _name(letter, count)
        return lambda moment: str(number(moment)).zfill(count)
    return _TEXTS[letter](count)


def _year_of_era(year: int) -> int:
    return year if year > 0 else 1 - year


def _year(year: int, count: int) -> str:
    if count == 2:
        return f"{abs(year) % 100:02}"
    text = f"{'-' if year < 0 else ''}{str(abs(year)).zfill(count)}"
    # java.time marks a year that is longer than its padding, so that the year can be read back.
    return f"+{text}" if count >= _ISO_PADDED and len(text) > count and year > 0 else text


_NUMBERS: Final[dict[str, Callable[[Moment], int]]] = {
    "M": lambda moment: moment.month,
    "L": lambda moment: moment.month,
    "d": lambda moment: moment.day,
    "D": lambda moment: moment.days - days_from_civil(moment.year, 1, 1) + 1,
    "q": lambda moment: (moment.month + 2) // 3,
    "Q": lambda moment: (moment.month + 2) // 3,
    "F": lambda moment: (moment.day - 1) % 7 + 1,
    "H": lambda moment: moment.hour,
    "k": lambda moment: moment.hour or 24,
    "K": lambda moment: moment.hour % 12,
    "h": lambda moment: moment.hour % 12 or 12,
    "m": lambda moment: moment.second_of_day // 60 % 60,
    "s": lambda moment: moment.second_of_day % 60,
}


def _name(letter: str, count: int) -> Formatter:
    """Return the function that writes the name of the month (``letter`` is ``M`` or ``L``) or of the quarter:
    in full if the pattern has ``count`` 4 of the letter, else abbreviated."""
    if letter in "ML":
        return lambda moment: MONTHS[moment.month - 1] if count == 4 else MONTHS[moment.month - 1][:3]
    return lambda moment: _QUARTERS[(moment.month - 1) // 3] if count == 4 else f"Q{(moment.month + 2) // 3}"


def _era(count: int) -> Formatter:
    names = ("Before Christ", "Anno Domini") if count == 4 else ("BC", "AD")
    return lambda moment: names[moment.year > 0]


def _weekday(count: int) -> Formatter:
    length = None if count == 4 else 3
    return lambda moment: DAYS[(moment.days + 3) % 7][:length]


def _fraction(count: int) -> Formatter:
    return lambda moment: f"{moment.fraction:06}"[: min(count, _MILLIS)]


def _digits_behind_millis(count: int) -> Formatter:
    return lambda moment: f"{moment.fraction % 1000:03}".ljust(count, "0")[: count - _MILLIS]


def _offset(moment: Moment, *, colon: bool, minutes: bool, seconds: bool = False) -> str:
    """Format the moment's offset from UTC as ``+01:30``, without the colon unless ``colon``. Minutes are left
    out if they are zero, unless ``minutes``; seconds are written only if they are not zero and
    ``seconds``."""
    total = abs(moment.offset)
    hour, minute, second = total // 3600, total // 60 % 60, total % 60
    separator = ":" if colon else ""
    text = f"{'-' if moment.offset < 0 else '+'}{hour:02}"
    if minutes or minute or (seconds and second):
        text += f"{separator}{minute:02}"
    if seconds and second:
        text += f"{separator}{second:02}"
    return text


def _iso_offset(count: int, *, zero: str | None) -> Formatter:
    """Return the function that writes an offset for ``count`` letters ``X`` or ``x``.

    One letter writes hours, and minutes if not zero; 2 write hours and minutes, 3 the same with a colon; 4
    and 5 write what 2 and 3 do, and seconds if not zero. ``zero`` is the text for an offset of zero, "Z" for
    ``X``; None = no special text."""

    def write(moment: Moment) -> str:
        if zero is not None and abs(moment.offset) < (1 if count > _WITHOUT_SECONDS else 60):
            return zero
        return _offset(moment, colon=count in (3, 5), minutes=count > 1, seconds=count > _WITHOUT_SECONDS)

    return write


def _localized_offset(count: int) -> Formatter:
    """Return the function that writes an offset as ``GMT+1`` or, if ``count``, the number of letters, is 4,
    as ``GMT+01:00``. An offset of zero is ``GMT``."""

    def write(moment: Moment) -> str:
        if moment.offset == 0:
            return "GMT"
        if count == 4:
            return "GMT" + _offset(moment, colon=True, minutes=True, seconds=True)
        text = _offset(moment, colon=True, minutes=False, seconds=True)
        return "GMT" + (text[0] + text[2:] if text[1] == "0" else text)

    return write


def _offset_of_z(count: int) -> Formatter:
    if count < 4:
        return lambda moment: _offset(moment, colon=False, minutes=True)
    return _localized_offset(4) if count == 4 else _iso_offset(5, zero="Z")


def _zone_name(count: int) -> Formatter:
    def choose(moment: Moment, names: "ZoneNames") -> list[str]:
        local = (moment.days * _SECONDS_PER_DAY + moment.second_of_day) * MICROS_PER_SECOND
        offset = moment.offset * MICROS_PER_SECOND
        is_standard = names.is_standard(np.array([local]), np.array([offset]))[0]
        return names.standard if is_standard else names.daylight

    return _named_zone(count, choose)


def _generic_zone_name(count: int) -> Formatter:
    return _named_zone(count, lambda moment, names: names.generic)


def _named_zone(count: int, choose: "Callable[[Moment, ZoneNames], list[str]]") -> Formatter:
    def write(moment: Moment) -> str:
        if moment.zone in _UTC_NAMES:
            return "Coordinated Universal Time" if count == _WHOLE_NAME else "UTC"
        zone = java_id(moment.zone)
        names = zone_names.names_of(zone)
        if names is not None:
            return choose(moment, names)[count == _WHOLE_NAME]
        if fixed_offset(moment.zone) is None:
            raise NotSupportedError(f"the name of the time zone {moment.zone} in a datetime pattern (z, v)")
        return zone

    return write


_TEXTS: Final[dict[str, Callable[[int], Formatter]]] = {
    "G": _era,
    "E": _weekday,
    "a": lambda count: lambda moment: "PM" if moment.hour >= 12 else "AM",
    "S": _fraction,
    "V": lambda count: lambda moment: java_id(moment.zone),
    "z": _zone_name,
    "v": _generic_zone_name,
    "O": _localized_offset,
    "X": lambda count: _iso_offset(count, zero="Z"),
    "x": lambda count: _iso_offset(count, zero=None),
    "Z": _offset_of_z,
}
