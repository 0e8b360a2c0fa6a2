"""A hash table of integers in numpy: every step works on all rows that are still looking."""

from typing import Final

import numpy as np
import numpy.typing as npt

from sqlfront_engine.columns.encoding import Integers

_MULTIPLIER: Final = np.uint64(0x9E3779B97F4A7C15)


class IntegerTable:
    """Different integers (``keys``) by position. :attr:`missing`, their number, stands for an integer not
    among them.

    Open addressing with linear probing over a table at most half full; multiplicative (Fibonacci) hashing.
    """

    def __init__(self, keys: Integers) -> None:
        self.missing: Final = len(keys)
        bits = max(4, (2 * len(keys)).bit_length())
        self._shift = np.uint64(64 - bits)
        self._mask = (1 << bits) - 1
        self._keys = np.zeros(1 << bits, np.int64)
        self._numbers = np.full(1 << bits, self.missing, np.int32)
        self._enter(keys)

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self._keys.nbytes + self._numbers.nbytes

    def find(self, values: Integers) -> Integers:
        """The position of each value among the keys, or ``missing``."""
        slots = self._slots(values)
        numbers = self._numbers[slots]
        # A free slot ends the search, another key's slot sends it on to the next.
        looking = np.flatnonzero((self._keys[slots] != values) & (numbers != self.missing))
        slots = slots[looking]
        wanted = values[looking]
        while len(looking):
            slots += 1
            slots &= self._mask
            found = self._numbers[slots]
            done = (self._keys[slots] == wanted) | (found == self.missing)
            numbers[looking[done]] = found[done]
            on = ~done
            looking, slots, wanted = looking[on], slots[on], wanted[on]
        return numbers.astype(np.int64)

    def _slots(self, values: Integers) -> npt.NDArray[np.int64]:
        hashes = values.view(np.uint64) * _MULTIPLIER
        hashes >>= self._shift
        return hashes.view(np.int64)

    def _enter(self, keys: Integers) -> None:
        slots = self._slots(np.ascontiguousarray(keys))
        waiting = np.arange(len(keys))
        while len(waiting):
            free = self._numbers[slots] == self.missing
            self._numbers[slots[free]] = waiting[free]
            # Of several keys for one free slot one has won.
            won = self._numbers[slots] == waiting
            self._keys[slots[won]] = keys[waiting[won]]
            lost = ~won
            waiting, slots = waiting[lost], (slots[lost] + 1) & self._mask
