"""A few rows of a share as Python values: functions that read rows, lookups by key, and the conversion of
such rows into a batch."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pyarrow as pa

from sqlfront_connectors.base import MOST_FOUND, Key, Partitioning, RowValues, TooManyRows
from sqlfront_connectors.memory.segments.locate import Locate
from sqlfront_connectors.memory.segments.segment import Segment
from sqlfront_values.arrow.arrays import from_values
from sqlfront_values.columns.reading import row_reader
from sqlfront_values.partitioning.partitions import key_hasher
from sqlfront_values.partitioning.scalar_hash import hash_long
from sqlfront_values.types import physical

#: A reader of the values of some columns of a row, by the row's number.
ReadRow = Callable[[int], RowValues]


class RowReaders:
    """The readers of the rows of several segments, each made when it is first used: a lookup reads rows of
    few segments, and each change of a row makes a new segment."""

    __slots__ = ("_columns", "_made", "_segments", "_width")

    def __init__(self, segments: Sequence[Segment], columns: tuple[int, ...], width: int) -> None:
        """``columns``: ordinals of the table; the ordinal ``width``, the number of the table's columns,
        stands for the row's number, its position among the rows of all segments."""
        self._segments, self._columns, self._width = segments, columns, width
        self._made: dict[int, ReadRow] = {}

    def __getitem__(self, number: int) -> ReadRow:
        """Return the function that reads a row of the segment with this index: given the row's position in
        the segment, it returns the values of the columns."""
        made = self._made.get(number)
        if made is None:
            made = self._made[number] = self._reader(number)
        return made

    def __iter__(self) -> Iterator[ReadRow]:
        return map(self.__getitem__, range(len(self._segments)))

    def _reader(self, number: int) -> ReadRow:
        columns, segment = self._columns, self._segments[number]
        if self._width not in columns:
            return _row_reader(segment, columns)
        place = columns.index(self._width)
        start = sum(before.batch.num_rows for before in self._segments[:number])
        return _numbered(_row_reader(segment, (*columns[:place], *columns[place + 1 :])), place, start)


def _row_reader(segment: Segment, columns: tuple[int, ...]) -> ReadRow:
    def make() -> ReadRow:
        return row_reader([segment.batch.column(ordinal) for ordinal in columns])

    return segment.memo.get(("rows", columns), make)


def _numbered(read: ReadRow, place: int, start: int) -> ReadRow:
    """Return a function that reads a row by ``read`` and inserts the row's number at the index ``place`` of
    the values. ``start``: the number of the segment's first row."""

    def numbered(row: int) -> RowValues:
        values = read(row)
        return (*values[:place], start + row, *values[place:])

    return numbered


def batch_of(rows: Sequence[RowValues], schema: pa.Schema) -> pa.RecordBatch:
    """Convert rows of Python values, at least one, into a batch in physical form. ``schema``: the logical
    schema. If a row has more values than ``schema`` has columns, the last values are left out."""
    columns = zip(*rows, strict=True)
    arrays = [
        from_values(column, physical(kind)) for column, kind in zip(columns, schema.types, strict=False)
    ]
    return pa.RecordBatch.from_arrays(arrays, names=schema.names)


def segment_of(row: RowValues, schema: pa.Schema, partitioning: Partitioning | None) -> Segment:
    """Return the segment that :func:`~sqlfront_connectors.memory.segments.segment.build_segment` makes of one
    row of Python values, in half the time. ``schema``: the logical schema."""
    batch = batch_of([row], schema)
    if partitioning is None:
        return Segment(batch)
    keys = partitioning.columns
    hashed = key_hasher([schema.field(column).type for column in keys])([row[column] for column in keys])
    offsets = np.zeros(partitioning.count + 1, np.int64)
    offsets[hashed % partitioning.count + 1 :] = 1
    return Segment(batch, offsets)


class SegmentPath:
    """A lookup of rows by key (a :class:`~sqlfront_connectors.base.RowPath`) in a table of any number of
    segments. ``locate``: a function that returns, for a key, pairs of a segment's number and the numbers of
    the key's rows within the segment. ``readers``: the readers of the wanted columns."""

    __slots__ = ("_locate", "_readers")

    def __init__(self, locate: Locate, readers: RowReaders) -> None:
        self._locate = locate
        self._readers = readers

    def find(self, keys: Sequence[Key]) -> list[list[RowValues]]:
        """Return the rows of each key, in the order of the keys; no rows for a key that isn't found. Raises
        TooManyRows if all keys together have more than MOST_FOUND rows."""
        locate, readers = self._locate, self._readers
        found = []
        most = MOST_FOUND
        for key in keys:
            rows_of_key: list[RowValues] = []
            for number, rows in locate(key):
                most -= len(rows)
                if most < 0:
                    raise TooManyRows
                read = readers[number]
                rows_of_key += [read(row) for row in rows]
            found.append(rows_of_key)
        return found


class IntegerPath:
    """A lookup of rows by key (a :class:`~sqlfront_connectors.base.RowPath`) for the commonest case, in which
    it takes half the time of :class:`SegmentPath`: the partition key is one BIGINT column without nulls, and
    all rows are in one segment."""

    __slots__ = ("_count", "_offsets", "_read", "_segment", "_values")

    def __init__(self, segment: Segment, values: memoryview, count: int, read: ReadRow) -> None:
        """``values``: the partition key of each row of the segment, see
        :func:`~sqlfront_connectors.memory.segments.locate.integer_key`. ``count``: the number of partitions.
        ``read``: a function that returns the wanted values of a row, given its number."""
        assert segment.offsets is not None
        self._segment = segment
        self._values = values
        self._offsets = segment.offsets.data
        self._count = count
        self._read = read

    def find(self, keys: Sequence[Key]) -> list[list[RowValues]]:
        """Return the rows of each key, in the order of the keys; no rows for a key that isn't found. Raises
        TooManyRows if all keys together have more than MOST_FOUND rows."""
        values, offsets, count, read = self._values, self._offsets, self._count, self._read
        live = None if self._segment.deleted is None else self._segment.live
        found: list[list[RowValues]] = []
        most = MOST_FOUND
        for (value,) in keys:
            if value is None:
                found.append([])
                continue
            assert isinstance(value, int)
            hashed = hash_long(value)
            partition = (hashed - 0x1_0000_0000 if hashed & 0x8000_0000 else hashed) % count
            end = offsets[partition + 1]
            start = bisect_left(values, value, offsets[partition], end)
            if start == end or values[start] != value:
                found.append([])
                continue
            rows: Sequence[int] = (start,)
            if start + 1 < end and values[start + 1] == value:
                rows = range(start, bisect_right(values, value, start, end))
            if live is not None:
                rows = live(rows)
            most -= len(rows)
            if most < 0:
                raise TooManyRows
            found.append([read(row) for row in rows])
        return found
