"""The bytes of KLL sketches: counts, quantiles, ranks and the summary, as Java's library computes them.

The values of a sketch lie in levels; a value of level ``n`` stands for ``2 ** n`` values of the input.
"""

import struct
from itertools import pairwise
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt

from sqlfront_values.java.floats import float_text

_FAMILY: Final = 15
_HEADER: Final = 8
_FULL_HEADER: Final = 20
#: The least size parameter, and the least number of places of a level.
_LEAST: Final = 8
_MOST_LEVELS: Final = 60
#: Depths from which the libraries compute a level's places in two steps.
_HALF: Final = 30
#: Bytes of a float.
_SINGLE: Final = 4
_IS_EMPTY: Final = 1
_IS_SORTED: Final = 2
_IS_SINGLE: Final = 4
#: Input values up to which Java rounds places that a rank means.
_ROUNDED: Final = 1_000_000

Items = npt.NDArray[np.generic]


class KllContents(msgspec.Struct, frozen=True):
    """The contents of a sketch: ``k``, the size parameter, ``min_k``, the least one of the sketches merged
    into it, ``count``, the number of input values, the ``levels`` with their values, the least and the
    greatest input value (``ends``; empty for an empty sketch), places for more values, whether the lowest
    level is sorted, and the number of bytes."""

    k: int
    min_k: int
    count: int
    levels: tuple[Items, ...]
    ends: Items
    free: int
    is_sorted: bool
    size: int

    def view(self) -> tuple[Items, npt.NDArray[np.int64]]:
        """Return the values in their order, and for each the number of input values up to it. The least and
        the greatest input value are among these."""
        values = np.concatenate(self.levels)
        weights = np.repeat(1 << np.arange(len(self.levels)), [len(level) for level in self.levels])
        order = np.argsort(values, kind="stable")
        values, counts = values[order], np.cumsum(weights[order])
        if values[0] != self.ends[0]:
            values, counts = np.insert(values, 0, self.ends[0]), np.insert(counts, 0, 1)
        if values[-1] != self.ends[1]:
            values, counts = np.append(values, self.ends[1]), np.append(counts, counts[-1])
            counts[-2] -= 1
        return values, counts

    def quantile(self, rank: float) -> object:
        """Return the least value such that the share ``rank`` of the input values isn't above it."""
        values, counts = self.view()
        place = rank * self.count
        if self.count <= _ROUNDED:
            place = np.floor(place * 1e7 + 0.5) / 1e7
        number = 0 if np.isnan(place) else int(np.ceil(place))
        return values[min(int(np.searchsorted(counts, number, side="left")), len(values) - 1)].item()

    def rank(self, value: object) -> float:
        """Return the share of the input values that aren't above ``value``."""
        values, counts = self.view()
        found = int(np.searchsorted(values, np.array(value, values.dtype), side="right"))
        return float(counts[found - 1] / self.count) if found else 0.0


def read_contents(buffer: bytes, items: str) -> KllContents:
    """Return the contents of the sketch in ``buffer``, whose values have the numpy type ``items``. Raises
    ValueError for bytes that aren't a whole sketch: the library reads whatever the bytes say, beyond their
    end too."""
    if len(buffer) < _HEADER:
        raise ValueError("too short")
    words, version, family, flags, k, least = struct.unpack_from("<BBBBHB", buffer)
    is_short = bool(flags & (_IS_EMPTY | _IS_SINGLE))
    if family != _FAMILY or words != (2 if is_short else 5) or version not in (1, 2):
        raise ValueError("no KLL sketch")
    if k < _LEAST or least != _LEAST or bool(flags & _IS_SINGLE) != (version == 2):
        raise ValueError("wrong header")
    nothing, is_sorted, size = np.zeros(0, items), bool(flags & _IS_SORTED), len(buffer)
    if flags & _IS_EMPTY:
        return KllContents(k, k, 0, (nothing,), nothing, k, is_sorted, size)
    if flags & _IS_SINGLE:
        value = np.frombuffer(buffer, items, 1, _HEADER)
        return KllContents(k, k, 1, (value,), np.repeat(value, 2), k - 1, is_sorted, size)
    if size < _FULL_HEADER:
        raise ValueError("too short")
    count, min_k, height = struct.unpack_from("<QHB", buffer, _HEADER)
    if not _LEAST <= min_k <= k or not 1 <= height <= _MOST_LEVELS:
        raise ValueError("wrong header")
    starts = np.frombuffer(buffer, "<u4", height, _FULL_HEADER).astype(np.int64)
    capacity = sum(_level_capacity(k, depth) for depth in range(height))
    bounds = [*starts.tolist(), capacity]
    if bounds != sorted(bounds):
        raise ValueError("the levels don't fit")
    free, first = bounds[0], _FULL_HEADER + 4 * height
    ends = np.frombuffer(buffer, items, 2, first)
    values = np.frombuffer(buffer, items, capacity - free, first + 2 * ends.itemsize)
    levels = tuple(values[start - free : end - free] for start, end in pairwise(bounds))
    if not count or count != sum(len(level) << number for number, level in enumerate(levels)):
        raise ValueError("the levels don't fit the count")
    return KllContents(k, min_k, count, levels, ends, free, is_sorted, size)


def _level_capacity(k: int, depth: int) -> int:
    """Return the number of values for which a level has places, ``depth`` levels below the highest one: two
    thirds of those of the level above, as the libraries round."""
    for part in (depth,) if depth <= _HALF else (depth // 2, depth - depth // 2):
        k = ((k << (part + 1)) // 3**part + 1) >> 1
    return max(k, _LEAST)


def summary(contents: KllContents, title: str) -> str:
    """Return Java's description of a sketch of ``title``: Longs, Doubles or Floats."""
    retained = sum(map(len, contents.levels))
    capacity = contents.free + retained
    width = contents.ends.itemsize
    ends = [_shown(value, single=width == _SINGLE) for value in contents.ends.tolist()] or ["NaN", "NaN"]
    rows = {
        "K": contents.k,
        "Dynamic min K": contents.min_k,
        "M": 8,
        "N": contents.count,
        "Epsilon": f"{2.296 / contents.min_k**0.9723 * 100:.3f}%",
        "Epsilon PMF": f"{2.446 / contents.min_k**0.9433 * 100:.3f}%",
        "Empty": str(contents.count == 0).lower(),
        "Estimation Mode": str(len(contents.levels) > 1).lower(),
        "Levels": len(contents.levels),
        "Level 0 Sorted": str(contents.is_sorted).lower(),
        "Capacity Items": capacity,
        "Retained Items": retained,
        "Free Space": contents.free,
        "ReadOnly": "false",
        "Updatable Storage Bytes": _FULL_HEADER + 4 * (len(contents.levels) + 1) + width * (capacity + 2),
        "Compact Storage Bytes": contents.size,
        "Min Item": ends[0],
        "Max Item": ends[1],
    }
    lines = "".join(f"   {name:<23}: {value}\n" for name, value in rows.items())
    return f"\n### KllKll{title}Sketch Summary:\n{lines}### End sketch summary\n"


def _shown(value: object, *, single: bool) -> str:
    return float_text(value, single=single) if isinstance(value, float) else str(value)
