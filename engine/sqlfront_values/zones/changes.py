"""The changes of a time zone's offset from UTC, as arrays in which numpy looks times up.

Arrow's own kernels know no change after 2037. Python's zoneinfo knows the rules of all years, but converts
one time after the other. So the changes of a zone are found once, with zoneinfo, and from then on looked
up.
"""

import datetime
from functools import lru_cache
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt

Micros = npt.NDArray[np.int64]

_SECOND: Final = 1_000_000
_DAY: Final = 86_400 * _SECOND
_EPOCH: Final = datetime.date(1970, 1, 1)
_NO_OFFSET: Final = datetime.timedelta(0)
#: The calendar and with it a zone's rules repeat after 400 years.
CYCLE: Final = 146_097 * _DAY
#: Since 1800 no zone has changed its offset twice within less than this time.
_STEP: Final = 3 * _DAY

#: From this many times on, counting the changes of the days first pays.
_MANY_ROWS: Final = 4096


def _start_of(year: int) -> int:
    return int((datetime.date(year, 1, 1) - _EPOCH).days) * _DAY


#: Before the first year all zones had their local mean time. Most data lies between the second and the third
#: year. From the third year on only rules change an offset, so that a single cycle represents all others.
_FIRST, _MODERN, _RULES = _start_of(1800), _start_of(1970), _start_of(2040)


class Changes(msgspec.Struct, frozen=True):
    """The changes of a zone's offset from UTC: at ``instants[n]`` the offset changes from ``offsets[n]`` to
    ``offsets[n + 1]``. Instants are microseconds since 1970, offsets microseconds."""

    instants: Micros
    offsets: Micros

    def at_instants(self, instants: Micros) -> Micros:
        """Return the offset from UTC, in microseconds, at each instant."""
        return self.offsets[_count_until(self.instants, instants)]

    def at_clock(self, clock: Micros) -> Micros:
        """Return the zone's offset from UTC, in microseconds, at each time that a wall clock in the zone
        shows. A time that the clock shows twice gets the offset of the earlier instant; a time that the clock
        skips gets the offset before the gap."""
        return self.offsets[_count_until(self._clock_after(), clock)]

    def at_repeated_clock(self, clock: Micros, earlier: Micros) -> Micros:
        """Return the zone's offset from UTC, in microseconds, when the wall clock shows each time for the
        second time. For a time that the clock shows only once, return the time's offset in ``earlier``, the
        result of :meth:`at_clock`."""
        switches = self.instants + np.minimum(self.offsets[1:], self.offsets[:-1])
        offsets = self.offsets[_count_until(switches, clock)]
        return np.where(offsets < earlier, offsets, earlier)

    def _clock_after(self) -> Micros:
        """Return for each change the wall-clock time from which on the clock's times have only the offset
        after the change."""
        return self.instants + np.maximum(self.offsets[1:], self.offsets[:-1])


def _count_until(switches: Micros, times: Micros) -> npt.NDArray[np.intp]:
    """Return for each time how many of the ``switches`` are at or before the time. The switches are
    ascending, at most one a day."""
    if len(times) < _MANY_ROWS:
        return np.searchsorted(switches, times, side="right")
    days = times // _DAY
    first, last = int(days.min()), int(days.max())
    if last - first > len(times):
        return np.searchsorted(switches, times, side="right")
    # By day, and then by the only switch that the day may have.
    by_day = np.searchsorted(switches, np.arange(first, last + 1) * _DAY, side="right")
    count = by_day[days - first]
    return count + (times >= np.append(switches, np.iinfo(np.int64).max)[count])


def changes_for(times: Micros, zone: datetime.tzinfo) -> tuple[Changes, Micros]:
    """Return changes of the zone's offset that cover ``times`` (instants or wall-clock times), and the times
    by which to look those changes up. Times beyond the years that the changes cover are moved back by
    multiples of 400 years, after which calendar and rules repeat."""
    if not len(times) or (int(times.min()) >= _MODERN + _DAY and int(times.max()) < _RULES - _DAY):
        return _changes(zone, _MODERN, _RULES), times
    cycles = np.maximum((times - _RULES) // CYCLE, 0)
    return _changes(zone, _FIRST, _RULES + CYCLE + _DAY), times - cycles * CYCLE


@lru_cache(maxsize=64)
def _changes(zone: datetime.tzinfo, first: int, last: int) -> Changes:
    """Find all changes of the zone's offset between the wall-clock times ``first`` and ``last``, in
    microseconds since 1970. The search asks for offsets at wall-clock times, since Python is slower for
    instants."""
    samples = np.arange(first, last, _STEP)
    offsets = _offsets_at(zone, samples)
    places = np.flatnonzero(offsets[1:] != offsets[:-1])
    before, after = offsets[places], offsets[places + 1]
    low, high = samples[places], samples[places + 1]
    while len(places) and int((high - low).max()) > _SECOND:
        middle = (low + high) // (2 * _SECOND) * _SECOND
        changed = _offsets_at(zone, middle) == after
        low, high = np.where(changed, low, middle), np.where(changed, middle, high)
    # The clock shows a time with the new offset once the time is past the change in both offsets.
    return Changes(high - np.maximum(before, after), np.append(offsets[:1], after))


def _offsets_at(zone: datetime.tzinfo, clock: Micros) -> Micros:
    """Return the zone's offset in microseconds at each wall-clock time; for a time that the clock shows
    twice, the offset of the earlier instant."""
    moments: list[datetime.datetime] = clock.view("datetime64[us]").tolist()
    offsets = [zone.utcoffset(moment) or _NO_OFFSET for moment in moments]
    return np.array([offset.days * _DAY + offset.seconds * _SECOND for offset in offsets], np.int64)
