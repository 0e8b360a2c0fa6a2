"""Columns that are described but not built yet: window functions repeat one text or array in many rows."""

from collections.abc import Iterator
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sqlfront_values.columns.batches import Mask, Rows, gather, row_indices
from sqlfront_values.functions import growth

#: Bytes of texts and arrays that are built at a time. While Arrow builds a piece, its buffers, which grow by
#: doubling, take three times as many.
PIECE_BYTES: Final = 16 * 1024 * 1024


class PlacedColumn(msgspec.Struct, frozen=True):
    """A column whose n-th value is ``values[rows[n]]``; null where not ``found[n]`` (None: all are found)."""

    values: pa.Array
    rows: Rows
    found: Mask | None = None

    def __len__(self) -> int:
        return len(self.rows)

    def at(self, rows: Rows) -> "PlacedColumn":
        """Return the column of the values at the positions ``rows``, which may repeat; no value is built."""
        return PlacedColumn(self.values, self.rows[rows], None if self.found is None else self.found[rows])

    def slice(self, start: int, length: int) -> pa.Array:
        """Build the ``length`` values of the column from position ``start`` on."""
        part = slice(start, start + length)
        found = None if self.found is None else self.found[part]
        return gather(self.values, row_indices(self.rows[part], found))

    def sizes(self) -> npt.NDArray[np.float64]:
        """Return the approximate bytes that each value takes once it is built; 0 for null."""
        if len(self.values) == 0:
            return np.zeros(len(self))
        sizes = growth.sizes(self.values)[self.rows]
        return sizes if self.found is None else np.where(self.found, sizes, 0.0)


def pieces(shares: npt.NDArray[np.float64]) -> Iterator[tuple[int, int]]:
    """Yield consecutive ranges of rows as (start, end). ``shares`` has for each row the fraction of a range's
    capacity that the row takes: the shares of a range add up to at most 1, unless the range has a single row.

    >>> list(pieces(np.array([0.5, 0.5, 2.0, 0.1])))
    [(0, 2), (2, 3), (3, 4)]
    """
    ends = np.cumsum(shares)
    start = 0
    while start < len(ends):
        done = float(ends[start - 1]) if start else 0.0
        stop = max(start + 1, int(np.searchsorted(ends, done + 1.0, side="right")))
        yield start, stop
        start = stop
