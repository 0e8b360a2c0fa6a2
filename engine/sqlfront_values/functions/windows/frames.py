"""Aggregate functions over window frames, for all rows at once.

Frames that are whole partitions are ordinary groups. For other frames, sums and counts, least and greatest
values, and first and last values have methods of their own, without a loop over rows or partitions:

* sums of whole numbers are differences of running sums, exact because two's complement wraps both ways alike;
* sums of doubles and least values are folded over runs of doubling length, so that an infinity or a NaN
  touches only the frames that hold it and nothing cancels.

All other functions (a running median, say) aggregate each frame's rows as a group of its own.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from msgspec.structs import replace

from sqlfront_values.arrow.arrays import from_numpy, numpy_view, valid_mask
from sqlfront_values.columns.batches import Integers, Rows, concat_columns, gather, row_indices
from sqlfront_values.columns.ordering import ranks, sorting_order
from sqlfront_values.columns.window_rows import PositionRanges, WindowRows
from sqlfront_values.expressions import SortOrder
from sqlfront_values.functions import growth
from sqlfront_values.functions.aggregates.accumulators.base import Accumulator, Groups, all_valid, peak
from sqlfront_values.functions.aggregates.accumulators.extremes import Extreme, FirstOrLast
from sqlfront_values.functions.aggregates.accumulators.sketches import Sketches
from sqlfront_values.functions.aggregates.accumulators.sums import (
    AverageDecimals,
    AverageDoubles,
    Count,
    CountIf,
    SumDecimals,
    SumDoubles,
    SumIntegers,
    SumIntervals,
    amounts,
)
from sqlfront_values.functions.aggregates.accumulators.wide import (
    WideSums,
    combine_limbs,
    split_limbs,
    unscaled,
)
from sqlfront_values.functions.windows.placed import PIECE_BYTES, PlacedColumn, pieces
from sqlfront_values.functions.windows.registry import frame_edge
from sqlfront_values.room import claim, returned
from sqlfront_values.types import BIGINT

#: Rows that the general method aggregates at a time: bounds the memory of the rows that frames repeat.
_CHUNK_ROWS: Final = 1 << 18
#: Partitions are looped over if there are at most this many, or at least _ROWS_PER_LOOP rows per partition on
#: average: then the kernels' fixed cost per partition is small beside the work.
_FEW_PARTITIONS: Final = 64
_ROWS_PER_LOOP: Final = 256


def aggregate_frames(
    accumulator: Accumulator, rows: WindowRows, frame: PositionRanges, arguments: Sequence[pa.Array]
) -> pa.Array | PlacedColumn:
    """Compute an aggregate function over the frame of each row of a window.

    ``frame`` has the range of positions of each row's frame. ``frame``, ``arguments`` and the result are in
    the window's order: one partition after the other, each sorted by ORDER BY."""
    if isinstance(accumulator, Sketches):
        accumulator = replace(accumulator, streamed=True)
    if _is_partition(frame, rows):
        groups = Groups(rows.ids, rows.partition_count)
        return PlacedColumn(accumulator.finish(accumulator.update(groups, arguments)), rows.ids)
    match accumulator:
        case Count():
            return from_numpy(_count(all_valid(arguments), frame), BIGINT)
        case CountIf():
            true = numpy_view(arguments[0]).astype(np.bool_)
            valid = valid_mask(arguments[0])
            return from_numpy(_count(true if valid is None else true & valid, frame), BIGINT)
        case SumIntegers() | SumIntervals() | SumDecimals() | AverageDecimals():
            return _sum_exact(accumulator, frame, arguments[0])
        case SumDoubles() | AverageDoubles():
            return _sum_doubles(accumulator, rows, frame, arguments[0])
        case Extreme():
            return _extreme(accumulator, rows, frame, arguments[0])
        case FirstOrLast():
            return frame_edge(
                arguments[0], frame, 0, last=accumulator.last, ignore_nulls=accumulator.ignore_nulls
            )
        case _:
            return _one_by_one(accumulator, frame, arguments)


def _is_partition(frame: PositionRanges, rows: WindowRows) -> bool:
    """Return whether every row's frame is the row's whole partition."""
    partitions = rows.partitions
    return bool((frame.starts == partitions.starts).all() and (frame.ends == partitions.ends).all())


def _running(values: npt.NDArray[np.generic], frame: PositionRanges) -> npt.NDArray[np.generic]:
    """Return the sum of each frame's values, by differences of running sums."""
    sums = np.zeros(len(values) + 1, np.int64)
    np.cumsum(values, out=sums[1:])
    return sums[frame.ends] - sums[frame.starts]


def _count(counted: npt.NDArray[np.bool_] | None, frame: PositionRanges) -> Integers:
    """Return the number of rows in each frame for which ``counted`` is True; None counts all rows."""
    if counted is None:
        return frame.lengths()
    return _running(counted, frame).astype(np.int64, copy=False)


def _sum_exact(
    accumulator: SumIntegers | SumIntervals | SumDecimals | AverageDecimals,
    frame: PositionRanges,
    column: pa.Array,
) -> pa.Array:
    values, valid = unscaled(amounts(column)), valid_mask(column)
    counts = _count(valid, frame)
    if valid is not None:
        values = np.where(valid if values.ndim == 1 else valid[:, None], values, 0)
    longest = int(frame.lengths().max(initial=0))
    sums: Integers | WideSums
    if values.ndim == 1 and peak(values) * longest < 2**63:
        sums = _running(values, frame).astype(np.int64, copy=False)
    else:
        sums = combine_limbs(
            [_running(limb, frame).astype(np.int64, copy=False) for limb in split_limbs(values)]
        )
    return accumulator.finish(accumulator.from_sums(sums, counts))


def _sum_doubles(
    accumulator: SumDoubles | AverageDoubles, rows: WindowRows, frame: PositionRanges, column: pa.Array
) -> pa.Array:
    values, valid = numpy_view(column).astype(np.float64), valid_mask(column)
    if valid is not None:
        values[~valid] = 0.0
    sums = _fold(values, rows, frame, np.add, 0.0).astype(np.float64, copy=False)
    return accumulator.finish(accumulator.from_sums(sums, _count(valid, frame)))


def _extreme(accumulator: Extreme, rows: WindowRows, frame: PositionRanges, column: pa.Array) -> PlacedColumn:
    """Return the least value of each frame, or the greatest if ``accumulator.greatest``; null for a frame
    without values. Sort all rows with the wanted extreme first and nulls last, and find in each frame the
    row that comes first in this order."""
    nulls_last = SortOrder.DESCENDING if accumulator.greatest else SortOrder.ASCENDING_NULLS_LAST
    order = sorting_order(ranks(column, nulls_last))
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(len(order))
    best = _fold(places, rows, frame, np.minimum, len(order))
    # Nulls come last in the order.
    found = best < len(order) - column.null_count
    return PlacedColumn(column, order[np.where(found, best, 0)], found)


def _fold(
    values: npt.NDArray[np.generic],
    rows: WindowRows,
    frame: PositionRanges,
    operation: np.ufunc,
    identity: float,
) -> npt.NDArray[np.generic]:
    """Combine the values of each frame by the associative ``operation``, such as ``np.add``, and return one
    result per frame: ``identity`` for an empty frame."""
    partitions = rows.partitions
    few = rows.partition_count <= max(_FEW_PARTITIONS, len(values) // _ROWS_PER_LOOP)
    if few and (frame.starts == partitions.starts).all():
        return _accumulated(values, partitions, frame.ends - 1, frame, operation, identity)
    if few and (frame.ends == partitions.ends).all():
        last = len(values) - 1
        mirrored = PositionRanges(len(values) - partitions.ends[::-1], len(values) - partitions.starts[::-1])
        reverse = PositionRanges(len(values) - frame.ends[::-1], len(values) - frame.starts[::-1])
        wanted = last - frame.starts[::-1]
        return _accumulated(values[::-1], mirrored, wanted, reverse, operation, identity)[::-1]
    return _fold_doubling(values, frame, operation, identity)


def _accumulated(
    values: npt.NDArray[np.generic],
    partitions: PositionRanges,
    wanted: Rows,
    frame: PositionRanges,
    operation: np.ufunc,
    identity: float,
) -> npt.NDArray[np.generic]:
    """Combine, for each frame, the values from the start of its partition up to the frame's position in
    ``wanted`` by ``operation``; the result for an empty frame is ``identity``."""
    result = np.empty_like(values)
    starts = np.unique(partitions.starts)
    for start, end in zip(starts.tolist(), [*starts[1:].tolist(), len(values)], strict=True):
        operation.accumulate(values[start:end], out=result[start:end])
    empty = frame.starts == frame.ends
    return np.where(empty, identity, result[np.where(empty, 0, wanted)]).astype(values.dtype, copy=False)


def _fold_doubling(
    values: npt.NDArray[np.generic], frame: PositionRanges, operation: np.ufunc, identity: float
) -> npt.NDArray[np.generic]:
    """Combine the values of each frame by ``operation``. Each frame is cut into runs whose lengths are powers
    of two, and all runs of one length are combined at a time."""
    result = np.full(len(values), identity, values.dtype)
    positions, lengths = frame.starts.copy(), frame.lengths()
    longest = int(lengths.max(initial=0))
    runs, width = values, 1
    while width <= longest:
        chosen = np.flatnonzero(lengths & width)
        result[chosen] = operation(result[chosen], runs[positions[chosen]])
        positions[chosen] += width
        if 2 * width <= longest:
            runs = operation(runs[:-width], runs[width:])
        width *= 2
    return result


def _one_by_one(accumulator: Accumulator, frame: PositionRanges, arguments: Sequence[pa.Array]) -> pa.Array:
    """Return the aggregate of each frame by aggregating the frame's rows as a group of their own. The frames
    are processed in consecutive ranges that are bounded in rows and bytes."""
    lengths = frame.lengths()
    sizes = np.zeros(len(lengths))
    for argument in arguments:
        before = np.concatenate([[0.0], np.cumsum(growth.sizes(argument))])
        sizes += before[frame.ends] - before[frame.starts]
    made: list[pa.Array] = []
    for start, stop in pieces(lengths / _CHUNK_ROWS + sizes / PIECE_BYTES):
        counts = lengths[start:stop]
        offsets = frame.starts[start:stop] - (np.cumsum(counts) - counts)
        rows = np.repeat(offsets, counts) + np.arange(int(counts.sum()))
        groups = Groups(np.repeat(np.arange(len(counts)), counts), len(counts))
        with returned():
            claim("a window function", 2 * int(sizes[start:stop].sum()))
            indices = row_indices(rows)
            states = accumulator.update(groups, [gather(argument, indices) for argument in arguments])
            piece = accumulator.finish(states)
        # The pieces stay in memory beside the column that is built from them.
        claim("a window function", 2 * growth.size_of(piece))
        made.append(piece)
    return concat_columns(made)
