"""The choice of segments that are rewritten after rows were added or deleted.

Adjacent segments that have at most four million rows together form a *group*. In a group, segments get
smaller from the first to the last: a segment is merged with all segments after it in the group once the rows
after it and its own deleted rows together reach a fourth of its size. So each row is rewritten only a few
times until its group is full; the number of segments grows with the logarithm of a group's size, and beyond
that with the number of groups, which are half full on average at least; and a statement that adds a row
rewrites four million rows at most, however large the table is. A larger segment, which a load has made, is a
group by itself: only its own deleted rows let it be rewritten.

The choice depends on numbers of rows, and on bytes only where a column has more than 512 MiB: a share and its
backup have the same rows, and have to keep the same segments, since the numbers of rows follow from these.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
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
#: Rows that a group of segments has at most, but for a single larger segment.
GROUP_ROWS: Final = 1 << 22
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
    built: Segment | None = None,
) -> tuple[Segment, ...]:
    """Return the segments of the next version of a table: the rows of ``segments`` without deleted ones,
    followed by the rows of ``added``. A segment is reused unless its deleted rows, with the rows of later
    segments and of ``added``, reach a fixed share of its size: such a segment and all later ones of its group
    are written anew. ``schema``: the logical schema; the batches of ``added`` may have any form.
    ``indexes``: the columns of each index of the table, which all segments get. ``gone``: by the position of
    a segment in ``segments``, the positions of the segment's rows to delete. ``built``: the segment of the
    rows of ``added``, None = not built yet."""
    left = [
        segment.without(gone[number]) if number in gone else segment
        for number, segment in enumerate(segments)
    ]
    present = [segment for segment in left if segment.rows]
    made: tuple[Segment, ...] = ()
    stays = len(present)
    for first, end in _rewritten(present, sum(batch.num_rows for batch in added)):
        if built is not None and first == end:
            run: tuple[Segment, ...] = (built,)
        else:
            batches = [live_batch(segment) for segment in present[first:end]]
            run = build_segments([*batches, *added], schema, partitioning)
        made = (*run, *present[end:stays], *made)
        stays, added, built = first, (), None  # the added rows are in the last run
    segments = (*present[:stays], *made)
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


def _rewritten(segments: Sequence[Segment], added: int) -> Iterator[tuple[int, int]]:
    """Yield the runs of segments to rewrite, from the last run to the first one: the numbers of the run's
    first segment and of the segment after its last one. Each run becomes one segment. The run that is yielded
    first takes the ``added`` rows, too, and may have no segments; so may any other."""
    first = end = len(segments)
    behind = added
    for number in range(len(segments) - 1, -1, -1):
        segment = segments[number]
        if segment.rows + behind > GROUP_ROWS or _is_full(segment):
            yield first, end
            first = end = number + 1
            behind = 0
        if _is_due(segment, behind, end - number):
            first = number
        behind += segment.rows
    yield first, end


def _is_due(segment: Segment, behind: int, count: int) -> bool:
    """Return whether a segment has to be rewritten, because the rows after it in its group and its own
    deleted rows together reach a fixed share of its size, or because its group has many small segments.
    ``behind``: the number of rows after the segment. ``count``: the number of segments from this one on."""
    length = segment.batch.num_rows
    if length + behind <= _FEW_ROWS:
        return count >= _SMALL_SEGMENTS
    return _SHARE * (behind + length - segment.rows) >= length


def _is_full(segment: Segment) -> bool:
    """Return whether a segment is too large to be merged with the rows after it, because a column would
    exceed the limit of bytes."""
    if 2 * segment.size <= MAX_COLUMN_BYTES:
        return False
    widest = max((column.nbytes for column in segment.batch.columns), default=0)
    return bool(2 * widest > MAX_COLUMN_BYTES)
