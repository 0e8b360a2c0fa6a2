"""A few rows of a memory table as Python values, found by key or all of a small table's."""

from collections.abc import Callable, Sequence

import pyarrow as pa

from sqlfront_connectors.base import MOST_FOUND, Key, Partitioning, RowValues, TooManyRows
from sqlfront_connectors.memory.locate import Locate, locator
from sqlfront_connectors.memory.segment import Segment
from sqlfront_engine.columns.reading import row_reader

#: The values of some columns of a row, by its number.
ReadRow = Callable[[int], RowValues]


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
                read(row)
                for segment, read in zip(self._segments, readers, strict=True)
                for row in segment.live(range(segment.batch.num_rows))
            ]
        return found

    def _locate(self, by: tuple[int, ...]) -> Locate | None:
        return locator(self._segments, self._schema, self._partitioning, by) if by in self._keys else None

    def _row_readers(self, columns: tuple[int, ...]) -> list[ReadRow]:
        """How rows are read; the ordinal behind those of the table's columns is that of the row's number
        (:mod:`~sqlfront_connectors.memory.numbering`)."""
        number = len(self._schema)
        if number not in columns:
            return [_row_reader(segment, columns) for segment in self._segments]
        place, start, readers = columns.index(number), 0, []
        stored = (*columns[:place], *columns[place + 1 :])
        for segment in self._segments:
            readers.append(_numbered(_row_reader(segment, stored), place, start))
            start += segment.batch.num_rows
        return readers


def _row_reader(segment: Segment, columns: tuple[int, ...]) -> ReadRow:
    def make() -> ReadRow:
        return row_reader([segment.batch.column(ordinal) for ordinal in columns])

    return segment.memo.get(("rows", columns), make)


def _numbered(read: ReadRow, place: int, start: int) -> ReadRow:
    """The values with the number of the row in that place."""

    def numbered(row: int) -> RowValues:
        values = read(row)
        return (*values[:place], start + row, *values[place:])

    return numbered


class SegmentPath:
    """See :class:`~sqlfront_connectors.base.RowPath`; ``readers`` read the wanted columns of a
    segment's row."""

    __slots__ = ("_locate", "_readers")

    def __init__(self, locate: Locate, readers: list[ReadRow]) -> None:
        self._locate = locate
        self._readers = readers

    def find(self, keys: Sequence[Key]) -> list[list[RowValues]]:
        """For each key its rows."""
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
