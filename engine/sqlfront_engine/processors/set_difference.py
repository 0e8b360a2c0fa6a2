"""INTERSECT and EXCEPT, with and without ALL."""

from collections.abc import Callable
from typing import Final, Literal

import numpy as np
import pyarrow as pa

from sqlfront_engine.processor import Processor, ProcessorContext, Steps
from sqlfront_engine.processors.aggregation.state_table import BLOCK_ROWS, StateTable
from sqlfront_engine.processors.inputs import Blocks
from sqlfront_engine.processors.sort import in_order
from sqlfront_values.arrow.arrays import from_numpy
from sqlfront_values.columns.batches import Integers, make_batch
from sqlfront_values.columns.encoding import canonical
from sqlfront_values.functions.aggregates.accumulators.base import integers
from sqlfront_values.functions.aggregates.accumulators.sums import Count
from sqlfront_values.types import BIGINT

SetKind = Literal["intersect", "intersect_all", "except", "except_all"]

#: The number of copies in the result of a row found ``left`` times on the left side and ``right`` times on
#: the right.
_COPIES: Final[dict[str, Callable[[Integers, Integers], Integers]]] = {
    "intersect": lambda left, right: ((left > 0) & (right > 0)).astype(np.int64),
    "intersect_all": np.minimum,
    "except": lambda left, right: ((left > 0) & (right == 0)).astype(np.int64),
    "except_all": lambda left, right: np.maximum(left - right, 0),
}


class SetDifference(Processor, frozen=True, tag_field="processor", tag=True):
    """INTERSECT or EXCEPT: emits rows of input 0, each as often as ``kind`` says for its number of
    occurrences in inputs 0 and 1; null equals null. Equal rows of both inputs must reach the same instance.
    Memory grows with the distinct rows."""

    cooperative = False

    kind: SetKind

    def run(self, context: ProcessorContext) -> Steps:
        names: list[str] = []
        table: StateTable | None = None
        for ordinal in (0, 1):
            blocks = Blocks(ordinal, context)
            while (block := (yield from blocks.take(BLOCK_ROWS))) is not None:
                names = names or block.schema.names
                table = table or StateTable(block.num_columns, (Count(), Count()), context)
                counts = _counted(block, ordinal)
                # Free the block first: merging the rows takes room.
                del block
                blocks.give_back()
                table.add(counts)
        if table is not None:
            counted = table.merged()
            left, right = (integers(column) for column in counted.columns[-2:])
            rows = np.repeat(np.arange(counted.num_rows), _COPIES[self.kind](left, right))
            distinct = make_batch(counted.columns[:-2], names, counted.num_rows)
            yield from in_order(distinct, rows)

    def describe(self) -> str:
        return f"SetDifference: {self.kind.replace('_', ' ')}"


def _counted(block: pa.RecordBatch, ordinal: int) -> pa.RecordBatch:
    """Return the rows of a block of input ``ordinal`` with two more columns: the row's occurrences in input
    0 and in input 1, which are 1 for the block's input and 0 for the other."""
    ones, zeros = np.ones(block.num_rows, np.int64), np.zeros(block.num_rows, np.int64)
    counts = (zeros, ones) if ordinal else (ones, zeros)
    columns = [*map(canonical, block.columns), *(from_numpy(count, BIGINT) for count in counts)]
    return make_batch(columns, [f"c{position}" for position in range(len(columns))], block.num_rows)
