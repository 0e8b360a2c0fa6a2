"""The choice of segments that are rewritten after rows were added or deleted.

Segments get smaller from the first to the last. A segment is merged with all segments after it once the rows
after it and its own deleted rows together reach a fourth of its size. So while a table grows to four times
its size, each row is rewritten only a few times; the number of segments grows with the logarithm of the
table's size; and inserting or deleting a row costs as little in a large table as in a small one.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import pyarrow as pa

from sqlfront_connectors.base import Partitioning
from sqlfront_connectors.memory.segments.segment import MAX_COLUMN_BYTES, RowNumbers, Segment, build_segments
from sqlfront_values.arrow.arrays import from_numpy

#: The divisor of a segment's rows: it is rewritten when the rows behind it and its deleted rows reach that
#: part of its rows, so that each row is copied a constant number of times on average ...
_SHARE: Final = 4
#: ... but, if the segment and the rows behind it are at most so many rows, when there are so many such
#: segments.
_FEW_ROWS: Final = 256
_SMALL_SEGMENTS: Final = 4
#: Rows of an index up to which it is built on first use: building takes almost no time.
_FEW_INDEXED: Final = 4096
#: No rows to delete.
NO_ROWS: Final[Mapping[int, RowNumbers]] = {}


def merged(
    segments: Sequence[Segment],
    schema: pa.Schema,
    partitioning: Partitioning | None,
    added: Sequence[pa.RecordBatch] = (),
    indexes: Sequence[tuple[int, ...]] = (),
    gone: Mapping[int, RowNumbers] = NO_ROWS,
) -> tuple[Segment, ...]:
    """Return the segments of the next version of a table: the rows of ``segments`` without deleted ones,
    followed by the rows of ``added``. A segment is reused unless its deleted rows, with the rows of later
    segments and of ``added``, reach a fixed share of its size: such a segment and all later ones are written
    anew. ``schema``: the logical schema; the batches of ``added`` may have any form.
    ``indexes``: the columns of each index of the table, which all segments get. ``gone``: by the position of
    a segment in ``segments``, the positions of the segment's rows to delete."""
    left = [
        segment.without(gone[number]) if number in gone else segment
        for number, segment in enumerate(segments)
    ]
    present = [segment for segment in left if segment.rows]
    first = _first_rewritten(present, sum(batch.num_rows for batch in added))
    batches = [live_batch(segment) for segment in present[first:]]
    segments = (*present[:first], *build_segments([*batches, *added], schema, partitioning))
    return indexed(segments, indexes) if indexes or any(each.indexes for each in segments) else segments


def indexed(segments: Iterable[Segment], indexes: Sequence[tuple[int, ...]]) -> tuple[Segment, ...]:
    """Return the segments with exactly the given indexes, each a tuple of columns. The indexes of large
    segments are built now, the others on first use."""
    made = tuple(segment.indexed(indexes) for segment in segments)
    for segment in made:
        if segment.batch.num_rows > _FEW_INDEXED:
            for index in segment.indexes:
                index.prepare()
    return made


def live_batch(segment: Segment) -> pa.RecordBatch:
    """Return the rows of a segment that are not deleted."""
    if segment.deleted is None:
        return segment.batch
    if not segment.batch.num_columns:
        return segment.batch.slice(0, segment.rows)
    return segment.batch.take(from_numpy(segment.live_rows(), pa.int64()))


def _first_rewritten(segments: Sequence[Segment], behind: int) -> int:
    """Return the index of the first segment to rewrite: this segment and all later ones become new segments,
    together with the added rows. Return ``len(segments)`` if no segment has to be rewritten. ``behind``: the
    number of added rows."""
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
    """Return whether a segment has to be rewritten, because the rows after it and its own deleted rows
    together reach a fixed share of its size. ``behind``: the number of rows after the segment."""
    length = segment.batch.num_rows
    gone = length - segment.rows
    return _SHARE * gone >= length or (_SHARE * (behind + gone) >= length and not _is_full(segment))


def _is_full(segment: Segment) -> bool:
    """Return whether a segment is too large to be merged with the rows after it, because a column would
    exceed the limit of bytes."""
    widest = max((column.nbytes for column in segment.batch.columns), default=0)
    return bool(2 * widest > MAX_COLUMN_BYTES)
