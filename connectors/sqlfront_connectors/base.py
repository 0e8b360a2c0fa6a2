"""The contract of a connector: the view of a table for the planner and for a job.

A third party implements :class:`Table` (and :class:`WritableTable` where rows can be added). The planner
reads ``schema``, ``partitioning`` and ``statistics``; a query pins one :class:`Snapshot` of each table at its
start and reads only the snapshots. ``Snapshot.scan`` turns a :class:`ScanRequest` into a :class:`ScanPlan`: a
source processor for the DAG and the objects that the processor needs at run time.
"""

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import Final, Protocol, cast, runtime_checkable

import msgspec
import pyarrow as pa

from sqlfront_engine.file_access import EVERYWHERE, FileAccess
from sqlfront_engine.jobs.query_run import QueryRun
from sqlfront_engine.memory import UNLIMITED, MemoryBudget
from sqlfront_engine.processor import Processor
from sqlfront_values.errors import OperationalError
from sqlfront_values.expressions import Expr


class ColumnStatistics(msgspec.Struct, frozen=True):
    """Statistics of a column; None = unknown. ``distinct``: the number of distinct values without null, often
    an estimate. ``nulls``: the number of nulls. ``minimum`` and ``maximum``: bounds of the values, as Python
    values of the logical type."""

    distinct: int | None = None
    nulls: int | None = None
    minimum: object = None
    maximum: object = None


class TableStatistics(msgspec.Struct, frozen=True):
    """Statistics of a table; None = unknown. ``rows``: the number of rows. ``size``: the size of the rows in
    bytes. ``columns``: the column statistics by column name."""

    rows: int | None = None
    size: int | None = None
    columns: Mapping[str, ColumnStatistics] = msgspec.field(default_factory=dict)


class Partitioning(msgspec.Struct, frozen=True, array_like=True):
    """The placement of rows: a row's partition id is ``pmod(murmur3(key columns, 42), count)``. ``columns``:
    the key columns, as ordinals of the table's schema. ``count``: the number of partitions."""

    columns: tuple[int, ...]
    count: int


class ScanRequest(msgspec.Struct, frozen=True):
    """The columns and rows of a table that a query needs.

    ``columns``: ordinals of the table's schema, in the order of the output (may be empty: only the row count
    matters). ``filters``: conjuncts over the *table's* ordinals, by which the source may skip data. The
    source must apply exactly the conjuncts that :meth:`Snapshot.exact_filters` returned; all further
    conjuncts are hints (row groups, partition directories). Filters may hold
    :class:`~sqlfront_values.expressions.Parameter` at planning time, never at run time. ``partitions``:
    required partition ids, None = all. ``limit``: the most rows that the query needs, None = all.

    ``keys``: the query needs exactly the rows whose columns ``by`` (ordinals) have one of the keys; None =
    all rows. If keys are given, ``by`` is one of the sequences of columns in the snapshot's
    :attr:`KeyAccess.keys`. Values are equal as SQL's ``<=>`` says: null is a key, NaN equals NaN, -0.0 is
    0.0.

    ``keys_from``: the keys are known at run time only: the source has an input, and the columns ``keys_from``
    of the input's rows hold the keys, in the order of ``by``. An input row with a null in these columns gives
    no key unless ``null_keys``. The source must emit all rows with one of the keys and may emit further rows.
    """

    columns: tuple[int, ...]
    filters: tuple[Expr, ...] = ()
    partitions: tuple[int, ...] | None = None
    limit: int | None = None
    by: tuple[int, ...] = ()
    keys: "tuple[Key, ...] | None" = None
    keys_from: tuple[int, ...] | None = None
    null_keys: bool = False


class Location(Enum):
    """The members of a cluster on which the source of a scan can run: only the coordinator (HERE), every
    member, each reading any part of the rows (ANYWHERE), or all members together, each with the rows that it
    holds (SPREAD)."""

    HERE = "here"
    """The member that coordinates the job, where the job's resources are."""
    ANYWHERE = "anywhere"
    """Every member; each instance reads its share by its global index."""
    SPREAD = "spread"
    """Every member reads its own share of the rows; all members have to take part."""


class ScanPlan(msgspec.Struct, frozen=True):
    """The result of :meth:`Snapshot.scan`. ``source``: the processor of a vertex of the DAG. ``resources``:
    the objects that the source finds in ``ProcessorContext.resources``; only the coordinator of the job has
    them.

    ``location``: the members on which the source can run; unless this is HERE, the source must also work on
    members without ``resources``. ``placed``: the partitioning by which the rows are divided between the
    source's instances: each instance reads only the rows of its own partitions. None = an instance may read
    rows of any partition.
    """

    source: Processor
    resources: Mapping[str, object] = msgspec.field(default_factory=dict)
    location: Location = Location.HERE
    placed: Partitioning | None = None


@runtime_checkable
class Snapshot(Protocol):
    """An immutable version of a table, from which queries read the rows; later writes to the table make new
    versions and leave this one readable as it is."""

    @property
    def version(self) -> int:
        """A number that grows with every published change of the table."""

    @property
    def statistics(self) -> TableStatistics:
        """The statistics of this version; reading the property must be cheap."""

    def exact_filters(self, filters: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """Return the conjuncts among ``filters`` (over the table's ordinals) that a scan applies completely,
        so that the plan needs no filter for these conjuncts. Empty if the scan applies no conjunct
        completely."""

    def scan(self, request: ScanRequest) -> ScanPlan:
        """Return a source that emits the requested columns in physical form: exactly the rows of this version
        that pass the exact filters and that the partitions, the limit and the keys of ``request`` allow."""


#: A key: a value for each of the key columns, of the column's own type and as a Literal holds it; None stands
#: for null, which is a key like any other.
Key = tuple[object, ...]
#: A row as Python values, each as a Literal of the column's type holds it.
RowValues = tuple[object, ...]


@runtime_checkable
class KeyAccess(Protocol):
    """An optional extension of :class:`Snapshot`: a snapshot that also has :attr:`keys` can read only the
    rows of given keys, as :class:`ScanRequest` asks with ``by``, ``keys`` and ``keys_from``."""

    @property
    def keys(self) -> tuple[tuple[int, ...], ...]:
        """The sequences of key columns that :attr:`ScanRequest.by` may be; each column is an ordinal of the
        table, in the order of a key's values. If the table has a partition key, the partition key comes
        first."""


#: Rows that one call of :meth:`RowPath.find` returns at most: a row program keeps them as Python tuples, and
#: kernels are faster for more.
MOST_FOUND: Final = 10_000


class TooManyRows(Exception):
    """The error of :meth:`RowPath.find` if the keys have more than :data:`MOST_FOUND` rows; the query then
    runs as a job."""


class ScanPieces(msgspec.Struct, frozen=True):
    """The number of pieces of a table's data that a scan reads (``read``), and the number of all pieces
    (``total``). ``what``: the kind of piece, ``chunks``, ``files``, ``row groups`` or ``stripes``."""

    what: str
    read: int
    total: int


@runtime_checkable
class PieceWise(Protocol):
    """An optional extension of :class:`Snapshot`: a snapshot that also has :meth:`pieces` tells how many
    pieces of its data (files, row groups, ...) a scan reads and how many it skips."""

    def pieces(self, request: ScanRequest) -> tuple[ScanPieces, ...]:
        """Return for each kind of piece the number of pieces that a scan for ``request`` would read, and the
        number of all pieces, without reading rows; empty if the scan doesn't read by pieces. The request's
        filters hold no parameters."""


class RowPath(Protocol):
    """A lookup of rows of one version of a table by the values of given columns."""

    def find(self, keys: Sequence[Key]) -> Sequence[Sequence[RowValues]]:
        """Return the rows of each key: one sequence of rows for each item of ``keys``, in the same order,
        empty for a key without rows. Raises OverflowError or ValueError for a date or timestamp beyond
        Python's years, TooManyRows for more than :data:`MOST_FOUND` rows of all keys together."""


class RowAccess(KeyAccess, Protocol):
    """An optional extension of :class:`Snapshot`: a snapshot that also has these methods gives rows as
    Python values, for queries that read only a few rows and then need no job."""

    def row_path(
        self, by: tuple[int, ...], columns: tuple[int, ...], query: QueryRun | None = None
    ) -> RowPath | None:
        """Return a lookup of rows by the values of the columns ``by``, which returns the values of
        ``columns`` (both ordinals of the table); None if the snapshot has no quick lookup by these columns.
        ``query``: the query that reads the rows; when the query ends, the lookup stops waiting for other
        members."""

    def small_rows(self, columns: tuple[int, ...], limit: int) -> Sequence[RowValues] | None:
        """Return the values of ``columns`` (ordinals of the table) of all rows if the snapshot has at most
        ``limit`` rows, all in this process; else None."""


def is_repeatable(snapshot: Snapshot) -> bool:
    """Return whether every scan of the snapshot gives the same rows. False only if the snapshot has an
    attribute ``repeatable`` that is false."""
    return bool(getattr(snapshot, "repeatable", True))


def key_access(snapshot: Snapshot) -> KeyAccess | None:
    """Return the snapshot as a :class:`KeyAccess` if it has an attribute ``keys``, else None. (A check of the
    protocol by ``isinstance`` takes ten times as long.)"""
    return cast(KeyAccess, snapshot) if hasattr(snapshot, "keys") else None


def row_access(snapshot: Snapshot) -> RowAccess | None:
    """Return the snapshot as a :class:`RowAccess` if it has an attribute ``row_path``, else None."""
    return cast(RowAccess, snapshot) if hasattr(snapshot, "row_path") else None


@runtime_checkable
class Table(Protocol):
    """A named relation that queries can read."""

    @property
    def schema(self) -> pa.Schema:
        """The logical column names and types, constant during the table's life."""

    @property
    def format(self) -> str:
        """The connector's registered name: ``memory``, ``parquet``, ``arrow``, ..."""

    @property
    def partitioning(self) -> Partitioning | None:
        """The placement of the rows; None if the table is not partitioned."""

    def snapshot(self) -> Snapshot:
        """Return the current version, readable for as long as the caller holds the snapshot."""

    def drop(self) -> None:
        """Free what the table owns: its rows in memory, or its files in a directory that was made for it.
        Snapshots taken before stay readable. A reader that looked up the table's name before the drop, and
        takes its snapshot after the drop, finds the rows or gets an error, never an empty table."""


class TableWrite(Protocol):
    """An insert under way. Either :meth:`commit` publishes all rows at once, or :meth:`abort` leaves no
    trace."""

    def append(self, batch: pa.RecordBatch) -> None:
        """Add the rows of ``batch`` to the insert; the rows stay invisible until :meth:`commit`. The columns
        are in physical form and in the table's order. Safe to call from several threads."""

    def commit(self) -> int:
        """Publish all appended rows at once, and return their number."""

    def abort(self) -> None:
        """Discard all appended rows."""


class InsertTarget(Protocol):
    """A table or a directory into which rows can be inserted."""

    def begin_insert(
        self, *, overwrite: bool = False, time_zone: str = "UTC", token: str | None = None
    ) -> TableWrite:
        """Start an insert; writers of one target take turns at :meth:`TableWrite.commit`. ``overwrite``: the
        inserted rows replace all present rows, otherwise they come behind the present rows. ``time_zone``:
        the time zone of times that are written as text. ``token``: a text that the names of the written files
        have in common, None = each name is unique."""


@runtime_checkable
class WritableTable(Table, InsertTarget, Protocol):
    """A table that accepts inserts."""


class Connector(Protocol):
    """A maker of tables of a format (``CREATE TABLE ... USING format``)."""

    @property
    def format(self) -> str:
        """The name after USING, lower case."""

    def create(self, definition: "TableDefinition") -> Table:
        """Make the table of the definition, and the table's directory if the table owns its files. An error
        leaves nothing behind."""


class TableDefinition(msgspec.Struct, frozen=True):
    """The contents of a ``CREATE TABLE`` statement. ``schema`` None: the connector infers the schema from the
    data at ``location``. ``must_exist``: a missing location is an error even with a schema. ``catalogued``:
    the table has only the partition directories that INSERT or MSCK REPAIR TABLE registered, not all that
    exist at the location. ``time_zone``: the time zone of times in options.

    ``partitioned_by`` and ``clustered_by``: the column names of PARTITIONED BY and CLUSTERED BY. ``buckets``:
    the number of partitions of CLUSTERED BY, None = the default number. ``home``: the directory in which a
    table without ``location`` may make a directory of its own. ``files``: the files that may be opened for
    the table. ``memory``: the budget for the inference of the table's columns.
    """

    name: str
    schema: pa.Schema | None = None
    options: Mapping[str, str] = msgspec.field(default_factory=dict)
    location: str | None = None
    home: str | None = None
    partitioned_by: tuple[str, ...] = ()
    clustered_by: tuple[str, ...] = ()
    buckets: int | None = None
    must_exist: bool = False
    catalogued: bool = False
    time_zone: str = "UTC"
    files: FileAccess = EVERYWHERE
    memory: MemoryBudget = UNLIMITED


def insert_all(
    table: InsertTarget,
    batches: Iterable[pa.RecordBatch],
    *,
    overwrite: bool = False,
    time_zone: str = "UTC",
    token: str | None = None,
) -> int:
    """Append all batches (in physical form, columns in the table's order) in one insert, and return the
    number of rows. ``overwrite``: the inserted rows replace all present rows. ``time_zone``: the time zone of
    times that are written as text. ``token``: a text that the names of the written files have in common, None
    = each name is unique. If a batch raises an error, the insert is aborted and the table stays unchanged."""
    write = table.begin_insert(overwrite=overwrite, time_zone=time_zone, token=token)
    try:
        for batch in batches:
            write.append(batch)
    except BaseException:
        write.abort()
        raise
    return write.commit()


def superseded(table: str) -> OperationalError:
    """Return the error for a write to the table named ``table`` if ALTER TABLE ... ADD COLUMN has replaced
    the table since the statement began (SQLSTATE 40001: the statement may be run again)."""
    return OperationalError(
        f"`{table}` was altered while the statement ran; run the statement again", sqlstate="40001"
    )
