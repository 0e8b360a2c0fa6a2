"""The states of an aggregation by key, merged from time to time."""

from collections.abc import Sequence
from typing import Final

import pyarrow as pa

from sqlfront_engine.processor import BATCH_ROWS, ProcessorContext
from sqlfront_engine.processors.inputs import GROUPING_BYTES, footprint
from sqlfront_values.columns.batches import concat_batches, gather, make_batch, row_indices
from sqlfront_values.columns.grouping import group_rows
from sqlfront_values.functions.aggregates.accumulators.base import Accumulator, Groups
from sqlfront_values.room import returned

#: Rows aggregated at a time, at least: a scan's batches are taken as they are, small batches are
#: concatenated, since each aggregation pays the kernels' fixed cost.
BLOCK_ROWS: Final = BATCH_ROWS // 2
#: State rows that wait for a merge, at least: each merge goes over all groups.
MERGE_ROWS: Final = 2 * BATCH_ROWS
#: Blocks whose bytes state rows that wait for a merge have at least, if the memory is small.
MERGE_BLOCKS: Final = 2
#: Once there are many groups, a block has this many rows per group, so that more rows of a group meet before
#: a merge with all groups.
ROWS_PER_GROUP: Final = 4
#: No larger blocks if merging has left a greater share of the rows: then few rows share a key.
MERGED_SHARE: Final = 0.9


#: Bytes that merging takes per value in a state's array: the value's group, and its place in the order.
ELEMENT_BYTES: Final = 24


def held_elements(states: pa.RecordBatch) -> int:
    """Return the number of values in the arrays that the states hold, for aggregates that hold all
    values."""
    return sum(len(column.flatten()) for column in states.columns if pa.types.is_list(column.type))


class StateTable:
    """A table of state rows, one per group after merging: the first ``keys`` columns are the key, then come
    the states of the accumulators, their intermediate results.

    Added rows wait until there are as many of them as merged rows, and are then merged with those. So each
    row is merged a constant number of times on average, and the table holds at most twice the groups' memory.
    """

    def __init__(self, keys: int, accumulators: Sequence[Accumulator], context: ProcessorContext) -> None:
        self._keys = keys
        self._accumulators = accumulators
        self._memory = context.memory
        self._block_bytes = context.block_bytes
        self._batches: list[pa.RecordBatch] = []
        self._bytes = 0
        self._merged_rows = 0
        # The share of the rows left by the last merge.
        self._share = 1.0
        #: Whether every key occurs once.
        self._merged = True
        #: Rows held, merged or not.
        self.rows = 0

    @property
    def wanted_rows(self) -> int:
        """The number of input rows that the next block should have. With more groups in the table, larger
        blocks save merges, unless nearly every row of a block has its own group."""
        if self.rows < BLOCK_ROWS or self._share > MERGED_SHARE:
            return BLOCK_ROWS
        return ROWS_PER_GROUP * self.rows

    def add(self, states: pa.RecordBatch, *, distinct: bool = False) -> None:
        """Add state rows. ``distinct``: the caller knows that no key occurs twice in ``states``. Raises
        OperationalError if memory is missing."""
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
        elif self.rows >= 2 * self._merged_rows and (self.rows >= MERGE_ROWS or self.exceeds(MERGE_BLOCKS)):
            self._merge()

    def exceeds(self, blocks: int) -> bool:
        """Return whether merging the rows takes more memory than ``blocks`` blocks of rows. A block has
        ``ProcessorContext.block_bytes`` bytes, which the query's memory limit determines."""
        return self._bytes + GROUPING_BYTES * self.rows > blocks * self._block_bytes

    def merged(self) -> pa.RecordBatch:
        """Merge and return all state rows, each key once; a batch without columns if there are no rows."""
        self._merge()
        return self._batches[0] if self._batches else make_batch([], [], 0)

    def clear(self) -> None:
        """Drop all rows, and release their memory."""
        self._replace([])

    def _merge(self) -> None:
        if self._merged:
            return
        # Room for the concatenated rows and the merged rows, in addition to the held rows.
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
    """Merge state rows by group: return the state columns of the accumulators with one row per group.
    ``states``: the columns of all accumulators, in the accumulators' order; ``groups``: the group of each
    row."""
    merged: list[pa.Array] = []
    start = 0
    for accumulator in accumulators:
        stop = start + len(accumulator.state_types)
        merged += accumulator.merge(groups, states[start:stop])
        start = stop
    return merged
