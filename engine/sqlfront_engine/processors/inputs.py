"""Ways to take an input: all of it, or in blocks of a useful size."""

from collections.abc import Generator

import pyarrow as pa

from sqlfront_engine.columns.batches import concat_batches
from sqlfront_engine.processor import ProcessorContext, Take

Block = Generator[Take, pa.RecordBatch | None, pa.RecordBatch | None]


def take_all(ordinal: int, context: ProcessorContext) -> Block:
    """All rows of an input as one batch, whose bytes stay charged; None if there are none."""
    batches, size = yield from _take(ordinal, None, context)
    if len(batches) < 2:
        return batches[0] if batches else None
    context.memory.charge(size)
    batch = concat_batches(batches)
    batches.clear()
    context.memory.release(size)
    return batch


def take_block(ordinal: int, rows: int, context: ProcessorContext) -> Block:
    """The next batches of an input as one of at least ``rows`` rows (fewer at its end), None if it has ended.
    Nothing stays charged.

    What works on whole columns pays per call, so that many small batches cost more than copying them
    together.
    """
    batches, size = yield from _take(ordinal, rows, context)
    context.memory.release(size)
    return concat_batches(batches) if batches else None


def _take(
    ordinal: int, rows: int | None, context: ProcessorContext
) -> Generator[Take, pa.RecordBatch | None, tuple[list[pa.RecordBatch], int]]:
    """Batches with rows, until there are ``rows`` (None = all) of them, and their bytes, which are
    charged."""
    batches: list[pa.RecordBatch] = []
    length = size = 0
    while (rows is None or length < rows) and (batch := (yield Take(ordinal))) is not None:
        if batch.num_rows:
            held = batch.nbytes
            context.memory.charge(held)
            size += held
            length += batch.num_rows
            batches.append(batch)
    return batches, size
