"""The contract of memory tables, whether their rows are in one process or spread over the members of a
cluster, and the code that both kinds share."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import ClassVar, TypeVar

import msgspec
import pyarrow as pa

from sqlfront_connectors.base import (
    Key,
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
    """The base class of a version of a memory table; a subclass has the rows, and reads them in scans and
    lookups. ``indexes``: the secondary indexes. ``keys``: the sequences of columns by which rows can be
    looked up, the partition key first."""

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
        """The statistics of this version: the exact number of rows, estimated distinct counts, and bounds and
        null counts of each column. The bounds and null counts also cover deleted rows until a merge of
        segments removes these rows."""
        return self._statistics

    @abstractmethod
    def scan(self, request: ScanRequest) -> ScanPlan:
        """Return the plan of a scan. If the request has keys, the source reads only the rows with these
        keys."""

    @abstractmethod
    def row_path(
        self, by: tuple[int, ...], columns: tuple[int, ...], query: QueryRun | None = None
    ) -> RowPath | None:
        """Return a lookup of rows by the values of the columns ``by``, which must be the partition key or the
        columns of an index; the lookup returns the values of ``columns`` (both ordinals of the table). None
        if there is no quick lookup. ``query``: the query that reads the rows; when the query ends, the lookup
        stops waiting for members."""

    @abstractmethod
    def small_rows(self, columns: tuple[int, ...], limit: int) -> Sequence[RowValues] | None:
        """Return the values of ``columns`` (ordinals of the table) of all rows if the version has at most
        ``limit`` rows, all in this process; else None."""

    def exact_filters(self, filters: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """Return no filter: by the filters a scan only leaves out chunks (BATCH_ROWS consecutive rows)
        without matching rows, so that the plan has to apply all of them."""
        return ()

    def pieces(self, request: ScanRequest) -> tuple[ScanPieces, ...]:
        """Return the number of chunks (BATCH_ROWS consecutive rows of a segment) that a scan for ``request``
        reads, and of all chunks; empty for a scan by keys."""
        if request.keys is not None or request.keys_from is not None:
            return ()
        return (ScanPieces("chunks", *self._count_chunks(judged(request.filters))),)

    @abstractmethod
    def _count_chunks(self, filters: tuple[Expr, ...]) -> tuple[int, int]:
        """Return the number of chunks that may have rows that match the filters, and the number of all
        chunks."""

    def _source(self, make: Callable[..., Source], resource: str, request: ScanRequest) -> Source:
        """Return the source of a scan for ``request``. ``make``: the class
        :class:`~sqlfront_connectors.memory.scan.MemoryScan`, or a function that makes an instance of a
        subclass. ``resource``: the name of the resource in which the source finds the rows."""
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


class NewValues(msgspec.Struct, frozen=True):
    """Values that do not depend on the row, for columns of changed rows: ``places`` are the columns'
    ordinals, ``values`` one value for each."""

    places: tuple[int, ...]
    values: RowValues


class KeyedTable(ABC):
    """The base class of memory tables; a subclass keeps the versions of the rows, and publishes a whole new
    version with each write. ``backups``: the number of backups of each row, 0 to 2, where other members of a
    cluster can hold them. ``is_spread``: True if the rows are spread over the members of a cluster, False
    if all are in this process. ``memory``: the account to which the rows in this process are charged, None =
    none."""

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

    def __init__(
        self, name: str, schema: pa.Schema, partitioning: Partitioning | None, backups: int = 0
    ) -> None:
        self.name = name
        #: The logical column names and types.
        self.schema = schema
        #: The partitioning by CLUSTERED BY, or None.
        self.partitioning = partitioning
        self.backups = backups

    @abstractmethod
    def snapshot(self) -> KeyedSnapshot:
        """Return the version that was published last."""

    @abstractmethod
    def drop(self) -> None:
        """Drop the table. Its rows are freed once no reader needs them: a reader that looked up the table's
        name just before the drop still finds the rows."""

    @abstractmethod
    def turn(self) -> AbstractContextManager[object]:
        """Return a context manager that gives the caller the exclusive right to publish versions: it waits
        for other writers, and within its block no other writer, of any session, publishes a version."""

    def retire(self) -> None:
        """Drop the table and refuse all further writes of all sessions, because another table replaces it in
        the catalog. The caller has to be in a block of :meth:`turn`, so that nobody writes in between."""
        self.retired = True
        self.drop()

    @abstractmethod
    def publish(self, batches: Sequence[pa.RecordBatch], *, overwrite: bool, job: str | None = None) -> int:
        """Publish the next version, with the rows of ``batches`` after all present rows, or with
        ``overwrite`` in place of them. Return the number of rows in ``batches``. ``job``: the id of the
        durable job whose rows these are, None if they are no job's. A table of a cluster remembers the job,
        and raises OperationalError if it has the job's rows already."""

    @property
    def in_place(self) -> bool:
        """True if each row is on the member that owns the row's partition, where jobs look for the row;
        always True if all rows are in this process."""
        return True

    @property
    def takes_row_changes(self) -> bool:
        """True if rows can be changed by their keys, without a job, where they are; always True if all rows
        are in this process."""
        return True

    @property
    def home_columns(self) -> tuple[int, ...]:
        """The columns whose values determine on which member a row is, as ordinals of the
        :class:`~sqlfront_connectors.memory.numbered_table.NumberedTable` (the table with the rows' numbers as
        last column); empty if all rows are in this process."""
        return ()

    @abstractmethod
    def change_rows(self, rows: Sequence[RowValues], *, stores: bool, query: QueryRun | None = None) -> None:
        """Delete or replace rows of the current version, without a job, and publish the result as a version;
        publish nothing if ``rows`` is empty. A table whose rows are spread over members must have a partition
        key. The caller has to be in a block of :meth:`turn`.

        The last value in each item of ``rows`` is the number of the row to delete. With ``stores``, the
        values before the number are a new row, which replaces the deleted row and must have the same values
        in :attr:`home_columns`. Without ``stores``, the values before the number are the deleted row's values
        of :attr:`home_columns`.

        ``query``: the query of the statement; when the query ends, this method stops waiting for members.
        Raises OperationalError, and publishes nothing, if a member is lost, partitions have changed their
        owners, or memory is short.
        """

    def change_found(
        self, find: Callable[[], Sequence[RowValues]], *, stores: bool, query: QueryRun | None = None
    ) -> int:
        """Change the rows that ``find`` returns, as :meth:`change_rows` does, and return their number.
        ``find`` reads the current version, and may be called again if another session has changed the table
        meanwhile; what it raises is raised."""
        with self.turn():
            rows = find()
            self.change_rows(rows, stores=stores, query=query)
        return len(rows)

    def change_keys(
        self, keys: Sequence[Key], new: NewValues | None, query: QueryRun | None = None
    ) -> int | None:
        """Change the rows with these ``keys``, distinct values of the partition key's columns, and return
        their number: give them the ``new`` values, in columns other than those of the key, or delete them if
        ``new`` is None. Return None, and change nothing, if the rows have to be found first
        (:meth:`change_found`). ``query``: when this query ends, this method stops waiting for members. Raises
        OverflowError or TooManyRows, and changes nothing, if the rows can't be changed as Python values;
        OperationalError as :meth:`change_rows`."""
        return None

    @abstractmethod
    def add_rows(self, rows: Sequence[RowValues], query: QueryRun | None = None) -> None:
        """Publish a version with a few rows after all present rows; publish nothing if ``rows`` is empty.
        ``query``: the query of the statement; when the query ends, this method stops waiting for members."""

    @abstractmethod
    def set_indexes(self, indexes: tuple[IndexDefinition, ...]) -> None:
        """Publish a version with the same rows that has exactly the indexes ``indexes``."""

    def succeed(self, former: "KeyedTable") -> None:
        """Take the indexes of ``former``, the table that this table is about to replace in the catalog:
        publish a version with the same rows and these indexes. The caller has to be in a block of the
        :meth:`turn` of ``former``."""
        self.set_indexes(former.snapshot().indexes)

    def begin_insert(
        self, *, overwrite: bool = False, time_zone: str = "UTC", token: str | None = None
    ) -> "MemoryWrite":
        """Start an insert, whose commit publishes the rows after all present rows, or with ``overwrite`` in
        place of them. ``time_zone`` has no effect: the table has no texts of times. ``token``: the id of the
        durable job whose rows are inserted, None if they are no job's."""
        return MemoryWrite(self, overwrite=overwrite, job=token)


class MemoryWrite:
    """An insert into a memory table; the rows stay in this process and invisible until :meth:`commit`.
    ``job``: the id of the durable job whose rows are inserted, None if they are no job's."""

    def __init__(self, table: KeyedTable, *, overwrite: bool, job: str | None = None) -> None:
        self._table = table
        self._overwrite, self._job = overwrite, job
        self._batches: list[pa.RecordBatch] = []
        self._charged = 0

    def append(self, batch: pa.RecordBatch) -> None:
        """Collect the batch for the commit. Raises OperationalError if the memory budget of tables is
        exceeded."""
        if self._table.memory is not None:
            self._table.memory.charge(batch.nbytes, self._table.name)
            self._charged += batch.nbytes
        self._batches.append(batch)

    def commit(self) -> int:
        """Publish all collected rows as one new version, and return their number. Raises OperationalError if
        the memory budget of tables is exceeded."""
        self._release()  # the version takes the batches' place
        return self._table.publish(self._batches, overwrite=self._overwrite, job=self._job)

    def abort(self) -> None:
        """Discard the collected rows."""
        self._batches.clear()
        self._release()

    def _release(self) -> None:
        if self._table.memory is not None and self._charged:
            self._table.memory.budget.release(self._charged)
            self._charged = 0
