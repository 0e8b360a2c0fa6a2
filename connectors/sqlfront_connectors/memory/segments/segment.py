"""A segment: contiguous rows of a memory table, ordered by (partition id, key), in the forms that Arrow's
kernels process best.

Decimals of up to 18 digits are stored as decimal64, string columns of few distinct values as dictionary
arrays. Each column is one array: a full scan is a series of zero-copy slices, a partition is one slice, and a
binary search finds a key. Deleted rows stay in place: a segment knows their numbers, and the segment of the
next version shares all its data.
"""

import threading
from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Final, TypeVar, cast

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
from msgspec import structs

from sqlfront_connectors.base import Partitioning
from sqlfront_connectors.memory.segments.index import SegmentIndex, indexes_of
from sqlfront_values.arrow import kernels as pc
from sqlfront_values.arrow.arrays import from_numpy, from_values, numpy_view, without_validity
from sqlfront_values.partitioning.partitions import key_hasher, partition_ids
from sqlfront_values.types import DICTIONARY_STRING, is_decimal, is_string, physical

#: Rows of the sample by which a string column is found to have few distinct values.
_SAMPLE_ROWS: Final = 16_384
#: Strings: shorter columns are not encoded anew, because a dictionary saves nothing there.
_MIN_ENCODED: Final = 256
#: Bytes of a batch, counting all buffers that it keeps alive, up to which the batch is stored unchanged: a
#: copy would save no memory worth its time.
_SMALL_SIZE: Final = 65_536
#: Rows up to which they are sorted in Python: a kernel's call costs more.
_FEW_ROWS: Final = 32
#: A string column is dictionary-encoded if the sample has at most one distinct value per so many rows: then
#: the codes of four bytes take less memory and time than the strings ...
_ROWS_PER_VALUE: Final = 16
#: ... and the dictionary has at most this many values, so that work by distinct value stays cheap.
_MAX_DICTIONARY: Final = 65_536
#: Bytes below which a column of a segment stays: string offsets have 31 bits, and a merge may double the
#: rows.
MAX_COLUMN_BYTES: Final = 1 << 30
#: Deleted rows in a batch up to which a scan emits the slices between them (no copy); with more, a copy,
#: since small batches cost more than the copy.
_FEW_DELETED: Final = 2

#: Ascending row numbers.
RowNumbers = npt.NDArray[np.int64]
T = TypeVar("T")


class SegmentFacts:
    """A cache of computed facts about the rows of a segment (such as its size, bounds and statistics). All
    versions of the segment share the cache. Safe to use from several threads."""

    __slots__ = ("_known", "_lock")

    def __init__(self) -> None:
        self._known: dict[Hashable, object] = {}
        self._lock = threading.RLock()

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the fact that is cached under ``key``; if there is none, call ``make``, cache its result and
        return it."""
        known = self._known.get(key)
        if known is None:
            with self._lock:
                known = self._known.get(key)
                if known is None:
                    known = self._known[key] = make()
        return cast("T", known)


class Segment(msgspec.Struct, frozen=True):
    """A part of a memory table's rows. ``batch``: the rows in physical form. ``offsets``: the rows of
    partition ``p`` are ``offsets[p] : offsets[p + 1]`` (int64, one more than there are partitions); None for
    a table without partitioning.

    ``deleted``: the positions of the rows that were deleted from the table, ascending; None = no rows.
    ``memo``: the cache of computed facts, such as bounds and statistics. ``indexes``: the secondary indexes.
    Facts and indexes are about all rows of ``batch``, including deleted rows.
    """

    batch: pa.RecordBatch
    offsets: npt.NDArray[np.int64] | None = None
    deleted: RowNumbers | None = None
    memo: SegmentFacts = msgspec.field(default_factory=SegmentFacts)
    indexes: tuple[SegmentIndex, ...] = ()

    @property
    def rows(self) -> int:
        """The number of rows that are not deleted."""
        length: int = self.batch.num_rows
        return length if self.deleted is None else length - len(self.deleted)

    @property
    def size(self) -> int:
        """The size of all columns in memory in bytes, without the indexes."""
        return self.memo.get("size", lambda: int(self.batch.get_total_buffer_size()))

    def ranges(self, partitions: tuple[int, ...] | None) -> Iterator[tuple[int, int]]:
        """Yield the start and end (exclusive) of the rows of the partitions, including deleted rows; adjacent
        ranges are joined. ``partitions``: partition ids, None = one range of all rows."""
        if partitions is None or self.offsets is None:
            yield 0, self.batch.num_rows
            return
        start = end = 0
        for partition in partitions:
            first, last = int(self.offsets[partition]), int(self.offsets[partition + 1])
            if first != end:
                if end > start:
                    yield start, end
                start = first
            end = last
        if end > start:
            yield start, end

    def without(self, rows: RowNumbers) -> "Segment":
        """Return this segment with the rows ``rows`` deleted in addition to those deleted before. ``rows``:
        positions in ascending order, none of them deleted yet."""
        if not len(rows):
            return self
        gone = rows if self.deleted is None else _united(self.deleted, rows)
        return structs.replace(self, deleted=gone)

    def indexed(self, wanted: Iterable[tuple[int, ...]]) -> "Segment":
        """Return this segment with indexes by exactly the ``wanted`` tuples of columns; existing indexes by
        these columns are reused."""
        if [index.columns for index in self.indexes] == [*wanted]:
            return self
        return structs.replace(self, indexes=indexes_of(self.batch, wanted, self.indexes))

    def index(self, columns: tuple[int, ...]) -> SegmentIndex | None:
        """Return the index of this segment by ``columns``; None if there is no such index."""
        return next((index for index in self.indexes if index.columns == columns), None)

    def live(self, rows: Sequence[int]) -> Sequence[int]:
        """Return those positions in ``rows`` whose rows are not deleted. Intended for a few rows."""
        if self.deleted is None or not rows:
            return rows
        gone = self.deleted.data
        count = len(gone)
        return [row for row in rows if (at := bisect_left(gone, row)) == count or gone[at] != row]

    def live_rows(self) -> RowNumbers:
        """Return the positions of all rows that are not deleted."""
        return self._between(0, self.batch.num_rows)

    def pieces(self, wanted: pa.RecordBatch, start: int, end: int) -> Iterator[pa.RecordBatch]:
        """Yield the rows from ``start`` to ``end`` (exclusive) that are not deleted. ``wanted``: the
        segment's batch, limited to the wanted columns. If few rows in the range are deleted, the yielded
        batches are slices of ``wanted``; otherwise one batch with a copy of the rows is yielded."""
        gone = self._deleted_between(start, end)
        if len(gone) == 0:
            yield wanted.slice(start, end - start)
        elif wanted.num_columns == 0:
            yield wanted.slice(start, end - start - len(gone))
        elif len(gone) <= _FEW_DELETED:
            for row in (*map(int, gone), end):
                if row > start:
                    yield wanted.slice(start, row - start)
                start = row + 1
        elif len(gone) < end - start:
            yield wanted.take(from_numpy(self._between(start, end), pa.int64()))

    def _deleted_between(self, start: int, end: int) -> RowNumbers:
        if self.deleted is None:
            return _NONE
        view = self.deleted.data
        first = bisect_left(view, start)
        return self.deleted[first : bisect_left(view, end, first)]

    def _between(self, start: int, end: int) -> RowNumbers:
        keep = np.ones(end - start, np.bool_)
        keep[self._deleted_between(start, end) - start] = False
        return np.flatnonzero(keep).astype(np.int64, copy=False) + start


_NONE: Final[RowNumbers] = np.zeros(0, np.int64)


def _united(some: RowNumbers, more: RowNumbers) -> RowNumbers:
    """Merge two ascending arrays of row positions, which have no position in common, into one ascending
    array."""
    return np.insert(some, np.searchsorted(some, more), more)


def build_segments(
    batches: Sequence[pa.RecordBatch], schema: pa.Schema, partitioning: Partitioning | None
) -> tuple[Segment, ...]:
    """Build segments of the rows of all batches: usually one segment, several where a column would exceed 1
    GiB, none without rows. ``schema``: the logical schema; the batches may have any form."""
    runs = _runs([batch for batch in batches if batch.num_rows])
    return tuple(build_segment(run, schema, partitioning) for run in runs)


def build_segment(
    batches: Sequence[pa.RecordBatch], schema: pa.Schema, partitioning: Partitioning | None
) -> Segment:
    """Build one segment of the rows of all batches, at least one, in which no column may exceed 1 GiB."""
    return _order(_combine([*batches], schema), partitioning)


def copy_segment(
    batches: Sequence[pa.RecordBatch], schema: pa.Schema, partitioning: Partitioning | None
) -> Segment:
    """Build a segment of rows that have a segment's order already, so that nothing has to be sorted.
    ``batches``: at least one, with rows of one segment in their order."""
    batch = _combine([*batches], schema)
    if partitioning is None:
        return Segment(batch)
    keys = [batch.column(ordinal) for ordinal in partitioning.columns]
    ids = partition_ids(keys, batch.num_rows, partitioning.count)
    return Segment(batch, _offsets(ids, partitioning.count))


def _runs(batches: list[pa.RecordBatch]) -> Iterator[list[pa.RecordBatch]]:
    """Divide the batches, in their order, into lists such that in each list no column has more than
    MAX_COLUMN_BYTES bytes in total. A single batch with a larger column is a list by itself."""
    if sum(batch.get_total_buffer_size() for batch in batches) <= MAX_COLUMN_BYTES:
        if batches:
            yield batches
        return
    run: list[pa.RecordBatch] = []
    widths: list[int] = []
    for batch in batches:
        sizes = [column.nbytes for column in batch.columns]
        widths = [have + more for have, more in zip(widths, sizes, strict=True)] if run else sizes
        if run and max(widths, default=0) > MAX_COLUMN_BYTES:
            yield run
            run, widths = [], sizes
        run.append(batch)
    if run:
        yield run


def _combine(batches: list[pa.RecordBatch], schema: pa.Schema) -> pa.RecordBatch:
    rows = sum(batch.num_rows for batch in batches)
    if not len(schema):
        nothing = pa.StructArray.from_arrays([pa.nulls(rows)], ["_"])
        return pa.RecordBatch.from_struct_array(nothing).select([])
    store = _store
    if rows < _MIN_ENCODED and len(batches) == 1 and batches[0].get_total_buffer_size() <= _SMALL_SIZE:
        store = _keep
    columns = [
        without_validity(store([batch.column(index) for batch in batches], field.type))
        for index, field in enumerate(schema)
    ]
    return pa.RecordBatch.from_arrays(columns, names=schema.names)


def _keep(chunks: list[pa.Array], logical_type: pa.DataType) -> pa.Array:
    """Return the only array in ``chunks`` unchanged if it is in the physical form of ``logical_type``, else
    converted as by :func:`_store`."""
    [chunk] = chunks
    return chunk if chunk.type == physical(logical_type) else _store(chunks, logical_type)


def _store(chunks: list[pa.Array], logical_type: pa.DataType) -> pa.Array:
    """Combine the chunks into one array in the form in which segments store the type: strings of few distinct
    values dictionary-encoded, other types in physical form."""
    if is_string(logical_type):
        return _store_strings(chunks)
    form = physical(logical_type)
    return pa.concat_arrays([chunk if chunk.type == form else chunk.cast(form) for chunk in chunks])


def _store_strings(chunks: list[pa.Array]) -> pa.Array:
    if all(chunk.type == DICTIONARY_STRING for chunk in chunks):
        unified = pa.chunked_array(chunks, DICTIONARY_STRING).unify_dictionaries()
        combined = pa.concat_arrays(unified.chunks)
        if len(combined.dictionary) <= _MAX_DICTIONARY:
            return combined
        return combined.cast(pa.string())
    plain = [chunk if chunk.type == pa.string() else chunk.cast(pa.string()) for chunk in chunks]
    array = pa.concat_arrays(plain)
    if len(array) < _MIN_ENCODED:
        return array
    if not has_few_values(array):
        return array
    encoded = pc.get_function("dictionary_encode").call([array])
    return encoded if len(encoded.dictionary) <= _MAX_DICTIONARY else array


def has_few_values(strings: pa.Array) -> bool:
    """Return whether dictionary encoding of a string column is worthwhile, judged by its first rows: each
    value occurs several times."""
    sample = strings.slice(0, _SAMPLE_ROWS)
    return len(pc.get_function("unique").call([sample])) * _ROWS_PER_VALUE <= len(sample)


def _order(batch: pa.RecordBatch, partitioning: Partitioning | None) -> Segment:
    """Return a segment of the batch's rows, ordered by partition id, then by key, and rows of the same key in
    the order of the batch. Without partitioning, keep the order of the batch."""
    if partitioning is None:
        return Segment(batch)
    keys = [batch.column(ordinal) for ordinal in partitioning.columns]
    if batch.num_rows <= _FEW_ROWS and all(
        pa.types.is_integer(key.type) and not key.null_count for key in keys
    ):
        return _order_few(batch, keys, partitioning)
    ids = partition_ids(keys, batch.num_rows, partitioning.count)
    order = _key_order(keys)
    if order is not None:
        ids = ids[order]
    by_id = np.argsort(ids.astype(np.int16 if partitioning.count < 1 << 15 else np.int32), kind="stable")
    rows = by_id if order is None else order[by_id]
    offsets = _offsets(ids, partitioning.count)
    indices = pa.Array.from_buffers(
        pa.int64(), len(rows), [None, pa.py_buffer(rows.astype(np.int64, copy=False))]
    )
    return Segment(batch.take(indices), offsets)


def _offsets(ids: npt.NDArray[np.signedinteger], count: int) -> npt.NDArray[np.int64]:
    """Return the offsets of ``count`` partitions in rows whose partitions are ``ids``, once they are sorted
    by them."""
    offsets = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(ids, minlength=count), out=offsets[1:])
    return offsets


def _order_few(batch: pa.RecordBatch, keys: list[pa.Array], partitioning: Partitioning) -> Segment:
    """Return the same segment as :func:`_order`, computed in Python, which is quicker for a few rows.
    ``keys``: the key columns, which must be integers without nulls."""
    count, hash_key = partitioning.count, key_hasher([key.type for key in keys])
    found = sorted(
        (hash_key(values) % count, values, row)
        for row, values in enumerate(zip(*(key.to_pylist() for key in keys), strict=True))
    )
    offsets = np.zeros(count + 1, np.int64)
    for partition, _, _ in found:
        offsets[partition + 1] += 1
    np.cumsum(offsets, out=offsets)
    rows = [row for _, _, row in found]
    if rows != [*range(len(rows))]:
        batch = batch.take(from_values(rows, pa.int64()))
    return Segment(batch, offsets)


def _key_order(keys: list[pa.Array]) -> npt.NDArray[np.int64] | None:
    """Return the row positions in the order of the key columns ``keys``, nulls first; None if the rows are in
    this order already."""
    if len(keys) == 1 and keys[0].null_count == 0 and pa.types.is_integer(keys[0].type):
        values = numpy_view(keys[0])
        if is_sorted(values):
            return None
        return np.argsort(values, kind="stable").astype(np.int64, copy=False)
    sortable = pa.RecordBatch.from_arrays(
        [sortable_key(key) for key in keys], names=[str(number) for number in range(len(keys))]
    )
    options = pc.SortOptions([(name, "ascending", "at_start") for name in sortable.schema.names])
    return numpy_view(pc.sort_indices(sortable, options=options)).astype(np.int64, copy=False)


def is_sorted(values: npt.NDArray[np.generic]) -> bool:
    """Return whether the values are in ascending order; equal neighbours are allowed."""
    return bool(np.all(np.greater_equal(values[1:], values[:-1])))


def sortable_key(array: pa.Array) -> pa.Array:
    """Return the values of a key column in an array that Arrow's kernels can sort and search: dictionary
    arrays become plain strings, decimal64 becomes int64, other arrays stay."""
    if pa.types.is_dictionary(array.type):
        return array.cast(pa.string())
    if is_decimal(array.type) and pa.types.is_decimal64(array.type):
        return array.view(pa.int64())
    return array
