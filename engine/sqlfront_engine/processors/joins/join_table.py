"""The build side of a hash join: its rows by key."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pyarrow as pa

from sqlfront_engine.processor import BATCH_ROWS
from sqlfront_engine.processors.joins.join_rows import Pairs
from sqlfront_values.columns.batches import Mask, Rows
from sqlfront_values.columns.encoding import Codes
from sqlfront_values.columns.matching import KeyDirectory
from sqlfront_values.columns.ordering import sorting_order


class JoinTable:
    """The build rows of a hash join by key. Equal keys have the same key number, from 0. If no key repeats,
    the table has the only row of each key number; else it has all rows sorted by key number, with the begin
    and the count of each number's rows. ``keys``: the key columns of the ``length`` build rows;
    ``null_safe``: for each key whether null equals null, empty = for none. ``may_hold``: called with the
    bytes of a table that makes later look-ups faster, before it is built; returns whether it may be built and
    held."""

    def __init__(
        self,
        keys: Sequence[pa.Array],
        length: int,
        null_safe: Sequence[bool] = (),
        may_hold: Callable[[int], bool] = lambda _: True,
    ) -> None:
        self._length = length
        self._directory = KeyDirectory(keys, length, null_safe, may_hold)
        numbers = self._directory.numbers
        rows = np.arange(length) if self._directory.rows is None else self._directory.rows
        self._only = np.full(self._directory.size, -1, np.int64)
        self._only[numbers] = rows
        self.unique = bool((self._only[numbers] == rows).all())
        if not self.unique:
            order = sorting_order(Codes(numbers, self._directory.size))
            #: Build rows in the order of their keys' numbers.
            self.rows = rows[order]
            self._counts = np.bincount(numbers, minlength=self._directory.size)
            self._begins = np.cumsum(self._counts) - self._counts

    @property
    def nbytes(self) -> int:
        """The bytes that the table takes, without the build rows themselves."""
        lists = 0 if self.unique else self.rows.nbytes + self._begins.nbytes + self._counts.nbytes
        return self._directory.nbytes + self._only.nbytes + lists

    @property
    def wanted_rows(self) -> int:
        """The number of probe rows that a lookup should have at least to be efficient."""
        return self._directory.wanted_rows

    def look_up(self, keys: Sequence[pa.Array], length: int) -> "ProbeMatches":
        """Return the matches of ``length`` probe rows, whose key columns are ``keys``, with the build
        rows."""
        return ProbeMatches(self, self._directory.find(keys, length))

    def has_incomplete_rows(self) -> bool:
        """Return whether a build row has a null in a key that isn't null-safe."""
        return self._directory.rows is not None

    def only(self, numbers: Rows) -> Rows:
        """Return for each of the key numbers ``numbers`` the number of one build row with this key (the only
        one if keys are unique); -1 if no build row has the key."""
        return self._only.take(numbers, mode="clip")

    def ranges(self, numbers: Rows) -> tuple[Rows, Rows]:
        """Return for each of the key numbers ``numbers`` where its build rows begin in :attr:`rows`, and how
        many there are."""
        begins = self._begins.take(numbers, mode="clip")
        return begins, self._counts.take(numbers, mode="clip")

    def rows_of(self, used: Mask) -> Mask:
        """Return a mask of the build rows whose key number is marked in ``used``, a mask with one entry per
        key number."""
        result = np.zeros(self._length, np.bool_)
        rows = self._directory.rows
        marked = used[self._directory.numbers]
        if rows is None:
            return marked
        result[rows] = marked
        return result

    @property
    def size(self) -> int:
        """The number of possible key numbers, which run from 0 to ``size`` - 1."""
        return self._directory.size


class ProbeMatches:
    """The matches of a batch of probe rows with the build rows: ``numbers`` has each probe row's key number,
    ``only`` a matching build row or -1 for none."""

    def __init__(self, table: JoinTable, numbers: Rows) -> None:
        self._table = table
        self.numbers = numbers
        self.only = table.only(numbers)

    def found(self) -> Mask:
        """Return a mask of the probe rows that have at least one matching build row."""
        return self.only >= 0

    def pairs(self) -> Iterator[Pairs]:
        """Yield all matching pairs as two arrays of row numbers (probe, build), at most BATCH_ROWS pairs at
        a time, by ascending probe row."""
        if self._table.unique:
            return self._single_pairs()
        return self._multiple_pairs()

    def _single_pairs(self) -> Iterator[Pairs]:
        probe = np.flatnonzero(self.only >= 0)
        build = self.only if len(probe) == len(self.only) else self.only[probe]
        for start in range(0, len(probe), BATCH_ROWS):
            yield probe[start : start + BATCH_ROWS], build[start : start + BATCH_ROWS]

    def _multiple_pairs(self) -> Iterator[Pairs]:
        begins, counts = self._table.ranges(self.numbers)
        met = np.flatnonzero(counts)
        begins, counts = begins[met], counts[met]
        ends = np.cumsum(counts)
        total = int(ends[-1]) if len(ends) else 0
        # Pair number p of a probe row is build row p + shift in the table's order.
        shifts = begins - (ends - counts)
        for start in range(0, total, BATCH_ROWS):
            stop = min(start + BATCH_ROWS, total)
            first, last = np.searchsorted(ends, (start, stop - 1), side="right")
            here = slice(first, last + 1)
            repeats = counts[here].copy()
            repeats[0] = ends[first] - start
            repeats[-1] -= ends[last] - stop
            build = np.repeat(shifts[here], repeats) + np.arange(start, stop)
            yield np.repeat(met[here], repeats), self._table.rows[build]
