"""A segment: rows that lie contiguously, ordered by (partition id, key), in the forms that Arrow's kernels
like.

Decimals of up to 18 digits are stored as decimal64, strings of few values dictionary-encoded (design of the
storage: one big chunk per column, so that a full scan is a row of zero-copy slices, a partition is one slice,
and a key is found by binary search).
"""

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sqlfront_connectors.base import Partitioning
from sqlfront_engine import kernels as pc
from sqlfront_engine.arrays import numpy_view, without_validity
from sqlfront_engine.partitions import partition_ids
from sqlfront_engine.types import DICTIONARY_STRING, is_decimal, is_string, physical

#: Rows looked at to decide whether a string column has few values.
_SAMPLE_ROWS: Final = 16_384
#: A string column is dictionary-encoded if the sample has at most one distinct value per that many rows ...
_ROWS_PER_VALUE: Final = 16
#: ... and its dictionary stays below this.
_MAX_DICTIONARY: Final = 65_536
#: Later segments are merged into one when there are more than that many ...
_MAX_DELTAS: Final = 8
#: ... or when they hold more than this share of the rows.
_DELTA_SHARE: Final = 0.25
#: A column of a segment stays below this, since string offsets have 31 bits.
_MAX_COLUMN_BYTES: Final = 1 << 30


class Segment(msgspec.Struct, frozen=True):
    """One record batch in physical form; ``offsets[p] : offsets[p + 1]`` are the rows of partition ``p``
    (int64 of length count + 1), None for a table without partitioning."""

    batch: pa.RecordBatch
    offsets: npt.NDArray[np.int64] | None = None

    def ranges(self, partitions: tuple[int, ...] | None) -> Iterator[tuple[int, int]]:
        """Row ranges of the partitions (None = all), adjacent ones joined."""
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


def build_segments(
    batches: Sequence[pa.RecordBatch], schema: pa.Schema, partitioning: Partitioning | None
) -> tuple[Segment, ...]:
    """Segments of all rows (usually one; more where a column would outgrow 1 GiB). ``schema`` is the logical
    one; the batches may have any form."""
    return tuple(
        _order(_combine(run, schema), partitioning)
        for run in _runs([batch for batch in batches if batch.num_rows])
    )


def merge_deltas(
    segments: tuple[Segment, ...], schema: pa.Schema, partitioning: Partitioning | None
) -> tuple[Segment, ...]:
    """The segments (the first holds most rows, the others were inserted later), as one where the later ones
    have become many."""
    deltas = sum(segment.batch.num_rows for segment in segments[1:])
    rows = sum(segment.batch.num_rows for segment in segments)
    if len(segments) <= _MAX_DELTAS and deltas <= _DELTA_SHARE * rows:
        return segments
    return build_segments([segment.batch for segment in segments], schema, partitioning)


def _runs(batches: list[pa.RecordBatch]) -> Iterator[list[pa.RecordBatch]]:
    """Consecutive batches, each run's widest column below the limit."""
    run: list[pa.RecordBatch] = []
    widths: list[int] = []
    for batch in batches:
        sizes = [column.nbytes for column in batch.columns]
        widths = [have + more for have, more in zip(widths, sizes, strict=True)] if run else sizes
        if run and max(widths, default=0) > _MAX_COLUMN_BYTES:
            yield run
            run, widths = [], sizes
        run.append(batch)
    if run:
        yield run


def _combine(batches: list[pa.RecordBatch], schema: pa.Schema) -> pa.RecordBatch:
    rows = sum(batch.num_rows for batch in batches)
    columns = [
        without_validity(_store([batch.column(index) for batch in batches], field.type))
        for index, field in enumerate(schema)
    ]
    stored = pa.schema([field.with_type(column.type) for field, column in zip(schema, columns, strict=True)])
    if not columns:
        return pa.RecordBatch.from_struct_array(pa.StructArray.from_arrays([pa.nulls(rows)], ["_"])).select(
            []
        )
    return pa.RecordBatch.from_arrays(columns, schema=stored)


def _store(chunks: list[pa.Array], logical_type: pa.DataType) -> pa.Array:
    """One array in the form that is stored."""
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
    sample = array.slice(0, _SAMPLE_ROWS)
    if len(pc.get_function("unique").call([sample])) * _ROWS_PER_VALUE > len(sample):
        return array
    encoded = pc.get_function("dictionary_encode").call([array])
    return encoded if len(encoded.dictionary) <= _MAX_DICTIONARY else array


def _order(batch: pa.RecordBatch, partitioning: Partitioning | None) -> Segment:
    """Rows ordered by partition id, within a partition by key, within a key as they came."""
    if partitioning is None:
        return Segment(batch)
    keys = [batch.column(ordinal) for ordinal in partitioning.columns]
    ids = partition_ids(keys, batch.num_rows, partitioning.count)
    order = _key_order(keys)
    if order is not None:
        ids = ids[order]
    by_id = np.argsort(ids.astype(np.int16 if partitioning.count < 1 << 15 else np.int32), kind="stable")
    rows = by_id if order is None else order[by_id]
    offsets = np.zeros(partitioning.count + 1, np.int64)
    np.cumsum(np.bincount(ids, minlength=partitioning.count), out=offsets[1:])
    indices = pa.Array.from_buffers(
        pa.int64(), len(rows), [None, pa.py_buffer(rows.astype(np.int64, copy=False))]
    )
    return Segment(batch.take(indices), offsets)


def _key_order(keys: list[pa.Array]) -> npt.NDArray[np.int64] | None:
    """Row numbers in key order (nulls first), or None if the rows already are."""
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
    """Whether the values don't decrease."""
    return bool(np.all(np.greater_equal(values[1:], values[:-1])))


def sortable_key(array: pa.Array) -> pa.Array:
    """The array in a form that Arrow can sort and search: strings plain, decimal64 as int64."""
    if pa.types.is_dictionary(array.type):
        return array.cast(pa.string())
    if is_decimal(array.type) and pa.types.is_decimal64(array.type):
        return array.view(pa.int64())
    return array
