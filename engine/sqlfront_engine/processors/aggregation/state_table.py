"""States by key, merged from time to time: what an aggregation holds."""

from collections.abc import Sequence
from typing import Final

import pyarrow as pa

from sqlfront_engine.processor import BATCH_ROWS, MemoryAccount
from sqlfront_engine.processors.inputs import GROUPING_BYTES, footprint
from sqlfront_values.columns.batches import concat_batches, gather, make_batch, row_indices
from sqlfront_values.columns.grouping import group_rows
from sqlfront_values.functions.aggregates.accumulators.base import Accumulator, Groups
from sqlfront_values.room import returned

#: Rows that are aggregated at a time, at least: a scan's batches pass as they are, small ones are put
#: together.
BLOCK_ROWS: Final = BATCH_ROWS // 2
#: State rows that wait for a merge, at least.
MERGE_ROWS: Final = 2 * BATCH_ROWS
#: Once there are many groups, blocks have so many times as many rows, so that more rows of a group meet
#: before they are merged with all groups.
ROWS_PER_GROUP: Final = 4
#: Unless merging has left more than this part of the rows: then few rows have the same key.
MERGED_SHARE: Final = 0.9


#: What merging takes for each value that a state holds in an array: its group, and its place in the order.
ELEMENT_BYTES: Final = 24


def held_elements(states: pa.RecordBatch) -> int:
    """How many values the states hold in arrays."""
    return sum(len(column.flatten()) for column in states.columns if pa.types.is_list(column.type))


class StateTable:
    """State rows: the first ``keys`` columns are the key, then come the accumulators' states.

    Added rows wait until there are as many of them as were merged before, and are merged then, so that each
    row is merged a constant number of times on average, and at most twice the groups' memory is held.
    """

    def __init__(self, keys: int, accumulators: Sequence[Accumulator], memory: MemoryAccount) -> None:
        self._keys = keys
        self._accumulators = accumulators
        self._memory = memory
        self._batches: list[pa.RecordBatch] = []
        self._bytes = 0
        self._merged_rows = 0
        # The part of the rows that the last merge has left.
        self._share = 1.0
        #: Whether every key is there once.
        self._merged = True
        #: Rows held, merged or not.
        self.rows = 0

    @property
    def wanted_rows(self) -> int:
        """How many rows are best aggregated next: the more groups there are, the fewer merges are to be
        paid, if rows meet others of their group at all."""
        if self.rows < BLOCK_ROWS or self._share > MERGED_SHARE:
            return BLOCK_ROWS
        return ROWS_PER_GROUP * self.rows

    def add(self, states: pa.RecordBatch, *, distinct: bool = False) -> None:
        """Take state rows; unless they are ``distinct``, a key may come several times."""
        if states.num_rows == 0:
            return
        size = footprint(states)
        self._memory.charge(size)
        self._merged = distinct and not self._batches
        self._batches.append(states)
        self._bytes += size
        self.rows += states.num_rows
        if self._merged:
            self._merged_rows = self.rows
        elif self.rows >= max(MERGE_ROWS, 2 * self._merged_rows):
            self._merge()

    def merged(self) -> pa.RecordBatch:
        """All state rows, each key once."""
        self._merge()
        return self._batches[0] if self._batches else make_batch([], [], 0)

    def clear(self) -> None:
        """Hold no rows."""
        self._replace([])

    def _merge(self) -> None:
        if self._merged:
            return
        # The rows put together, and the merged ones, beside those held.
        elements = sum(map(held_elements, self._batches))
        working = 2 * self._bytes + GROUPING_BYTES * self.rows + ELEMENT_BYTES * elements
        self._memory.charge(working)
        batch = concat_batches(self._batches)
        columns = batch.columns
        keys, states = columns[: self._keys], columns[self._keys :]
        grouping = group_rows(keys, batch.num_rows)
        self._share = grouping.size / max(1, batch.num_rows)
        if grouping.size < batch.num_rows:
            first = row_indices(grouping.rows)
            merged = [gather(key, first) for key in keys]
            with returned():
                merged += merge_states(self._accumulators, Groups.of(grouping), states)
            batch = make_batch(merged, batch.schema.names, grouping.size)
        self._memory.release(working)
        self._replace([batch])

    def _replace(self, batches: list[pa.RecordBatch]) -> None:
        size = sum(map(footprint, batches))
        self._memory.charge(size)
        self._memory.release(self._bytes)
        self._batches, self._bytes, self._merged = batches, size, True
        self.rows = self._merged_rows = sum(batch.num_rows for batch in batches)


def merge_states(
    accumulators: Sequence[Accumulator], groups: Groups, states: Sequence[pa.Array]
) -> list[pa.Array]:
    """The accumulators' state columns, one after the other, merged by group."""
    merged: list[pa.Array] = []
    start = 0
    for accumulator in accumulators:
        stop = start + len(accumulator.state_types)
        merged += accumulator.merge(groups, states[start:stop])
        start = stop
    return merged
