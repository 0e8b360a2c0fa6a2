"""The numbers of rows, by which UPDATE and DELETE identify the rows to change.

The number of a row is its position among all rows of a version's segments, one segment after the other,
including deleted rows. In a spread table the position is the one within the member's share. A row of a spread
table without a partition key has a *home* in addition: a value whose hash is in a partition that the row's
member owns, so that a job can send the change to that member.
"""

import itertools
from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import Final

import numpy as np
import pyarrow as pa
from msgspec.structs import replace

from sqlfront_connectors.memory.segments.segment import RowNumbers, Segment
from sqlfront_values.arrow.arrays import from_numpy, numpy_view, repeat
from sqlfront_values.partitioning.partitions import DEFAULT_PARTITIONS, key_hasher
from sqlfront_values.types import BIGINT

#: Numbers below which they are kept for the next caller (32 MiB at most).
_KEPT: Final = 1 << 22


def numbered(segments: tuple[Segment, ...], home: int | None = None) -> tuple[Segment, ...]:
    """Return the segments with an additional last column, the number of each row, by which UPDATE and DELETE
    name rows. ``home``: the value, in all rows, of a column before the numbers, by which a job finds the
    rows' member; None = no such column."""
    count = sum(segment.batch.num_rows for segment in segments)
    numbers = _kept_numbers(1 << count.bit_length()) if count < _KEPT else _numbers(count)
    start, made = 0, []
    for segment in segments:
        batch = segment.batch
        homes = [] if home is None else [repeat(home, BIGINT, batch.num_rows)]
        columns = [*batch.columns, *homes, numbers.slice(start, batch.num_rows)]
        names = [*batch.schema.names, *("home" for _ in homes), "number"]
        named = pa.RecordBatch.from_arrays(columns, names=names)
        # Cached facts about the table's columns hold for these columns, too.
        made.append(replace(segment, batch=named))
        start += batch.num_rows
    return tuple(made)


def home_of(partitions: Collection[int]) -> int:
    """Return an integer, the home of rows, by which a job can send changes of these rows to the member that
    owns ``partitions`` (partition ids out of DEFAULT_PARTITIONS): its hash is in one of the partitions."""
    hashed, wanted = key_hasher([BIGINT]), frozenset(partitions)
    return next(value for value in itertools.count() if hashed((value,)) % DEFAULT_PARTITIONS in wanted)


def _numbers(count: int) -> pa.Array:
    return from_numpy(np.arange(count, dtype=np.int64), BIGINT)


_kept_numbers = lru_cache(1)(_numbers)


def places(segments: Sequence[Segment], numbers: RowNumbers | Sequence[int]) -> dict[int, RowNumbers]:
    """Return, by the index of a segment, the positions within that segment of the rows with the given
    ``numbers``. Segments without such rows are left out. ``numbers``: positions among the rows of all
    segments, distinct, in any order."""
    ordered = np.sort(np.asarray(numbers, np.int64))
    found: dict[int, RowNumbers] = {}
    first = start = 0
    for index, segment in enumerate(segments):
        if first == len(ordered):
            break
        end = start + segment.batch.num_rows
        if ordered[first] < end:
            last = int(ordered.searchsorted(end))
            found[index] = ordered[first:last] - start
            first = last
        start = end
    return found


def numbers_of(batches: Sequence[pa.RecordBatch]) -> RowNumbers:
    """Return the values of the last column of all batches, which holds the rows' numbers, as one array."""
    columns = [numpy_view(batch.column(batch.num_columns - 1)) for batch in batches]
    return np.concatenate(columns).astype(np.int64, copy=False) if columns else np.zeros(0, np.int64)
