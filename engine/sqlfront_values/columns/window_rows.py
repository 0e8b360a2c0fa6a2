"""Rows of a window, sorted by partition and order, with the bounds of partitions, peers and frames."""

from collections.abc import Sequence

import msgspec
import numpy as np
import pyarrow as pa

from sqlfront_values.columns.batches import Rows
from sqlfront_values.columns.encoding import Codes
from sqlfront_values.columns.grouping import group_rows
from sqlfront_values.columns.ordering import combine_ranks, ranks, sorting_order
from sqlfront_values.expressions import Expr, FrameUnit, SortKey, WindowFrame
from sqlfront_values.room import check


class PositionRanges(msgspec.Struct, frozen=True):
    """For each position in the sorted rows of a window, a half-open range of such positions, such as the
    partition or the frame of the row: ``starts[position]`` is the range's first position,
    ``ends[position]`` the position behind its last one."""

    starts: Rows
    ends: Rows

    def lengths(self) -> Rows:
        """Return the number of positions in each range."""
        return self.ends - self.starts


class WindowRows(msgspec.Struct, frozen=True):
    """The rows of all partitions of a window, one partition after the other, sorted by the window's order
    within each partition.

    ``order[position]`` is the number of the input row at each position. For each position, ``partitions`` has
    the range of the row's partition, and ``peers`` the range of the rows that ORDER BY treats as equal.
    ``ids[position]`` is the number of the row's partition.
    """

    order: Rows
    ids: Rows
    partitions: PositionRanges
    peers: PositionRanges

    def __len__(self) -> int:
        return len(self.order)

    @property
    def partition_count(self) -> int:
        """Return the number of partitions of the window."""
        return int(self.ids[-1]) + 1 if len(self.ids) else 0

    def frame(self, frame: WindowFrame) -> PositionRanges:
        """Return for each position the range of the row's ``frame``, within its partition; an empty frame
        ends where it starts. The frame has no expressions as bounds
        (:func:`~sqlfront_values.evaluate.frame_distances.frame_ranges`)."""
        positions = np.arange(len(self))
        first, last = self.partitions.starts, self.partitions.ends
        starts, ends = first, last
        if frame.unit is FrameUnit.ROWS:
            assert not isinstance(frame.start, Expr)
            assert not isinstance(frame.end, Expr)
            if frame.start is not None:
                starts = np.clip(positions + frame.start, first, last)
            if frame.end is not None:
                ends = np.clip(positions + frame.end + 1, first, last)
        else:
            if frame.start is not None:
                starts = self.peers.starts
            if frame.end is not None:
                ends = self.peers.ends
        return PositionRanges(starts, np.maximum(starts, ends))


def window_rows(
    batch: pa.RecordBatch, partition_keys: Sequence[int], order_keys: Sequence[SortKey]
) -> WindowRows:
    """Sort the rows of a batch for a window: by the columns ``partition_keys`` (ordinals), then by
    ``order_keys``. Rows of one partition stand together; the partitions have an arbitrary order."""
    length = batch.num_rows
    grouping = group_rows([batch.column(key) for key in partition_keys], length)
    keys = [Codes(grouping.ids, grouping.size)]
    keys += [ranks(batch.column(key.ordinal), key.order) for key in order_keys]
    codes = combine_ranks(keys, length)
    order = sorting_order(codes)
    check()
    ids = grouping.ids[order]
    sorted_codes = codes.values[order]
    return WindowRows(order, ids, _runs(ids), _runs(sorted_codes))


def _runs(values: Rows) -> PositionRanges:
    """Return for each position the range of the adjacent positions with the same value, the position
    included."""
    length = len(values)
    begins = np.flatnonzero(np.concatenate([np.ones(min(length, 1), np.bool_), values[1:] != values[:-1]]))
    counts = np.diff(begins, append=length)
    return PositionRanges(np.repeat(begins, counts), np.repeat(begins + counts, counts))
