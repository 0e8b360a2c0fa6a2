"""The memory table in one process: immutable versions, each published in one step; an insert makes a
version."""

import itertools
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Final, cast

import pyarrow as pa

from sqlfront_connectors.base import (
    Partitioning,
    RowPath,
    RowValues,
    ScanPlan,
    ScanRequest,
    superseded,
)
from sqlfront_connectors.memory.keyed_table import KeyedSnapshot, KeyedTable
from sqlfront_connectors.memory.scan import MemoryScan
from sqlfront_connectors.memory.segments.chunks import count_chunks
from sqlfront_connectors.memory.segments.index import IndexDefinition
from sqlfront_connectors.memory.segments.merging import NO_ROWS, merged
from sqlfront_connectors.memory.segments.numbering import numbers_of, places
from sqlfront_connectors.memory.segments.row_paths import batch_of
from sqlfront_connectors.memory.segments.segment import RowNumbers, Segment, build_segments
from sqlfront_connectors.memory.segments.share import TableShare
from sqlfront_connectors.memory.segments.table_memory import TableMemory
from sqlfront_connectors.memory.writer_lock import WriterLock
from sqlfront_engine.jobs.query_run import QueryRun
from sqlfront_engine.memory import MemoryBudget
from sqlfront_engine.row_actions import changes_in
from sqlfront_values.errors import InternalError
from sqlfront_values.expressions import Expr

_identities = itertools.count(1)
#: Rows above which inserts are put in order before the writer's turn, so that other writers don't wait for
#: the sort.
_MANY_ROWS: Final = 4096


class MemorySnapshot(KeyedSnapshot):
    """One version of a :class:`MemoryTable`; its rows are in this process. The statistics of the columns are
    computed on first use."""

    def __init__(
        self,
        name: str,
        schema: pa.Schema,
        partitioning: Partitioning | None,
        segments: tuple[Segment, ...],
        identity: str,
        version: int,
        indexes: tuple[IndexDefinition, ...] = (),
    ) -> None:
        share = TableShare(schema, partitioning, segments, tuple([index.columns for index in indexes]))
        super().__init__(name, schema, partitioning, version, indexes, share.keys, share.statistics)
        self._share = share
        self._resource = f"{identity}@{version}"

    @property
    def segments(self) -> tuple[Segment, ...]:
        """The rows of the version, as segments."""
        return self._share.segments

    def scan(self, request: ScanRequest) -> ScanPlan:
        """Return a plan that reads the rows of the segments; if the request has keys, only the rows with
        these keys, found by lookups."""
        return ScanPlan(self._source(MemoryScan, self._resource, request), {self._resource: self._share})

    def _count_chunks(self, filters: tuple[Expr, ...]) -> tuple[int, int]:
        return count_chunks(self.segments, filters)

    def row_path(
        self, by: tuple[int, ...], columns: tuple[int, ...], query: QueryRun | None = None
    ) -> RowPath | None:
        """Return a lookup of rows by the values of the columns ``by``, which returns the values of
        ``columns`` (both ordinals of the table); None if ``by`` is neither the partition key nor the columns
        of an index. ``query`` has no effect: there are no members to wait for."""
        return self._share.path(by, columns)

    def small_rows(self, columns: tuple[int, ...], limit: int) -> Sequence[RowValues] | None:
        """Return the values of ``columns`` of all rows if the version has at most ``limit`` rows and every
        date and timestamp is within the years of Python's ``datetime``; else None."""
        rows = self._statistics.rows
        if rows is None or rows > limit:
            return None
        try:
            return self._share.all(columns)
        except (OverflowError, ValueError):
            return None


class MemoryTable(KeyedTable):
    """A memory table whose rows are all in this process, as opposed to a table whose rows are spread over the
    members of a cluster."""

    is_spread = False

    def __init__(
        self,
        name: str,
        schema: pa.Schema,
        partitioning: Partitioning | None = None,
        backups: int = 0,
        budget: MemoryBudget | None = None,
    ) -> None:
        """``budget``: the memory budget that the table's rows are charged to, None = the rows aren't
        counted."""
        super().__init__(name, schema, partitioning, backups)
        self.memory = None if budget is None else TableMemory(budget)
        self._identity = f"memory:{next(_identities)}"
        self._writer = WriterLock()
        # Invariant: replaced as a whole under _writer; readers take the reference once.
        self._current = MemorySnapshot(name, schema, partitioning, (), self._identity, 0)

    def snapshot(self) -> MemorySnapshot:
        """Return the version that was published last."""
        return self._current

    def drop(self) -> None:
        """Do nothing: the rows are freed after their last reader. A reader that looked up the table's name
        just before the drop can still read them."""

    def turn(self) -> AbstractContextManager[object]:
        """Return a context manager within which no other thread publishes a version; entering waits for the
        other writers."""
        return self._writer

    def publish(self, batches: Sequence[pa.RecordBatch], *, overwrite: bool, job: str | None = None) -> int:
        """Publish a version with these rows after all present rows, or with ``overwrite`` in place of all
        present rows. Returns the number of rows in ``batches``. ``job`` has no effect: the table ends with
        the process that coordinates the job."""
        rows = sum(batch.num_rows for batch in batches)
        added: tuple[Segment, ...] = ()
        if rows > _MANY_ROWS:  # outside the lock: other writers need not wait
            added, batches = build_segments(batches, self.schema, self.partitioning), []
        with self._writer:
            present = (() if overwrite else self._current.segments) + added
            self._current = self._next(present, batches)
        return rows

    def replace_rows(
        self,
        version: MemorySnapshot,
        deleted: Mapping[int, RowNumbers],
        batches: Sequence[pa.RecordBatch] = (),
    ) -> None:
        """Publish a version with the rows of ``version`` except the ``deleted`` rows, and with the rows of
        ``batches``. ``deleted``: for the index of a segment of ``version``, the positions of its rows to
        delete. Without any deleted or new row, nothing is published. The caller must have taken ``version``
        within a block of :meth:`turn`, and still be in that block; raises InternalError if ``version`` is not
        the current version."""
        if not deleted and not any(batch.num_rows for batch in batches):
            return
        with self._writer:
            if version is not self._current:
                raise InternalError(f"`{self.name}` has another version than the one to be changed")
            self._current = self._next(version.segments, batches, gone=deleted)

    def change_rows(self, rows: Sequence[RowValues], *, stores: bool, query: QueryRun | None = None) -> None:
        """Publish a version in which some rows are deleted or, with ``stores``, replaced. Each item of
        ``rows`` ends with the number of the row to delete; with ``stores`` the values before it are the row
        that replaces it. ``query`` has no effect. The caller has to be in a block of :meth:`turn`."""
        snapshot = self._current
        gone = places(snapshot.segments, [cast("int", row[-1]) for row in rows])
        self.replace_rows(snapshot, gone, [batch_of(rows, self.schema)] if rows and stores else ())

    def add_rows(self, rows: Sequence[RowValues], query: QueryRun | None = None) -> None:
        """Publish a version with a few rows after all present rows, unless ``rows`` is empty. ``query`` has
        no effect."""
        if rows:
            self.publish([batch_of(rows, self.schema)], overwrite=False)

    def change_batches(self, batches: Sequence[pa.RecordBatch], *, stores: bool) -> int:
        """Publish a version without the rows whose numbers are in the last column of ``batches``; with
        ``stores``, the other columns hold the rows that replace the deleted rows. Returns the number of
        deleted rows. The caller has to be in a block of :meth:`turn`."""
        snapshot, numbers = self._current, numbers_of(batches)
        width = list(range(len(self.schema)))
        stored = [batch.select(width) for batch in batches] if stores else ()
        self.replace_rows(snapshot, places(snapshot.segments, numbers), stored)
        return len(numbers)

    def merge_batches(self, batches: Sequence[pa.RecordBatch], *, distinct: bool) -> int:
        """Publish a version with the changes in ``batches``, as
        :mod:`~sqlfront_engine.row_actions` describes, and return the number of affected rows. ``distinct``:
        each row may be found once only. The caller has to be in a block of :meth:`turn`."""
        snapshot = self._current
        changes = changes_in(batches, len(self.schema), distinct=distinct)
        self.replace_rows(snapshot, places(snapshot.segments, changes.numbers), changes.added)
        return changes.count

    def set_indexes(self, indexes: tuple[IndexDefinition, ...]) -> None:
        """Publish a version of the same rows with exactly these indexes; the indexes of large segments are
        built before the publication. The caller has to be in a block of :meth:`turn`."""
        with self._writer:
            self._current = self._next(self._current.segments, (), indexes)

    def _next(
        self,
        segments: Sequence[Segment],
        added: Sequence[pa.RecordBatch],
        indexes: tuple[IndexDefinition, ...] | None = None,
        gone: Mapping[int, RowNumbers] = NO_ROWS,
    ) -> MemorySnapshot:
        if self.retired:
            raise superseded(self.name)
        indexes = self._current.indexes if indexes is None else indexes
        columns = [index.columns for index in indexes]
        together = merged(segments, self.schema, self.partitioning, added, columns, gone)
        if self.memory is not None:
            self.memory.hold(together, self.name)
        version = self._current.version + 1
        return MemorySnapshot(
            self.name, self.schema, self.partitioning, together, self._identity, version, indexes
        )
