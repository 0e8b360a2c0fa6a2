"""Bounds of the values in each chunk of a segment, by which a scan skips chunks without matching rows.

A chunk is BATCH_ROWS consecutive rows, as many as a scan emits in one batch. The bounds of a column are
computed when a filter first needs them, and kept with the segment. Deleted rows still count, so that bounds
may be wider than the remaining rows need, never narrower.
"""

from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa

from sqlfront_connectors.bounds import ColumnBounds, may_match
from sqlfront_connectors.memory.segments.segment import Segment
from sqlfront_connectors.memory.segments.statistics import has_bounds
from sqlfront_engine.processor import BATCH_ROWS
from sqlfront_values.arrow import kernels as pc
from sqlfront_values.arrow.arrays import from_numpy, numpy_view, to_python, valid_mask
from sqlfront_values.expressions import Call, Column, Expr, Literal, columns_used

_JUDGED = frozenset({"equal", "equal_null_safe", "less", "less_equal", "greater", "greater_equal", "in"})


def judged(filters: Iterable[Expr]) -> tuple[Expr, ...]:
    """Return those conjuncts that the bounds of columns can prove false for a whole chunk (BATCH_ROWS
    consecutive rows of a segment): comparisons of a column with literals, null tests of a column, and
    combinations of these by AND and OR."""
    return tuple(part for part in filters if _is_judged(part))


def _is_judged(condition: Expr) -> bool:
    match condition:
        case Call(function="or", arguments=parts):
            return all(map(_is_judged, parts))
        case Call(function="and", arguments=parts):
            return any(map(_is_judged, parts))
        case Call(function="is_null" | "is_not_null", arguments=(Column(),)):
            return True
        case Call(function=function, arguments=arguments) if function in _JUDGED:
            columns = [item for item in arguments if isinstance(item, Column)]
            constants = sum(isinstance(item, Literal) for item in arguments)
            return len(columns) == 1 and constants + 1 == len(arguments)
        case _:
            return False


def matching(segment: Segment, filters: Sequence[Expr]) -> list[bool] | None:
    """Return a flag for each chunk of the segment (BATCH_ROWS consecutive rows): False if certainly no row of
    the chunk makes all filters true, so that a scan can skip the chunk. Return None if no chunk can be
    skipped. ``filters``: conjuncts that :func:`judged` returned."""
    count = chunk_count(segment)
    used = {ordinal for condition in filters for ordinal in columns_used(condition)}
    known = {ordinal: _bounds_of(segment, ordinal) for ordinal in used}
    if all(len(bounds) == 1 for bounds in known.values()):
        # All chunks have equal bounds.
        count = min(count, 1)
    kept = []
    for chunk in range(count):
        bounds = {ordinal: found[chunk if len(found) > 1 else 0] for ordinal, found in known.items()}
        kept.append(all(may_match(condition, bounds.get) for condition in filters))
    if all(kept):
        return None
    return kept if len(kept) == chunk_count(segment) else kept * chunk_count(segment)


def count_chunks(segments: Iterable[Segment], filters: Sequence[Expr]) -> tuple[int, int]:
    """Return the number of chunks (BATCH_ROWS consecutive rows of a segment) that may have rows that match
    the filters, and the number of all chunks. ``filters``: conjuncts that :func:`judged` returned."""
    read = total = 0
    for segment in segments:
        count = chunk_count(segment)
        kept = matching(segment, filters)
        total += count
        read += count if kept is None else sum(kept)
    return read, total


def chunk_count(segment: Segment) -> int:
    """Return the number of chunks of a segment, each of BATCH_ROWS consecutive rows, the last one perhaps of
    fewer."""
    return -(-segment.batch.num_rows // BATCH_ROWS)


def holds_any(kept: Sequence[bool] | None, start: int, end: int) -> bool:
    """Return whether any row from ``start`` to ``end`` (exclusive) is in a chunk whose flag in ``kept`` is
    True. ``kept``: the result of :func:`matching`, None = all chunks are kept."""
    return kept is None or any(kept[start // BATCH_ROWS : (end - 1) // BATCH_ROWS + 1])


def _bounds_of(segment: Segment, ordinal: int) -> tuple[ColumnBounds, ...]:
    """Return the bounds of a column in each chunk, in the order of the chunks, cached with the segment. The
    result has a single item, the common bounds of all chunks, if bounds can't distinguish the chunks: no
    chunk is all null, and any two ranges overlap."""
    return segment.memo.get(("bounds", ordinal), lambda: _find_bounds(segment.batch.column(ordinal)))


def _find_bounds(column: pa.Array) -> tuple[ColumnBounds, ...]:
    starts = range(0, len(column), BATCH_ROWS)
    chunks = [column.slice(start, BATCH_ROWS) for start in starts]
    lows, highs = _ends(column, starts, chunks)
    found = tuple(
        ColumnBounds(low, high, chunk.null_count, len(chunk))
        for low, high, chunk in zip(lows, highs, chunks, strict=True)
    )
    if len(found) > 1 and not any(bounds.all_null for bounds in found) and not _are_apart(lows, highs):
        return (_together(found),)
    return found


def _are_apart(lows: Sequence[object], highs: Sequence[object]) -> bool:
    """Return whether two of the chunks have disjoint ranges. ``lows`` and ``highs``: the least and the
    greatest value of each chunk; if one is unknown (None), return False."""
    if None in lows or None in highs:
        return False
    return bool(max(lows) > min(highs))  # type: ignore[type-var,operator]


def _together(found: Sequence[ColumnBounds]) -> ColumnBounds:
    """Return the bounds that cover all the given chunks: the least minimum and the greatest maximum (each
    None if one chunk's is unknown), and the sums of the counts."""
    lows, highs = [bounds.minimum for bounds in found], [bounds.maximum for bounds in found]
    return ColumnBounds(
        None if None in lows else min(lows),  # type: ignore[type-var]
        None if None in highs else max(highs),  # type: ignore[type-var]
        sum(bounds.nulls or 0 for bounds in found),
        sum(bounds.rows or 0 for bounds in found),
    )


def _ends(column: pa.Array, starts: range, chunks: Sequence[pa.Array]) -> tuple[list[object], list[object]]:
    """Return two lists, the least and the greatest value of each chunk. A value is None where a chunk has
    only nulls, for types without bounds, and for values that Python cannot represent. ``starts``: the index
    of each chunk's first row in ``column``."""
    unknown: list[object] = [None] * len(starts)
    if pa.types.is_string(column.type):
        found = [pc.min_max(chunk) for chunk in chunks]
        return [item["min"].as_py() for item in found], [item["max"].as_py() for item in found]
    if not starts or not has_bounds(column.type) or pa.types.is_decimal128(column.type):
        return unknown, unknown
    values, valid = numpy_view(column), valid_mask(column)
    places = np.fromiter(starts, np.int64, len(starts))
    lows, highs = values, values
    if valid is not None:
        limits = np.iinfo(values.dtype)  # type: ignore[type-var]
        lows, highs = np.where(valid, values, limits.max), np.where(valid, values, limits.min)
    filled = np.array([chunk.null_count < len(chunk) for chunk in chunks], np.bool_)
    try:
        return (
            to_python(from_numpy(np.minimum.reduceat(lows, places), column.type, filled)),
            to_python(from_numpy(np.maximum.reduceat(highs, places), column.type, filled)),
        )
    except (OverflowError, ValueError):
        return unknown, unknown
