"""ORDER BY with a LIMIT."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from sqlfront_engine.processor import BATCH_ROWS, MemoryAccount, Processor, ProcessorContext, Steps, Take
from sqlfront_engine.processors.inputs import footprint
from sqlfront_engine.processors.sort import describe_keys, in_order
from sqlfront_engine.row_programs.compiler import RowCompiler
from sqlfront_engine.row_programs.program import RowStep
from sqlfront_engine.row_programs.sorting import sorted_rows
from sqlfront_values.arrow.arrays import valid_mask
from sqlfront_values.columns.batches import Integers, Rows, concat_batches, gather_batch, mask_array
from sqlfront_values.columns.encoding import Codes
from sqlfront_values.columns.ordering import combine_ranks, ranks, sortable, sorting_order
from sqlfront_values.columns.text import Text, is_hashable_text
from sqlfront_values.expressions import SortKey


class TopN(Processor, frozen=True, tag_field="processor", tag=True):
    """A sort with a limit: emits the first ``count`` rows after ``offset`` rows in the order of ``keys``,
    sorted. Holds about twice ``count + offset`` rows in memory."""

    keys: tuple[SortKey, ...]
    count: int
    offset: int = 0

    def run(self, context: ProcessorContext) -> Steps:
        if self.count == 0:
            return
        best = _Best(self.keys, self.count + self.offset, context.memory)
        while (batch := (yield Take(0))) is not None:
            best.add(batch)
        result, order = best.sorted()
        if result is not None:
            yield from in_order(result, order[self.offset :])

    def is_divisible(self, ordinal: int) -> bool:
        return True

    def rows(self, inputs: Sequence[RowStep], compiler: RowCompiler) -> RowStep | None:
        return sorted_rows(inputs[0], self.keys, self.offset, self.offset + self.count)

    def describe(self) -> str:
        offset = f" offset {self.offset}" if self.offset else ""
        return f"TopN: {describe_keys(self.keys)} limit {self.count}{offset}"


class _Best:
    """The first ``wanted`` rows of all rows added so far, by the sort keys; further candidates stay in
    memory until they are pruned."""

    def __init__(self, keys: tuple[SortKey, ...], wanted: int, memory: MemoryAccount) -> None:
        self._keys = keys
        self._wanted = wanted
        self._memory = memory
        self._batches: list[pa.RecordBatch] = []
        self._rows = self._bytes = 0
        #: A row whose first key sorts after this value can't be among the wanted rows; None = unknown.
        self._threshold: int | None = None

    def add(self, batch: pa.RecordBatch) -> None:
        batch = self._promising(batch)
        if batch.num_rows == 0:
            return
        size = footprint(batch)
        self._memory.charge(size)
        self._batches.append(batch)
        self._rows += batch.num_rows
        self._bytes += size
        if self._rows >= max(2 * self._wanted, BATCH_ROWS // 4):
            self._prune()

    def sorted(self) -> tuple[pa.RecordBatch | None, Rows]:
        """Return a batch of candidate rows (None if there are no rows), and the numbers of the first
        ``wanted`` rows in it, in the order of the keys."""
        if not self._batches:
            return None, np.zeros(0, np.int64)
        batch = concat_batches(self._batches)
        codes = self._codes(batch)
        first = _least(codes, self._wanted)
        return batch, first[sorting_order(Codes(codes.values[first], codes.bound))]

    def _codes(self, batch: pa.RecordBatch) -> Codes:
        keys = [ranks(batch.column(key.ordinal), key.order) for key in self._keys]
        return combine_ranks(keys, batch.num_rows)

    def _promising(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        if self._threshold is None or batch.num_rows == 0:
            return batch
        values = self._first_key(batch)
        return batch if values is None else batch.filter(mask_array(values <= self._threshold))

    def _prune(self) -> None:
        batch = concat_batches(self._batches)
        if batch.num_rows > self._wanted:
            batch = gather_batch(batch, _least(self._codes(batch), self._wanted))
        size = footprint(batch)
        self._memory.charge(size)
        self._memory.release(self._bytes)
        self._batches, self._rows, self._bytes = [batch], batch.num_rows, size
        if batch.num_rows == self._wanted:
            values = self._first_key(batch)
            self._threshold = None if values is None else int(values.max())

    def _first_key(self, batch: pa.RecordBatch) -> Integers | None:
        """Return integers that sort as the rows' first sort key does, and that can be compared between
        batches; different keys may have the same integer. None if the key's type has no such integers."""
        key = self._keys[0]
        column = batch.column(key.ordinal)
        values = sortable(column)
        if values is None and is_hashable_text(column):
            values = Text(column).sortable(0)
        if values is None:
            return None
        if key.order.descends:
            values = ~values
        valid = valid_mask(column)
        limits = np.iinfo(np.int64)
        return (
            values
            if valid is None
            else np.where(valid, values, limits.min if key.order.nulls_first else limits.max)
        )


def _least(codes: Codes, count: int) -> Rows:
    """Return the numbers of the rows with the ``count`` smallest codes, in any order."""
    if count >= len(codes.values):
        return np.arange(len(codes.values))
    return np.argpartition(codes.values, count)[:count]
