"""Sketches of frequent items, as Java's ``ItemsSketch`` of Apache DataSketches computes them: the library for
Python has them with other hashes, by which ties come in another order.

The rule is that of Misra and Gries, with the purge at the median of Anderson et al., "A High-Performance
Algorithm for Identifying Frequent Items in Data Streams" (2017).
"""

import struct
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from sqlfront_values.functions.sketches.item_kinds import ItemKind, Key
from sqlfront_values.room import check

_LG_LEAST: Final = 3
#: Counts from which a purge takes the median.
_SAMPLES: Final = 1024
_GOLDEN: Final = (5**0.5 - 1) / 2
_LOW: Final = (1 << 64) - 1
#: Longs before the counts, version, family, sizes, flags, number of items, weight and offset.
_HEADER: Final = struct.Struct("<BBBBBBxxi4xqq")
_EMPTY_HEADER: Final = struct.Struct("<BBBBBBxx")
_LONGS: Final = 4
_VERSION: Final = 1
_FAMILY: Final = 10
_IS_EMPTY: Final = 5
_LG_GREATEST: Final = 26


def lg_size(tracked: int) -> int:
    """Return the binary logarithm of the size of the table in which Spark tracks a number of items.

    >>> lg_size(10), lg_size(10_000)
    (4, 14)
    """
    places = -(-tracked * 4 // 3)
    return max(_LG_LEAST, (places - 1).bit_length())


def _capacity(size: int) -> int:
    return size * 3 // 4


class ItemsSketch:
    """Counts of the most frequent items of a stream, in a table of at most ``2 ** lg_most`` places.

    An item's count is too small by at most ``offset``. The order of the items is that of their places in the
    table, which depend on Java's hash codes and on the items' order in the stream.
    """

    __slots__ = ("_counts", "_drifts", "_keys", "_kind", "_lg_most", "active", "offset", "weight")

    def __init__(self, kind: ItemKind, lg_most: int, lg_now: int = _LG_LEAST) -> None:
        self._kind = kind
        self._lg_most = lg_most
        self.active = 0
        self.offset = 0
        self.weight = 0
        self._clear(1 << lg_now)

    def _clear(self, size: int) -> None:
        """Make an empty table. A place's drift is 0 if the place is free, else 1 more than its distance from
        the place that the item's hash tells."""
        self._keys: list[Key | None] = [None] * size
        self._counts = [0] * size
        self._drifts = [0] * size

    def add_all(self, keys: Sequence[Key]) -> None:
        """Count the items in their order."""
        counter = Counter(keys)
        check()
        # Below the capacity nothing is purged: the places depend on the first one of equal items alone.
        if self.active + len(counter) <= _capacity(1 << self._lg_most):
            for key, count in counter.items():
                self.add(key, count)
        else:
            for key in keys:
                self.add(key, 1)

    def add(self, key: Key, count: int) -> None:
        """Count an item ``count`` times."""
        self.weight += count
        self._put(key, count)
        size = len(self._keys)
        if self.active <= _capacity(size):
            return
        if size < 1 << self._lg_most:
            self._grow()
        else:
            self._purge()

    def merge(self, other: "ItemsSketch") -> None:
        """Count the items of another sketch."""
        if other.active == 0:
            return
        weight = self.weight + other.weight
        for key, count in other.items():
            self.add(key, count)
        self.offset += other.offset
        self.weight = weight

    def items(self) -> Iterator[tuple[Key, int]]:
        """Yield the items with their counts, in Java's order: the places are visited in steps of the golden
        ratio."""
        mask = len(self._keys) - 1
        stride = int(len(self._keys) * _GOLDEN) | 1
        place = 0
        for _ in range(len(self._keys)):
            if self._drifts[place]:
                yield self._entry(place)
            place = (place + stride) & mask

    def frequent_items(self) -> list[tuple[Key, int]]:
        """Return the items whose count is surely at least ``offset``, with the estimates of their counts; the
        most frequent ones come first."""
        found = [(key, count + self.offset) for key, count in self.items() if count >= self.offset]
        return sorted(found, key=lambda entry: -entry[1])

    def dump(self, *, exact: bool = False) -> bytes:
        """Return the bytes that Java's library writes. ``exact``: in the order of the items that gives
        :func:`load` this very table; Java's order moves items at the table's ends."""
        lg_now = (len(self._keys) - 1).bit_length()
        if self.active == 0:
            return _EMPTY_HEADER.pack(1, _VERSION, _FAMILY, self._lg_most, lg_now, _IS_EMPTY)
        start = self._drifts.index(0) if exact else 0
        places = (*range(start, len(self._keys)), *range(start))
        entries = [self._entry(place) for place in places if self._drifts[place]]
        head = (_LONGS, _VERSION, _FAMILY, self._lg_most, lg_now, 0)
        counts = struct.pack(f"<{len(entries)}q", *(count for _, count in entries))
        items = self._kind.dump([key for key, _ in entries])
        return _HEADER.pack(*head, self.active, self.weight, self.offset) + counts + items

    def _entry(self, place: int) -> tuple[Key, int]:
        key = self._keys[place]
        assert key is not None
        return key, self._counts[place]

    def _put(self, key: Key, count: int) -> None:
        keys, drifts, mask = self._keys, self._drifts, len(self._keys) - 1
        place, drift = _mixed(self._kind.hash_code(key)) & mask, 1
        while drifts[place] and keys[place] != key:
            place, drift = (place + 1) & mask, drift + 1
        if not drifts[place]:
            keys[place], drifts[place] = key, drift
            self.active += 1
        self._counts[place] += count

    def _grow(self) -> None:
        entries = [self._entry(place) for place, drift in enumerate(self._drifts) if drift]
        self._clear(2 * len(self._keys))
        self.active = 0
        for key, count in entries:
            self._put(key, count)

    def _purge(self) -> None:
        """Lower all counts by the median of the first ones, and drop the items without a count."""
        check()
        most = min(_SAMPLES, _capacity(1 << self._lg_most), self.active)
        samples: list[int] = []
        for place, drift in enumerate(self._drifts):
            if drift:
                samples.append(self._counts[place])
                if len(samples) == most:
                    break
        median = sorted(samples)[most // 2]
        self.offset += median
        for place, drift in enumerate(self._drifts):
            if drift:
                self._counts[place] -= median
        self._drop()

    def _drop(self) -> None:
        """Remove the items without a count, run by run of places that are taken, each from its end."""
        free = len(self._keys) - 1
        while self._drifts[free]:
            free -= 1
        for place in (*range(free - 1, -1, -1), *range(len(self._keys) - 1, free - 1, -1)):
            if self._drifts[place] and self._counts[place] <= 0:
                self._remove(place)
                self.active -= 1

    def _remove(self, hole: int) -> None:
        """Free a place, and move later items nearer to their hashes' places."""
        mask = len(self._keys) - 1
        self._free(hole)
        place, drift = (hole + 1) & mask, 1
        while self._drifts[place]:
            if self._drifts[place] > drift:
                self._keys[hole], self._counts[hole] = self._keys[place], self._counts[place]
                self._drifts[hole] = self._drifts[place] - drift
                self._free(place)
                hole, drift = place, 0
            place, drift = (place + 1) & mask, drift + 1

    def _free(self, place: int) -> None:
        self._keys[place], self._counts[place], self._drifts[place] = None, 0, 0


def load(buffer: bytes, kind: ItemKind) -> ItemsSketch:
    """Return the sketch in ``buffer``. Raises ValueError or struct.error for other bytes."""
    longs, version, family, lg_most, lg_now, flags = _EMPTY_HEADER.unpack_from(buffer)
    is_empty = bool(flags & _IS_EMPTY)
    if version != _VERSION or family != _FAMILY or longs & 0x3F != (1 if is_empty else _LONGS):
        raise ValueError("no sketch of frequent items")
    if not _LG_LEAST <= lg_now <= lg_most <= _LG_GREATEST:
        raise ValueError("wrong sizes")
    if is_empty:
        return ItemsSketch(kind, lg_most, lg_now)
    *_, count, weight, offset = _HEADER.unpack_from(buffer)
    if not 0 < count <= _capacity(1 << lg_now) or len(buffer) < _HEADER.size + 8 * count:
        raise ValueError("wrong number of items")
    counts = struct.unpack_from(f"<{count}q", buffer, _HEADER.size)
    keys, _ = kind.load(buffer, _HEADER.size + 8 * count, count)
    sketch = ItemsSketch(kind, lg_most, lg_now)
    for key, each in zip(keys, counts, strict=True):
        sketch.add(key, each)
    sketch.weight, sketch.offset = weight, offset
    return sketch


def merged(sketches: Iterable[ItemsSketch], kind: ItemKind, lg_most: int) -> ItemsSketch:
    """Return a new sketch of the items of all sketches."""
    result = ItemsSketch(kind, lg_most)
    for sketch in sketches:
        result.merge(sketch)
    return result


def _mixed(code: int) -> int:
    """Return the hash of a hash code: the finalizer of MurmurHash3."""
    code &= _LOW
    code = (code ^ code >> 33) * 0xFF51AFD7ED558CCD & _LOW
    code = (code ^ code >> 33) * 0xC4CEB9FE1A85EC53 & _LOW
    return code ^ code >> 33
