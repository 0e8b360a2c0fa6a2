"""ORDER BY."""

from collections.abc import Iterator, Sequence

import pyarrow as pa

from sqlfront_engine.processor import BATCH_ROWS, Processor, ProcessorContext, Steps
from sqlfront_engine.processors.inputs import WORKING_BYTES, take_all
from sqlfront_engine.row_programs.compiler import RowCompiler
from sqlfront_engine.row_programs.program import RowStep
from sqlfront_engine.row_programs.sorting import sorted_rows
from sqlfront_values.columns.batches import Rows, gather_batch
from sqlfront_values.columns.ordering import combine_ranks, ranks, sorting_order
from sqlfront_values.expression_text import describe_key
from sqlfront_values.expressions import SortKey


class Sort(Processor, frozen=True, tag_field="processor", tag=True):
    """A sort: emits all rows in the order of ``keys``. Each instance sorts its own rows into one stream."""

    cooperative = False

    keys: tuple[SortKey, ...]

    def run(self, context: ProcessorContext) -> Steps:
        batch = yield from take_all(0, context)
        if batch is not None:
            context.memory.charge(WORKING_BYTES * batch.num_rows)
            yield from in_order(batch, sort_rows(batch, self.keys))

    def is_divisible(self, ordinal: int) -> bool:
        return True

    def rows(self, inputs: Sequence[RowStep], compiler: RowCompiler) -> RowStep | None:
        return sorted_rows(inputs[0], self.keys)

    def describe(self) -> str:
        return f"Sort: {describe_keys(self.keys)}"


def sort_rows(batch: pa.RecordBatch, keys: Sequence[SortKey]) -> Rows:
    """Return the numbers of the batch's rows, sorted by the keys."""
    codes = [ranks(batch.column(key.ordinal), key.order) for key in keys]
    return sorting_order(combine_ranks(codes, batch.num_rows))


def in_order(batch: pa.RecordBatch, order: Rows) -> Iterator[pa.RecordBatch]:
    """Yield the rows of the batch with the numbers ``order``, in this order, as batches of at most
    :data:`BATCH_ROWS` rows."""
    for start in range(0, len(order), BATCH_ROWS):
        yield gather_batch(batch, order[start : start + BATCH_ROWS])


def describe_keys(keys: Sequence[SortKey]) -> str:
    """Return the sort keys as EXPLAIN shows them, separated by commas."""
    return ", ".join(describe_key(key) for key in keys)
