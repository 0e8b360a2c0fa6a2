"""The random numbers of Spark's ``XORShiftRandom``, a ``java.util.Random`` with another generator: the same
numbers for the same seed, many at once.

The generator's step is linear over the bits of its 64-bit state. So the states of many lanes, each a fixed
number of steps behind the one before, come from a few lookups, and all lanes then go on together in numpy.
"""

from functools import cache
from typing import Final

import numpy as np
import numpy.typing as npt

from sqlfront_values.functions.numbers.fdlibm.logarithms import log

Words = npt.NDArray[np.uint64]

_MASK: Final = 2**64 - 1
_WORD: Final = 2**32 - 1
#: Steps of a lane, and numbers up to which steps in Python are quicker than lanes.
_STEPS: Final = 64
_FEW: Final = 48
#: The seed of Scala's ``MurmurHash3.arrayHash``, by which Spark hashes seeds.
_ARRAY_SEED: Final = 0x3C074A61
_DOUBLE_UNIT: Final = 2.0**-53


def initial_state(seed: int) -> int:
    """Return the state for a seed of 64 bits: Spark hashes seeds, so that close ones give different
    numbers."""
    data = (seed & _MASK).to_bytes(8, "big")
    low = _murmur3(data, _ARRAY_SEED)
    return _murmur3(data, low) << 32 | low


def _murmur3(data: bytes, seed: int) -> int:
    """Return the 32-bit murmur3 hash of bytes, whose number is a multiple of four."""
    hashed = seed
    for place in range(0, len(data), 4):
        word = int.from_bytes(data[place : place + 4], "little") * 0xCC9E2D51 & _WORD
        hashed ^= _rotated(word, 15) * 0x1B873593 & _WORD
        hashed = _rotated(hashed, 13) * 5 + 0xE6546B64 & _WORD
    hashed ^= len(data)
    hashed = (hashed ^ hashed >> 16) * 0x85EBCA6B & _WORD
    hashed = (hashed ^ hashed >> 13) * 0xC2B2AE35 & _WORD
    return hashed ^ hashed >> 16


def _rotated(word: int, bits: int) -> int:
    return (word << bits | word >> 32 - bits) & _WORD


def _step(state: int) -> int:
    state ^= state << 21 & _MASK
    state ^= state >> 35
    return state ^ (state << 4 & _MASK)


def _stepped(states: Words) -> Words:
    states = states ^ (states << np.uint64(21))
    states ^= states >> np.uint64(35)
    return states ^ (states << np.uint64(4))


@cache
def _jump(doublings: int) -> Words:
    """Return the lookup tables, one per byte of a state, of a jump by ``_STEPS * 2**doublings`` steps."""
    bits = np.left_shift(np.uint64(1), np.arange(64, dtype=np.uint64))
    if doublings:
        images = _jumped(_jumped(bits, doublings - 1), doublings - 1)
    else:
        images = bits
        for _ in range(_STEPS):
            images = _stepped(images)
    tables = np.zeros((8, 256), np.uint64)
    for byte in range(8):
        for bit in range(8):
            tables[byte, 1 << bit : 2 << bit] = tables[byte, : 1 << bit] ^ images[8 * byte + bit]
    return tables


def _jumped(states: Words, doublings: int) -> Words:
    tables = _jump(doublings)
    result = np.zeros_like(states)
    for byte in range(8):
        result ^= tables[byte][(states >> np.uint64(8 * byte)) & np.uint64(255)]
    return result


def states_after(state: int, count: int) -> Words:
    """Return the ``count`` states that follow ``state``.

    >>> [int(word) for word in states_after(1, 2)] == [_step(1), _step(_step(1))]
    True
    """
    if count <= _FEW:
        found = []
        for _ in range(count):
            state = _step(state)
            found.append(state)
        return np.array(found, np.uint64)
    lanes = -(-count // _STEPS)
    starts = np.array([state], np.uint64)
    doublings = 0
    while len(starts) < lanes:
        starts = np.concatenate([starts, _jumped(starts, doublings)])
        doublings += 1
    starts = starts[:lanes]
    words = np.empty((lanes, _STEPS), np.uint64)
    for step in range(_STEPS):
        starts = _stepped(starts)
        words[:, step] = starts
    return words.ravel()[:count]


class XorShiftStream:
    """A stream of random numbers; each method goes on behind the numbers that were taken before."""

    def __init__(self, seed: int) -> None:
        self._state = initial_state(seed)
        self._normals: npt.NDArray[np.float64] = np.zeros(0)

    def ints(self, count: int) -> npt.NDArray[np.int32]:
        """Return the next numbers of ``nextInt()``."""
        return self._words(count).astype(np.uint32).view(np.int32)

    def doubles(self, count: int) -> npt.NDArray[np.float64]:
        """Return the next numbers of ``nextDouble()``, from 0 to less than 1."""
        words = self._words(2 * count)
        high = words[::2] & np.uint64(2**26 - 1)
        low = words[1::2] & np.uint64(2**27 - 1)
        return ((high << np.uint64(27)) + low).astype(np.float64) * _DOUBLE_UNIT

    def normals(self, count: int) -> npt.NDArray[np.float64]:
        """Return the next numbers of ``nextGaussian()``, by Marsaglia's polar method: points of the unit
        square until one is in the circle, which gives two numbers. A stream that gives these gives no
        others."""
        while len(self._normals) < count:
            points = 2 * self.doubles(2 * max(count - len(self._normals), 8)).reshape(-1, 2) - 1
            squares = points[:, 0] * points[:, 0] + points[:, 1] * points[:, 1]
            inside = (squares < 1) & (squares != 0)
            squares = squares[inside]
            factors = np.sqrt(-2 * log(squares) / squares)
            self._normals = np.concatenate([self._normals, (points[inside] * factors[:, None]).ravel()])
        found, self._normals = self._normals[:count], self._normals[count:]
        return found

    def _words(self, count: int) -> Words:
        words = states_after(self._state, count)
        if count:
            self._state = int(words[-1])
        return words
