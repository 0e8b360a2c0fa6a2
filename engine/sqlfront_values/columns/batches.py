"""Columns and batches put together, picked from and cut."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from sqlfront_values.arrow import kernels as pc
from sqlfront_values.arrow.arrays import bitmap, from_numpy
from sqlfront_values.types import logical, physical

# As numpy.typing.NDArray, whose import every first query would pay.
Integers = np.ndarray[tuple[Any, ...], np.dtype[np.int64]]
#: Row numbers.
Rows = Integers
Mask = np.ndarray[tuple[Any, ...], np.dtype[np.bool_]]


def make_batch(columns: Sequence[pa.Array], names: Sequence[str], length: int) -> pa.RecordBatch:
    """A batch of ``length`` rows, also without any column (whose row count pyarrow would otherwise
    forget)."""
    if columns:
        return pa.RecordBatch.from_arrays(columns, names=names)
    return pa.RecordBatch.from_struct_array(pa.StructArray.from_buffers(pa.struct([]), length, [None]))


def empty_batch(schema: pa.Schema) -> pa.RecordBatch:
    """No rows of a logical schema, in physical form."""
    return make_batch([pa.nulls(0, physical(field.type)) for field in schema], schema.names, 0)


def row_indices(rows: Rows, valid: Mask | None = None) -> pa.Array:
    """Row numbers as the Arrow array that :func:`gather` takes; ``valid``: False gives null instead of a
    row."""
    buffers = [bitmap(valid), pa.py_buffer(np.ascontiguousarray(rows, np.int64))]
    return pa.Array.from_buffers(pa.int64(), len(rows), buffers)


def gather(column: pa.Array, indices: pa.Array) -> pa.Array:
    """The values at ``indices`` (all within the column), null where the index is null."""
    return pc.take(column, indices, boundscheck=False)


def gather_batch(batch: pa.RecordBatch, rows: Rows) -> pa.RecordBatch:
    """The rows of the batch with these numbers, in that order."""
    indices = row_indices(rows)
    return make_batch([gather(column, indices) for column in batch.columns], batch.schema.names, len(rows))


def mask_array(mask: Mask) -> pa.Array:
    """A mask as a boolean array, for Arrow's filter kernels."""
    return from_numpy(mask, pa.bool_())


def concat_columns(pieces: Sequence[pa.Array]) -> pa.Array:
    """The pieces of one column end to end. Dictionaries are unified; where plain strings and dictionaries
    meet, the result is plain."""
    if len(pieces) == 1:
        return pieces[0]
    kinds = {piece.type for piece in pieces}
    if len(kinds) > 1:
        plain = logical(pieces[0].type)
        pieces = [piece if piece.type == plain else piece.cast(plain) for piece in pieces]
    return pa.concat_arrays(pieces)


def concat_batches(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """The batches (at least one, of one schema up to dictionaries) end to end."""
    if len(batches) == 1:
        return batches[0]
    columns = [
        concat_columns([batch.column(ordinal) for batch in batches])
        for ordinal in range(batches[0].num_columns)
    ]
    return make_batch(columns, batches[0].schema.names, sum(batch.num_rows for batch in batches))


def slices(batch: pa.RecordBatch, size: int) -> Iterator[pa.RecordBatch]:
    """The batch in zero-copy pieces of at most ``size`` rows."""
    if batch.num_rows <= size:
        yield batch
        return
    for start in range(0, batch.num_rows, size):
        yield batch.slice(start, size)
