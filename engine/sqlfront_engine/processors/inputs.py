"""Helpers for taking an input: all rows, or blocks of a useful size."""

from collections.abc import Generator, Sequence
from typing import Final

import pyarrow as pa

from sqlfront_engine.processor import MemoryAccount, ProcessorContext, Take
from sqlfront_engine.processors.reduction import Reduction
from sqlfront_values.columns.batches import concat_batches
from sqlfront_values.errors import OperationalError

#: Bytes that sorting takes per row in addition to the row: codes, ranks, its place in the order.
WORKING_BYTES: Final = 40
#: Bytes that grouping or matching takes per row in addition to the row: codes, their products and table,
#: numbers.
GROUPING_BYTES: Final = 80

Block = Generator[Take, pa.RecordBatch | None, pa.RecordBatch | None]


def footprint(batch: pa.RecordBatch) -> int:
    """Return the bytes of memory that the batch takes: its size, plus an eighth for the allocator's size
    classes."""
    size: int = batch.nbytes
    return size + size // 8


def may_charge(memory: MemoryAccount, size: int) -> bool:
    """Charge ``size`` bytes that an operator can do without, and return True; if no memory is left for them,
    charge nothing and return False."""
    try:
        memory.charge(size)
    except OperationalError:
        return False
    return True


def take_all(ordinal: int, context: ProcessorContext, columns: Sequence[int] | None = None) -> Block:
    """Take all rows of input ``ordinal``, and return them as one batch, whose bytes stay charged to the
    memory account of ``context``; None if there are no rows. ``columns``: the ordinals of the columns to
    keep, None = all. A processor calls this with ``yield from``, since it yields the requests for batches."""
    batches, size = yield from _take(ordinal, None, context, columns=columns)
    if len(batches) < 2:
        return batches[0] if batches else None
    context.memory.charge(size)
    batch = concat_batches(batches)
    batches.clear()
    context.memory.release(size)
    return batch


class Blocks:
    """An input as batches of a useful size, since operators over columns pay per call: many small batches
    cost more than copying the batches together. ``reductions`` are filters that drop rows before the rows
    take memory.

    The last block stays charged to the memory account of ``context`` until :meth:`give_back` or the next
    :meth:`take`. The charge includes the memory for grouping or matching the block's rows, and as many bytes
    again for the results.
    """

    def __init__(self, ordinal: int, context: ProcessorContext, reductions: Sequence[Reduction] = ()) -> None:
        self._ordinal = ordinal
        self._context = context
        self._reductions = reductions
        self._charged = 0

    def take(self, rows: int) -> Block:
        """Return the next block, of at least ``rows`` rows (fewer at the input's end); None if the input has
        ended. A processor calls this with ``yield from``, since it yields the requests for batches."""
        self.give_back()
        batches, size = yield from _take(self._ordinal, rows, self._context, self._reductions)
        self._charged = size
        if not batches:
            return None
        # The concatenated block is charged as the later results, which are made when the batches are gone.
        working = size + GROUPING_BYTES * sum(batch.num_rows for batch in batches)
        self._context.memory.charge(working)
        self._charged += working
        block = concat_batches(batches)
        batches.clear()
        return block

    def give_back(self) -> None:
        """Release the charge of the last block, after the caller has dropped it."""
        if self._charged:
            self._context.memory.release(self._charged)
            self._charged = 0


def _take(
    ordinal: int,
    rows: int | None,
    context: ProcessorContext,
    reductions: Sequence[Reduction] = (),
    columns: Sequence[int] | None = None,
) -> Generator[Take, pa.RecordBatch | None, tuple[list[pa.RecordBatch], int]]:
    """Take batches of input ``ordinal`` until they have at least ``rows`` rows (None = all rows of the
    input). Returns the batches that are not empty, with only ``columns`` (None = all) and without the rows
    that ``reductions`` drop; and the sum of their bytes, which is charged. This is a generator that yields
    the requests."""
    batches: list[pa.RecordBatch] = []
    length = size = 0
    while (rows is None or length < rows) and (batch := (yield Take(ordinal))) is not None:
        if columns is not None:
            batch = batch.select(list(columns))
        for reduction in reductions:
            batch = reduction.narrow(batch)
        if batch.num_rows:
            held = footprint(batch)
            context.memory.charge(held)
            size += held
            length += batch.num_rows
            batches.append(batch)
    return batches, size
