"""Helpers for taking an input: all rows, or blocks of a useful size."""

from collections.abc import Generator, Iterator, Sequence
from typing import Final

import pyarrow as pa

from sqlfront_engine.processor import MemoryAccount, ProcessorContext, Take
from sqlfront_engine.processors.reduction import Reduction
from sqlfront_values.columns.batches import concat_batches, slices_of_bytes
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
    """Charge ``size`` bytes for something that makes an operator faster but isn't needed, and return True; if
    no memory is left for it, charge nothing and return False."""
    try:
        memory.charge(size)
    except OperationalError:
        return False
    return True


def take_all(ordinal: int, context: ProcessorContext, columns: Sequence[int] | None = None) -> Block:
    """Take all rows of input ``ordinal``, and return them as one batch, whose bytes stay charged to the
    memory account of ``context``; None if there are no rows. ``columns``: the ordinals of the columns to
    keep, None = all. A processor calls this with ``yield from``, since it yields the requests for batches."""
    batches: list[pa.RecordBatch] = []
    size = 0
    while (batch := (yield from _next(ordinal, columns=columns))) is not None:
        size += _held(batch, context)
        batches.append(batch)
    if len(batches) < 2:
        return batches[0] if batches else None
    context.memory.charge(size)
    batch = concat_batches(batches)
    batches.clear()
    context.memory.release(size)
    return batch


class Blocks:
    """An input as batches of a useful size (blocks), since operators over columns pay per call: many small
    batches cost more than copying the batches together. ``reductions`` are filters that drop rows before the
    rows take memory.

    A block has at most about ``context.block_bytes`` bytes, including the memory for grouping its rows, or is
    a single row. The last block stays charged to the memory account of ``context`` until :meth:`give_back` or
    the next :meth:`take`. The charge includes the memory for grouping or matching the block's rows, and as
    many bytes again for the results."""

    def __init__(self, ordinal: int, context: ProcessorContext, reductions: Sequence[Reduction] = ()) -> None:
        self._ordinal = ordinal
        self._context = context
        self._reductions = reductions
        # The pieces of the last batch that are left for the next block.
        self._pieces: Iterator[pa.RecordBatch] = iter(())
        self._charged = 0

    def take(self, rows: int) -> Block:
        """Return the next block, of at least ``rows`` rows (fewer if these have too many bytes, and at the
        input's end); None if the input has ended. A processor calls this with ``yield from``, since it yields
        the requests for batches."""
        self.give_back()
        context = self._context
        batches: list[pa.RecordBatch] = []
        length = size = 0
        while length < rows and size + GROUPING_BYTES * length < context.block_bytes:
            piece = yield from self._piece()
            if piece is None:
                break
            size += _held(piece, context)
            self._charged = size
            length += piece.num_rows
            batches.append(piece)
        if not batches:
            return None
        # The concatenated block is charged as the later results, which are made when the batches are gone.
        working = size + GROUPING_BYTES * length
        context.memory.charge(working)
        self._charged += working
        block = concat_batches(batches)
        batches.clear()
        return block

    def _piece(self) -> Block:
        """Return the next rows of the input, at most a block of them; None if the input has ended."""
        piece = next(self._pieces, None)
        if piece is not None:
            return piece
        batch = yield from _next(self._ordinal, self._reductions)
        if batch is None:
            return None
        self._pieces = slices_of_bytes(batch, self._context.block_bytes, GROUPING_BYTES)
        return next(self._pieces)

    def give_back(self) -> None:
        """Release the charge of the last block, after the caller has dropped it."""
        if self._charged:
            self._context.memory.release(self._charged)
            self._charged = 0


def _held(batch: pa.RecordBatch, context: ProcessorContext) -> int:
    """Charge the bytes of the batch, and return their number."""
    size = footprint(batch)
    context.memory.charge(size)
    return size


def _next(ordinal: int, reductions: Sequence[Reduction] = (), columns: Sequence[int] | None = None) -> Block:
    """Take the next batch of input ``ordinal`` that is not empty, with only ``columns`` (None = all) and
    without the rows that ``reductions`` drop; None if the input has ended. This is a generator that yields
    the requests."""
    while (batch := (yield Take(ordinal))) is not None:
        if columns is not None:
            batch = batch.select(list(columns))
        for reduction in reductions:
            batch = reduction.narrow(batch)
        if batch.num_rows:
            return batch
    return None
