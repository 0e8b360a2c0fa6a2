"""Frames whose bounds are distances from the current row's order key: ``RANGE BETWEEN 7 PRECEDING ...``."""

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
import pyarrow as pa

from sqlfront_values.columns.batches import Rows, concat_columns, gather, make_batch
from sqlfront_values.columns.encoding import Codes
from sqlfront_values.columns.ordering import combine_ranks, ranks
from sqlfront_values.columns.window_rows import PositionRanges, WindowRows
from sqlfront_values.errors import DataError
from sqlfront_values.evaluate import compile_expression
from sqlfront_values.expressions import Cast, Column, Expr, SortKey, SortOrder, WindowFrame
from sqlfront_values.room import check
from sqlfront_values.settings import Settings
from sqlfront_values.types import is_decimal, logical

#: From a range of rows to the number of rows before each row's bound, in the partitions up to the row's own.
_Search = Callable[[int, int], Rows]
#: Whether Spark computes the bound of a row, by its position, its partition's first position, and the
#: position of the bound before.
_Needed = Callable[[int, int, int], bool]
#: Where a key equal to the bound counts: behind the bound, or before it.
_Side = Literal["left", "right"]
#: A function from the input, its rows in window order and their indices to the range of each row's frame.
FrameRanges = Callable[[pa.RecordBatch, WindowRows, pa.Array], PositionRanges]


def compile_frame(frame: WindowFrame, order_keys: Sequence[SortKey], settings: Settings) -> FrameRanges:
    """Compile a window frame to a function that returns the range of each row's frame. ``order_keys`` are the
    keys of the window's order, of which a frame with a distance has one. The function raises Spark's errors
    for the keys at the bounds, such as ARITHMETIC_OVERFLOW."""
    if not isinstance(frame.start, Expr) and not isinstance(frame.end, Expr):
        return lambda batch, rows, order: rows.frame(frame)
    key = order_keys[0]
    # The bound that isn't a distance is found as in any other frame.
    plain = WindowFrame(
        frame.unit,
        None if isinstance(frame.start, Expr) else frame.start,
        None if isinstance(frame.end, Expr) else frame.end,
    )
    start = _compile_bound(frame.start, key.order, settings)
    end = _compile_bound(frame.end, key.order, settings)

    def ranges(batch: pa.RecordBatch, rows: WindowRows, order: pa.Array) -> PositionRanges:
        keys = gather(batch.column(key.ordinal), order)
        other = rows.frame(plain)
        ends = other.ends if end is None else _found(rows, end(rows, keys, "right"), _upper_needed(rows))
        if start is None:
            return PositionRanges(other.starts, np.maximum(other.starts, ends))
        needed = _upper_needed(rows) if frame.end is None else _lower_needed(ends)
        starts = _found(rows, start(rows, keys, "left"), needed)
        return PositionRanges(starts, np.maximum(starts, ends))

    return ranges


def _compile_bound(
    bound: object, order: SortOrder, settings: Settings
) -> Callable[[WindowRows, pa.Array, _Side], _Search] | None:
    """Compile a bound that is an expression to a function from the rows and their keys, in window order, to a
    search of the bound; None for any other bound."""
    if not isinstance(bound, Expr):
        return None
    evaluate = compile_expression(bound, settings)

    def prepare(rows: WindowRows, keys: pa.Array, side: _Side) -> _Search:
        widened = keys
        if is_decimal(bound.type):  # one digit more than the key's
            cast = compile_expression(Cast(bound.type, Column(logical(keys.type), 0)), settings)
            widened = cast(make_batch([keys], ["key"], len(rows)))

        def search(start: int, stop: int) -> Rows:
            wanted = evaluate(make_batch([keys.slice(start, stop - start)], ["key"], stop - start))
            ids = np.concatenate([rows.ids, rows.ids[start:stop]])
            both = ranks(concat_columns([widened, wanted]), order)
            codes = combine_ranks([Codes(ids, max(1, rows.partition_count)), both], len(ids)).values
            return np.searchsorted(codes[: len(rows)], codes[len(rows) :], side)

        return search

    return prepare


def _found(rows: WindowRows, search: _Search, needed: _Needed) -> Rows:
    """Return the position of the bound for each row. A position is never less than the position of the row
    before, as Spark's frames only move on: where clocks change, a later row may have an earlier bound.

    Spark computes no bound that it doesn't need, so that a key near the greatest value of its type may pass
    without an overflow. Raises the error of the first row whose bound is ``needed``."""
    try:
        return np.maximum.accumulate(search(0, len(rows)))
    except DataError:
        pass
    positions = np.zeros(len(rows), np.int64)
    done = 0
    while done < len(rows):
        failing = _first_failing(search, done, len(rows))
        positions[done:failing] = search(done, failing)
        np.maximum.accumulate(positions[:failing], out=positions[:failing])
        if failing == len(rows):
            break
        first = int(rows.partitions.starts[failing])
        before = int(positions[failing - 1]) if failing > first else first
        if needed(failing, first, before):
            search(failing, failing + 1)
        done = int(rows.peers.ends[failing])
        positions[failing:done] = before
    return positions


def _first_failing(search: _Search, start: int, stop: int) -> int:
    """Return the first row from ``start`` on for which the search raises an error; ``stop`` if none does."""
    low, high = start, stop
    while low < high:
        check()
        middle = (low + high) // 2
        try:
            search(low, middle + 1)
        except DataError:
            high = middle
        else:
            low = middle + 1
    return low


def _upper_needed(rows: WindowRows) -> _Needed:
    """Return the rule for the only bound of a frame, and for upper bounds: Spark reads a bound until the
    bound before is the partition's end."""
    return lambda row, first, before: before < int(rows.partitions.ends[row])


def _lower_needed(ends: Rows) -> _Needed:
    """Return the rule for lower bounds below the upper bounds ``ends``: Spark reads a lower bound if the
    frame before had rows, or if the frame gets another row."""

    def needed(row: int, first: int, before: int) -> bool:
        end_before = int(ends[row - 1]) if row > first else first
        return before < end_before or int(ends[row]) > end_before

    return needed
