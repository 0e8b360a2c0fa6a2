"""Conversion between instants and a time zone's wall clock, by the rules of java.time.

A wall-clock time that a zone shows twice means its earlier instant. A wall-clock time that the zone skips is
read with the offset before the gap, so that the resulting instant is shown as the time plus the gap's
length.
"""

import datetime
from functools import lru_cache
from typing import Final

import numpy as np
import pyarrow as pa

from sqlfront_values.arrow.arrays import from_numpy, numpy_view, valid_mask
from sqlfront_values.types import TIMESTAMP, TIMESTAMP_NTZ
from sqlfront_values.zones.changes import CYCLE, Micros, changes_for
from sqlfront_values.zones.names import zone_of

_UTC_NAMES: Final = frozenset({"UTC", "Etc/UTC", "GMT", "Z", "UCT", "Zulu", "Etc/GMT"})
_EPOCH: Final = datetime.datetime(1970, 1, 1)
_MICROSECOND: Final = datetime.timedelta(microseconds=1)
#: The years 2 to 9998 in microseconds since 1970: Python's datetime can add every zone's offset to these.
_PYTHON_YEARS: Final = (-62_104_060_800_000_000, 253_339_228_800_000_000)


def is_utc(zone: str) -> bool:
    """Return whether ``zone`` is a name of UTC, so that its wall clock always shows UTC."""
    return zone in _UTC_NAMES


@lru_cache(maxsize=256)
def fixed_offset(name: str) -> int | None:
    """Return the offset in microseconds of a zone whose name alone fixes the offset (``UTC``, ``+05:30``,
    ``GMT-3``); None for any other zone. Raises ValueError for an unknown zone.

    >>> fixed_offset("+05:30"), fixed_offset("Europe/Paris")
    (19800000000, None)
    """
    if is_utc(name):
        return 0
    zone = zone_of(name)
    return zone.utcoffset(None) // _MICROSECOND if isinstance(zone, datetime.timezone) else None


def to_wall_clock(instants: pa.Array, zone: str) -> pa.Array:
    """Convert an array of timestamps to the local times (timestamp_ntz) of the zone named ``zone``."""
    if is_utc(zone):
        return instants.view(TIMESTAMP_NTZ)
    return from_numpy(wall_clock(_micros(instants), zone), TIMESTAMP_NTZ, valid_mask(instants))


def from_wall_clock(clock: pa.Array, zone: str) -> pa.Array:
    """Convert an array of local times (timestamp_ntz) of the zone named ``zone`` to timestamps. Of a time
    that the clock shows twice, the result is the earlier instant; a time that the clock skips is read with
    the offset before the gap."""
    if is_utc(zone):
        return clock.view(TIMESTAMP)
    return from_numpy(instants_of(_micros(clock), zone), TIMESTAMP, valid_mask(clock))


def wall_clock(instants: Micros, zone: str) -> Micros:
    """Convert instants to the local times of the zone named ``zone``, both in microseconds since 1970."""
    offset = fixed_offset(zone)
    if offset is not None:
        return instants + offset if offset else instants
    changes, near = changes_for(instants, zone_of(zone))
    return instants + changes.at_instants(near)


def instants_of(clock: Micros, zone: str, preferred: Micros | None = None) -> Micros:
    """Convert local times of the zone named ``zone`` to instants, both in microseconds since 1970.

    For a time that the clock shows twice, the result is the earlier instant, or the later instant if its
    offset is the row's ``preferred`` offset (in microseconds; None = no preference). A time that the clock
    skips is read with the offset before the gap.
    """
    offset = fixed_offset(zone)
    if offset is not None:
        return clock - offset if offset else clock
    changes, near = changes_for(clock, zone_of(zone))
    offsets = changes.at_clock(near)
    if preferred is not None:
        later = changes.at_repeated_clock(near, offsets)
        offsets = np.where(later == preferred, later, offsets)
    return clock - offsets


def _micros(array: pa.Array) -> Micros:
    return numpy_view(array)  # type: ignore[return-value]


def offset_micros(clock: int, zone: datetime.tzinfo) -> int:
    """Return the zone's offset in microseconds when its wall clock shows the time ``clock`` (microseconds
    since 1970). For a time that the clock shows twice, return the offset of the earlier instant."""
    # Move years beyond Python's range by whole cycles of the calendar.
    if clock < _PYTHON_YEARS[0]:
        clock = _PYTHON_YEARS[0] + (clock - _PYTHON_YEARS[0]) % CYCLE
    elif clock >= _PYTHON_YEARS[1]:
        clock = clock % CYCLE + 4 * CYCLE
    offset = zone.utcoffset(_EPOCH + datetime.timedelta(microseconds=clock))
    return 0 if offset is None else offset // _MICROSECOND
