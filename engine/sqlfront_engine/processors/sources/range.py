"""RANGE: the numbers of an arithmetic progression."""

import numpy as np

from sqlfront_engine.processor import BATCH_ROWS, END_OF_PIECE, Processor, ProcessorContext, Steps, last_round
from sqlfront_values.arrow.arrays import from_numpy
from sqlfront_values.columns.batches import make_batch
from sqlfront_values.types import BIGINT


class Range(Processor, frozen=True, tag_field="processor", tag=True):
    """A source of ``count`` bigints ``start``, ``start + step``, and so on, in the column ``id``. Without
    ``column``, its rows have no columns. Instance i of n emits the batches i, i + n, and so on."""

    start: int
    step: int
    count: int
    column: bool = True

    def run(self, context: ProcessorContext) -> Steps:
        stride = BATCH_ROWS * context.total_parallelism
        for first in range(context.global_index * BATCH_ROWS, self.count, stride):
            length = min(BATCH_ROWS, self.count - first)
            if not self.column:
                yield make_batch([], [], length)
            else:
                numbers = np.arange(first, first + length, dtype=np.int64) * self.step + self.start
                yield make_batch([from_numpy(numbers, BIGINT)], ["id"], length)
            yield END_OF_PIECE
        pieces = -(-self.count // BATCH_ROWS)
        yield from last_round(pieces, context.global_index, context.total_parallelism)

    def describe(self) -> str:
        return f"Range: {self.count} numbers from {self.start} by {self.step}"
