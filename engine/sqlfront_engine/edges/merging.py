"""The ordered merge of several sorted producers' batches into one sorted stream."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from sqlfront_engine.edges.queues import NOTHING, Input, Polled
from sqlfront_values.columns.batches import concat_batches, gather_batch
from sqlfront_values.columns.ordering import combine_ranks, ranks
from sqlfront_values.expressions import SortKey


class MergingInput:
    """An :class:`~sqlfront_engine.edges.queues.Input` that merges inputs, each sorted by ``keys``, into one
    sorted stream.

    Rows can be emitted only when every input that has not ended has provided a batch. Then all rows up to the
    smallest last row among the current batches are emitted in order, since no later row can precede them.
    Rows of equal keys come in the order of the inputs.
    """

    __slots__ = ("_heads", "_inputs", "_keys")

    def __init__(self, inputs: Sequence[Input], keys: tuple[SortKey, ...]) -> None:
        self._inputs = list(inputs)
        # The current batch (or its rest) of each live input; None: the input must be polled.
        self._heads: list[pa.RecordBatch | None] = [None] * len(self._inputs)
        self._keys = keys

    def poll(self) -> Polled:
        """Return the next rows in order; NOTHING if some live input has no batch yet, None once all inputs
        have ended."""
        if not self._fill_heads():
            return NOTHING
        heads = [head for head in self._heads if head is not None]
        if not heads:
            return None
        if len(heads) == 1:
            self._heads = [None]
            return heads[0]
        return self._merge(heads)

    def _fill_heads(self) -> bool:
        """Poll each input that has no current batch, and drop the inputs that have ended. Returns whether
        every remaining input has a current batch now."""
        complete = True
        for index in reversed(range(len(self._inputs))):
            if self._heads[index] is None:
                batch = self._inputs[index].poll()
                if batch is NOTHING:
                    complete = False
                elif batch is None:
                    del self._inputs[index], self._heads[index]
                else:
                    self._heads[index] = batch
        return complete

    def _merge(self, heads: list[pa.RecordBatch]) -> pa.RecordBatch:
        together = concat_batches(heads)
        codes = combine_ranks(
            [ranks(together.column(key.ordinal), key.order) for key in self._keys],
            together.num_rows,
        ).values
        ends = np.cumsum([head.num_rows for head in heads])
        # The heads are sorted runs, which numpy's stable sort (timsort) merges in linear time.
        order = np.argsort(codes, kind="stable")
        position = np.empty(len(order), np.int64)
        position[order] = np.arange(len(order))
        emitted = int(position[ends - 1].min()) + 1
        counts = np.searchsorted(ends, order[:emitted], side="right")
        taken = np.bincount(counts, minlength=len(heads)).tolist()
        self._heads = [
            head.slice(count) if count < head.num_rows else None
            for head, count in zip(heads, taken, strict=True)
        ]
        return gather_batch(together, order[:emitted])

    def abandon(self) -> None:
        """Declare to all inputs that no more batches will be taken."""
        self._heads = [None] * len(self._inputs)
        for source in self._inputs:
            source.abandon()
