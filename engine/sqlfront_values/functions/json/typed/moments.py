"""Dates and timestamps of JSON texts, read by an option's format or, without the option, as Spark's casts
read texts."""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final, NoReturn, Protocol

from sqlfront_values.casts.datetimes import parse_date, parse_timestamp
from sqlfront_values.errors import NotSupportedError
from sqlfront_values.functions.rowwise import local_instant
from sqlfront_values.functions.time.parsing import parser
from sqlfront_values.java.civil import MICROS_PER_DAY, MICROS_PER_SECOND
from sqlfront_values.zones.names import zone_of
from sqlfront_values.zones.wall_clock import offset_micros

#: A function that reads a text. Raises ValueError for a malformed text.
Reader = Callable[[str], int]

_DAYS: Final = re.compile(r"[+-]?[0-9]+")
#: A text that may be a time of day, which Spark reads as a time of the current day.
_CLOCK: Final = re.compile(r"(T[0-9]{1,2}|T?[0-9]{1,2}:)")
#: 1582-10-15: the numbers of earlier days have the shifted meaning of old Spark versions.
_GREGORIAN: Final = -141_427
_MAX_INT: Final = 2**31
#: Texts whose meaning a reader remembers: those of eleven years of days.
_KEPT: Final = 4096


class Formats(Protocol):
    """The options for the formats of moments: Spark's patterns, None = texts are read as Spark's casts read
    them."""

    @property
    def date_format(self) -> str | None:
        """The option dateFormat."""

    @property
    def timestamp_format(self) -> str | None:
        """The option timestampFormat."""

    @property
    def timestamp_ntz_format(self) -> str | None:
        """The option timestampNTZFormat."""


def date_reader(settings: Formats, *, lenient: bool = True) -> Reader:
    """Return a function that reads a text as a date, in days since 1970: by the option dateFormat if it is
    given, else as Spark's cast. The function raises ValueError for a malformed text. ``lenient``: without the
    option, ``GMT`` inside of a text is ignored and numbers are days, as in old Spark versions."""
    pattern = settings.date_format
    if pattern is None:
        return lru_cache(_KEPT)(_cast_date if lenient else parse_date)
    parse = parser(pattern)
    return lru_cache(_KEPT)(lambda text: parse(text).local // MICROS_PER_DAY)


def _cast_date(text: str) -> int:
    try:
        return parse_date(text)
    except ValueError:
        pass
    try:
        return parse_date(text.replace("GMT", "", 1))
    except ValueError:
        if not _DAYS.fullmatch(text):
            raise
    days = int(text)
    if not -_MAX_INT <= days < _MAX_INT:
        raise ValueError
    if days < _GREGORIAN:
        raise NotSupportedError(f"a DATE as days before 1582 in JSON ('{text}')")
    return days


def timestamp_reader(settings: Formats, zone: str, *, lenient: bool = True) -> Reader:
    """Return a function that reads a text as a timestamp, in microseconds since 1970: by the option
    timestampFormat if it is given, else as Spark's cast. Texts without a zone are in ``zone``. The function
    raises ValueError for a malformed text. ``lenient``: without the option, ``GMT`` inside of a text is
    ignored, as in old Spark versions."""
    pattern = settings.timestamp_format
    if pattern is not None:
        parse = parser(pattern)

        def by_pattern(text: str) -> int:
            parsed = parse(text)
            if isinstance(parsed.zone, int):
                return parsed.local - parsed.zone * MICROS_PER_SECOND
            return local_instant(parsed.local, parsed.zone or zone)

        return lru_cache(_KEPT)(by_pattern)
    session = zone_of(zone)

    def cast(text: str) -> int:
        clock, name = parse_timestamp(text)
        return clock - offset_micros(clock, session if name is None else zone_of(name))

    def read(text: str) -> int:
        try:
            return cast(text)
        except ValueError:
            without = text.replace("GMT", "", 1) if lenient else text
        try:
            return cast(without)
        except ValueError:
            if _CLOCK.match(without.strip()):
                _refuse_clock(text)
            raise

    return lru_cache(_KEPT)(read)


def _refuse_clock(text: str) -> NoReturn:
    raise NotSupportedError(f"A time without a date as a TIMESTAMP ('{text}') is not supported.") from None


def timestamp_ntz_reader(settings: Formats) -> Reader:
    """Return a function that reads a text as a timestamp without time zone, in microseconds since 1970: by
    the option timestampNTZFormat if it is given, else as Spark's cast. The function raises ValueError for a
    malformed text, and for a text with a zone."""
    pattern = settings.timestamp_ntz_format
    if pattern is not None:
        parse = parser(pattern)

        def by_pattern(text: str) -> int:
            parsed = parse(text)
            if parsed.zone is not None:
                raise ValueError
            return parsed.local

        return lru_cache(_KEPT)(by_pattern)

    def cast(text: str) -> int:
        clock, name = parse_timestamp(text)
        if name is not None:
            raise ValueError
        return clock

    return lru_cache(_KEPT)(cast)


def is_timestamp(settings: Formats) -> Callable[[str], bool]:
    """Return a function that tells whether schema inference (inferTimestamp) regards a text as a
    timestamp."""
    read = timestamp_reader(settings, "UTC", lenient=False)

    def check(text: str) -> bool:
        try:
            read(text)
        except ValueError:
            return False
        return True

    return check
