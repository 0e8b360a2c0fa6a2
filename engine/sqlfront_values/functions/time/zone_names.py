"""Java's English names of time zones, which the letters ``z`` and ``v`` of datetime patterns write.

A file beside this module has the names, in the form of :class:`ZoneNames`; ``python -m
tests.oracle.zone_names`` writes the file.
"""

from functools import lru_cache
from pathlib import Path
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt

from sqlfront_values.java.civil import MICROS_PER_SECOND

FILE: Final = "zone_names.jsonl"


class ZoneNames(msgspec.Struct, frozen=True, array_like=True):
    """The names that some zones share: the short and the whole name in standard time, in daylight saving
    time, and in either. ``offsets`` are the zones' offsets from UTC in standard time, in seconds: from one of
    ``instants``, in seconds since 1970, to the next one; the first offset is that before all instants."""

    zones: list[str]
    standard: list[str]
    daylight: list[str]
    generic: list[str]
    instants: list[int]
    offsets: list[int]

    def is_standard(
        self, local: npt.NDArray[np.int64], offsets: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.bool_]:
        """Return whether local times are in standard time; ``local`` and ``offsets``, the clock's distances
        from UTC, in microseconds. Daylight saving time is ahead of standard time: Java's rules have no
        other."""
        periods = np.searchsorted(self.instants, (local - offsets) // MICROS_PER_SECOND, "right")
        return np.array(self.offsets)[periods] * MICROS_PER_SECOND >= offsets


@lru_cache(maxsize=1)
def _by_zone() -> dict[str, ZoneNames]:
    lines = Path(__file__).with_name(FILE).read_bytes().splitlines()
    found = [msgspec.json.decode(line, type=ZoneNames) for line in lines]
    return {zone: names for names in found for zone in names.zones}


def names_of(zone: str) -> ZoneNames | None:
    """Return the names of a zone, None for a zone without names, such as a fixed offset.

    >>> names_of("Europe/Berlin").daylight
    ['CEST', 'Central European Summer Time']
    """
    return _by_zone().get(zone)
