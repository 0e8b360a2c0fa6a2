"""The words that Spark casts to dates and timestamps if they are constants: ``epoch``, ``now``, ``today``,
``tomorrow`` and ``yesterday``."""

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Final

import pyarrow as pa

from sqlfront_values import room
from sqlfront_values.arrow import arrays
from sqlfront_values.arrow.forms import Datum, is_scalar
from sqlfront_values.types import DATE, TIMESTAMP
from sqlfront_values.zones.names import zone_of

#: A word, and the name of a time zone, which is only checked.
_MOMENT: Final = r"([A-Za-z]+)[ \t]*(.*)"
_DAYS: Final = {"today": 0, "tomorrow": 1, "yesterday": -1}
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def with_words(convert: Callable[[Datum], Datum], target: pa.DataType, zone: str) -> Callable[[Datum], Datum]:
    """Return the cast of a constant text to the type ``target`` (DATE, TIMESTAMP or TIMESTAMP_NTZ) that reads
    these words, and any other text as ``convert`` does. ``zone``: the name of the session's time zone, in
    which a day begins. The cast raises NotConstantError for the words but ``epoch`` while a constant is
    computed for a plan."""

    def run(text: Datum) -> Datum:
        if is_scalar(text) and text.is_valid:
            value = _value(str(text.as_py()).strip(), target, zone_of(zone))
            if value is not None:
                return arrays.scalar(value, target)
        return convert(text)

    return run


def _value(text: str, target: pa.DataType, zone: tzinfo) -> date | datetime | None:
    """Return the date or timestamp that a text names; None if it is none of the words."""
    match = re.fullmatch(_MOMENT, text)
    if match is None or not _is_zone(match[2]):
        return None
    word = match[1].lower()
    if word == "epoch":
        moment = _EPOCH if target == TIMESTAMP else _EPOCH.replace(tzinfo=None)
        return moment.date() if target == DATE else moment
    if word not in _DAYS and (word != "now" or match[2]):
        return None
    room.vary(f"The value of '{word}'")
    now = datetime.now(zone)
    if word != "now" or target == DATE:
        day = now.date() + timedelta(_DAYS.get(word, 0))
        if target == DATE:
            return day
        now = datetime(day.year, day.month, day.day, tzinfo=zone)
    return now.astimezone(UTC) if target == TIMESTAMP else now.replace(tzinfo=None)


def _is_zone(name: str) -> bool:
    """Return whether a text is empty or the name of a time zone."""
    try:
        return not name or zone_of(name) is not None
    except ValueError:
        return False
