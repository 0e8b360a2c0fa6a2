"""A hash table of integers in numpy: every step works on all rows at once."""

from typing import Final

import numpy as np
import numpy.typing as npt

from sqlfront_values.columns.batches import Integers

Words = npt.NDArray[np.uint64]

#: Odd numbers: multiplying by an odd number modulo 2**64 loses nothing. The levels take turns.
MULTIPLIERS: Final = tuple(
    np.uint64(number)
    for number in (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
)
#: Levels of hashing after which the remaining values are sorted: someone chose them to collide.
_MAX_LEVELS: Final = 16


class IntegerTable:
    """A table from integers to numbers: equal integers have the same number, the index of one of their rows.

    ``numbers[row]`` is the number of each of the given values, less than their count; :attr:`missing`, equal
    to the count, is the number of every integer that is not in the table. The table consists of levels, most
    of which are hash tables: a value whose slot is taken by another value goes to the next, smaller level.
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
        """Return the number of bytes of memory that the table holds."""
        return self.numbers.nbytes + sum(level.nbytes for level in self._levels)

    def find(self, values: Integers) -> Integers:
        """Return the number of each value, :attr:`missing` for a value that is not in the table."""
        result, rest = self._levels[0].find(values, self.missing)
        for level in self._levels[1:]:
            if not len(rest):
                break
            found, further = level.find(values[rest], self.missing)
            result[rest] = found
            rest = rest[further]
        return result


class _Level:
    """A level of an :class:`IntegerTable`, which gives each distinct value a number, its id. A level is made
    from the values of some ``rows`` (None = all rows), and stores each value in one slot; if another value
    has the slot, the level leaves the value to the next level."""

    nbytes: int

    def enter(self, numbers: Integers) -> Integers:
        """Set ``numbers[row]`` to the value's number for each row whose value is stored in this level, one of
        the tables that make up an :class:`IntegerTable`; return the rows whose values are left to the next
        level. ``numbers`` has an entry for every row of the table."""
        raise NotImplementedError

    def find(self, values: Integers, missing: int) -> tuple[Integers, Integers]:
        """Look the values up in this level, one of the tables that make up an :class:`IntegerTable`.

        Returns the number of each value, or ``missing`` where this level does not store the value, and the
        positions in ``values`` of the values that a later level may store.
        """
        raise NotImplementedError


class _HashLevel(_Level):
    """A hash level: a value's slot is given by the high bits of the value's product with an odd number.

    The product identifies the value, so a slot stores only the product's low bits, and below them the row
    number: one read of eight bytes tells whether the value is present and its number."""

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
        # Of several values for one place the last value stays.
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
        # Equal rests cancel out and leave the row number; any other result is at least as great as the free
        # mark.
        rests ^= entries
        entries &= self._free
        others = np.flatnonzero((rests >= self._free) & (entries != self._free))
        if self._rows is None:
            return np.minimum(rests, np.uint64(missing)).view(np.int64), others
        found = np.minimum(rests, np.uint64(len(self._rows) - 1)).view(np.int64)
        return np.where(rests < self._free, self._rows[found], missing), others

    def _split(self, values: Integers) -> tuple[Integers, Words]:
        """Return the slot of each value (the high bits of the product), and the low bits of the product,
        shifted to the top of the word."""
        products = values.view(np.uint64) * self._multiplier
        places = (products >> self._shift).view(np.int64)
        products <<= self._bits
        return places, products


def _places_per_value(count: int) -> int:
    """Return the number of slots per value in a level of ``count`` values: many for few values, as free slots
    make misses quick; few for many values, whose level should fit the CPU's caches."""
    return 8 if count < 2**14 else 2


class _SortedLevel(_Level):
    """The last level of a table: all remaining values, sorted, and found by bisection."""

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
