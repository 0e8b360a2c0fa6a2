"""A few rows of a memory table as Python values, found by key or all of a small table's."""

import threading
from collections.abc import Sequence

import pyarrow as pa

from sqlfront_connectors.base import Key, Partitioning, RowValues
from sqlfront_connectors.memory.locate import Locate, locator
from sqlfront_connectors.memory.segment import Segment
from sqlfront_engine.columns.reading import Reader, value_reader


class SegmentRows:
    """The rows of one version's segments as tuples; what was made for a query is kept for the next.

    Safe to use from several threads.
    """

    def __init__(
        self,
        segments: tuple[Segment, ...],
        schema: pa.Schema,
        partitioning: Partitioning | None,
        keys: tuple[tuple[int, ...], ...],
    ) -> None:
        """``keys``: the columns of the partitioning and of indexes."""
        self._keys = keys
        self._segments = segments
        self._schema = schema
        self._partitioning = partitioning
        self._lock = threading.Lock()
        self._readers: dict[tuple[int, int], Reader] = {}
        self._paths: dict[tuple[tuple[int, ...], tuple[int, ...]], SegmentPath | None] = {}
        self._all: dict[tuple[int, ...], Sequence[RowValues]] = {}

    def path(self, by: tuple[int, ...], columns: tuple[int, ...]) -> "SegmentPath | None":
        """The way to ``columns`` by the values of ``by``, None if ``by`` is neither the clustering
        key nor that of an index."""
        known = by, columns
        if known not in self._paths:
            locate = self._locate(by)
            path = None if locate is None else SegmentPath(locate, self._row_readers(columns))
            self._paths[known] = path
        return self._paths[known]

    def all(self, columns: tuple[int, ...]) -> Sequence[RowValues]:
        """All rows."""
        found = self._all.get(columns)
        if found is None:
            readers = self._row_readers(columns)
            found = self._all[columns] = [
                tuple([read(row) for read in segment_readers])
                for segment, segment_readers in zip(self._segments, readers, strict=True)
                for row in segment.live(range(segment.batch.num_rows))
            ]
        return found

    def _locate(self, by: tuple[int, ...]) -> Locate | None:
        return locator(self._segments, self._schema, self._partitioning, by) if by in self._keys else None

    def _row_readers(self, columns: tuple[int, ...]) -> list[list[Reader]]:
        with self._lock:
            return [
                [self._reader(number, ordinal) for ordinal in columns]
                for number in range(len(self._segments))
            ]

    def _reader(self, number: int, ordinal: int) -> Reader:
        known = number, ordinal
        reader = self._readers.get(known)
        if reader is None:
            reader = self._readers[known] = _reader_of(self._segments[number], ordinal)
        return reader


def _reader_of(segment: Segment, ordinal: int) -> Reader:
    return segment.memo.get(("reader", ordinal), lambda: value_reader(segment.batch.column(ordinal)))


class SegmentPath:
    """See :class:`~sqlfront_connectors.base.RowPath`; ``readers`` are those of the wanted columns by
    segment."""

    __slots__ = ("_locate", "_readers")

    def __init__(self, locate: Locate, readers: list[list[Reader]]) -> None:
        self._locate = locate
        self._readers = readers

    def find(self, keys: Sequence[Key]) -> list[list[RowValues]]:
        """For each key its rows."""
        locate, readers = self._locate, self._readers
        return [
            [tuple([read(row) for read in readers[number]]) for number, rows in locate(key) for row in rows]
            for key in keys
        ]
