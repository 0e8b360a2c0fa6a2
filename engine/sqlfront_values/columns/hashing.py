"""A hash table of integers in numpy: every step works on all rows at once."""

from typing import Final

import numpy as np
import numpy.typing as npt

from sqlfront_values.columns.batches import Integers

Words = npt.NDArray[np.uint64]

#: Odd, so that multiplying by them modulo 2**64 loses nothing; the levels take turns.
MULTIPLIERS: Final = tuple(
    np.uint64(number)
    for number in (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
)
#: Beyond that many levels the values left are sorted: someone chose them to collide.
_MAX_LEVELS: Final = 16


class IntegerTable:
    """Integers by number: equal ones have the same number, that of one row of theirs.

    ``numbers[row]`` is the number of each of the given values, below their count; :attr:`missing`, their
    count, stands for any other integer. Values that find their place in the table taken by another go to a
    next, smaller level.
    """

    def __init__(self, values: Integers) -> None:
        self.missing: Final = len(values)
        self.numbers: Integers = np.empty(len(values), np.int64)
        self._levels: list[_Level] = []
        rows = None
        while rows is None or len(rows):
            waiting = values if rows is None else values[rows]
            level: _Level
            if len(self._levels) < _MAX_LEVELS:
                level = _HashLevel(waiting, MULTIPLIERS[len(self._levels) % len(MULTIPLIERS)], rows)
            else:
                level = _SortedLevel(waiting, rows)
            self._levels.append(level)
            rows = level.enter(self.numbers)

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self.numbers.nbytes + sum(level.nbytes for level in self._levels)

    def find(self, values: Integers) -> Integers:
        """The number of each value, or ``missing``."""
        result, rest = self._levels[0].find(values, self.missing)
        for level in self._levels[1:]:
            if not len(rest):
                break
            found, further = level.find(values[rest], self.missing)
            result[rest] = found
            rest = rest[further]
        return result


class _Level:
    """Values of some rows (None = all rows), each in a place of its own or handed on."""

    nbytes: int

    def enter(self, numbers: Integers) -> Integers:
        """Set the numbers of the rows that found their place; returns the others."""
        raise NotImplementedError

    def find(self, values: Integers, missing: int) -> tuple[Integers, Integers]:
        """The number of each value, ``missing`` if it isn't here; and which of those another level may
        know."""
        raise NotImplementedError


class _HashLevel(_Level):
    """The high bits of a value's product with an odd number say where it belongs; since the product is as
    good as the value, only its low bits are stored there, and below them the row number: one read of eight
    bytes tells whether the value is there and what its number is."""

    def __init__(self, values: Integers, multiplier: np.uint64, rows: Integers | None) -> None:
        self._multiplier = multiplier
        self._rows = rows
        bits = max(4, (_places_per_value(len(values)) * len(values)).bit_length())
        self._bits, self._shift = np.uint64(bits), np.uint64(64 - bits)
        #: The row number that marks a free place; no row has it.
        self._free = np.uint64((1 << bits) - 1)
        self._places = np.full(1 << bits, self._free, np.uint64)
        self.nbytes = self._places.nbytes
        places, rests = self._split(values)
        rests |= np.arange(len(values), dtype=np.uint64)
        # Of several values for one place the last one stays.
        self._places[places] = rests
        self._entered = places, rests

    def enter(self, numbers: Integers) -> Integers:
        places, rests = self._entered
        del self._entered
        winners = self._places.take(places, mode="clip")
        here = (winners ^ rests) <= self._free
        winners &= self._free
        found = winners.view(np.int64)
        others = np.flatnonzero(~here)
        if self._rows is None:
            numbers[:] = found
            return others
        chosen = np.flatnonzero(here)
        numbers[self._rows[chosen]] = self._rows[found[chosen]]
        return self._rows[others]

    def find(self, values: Integers, missing: int) -> tuple[Integers, Integers]:
        places, rests = self._split(values)
        entries = self._places.take(places, mode="clip")
        # Equal rests cancel out and leave the row number; anything else is at least as great as the free
        # mark.
        rests ^= entries
        entries &= self._free
        others = np.flatnonzero((rests >= self._free) & (entries != self._free))
        if self._rows is None:
            return np.minimum(rests, np.uint64(missing)).view(np.int64), others
        found = np.minimum(rests, np.uint64(len(self._rows) - 1)).view(np.int64)
        return np.where(rests < self._free, self._rows[found], missing), others

    def _split(self, values: Integers) -> tuple[Integers, Words]:
        """The place of each value, and the rest of its product, shifted up."""
        products = values.view(np.uint64) * self._multiplier
        places = (products >> self._shift).view(np.int64)
        products <<= self._bits
        return places, products


def _places_per_value(count: int) -> int:
    """Few values can afford many free places, which make misses quick; many had better fit the caches."""
    return 8 if count < 2**14 else 2


class _SortedLevel(_Level):
    """Values found by bisection."""

    def __init__(self, values: Integers, rows: Integers | None) -> None:
        order = np.argsort(values, kind="stable")
        self._rows = np.arange(len(values)) if rows is None else rows
        self._values = values
        self._sorted = values[order]
        self._owners = self._rows[order]
        self.nbytes = self._sorted.nbytes + self._owners.nbytes

    def enter(self, numbers: Integers) -> Integers:
        numbers[self._rows] = self._owners[np.searchsorted(self._sorted, self._values)]
        return np.zeros(0, np.int64)

    def find(self, values: Integers, missing: int) -> tuple[Integers, Integers]:
        places = np.minimum(np.searchsorted(self._sorted, values), len(self._sorted) - 1)
        found = self._sorted[places] == values
        return np.where(found, self._owners[places], missing), np.zeros(0, np.int64)
