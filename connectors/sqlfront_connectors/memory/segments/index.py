"""Secondary indexes: lookup of the rows of a segment by the values of some columns.

An index is one sorted array of 64-bit numbers, one per row: the upper half is the hash of the columns'
values, the lower half the row number. The rows with the hash of a key are compared with the key itself. The
hash is the one by which rows are partitioned. As for ``<=>``, null is a value like any other, all NaNs are
equal, and -0.0 is 0.0.
"""

import threading
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sqlfront_values.arrow import kernels as pc
from sqlfront_values.arrow.arrays import from_numpy, numpy_view, scalar, valid_mask
from sqlfront_values.columns.reading import Reader, storage_reader, to_storage
from sqlfront_values.partitioning.partitions import hash_columns
from sqlfront_values.types import is_fractional

#: The mask of the row in the lower half of an entry.
_ROW: Final = (1 << 32) - 1
#: Matching entries below which they are compared row by row; a kernel's call costs as much as comparing some
#: tens of rows in Python.
_FEW_ROWS: Final = 64


class IndexDefinition(msgspec.Struct, frozen=True):
    """A secondary index of a table. ``name``: the name of the index. ``columns``: the ordinals of its
    columns."""

    name: str
    columns: tuple[int, ...]


class SegmentIndex:
    """A secondary index of one batch by some of its columns, which finds the numbers of the rows with a key.
    The index is built on first use, or by :meth:`prepare`. Safe to use from several threads."""

    __slots__ = ("_batch", "_compared", "_entries", "_lock", "_sorted", "__weakref__", "columns")

    def __init__(self, batch: pa.RecordBatch, columns: tuple[int, ...]) -> None:
        self.columns = columns
        self._batch = batch
        self._lock = threading.Lock()
        self._sorted: npt.NDArray[np.int64] | None = None
        self._entries: memoryview = memoryview(b"").cast("b")
        self._compared: tuple[_Compared, ...] = ()

    @property
    def size(self) -> int:
        """The size of the index in bytes; 0 before the index is built."""
        return 0 if self._sorted is None else self._sorted.nbytes

    def prepare(self) -> None:
        """Build the index unless it is built already."""
        with self._lock:
            if self._sorted is not None:
                return
            columns = [self._batch.column(ordinal) for ordinal in self.columns]
            count = self._batch.num_rows
            entries = hash_columns(columns, count).astype(np.int64)
            entries <<= 32
            entries |= np.arange(count, dtype=np.int64)
            entries.sort()
            self._compared = tuple(map(_Compared, columns))
            self._entries = entries.data
            self._sorted = entries

    def find(self, hashed: int, key: Sequence[object]) -> Sequence[int]:
        """Return the numbers of the rows that have the key, in ascending order, including deleted rows.
        ``hashed``: the key's hash (Spark's murmur3, signed). ``key``: one value for each of :attr:`columns`,
        of the column's type; None stands for null."""
        if self._sorted is None:
            self.prepare()
        entries, low = self._entries, hashed << 32
        first = bisect_left(entries, low)
        last = first
        count, high = len(entries), low + _ROW
        for last in range(first, min(first + _FEW_ROWS, count)):
            if entries[last] > high:
                break
        else:
            last = bisect_left(entries, high + 1, first)
        if first == last:
            return ()
        if last - first < _FEW_ROWS:
            rows: Sequence[int] = [entry & _ROW for entry in entries[first:last]]
            for compared, value in zip(self._compared, key, strict=True):
                rows = compared.among_few(rows, value)
            return rows
        assert self._sorted is not None
        many = self._sorted[first:last] & _ROW
        for compared, value in zip(self._compared, key, strict=True):
            many = compared.among_many(many, value)
        return many.data


class _Compared:
    """A column of an index, whose values can be compared with a value of a key."""

    __slots__ = ("_array", "_convert", "_fractional", "_read")

    def __init__(self, array: pa.Array) -> None:
        self._array = array
        self._convert: Callable[[object], object] | None = to_storage(array.type)
        self._read: Reader = storage_reader(array)
        self._fractional = is_fractional(array.type)

    def among_few(self, rows: Sequence[int], value: object) -> Sequence[int]:
        """Return those row numbers in ``rows`` at which this column has the value ``value``; Python compares
        one row after the other. None finds nulls, NaN finds NaNs."""
        wanted, read = self._stored(value), self._read
        if wanted is None:
            return [row for row in rows if read(row) is None]
        if wanted != wanted:  # NaN
            return [row for row in rows if (found := read(row)) is not None and found != found]
        return [row for row in rows if read(row) == wanted]

    def among_many(self, rows: npt.NDArray[np.int64], value: object) -> npt.NDArray[np.int64]:
        """Return those row numbers in ``rows`` at which this column has the value ``value``; Arrow's kernels
        compare all rows at once. None finds nulls, NaN finds NaNs."""
        taken = self._array.take(from_numpy(rows, pa.int64()))
        wanted = self._stored(value)
        if wanted is None:
            return rows[numpy_view(pc.is_null(taken)).astype(np.bool_)]
        if pa.types.is_dictionary(taken.type):
            taken = taken.cast(pa.string())
        if pa.types.is_decimal64(taken.type) or pa.types.is_temporal(taken.type):
            taken = taken.view(pa.int64() if taken.type.bit_width == 64 else pa.int32())
        if self._fractional and wanted != wanted:
            same = pc.is_nan(taken)
        else:
            same = pc.equal(taken, scalar(wanted, taken.type))
        valid = valid_mask(same)
        found = numpy_view(same).astype(np.bool_)
        return rows[found if valid is None else found & valid]

    def _stored(self, value: object) -> object:
        return value if value is None or self._convert is None else self._convert(value)


def indexes_of(
    batch: pa.RecordBatch, wanted: Iterable[tuple[int, ...]], present: Iterable[SegmentIndex] = ()
) -> tuple[SegmentIndex, ...]:
    """Return one index of ``batch`` for each tuple of columns in ``wanted``, without repetitions. An index in
    ``present`` (existing indexes of the same batch) with the same columns is reused; the others are new, and
    built on first use."""
    known = {index.columns: index for index in present}
    return tuple(known.get(columns) or SegmentIndex(batch, columns) for columns in dict.fromkeys(wanted))
