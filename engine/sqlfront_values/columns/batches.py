"""Building, gathering and cutting of columns and batches."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from sqlfront_values.arrow import kernels as pc
from sqlfront_values.arrow.arrays import bitmap, from_numpy
from sqlfront_values.types import logical, physical

# Like numpy.typing.NDArray, but without its import, which would slow every first query.
Integers = np.ndarray[tuple[Any, ...], np.dtype[np.int64]]
#: Row numbers.
Rows = Integers
Mask = np.ndarray[tuple[Any, ...], np.dtype[np.bool_]]


def make_batch(columns: Sequence[pa.Array], names: Sequence[str], length: int) -> pa.RecordBatch:
    """Build a batch of ``length`` rows whose columns have the given names. A batch without columns has
    ``length`` rows, too; pyarrow's own constructor would lose the row count."""
    if columns:
        return pa.RecordBatch.from_arrays(columns, names=names)
    return pa.RecordBatch.from_struct_array(pa.StructArray.from_buffers(pa.struct([]), length, [None]))


def empty_batch(schema: pa.Schema) -> pa.RecordBatch:
    """Return a batch without rows, in the physical form of a logical schema."""
    return make_batch([pa.nulls(0, physical(field.type)) for field in schema], schema.names, 0)


def row_indices(rows: Rows, valid: Mask | None = None) -> pa.Array:
    """Build the Arrow array of row numbers that :func:`gather` takes, null where the mask ``valid`` is False
    (None = no nulls)."""
    buffers = [bitmap(valid), pa.py_buffer(np.ascontiguousarray(rows, np.int64))]
    return pa.Array.from_buffers(pa.int64(), len(rows), buffers)


def gather(column: pa.Array, indices: pa.Array) -> pa.Array:
    """Return the column's values at ``indices`` (int64, all within the column, unchecked), null where the
    index is null."""
    return pc.take(column, indices, boundscheck=False)


def gather_batch(batch: pa.RecordBatch, rows: Rows) -> pa.RecordBatch:
    """Return a batch of the rows at the positions ``rows`` (row numbers of ``batch``), in that order."""
    indices = row_indices(rows)
    return make_batch([gather(column, indices) for column in batch.columns], batch.schema.names, len(rows))


def split_batch(batch: pa.RecordBatch, targets: Rows, count: int) -> dict[int, pa.RecordBatch]:
    """Cut the batch, of at least one row, into the rows of each target: ``targets`` has the target of each
    row, 0 to ``count`` - 1. The rows keep their order; a target without rows is left out.

    >>> batch = pa.RecordBatch.from_pydict({"n": [1, 2, 3]})
    >>> {target: part.to_pydict() for target, part in split_batch(batch, np.array([1, 0, 1]), 2).items()}
    {0: {'n': [2]}, 1: {'n': [1, 3]}}
    """
    if (targets == targets[0]).all():
        return {int(targets[0]): batch}
    if count == 2:
        return {target: gather_batch(batch, np.flatnonzero(targets == target)) for target in (0, 1)}
    grouped = gather_batch(batch, np.argsort(targets, kind="stable"))
    ends = np.cumsum(np.bincount(targets, minlength=count)).tolist()
    starts = [0, *ends[:-1]]
    return {
        target: grouped.slice(start, end - start)
        for target, (start, end) in enumerate(zip(starts, ends, strict=True))
        if end > start
    }


def mask_array(mask: Mask) -> pa.Array:
    """Convert a mask to a boolean array, for Arrow's filter kernels."""
    return from_numpy(mask, pa.bool_())


def concat_columns(pieces: Sequence[pa.Array]) -> pa.Array:
    """Concatenate the pieces (at least one) of one column. Dictionaries are unified; if the pieces have
    different Arrow types, such as plain strings and dictionaries, the result has the column's logical type,
    such as plain strings."""
    if len(pieces) == 1:
        return pieces[0]
    kinds = {piece.type for piece in pieces}
    if len(kinds) > 1:
        plain = logical(pieces[0].type)
        pieces = [piece if piece.type == plain else piece.cast(plain) for piece in pieces]
    return pa.concat_arrays(pieces)


def concat_batches(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """Concatenate the batches, at least one. The batches have the same columns; a column may be a dictionary
    in some batches only."""
    if len(batches) == 1:
        return batches[0]
    columns = [
        concat_columns([batch.column(ordinal) for batch in batches])
        for ordinal in range(batches[0].num_columns)
    ]
    return make_batch(columns, batches[0].schema.names, sum(batch.num_rows for batch in batches))


def slices(batch: pa.RecordBatch, size: int) -> Iterator[pa.RecordBatch]:
    """Cut the batch into zero-copy pieces of at most ``size`` rows."""
    if batch.num_rows <= size:
        yield batch
        return
    for start in range(0, batch.num_rows, size):
        yield batch.slice(start, size)


def slices_of_bytes(batch: pa.RecordBatch, size: int, per_row: int = 0) -> Iterator[pa.RecordBatch]:
    """Cut the batch into zero-copy pieces of about ``size`` bytes at most, if rows have about the same size;
    each piece has at least one row. ``per_row``: further bytes that count for each row.

    >>> batch = pa.RecordBatch.from_pydict({"n": range(10)})
    >>> [piece.num_rows for piece in slices_of_bytes(batch, 32)]
    [4, 4, 2]
    """
    whole = batch.nbytes + per_row * batch.num_rows
    return iter((batch,)) if whole <= size else slices(batch, max(1, batch.num_rows * size // whole))
