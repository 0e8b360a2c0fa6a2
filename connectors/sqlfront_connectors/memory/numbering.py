"""The numbers of rows, by which those are named that are to be changed.

The number of a row is its place among all rows of a version's segments, one segment behind the other, deleted
rows included. On several members it is so among the rows of a share; a row of a table without clustering
columns has a home besides, a value that belongs to a partition of its member.
"""

import itertools
from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import Final

import numpy as np
import pyarrow as pa
from msgspec.structs import replace

from sqlfront_connectors.memory.segment import RowNumbers, Segment
from sqlfront_values.arrow.arrays import from_numpy, numpy_view, repeat
from sqlfront_values.partitioning.partitions import DEFAULT_PARTITIONS, key_hasher
from sqlfront_values.types import BIGINT

#: Up to so many numbers are kept for the next who needs them.
_KEPT: Final = 1 << 22


def numbered(segments: tuple[Segment, ...], home: int | None = None) -> tuple[Segment, ...]:
    """The segments with the numbers of their rows behind their columns; in between the ``home`` of all rows,
    if there is one."""
    count = sum(segment.batch.num_rows for segment in segments)
    numbers = _kept_numbers(1 << count.bit_length()) if count < _KEPT else _numbers(count)
    start, made = 0, []
    for segment in segments:
        batch = segment.batch
        homes = [] if home is None else [repeat(home, BIGINT, batch.num_rows)]
        columns = [*batch.columns, *homes, numbers.slice(start, batch.num_rows)]
        names = [*batch.schema.names, *("home" for _ in homes), "number"]
        named = pa.RecordBatch.from_arrays(columns, names=names)
        # What is known of the table's columns is as true of these.
        made.append(replace(segment, batch=named))
        start += batch.num_rows
    return tuple(made)


def home_of(partitions: Collection[int]) -> int:
    """A value that the member with these of a job's partitions is responsible for."""
    hashed, wanted = key_hasher([BIGINT]), frozenset(partitions)
    return next(value for value in itertools.count() if hashed((value,)) % DEFAULT_PARTITIONS in wanted)


def _numbers(count: int) -> pa.Array:
    return from_numpy(np.arange(count, dtype=np.int64), BIGINT)


_kept_numbers = lru_cache(1)(_numbers)


def places(segments: Sequence[Segment], numbers: RowNumbers | Sequence[int]) -> dict[int, RowNumbers]:
    """Which rows of which segments have these numbers; in any order, none twice."""
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
    """The last column of the batches: numbers of rows."""
    columns = [numpy_view(batch.column(batch.num_columns - 1)) for batch in batches]
    return np.concatenate(columns).astype(np.int64, copy=False) if columns else np.zeros(0, np.int64)
