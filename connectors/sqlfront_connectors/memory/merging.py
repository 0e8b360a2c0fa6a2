"""Which segments are rewritten when rows have come or gone.

Segments get smaller from the first to the last: one takes those behind it in when these have, with its own
deleted rows, a fourth of its size. So a row that is inserted is rewritten a few times for each time that the
table grows fourfold, a table has a segment for each fourfold of its size at most, and one row less or more
costs as little in a large table as in a small one.
"""

from collections.abc import Iterable, Sequence
from typing import Final

import pyarrow as pa

from sqlfront_connectors.base import Partitioning
from sqlfront_connectors.memory.segment import MAX_COLUMN_BYTES, Segment, build_segments
from sqlfront_values.arrow.arrays import from_numpy

#: A segment is rewritten when one in so many of its rows is deleted or behind it ...
_SHARE: Final = 4
#: ... but, if it has no more rows than this together with those behind it, when there are so many like it.
_FEW_ROWS: Final = 256
_SMALL_SEGMENTS: Final = 4
#: An index of so many rows is made in no time.
_FEW_INDEXED: Final = 4096


def merged(
    segments: Sequence[Segment],
    schema: pa.Schema,
    partitioning: Partitioning | None,
    added: Sequence[pa.RecordBatch] = (),
    indexes: Sequence[tuple[int, ...]] = (),
) -> tuple[Segment, ...]:
    """The rows of the segments, and those of the batches behind them, in as few segments as it pays to have.
    ``schema`` is the logical one; the batches may have any form. ``indexes`` are the columns by which rows
    are to be found in all segments."""
    present = [segment for segment in segments if segment.rows]
    first = _first_rewritten(present, sum(batch.num_rows for batch in added))
    batches = [live_batch(segment) for segment in present[first:]]
    segments = (*present[:first], *build_segments([*batches, *added], schema, partitioning))
    return indexed(segments, indexes) if indexes or any(each.indexes for each in segments) else segments


def indexed(segments: Iterable[Segment], indexes: Sequence[tuple[int, ...]]) -> tuple[Segment, ...]:
    """The segments with these indexes and no others; those of large ones are made now, others when they are
    needed."""
    made = tuple(segment.indexed(indexes) for segment in segments)
    for segment in made:
        if segment.batch.num_rows > _FEW_INDEXED:
            for index in segment.indexes:
                index.prepare()
    return made


def live_batch(segment: Segment) -> pa.RecordBatch:
    """The rows of a segment that are not deleted."""
    if segment.deleted is None:
        return segment.batch
    if not segment.batch.num_columns:
        return segment.batch.slice(0, segment.rows)
    return segment.batch.take(from_numpy(segment.live_rows(), pa.int64()))


def _first_rewritten(segments: Sequence[Segment], behind: int) -> int:
    """The number of the first segment that is to be merged with all behind it; behind all of them come so
    many rows."""
    first = len(segments)
    for number in range(len(segments) - 1, -1, -1):
        segment = segments[number]
        if segment.batch.num_rows + behind <= _FEW_ROWS:
            due = len(segments) - number >= _SMALL_SEGMENTS
        else:
            due = _is_due(segment, behind)
        if due:
            first = number
        behind += segment.rows
    return first


def _is_due(segment: Segment, behind: int) -> bool:
    """Whether a segment with so many rows behind it is to be rewritten."""
    length = segment.batch.num_rows
    gone = length - segment.rows
    return _SHARE * gone >= length or (_SHARE * (behind + gone) >= length and not _is_full(segment))


def _is_full(segment: Segment) -> bool:
    """Whether nothing is added to a segment, since a column would become too large."""
    widest = max((column.nbytes for column in segment.batch.columns), default=0)
    return bool(2 * widest > MAX_COLUMN_BYTES)
