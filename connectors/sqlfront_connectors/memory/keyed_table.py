"""The contract of memory tables, of one process or spread over the members of a cluster, and the parts that
don't depend on the place of the rows."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import ClassVar, TypeVar

import pyarrow as pa

from sqlfront_connectors.base import (
    Partitioning,
    RowPath,
    RowValues,
    ScanPieces,
    ScanPlan,
    ScanRequest,
    TableStatistics,
)
from sqlfront_connectors.memory.scan import MemoryScan, key_literals
from sqlfront_connectors.memory.segments.chunks import judged
from sqlfront_connectors.memory.segments.index import IndexDefinition
from sqlfront_connectors.memory.segments.table_memory import TableMemory
from sqlfront_engine.jobs.query_run import QueryRun
from sqlfront_values.expressions import Expr

Source = TypeVar("Source", bound=MemoryScan)


class KeyedSnapshot(ABC):
    """One version of a memory table."""

    def __init__(
        self,
        name: str,
        schema: pa.Schema,
        partitioning: Partitioning | None,
        version: int,
        indexes: tuple[IndexDefinition, ...],
        keys: tuple[tuple[int, ...], ...],
        statistics: TableStatistics,
    ) -> None:
        self.name = name
        #: The table's logical column names and types.
        self.schema = schema
        self._partitioning = partitioning
        #: A number that grows with every commit.
        self.version = version
        #: The table's secondary indexes.
        self.indexes = indexes
        #: The clustering columns, and the columns of each index.
        self.keys = keys
        self._statistics = statistics

    @property
    def statistics(self) -> TableStatistics:
        """The exact number of rows; bounds and null counts, which include deleted rows until a merge removes
        the rows; and estimated distinct counts."""
        return self._statistics

    @abstractmethod
    def scan(self, request: ScanRequest) -> ScanPlan:
        """Return the source of a scan; if the request has keys, the source reads only the rows of the
        keys."""

    @abstractmethod
    def row_path(
        self, by: tuple[int, ...], columns: tuple[int, ...], query: QueryRun | None = None
    ) -> RowPath | None:
        """Return the path to ``columns`` by the values of ``by``, the columns of the clustering key or of an
        index (both are ordinals of the table); None if there is no quick path. ``query``: the query that
        reads the rows; a wait for members ends with the query."""

    @abstractmethod
    def small_rows(self, columns: tuple[int, ...], limit: int) -> Sequence[RowValues] | None:
        """Return the values of ``columns`` of all rows if the version has at most ``limit`` rows, all in this
        process; else None."""

    def exact_filters(self, filters: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """Return no filter: the scan finds rows by keys only."""
        return ()

    def pieces(self, request: ScanRequest) -> tuple[ScanPieces, ...]:
        """Return the number of chunks that a scan reads, and of all chunks; an empty tuple for a scan by
        keys."""
        if request.keys is not None or request.keys_from is not None:
            return ()
        return (ScanPieces("chunks", *self._count_chunks(judged(request.filters))),)

    @abstractmethod
    def _count_chunks(self, filters: tuple[Expr, ...]) -> tuple[int, int]:
        """Return the number of chunks that the filters don't rule out, and the number of all chunks."""

    def _source(self, make: Callable[..., Source], resource: str, request: ScanRequest) -> Source:
        """Make the source of a scan for ``request``: ``make`` is
        :class:`~sqlfront_connectors.memory.scan.MemoryScan` or a maker of a subclass, ``resource`` the name
        under which the source finds its share."""
        return make(
            resource,
            self.name,
            request.columns,
            self._partitioning,
            key_literals(request, self.schema),
            request.partitions,
            request.limit,
            by=request.by,
            keys_from=request.keys_from,
            null_keys=request.null_keys,
            filters=judged(request.filters) if request.keys is None else (),
        )


class KeyedTable(ABC):
    """A memory table: readers find rows by key, and writers publish whole versions."""

    format = "memory"

    #: The placement of the rows: True if each member of a cluster has a share of the rows, False if all rows
    #: are in this process.
    is_spread: ClassVar[bool]
    #: Whether the table is filled anew from the source of its rows if members with parts of the table are
    #: lost.
    reloaded = False
    #: Whether another table has taken this one's place, so that a write would be lost.
    retired = False
    #: The accounting of the rows and indexes in this process; None = no accounting.
    memory: TableMemory | None = None

    def __init__(self, name: str, schema: pa.Schema, partitioning: Partitioning | None) -> None:
        self.name = name
        #: The logical column names and types.
        self.schema = schema
        #: The partitioning by CLUSTERED BY, or None.
        self.partitioning = partitioning

    @abstractmethod
    def snapshot(self) -> KeyedSnapshot:
        """Return the version that was published last."""

    @abstractmethod
    def drop(self) -> None:
        """Drop the table. Its rows are freed when no reader needs them any more: a reader that has just
        looked up the table's name still finds the rows."""

    @abstractmethod
    def turn(self) -> AbstractContextManager[object]:
        """Return a context manager within which no other writer publishes a version; entering it waits for
        the other writers."""

    def retire(self) -> None:
        """Refuse all further writes, of all sessions, since another table has taken this one's place, and
        drop the table. The caller has the turn, so that no write comes between the two."""
        self.retired = True
        self.drop()

    @abstractmethod
    def publish(self, batches: Sequence[pa.RecordBatch], *, overwrite: bool) -> int:
        """Publish the rows (after all present rows, or instead of them) as the next version, at once. Returns
        the number of rows."""

    @property
    def in_place(self) -> bool:
        """True if the rows lie on the members on which jobs look for their partitions; always True if all
        rows are in this process."""
        return True

    @property
    def home_columns(self) -> tuple[int, ...]:
        """The columns that determine the member of a row, as ordinals of the
        :class:`~sqlfront_connectors.memory.numbered_table.NumberedTable`; empty if all rows are in this
        process."""
        return ()

    @abstractmethod
    def change_rows(self, rows: Sequence[RowValues], *, stores: bool, query: QueryRun | None = None) -> None:
        """Publish a version without the given rows of the current version, without a job. The last value of a
        row in ``rows`` is its number. With ``stores``, the values before the number are a new row that
        replaces the deleted row and has the same values in :attr:`home_columns`; without ``stores``, the
        values before the number are the deleted row's values of :attr:`home_columns`. The caller has the
        turn. If ``rows`` is empty, nothing is published.

        Raises the errors of a lookup; then nothing is published. ``query``: a wait for members ends with the
        query.
        """

    @abstractmethod
    def set_indexes(self, indexes: tuple[IndexDefinition, ...]) -> None:
        """Publish a version of the same rows with exactly these indexes."""

    def begin_insert(
        self, *, overwrite: bool = False, time_zone: str = "UTC", token: str | None = None
    ) -> "MemoryWrite":
        """Start an insert; its commit publishes the rows behind all present rows, or with ``overwrite``
        instead of them. ``time_zone`` and ``token`` have no effect: the table has neither times as text nor
        files."""
        return MemoryWrite(self, overwrite=overwrite)


class MemoryWrite:
    """An insert into a memory table under way; the rows stay in this process until the commit."""

    def __init__(self, table: KeyedTable, *, overwrite: bool) -> None:
        self._table = table
        self._overwrite = overwrite
        self._batches: list[pa.RecordBatch] = []
        self._charged = 0

    def append(self, batch: pa.RecordBatch) -> None:
        """Keep the batch until the commit. Raises OperationalError if there is no memory for the batch."""
        if self._table.memory is not None:
            self._table.memory.charge(batch.nbytes, self._table.name)
            self._charged += batch.nbytes
        self._batches.append(batch)

    def commit(self) -> int:
        """Publish all rows as one new version, and return their number. Raises OperationalError if there is
        no memory for the version."""
        self._release()  # the version takes the batches' place
        return self._table.publish(self._batches, overwrite=self._overwrite)

    def abort(self) -> None:
        """Discard the rows."""
        self._batches.clear()
        self._release()

    def _release(self) -> None:
        if self._table.memory is not None and self._charged:
            self._table.memory.budget.release(self._charged)
            self._charged = 0
