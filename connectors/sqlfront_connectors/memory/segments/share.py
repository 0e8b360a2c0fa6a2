"""A share: the rows of one version of a memory table that one process has, with lookups by key and
statistics."""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Final

import pyarrow as pa

from sqlfront_connectors.base import Partitioning, RowPath, RowValues, TableStatistics
from sqlfront_connectors.memory.segments.locate import integer_key, locator
from sqlfront_connectors.memory.segments.row_paths import IntegerPath, RowReaders, SegmentPath
from sqlfront_connectors.memory.segments.segment import Segment, SegmentFacts
from sqlfront_connectors.memory.segments.statistics import LazyStatistics, segments_statistics
from sqlfront_values.memo import Memo

#: Pairs of keys and columns for which a share keeps the path; beyond that it discards all of them. Few
#: statements of an application read one table, and a path is some kilobytes.
_KEPT: Final = 256


class TableShare:
    """The rows of one version of a table in one process: all rows if the table is in this process, or one
    member's share of a table whose rows are spread over members. ``facts``: a cache for facts about these
    rows.

    A share never changes. Lookups and rows made for one query are kept for the next one. Safe to use from
    several threads.
    """

    __slots__ = (
        "_all",
        "_paths",
        "facts",
        "indexes",
        "keys",
        "partitioning",
        "partitions",
        "schema",
        "segments",
    )

    def __init__(
        self,
        schema: pa.Schema,
        partitioning: Partitioning | None = None,
        segments: tuple[Segment, ...] = (),
        indexes: tuple[tuple[int, ...], ...] = (),
        partitions: tuple[int, ...] = (),
    ) -> None:
        """``schema``: the logical schema. ``indexes``: the columns of each secondary index. ``partitions``:
        for a spread table, the partitions that the member owned when the share was made; the share has all
        rows of these partitions."""
        self.schema = schema
        self.partitioning = partitioning
        self.segments = segments
        self.indexes = indexes
        self.partitions = partitions
        #: The key columns by which rows can be found.
        self.keys = key_columns(partitioning, indexes)
        self.facts = SegmentFacts()
        self._paths = Memo[tuple[tuple[int, ...], tuple[int, ...]], RowPath | None](_KEPT)
        self._all: dict[tuple[int, ...], Sequence[RowValues]] = {}

    @property
    def rows(self) -> int:
        """The number of rows that are not deleted."""
        return sum(segment.rows for segment in self.segments)

    @property
    def size(self) -> int:
        """The size of all segments in memory in bytes, without the indexes."""
        return sum(segment.size for segment in self.segments)

    @property
    def statistics(self) -> TableStatistics:
        """The statistics of the share: the exact number of rows, estimated distinct counts, and bounds and
        null counts of each column. The bounds and null counts also cover deleted rows until a merge of
        segments removes these rows."""
        columns = LazyStatistics(self.schema, partial(segments_statistics, self.segments))
        return TableStatistics(self.rows, self.size, columns)

    def path(self, by: tuple[int, ...], columns: tuple[int, ...]) -> RowPath | None:
        """Return a lookup of rows by the values of the columns ``by``, which returns the values of
        ``columns``. None if ``by`` is neither the partition key nor the columns of an index, or a column does
        not exist. In ``columns``, the ordinal after the table's last column stands for the row's number, its
        position among all rows of the share."""
        known = by, columns
        try:
            return self._paths[known]
        except KeyError:
            return self._paths.keep(known, self._new_path(by, columns))

    def _new_path(self, by: tuple[int, ...], columns: tuple[int, ...]) -> RowPath | None:
        if by not in self.keys or not {*columns} <= {*range(len(self.schema) + 1)}:
            return None
        readers, partitioning = self._row_readers(columns), self.partitioning
        if partitioning is not None and by == partitioning.columns and len(self.segments) == 1:
            integers = integer_key(self.segments[0], self.schema, partitioning)
            if integers is not None:
                return IntegerPath(self.segments[0], integers, partitioning.count, readers[0])
        return SegmentPath(locator(self.segments, self.schema, partitioning, by), readers)

    def all(self, columns: tuple[int, ...]) -> Sequence[RowValues]:
        """Return the values of ``columns`` of all rows that are not deleted. Raises OverflowError or
        ValueError for a date or timestamp beyond Python's years."""
        found = self._all.get(columns)
        if found is None:
            found = self._all[columns] = [
                read(row)
                for segment, read in zip(self.segments, self._row_readers(columns), strict=True)
                for row in segment.live(range(segment.batch.num_rows))
            ]
        return found

    def _row_readers(self, columns: tuple[int, ...]) -> RowReaders:
        return RowReaders(self.segments, columns, len(self.schema))


def key_columns(
    partitioning: Partitioning | None, indexes: Iterable[tuple[int, ...]]
) -> tuple[tuple[int, ...], ...]:
    """Return the tuples of columns by which rows can be looked up: the partition key first, if there is one,
    then the columns of each index."""
    placed = () if partitioning is None else (partitioning.columns,)
    return tuple(dict.fromkeys((*placed, *indexes)))
