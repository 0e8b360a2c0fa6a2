"""The contract of a connector: what a table is to the planner and to a job.

A third party implements :class:`Table` (and :class:`WritableTable` where rows can be added). The planner
reads ``schema``, ``partitioning`` and ``statistics``; a query pins one :class:`Snapshot` of each table at its
start and reads only that. ``Snapshot.scan`` turns a :class:`ScanRequest` into a :class:`ScanPlan`: a source
processor for the DAG and the objects that it needs at run time.
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
from sqlfront_values.expressions import Expr


class ColumnStatistics(msgspec.Struct, frozen=True):
    """What is known of one column; None = unknown. ``minimum``/``maximum`` are Python values of the logical
    type."""

    distinct: int | None = None
    nulls: int | None = None
    minimum: object = None
    maximum: object = None


class TableStatistics(msgspec.Struct, frozen=True):
    """Row and byte counts (None = unknown) and per-column knowledge by column name."""

    rows: int | None = None
    size: int | None = None
    columns: Mapping[str, ColumnStatistics] = msgspec.field(default_factory=dict)


class Partitioning(msgspec.Struct, frozen=True):
    """Rows are placed by ``pmod(murmur3(key columns, 42), count)``; ``columns`` are ordinals of the table's
    schema."""

    columns: tuple[int, ...]
    count: int


class ScanRequest(msgspec.Struct, frozen=True):
    """What a query wants of a table.

    ``columns``: ordinals of the table's schema, in the order of the output (may be empty: only the row count
    matters). ``filters``: conjuncts over the *table's* ordinals that the source may use to skip data. The
    source must apply exactly those that :meth:`Snapshot.exact_filters` returned; others are only hints (row
    groups, partition directories). They may hold :class:`~sqlfront_values.expressions.Parameter` at planning
    time, never at run time. ``partitions``: required partition ids, None = all.
    ``limit``: no more than that many rows are needed, None = all.

    ``keys``: exactly the rows are wanted whose columns ``by`` have one of these values, None = all rows. They
    are only given to a snapshot of which :class:`KeyAccess` names ``by``. Values are equal as SQL's ``<=>``
    says: null is a key, NaN equals NaN, -0.0 is 0.0.

    ``keys_from``: the keys are known at run time only: the source has an input, and these columns of its rows
    are the keys' values, in the order of ``by``. A row with a null among them gives no key. All rows with one
    of the keys are wanted; others do no harm.
    """

    columns: tuple[int, ...]
    filters: tuple[Expr, ...] = ()
    partitions: tuple[int, ...] | None = None
    limit: int | None = None
    by: tuple[int, ...] = ()
    keys: "tuple[Key, ...] | None" = None
    keys_from: tuple[int, ...] | None = None


class Location(Enum):
    """Where in a cluster the rows of a scan can be read."""

    HERE = "here"
    """On the member that coordinates the job, which has brought the resources."""
    ANYWHERE = "anywhere"
    """On every member; each instance reads its share by its global index."""
    SPREAD = "spread"
    """Each member has a share of the rows and reads that; all have to take part."""


class ScanPlan(msgspec.Struct, frozen=True):
    """A source for a vertex of the DAG, and the objects to hand to the job as
    ``ProcessorContext.resources`` on the member that coordinates it.

    ``location``: where the source can run; what is not HERE needs none of the resources elsewhere.
    ``placed``: each instance reads the rows of its own partitions of that partitioning, None = of any.
    """

    source: Processor
    resources: Mapping[str, object] = msgspec.field(default_factory=dict)
    location: Location = Location.HERE
    placed: Partitioning | None = None


@runtime_checkable
class Snapshot(Protocol):
    """One version of a table; immutable; reading it is never disturbed by writers."""

    @property
    def version(self) -> int:
        """Grows with every published change of the table."""

    @property
    def statistics(self) -> TableStatistics:
        """Statistics of this version, cheap to get."""

    def exact_filters(self, filters: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """Those of the conjuncts that a scan applies completely, so that the plan needs no filter for
        them."""

    def scan(self, request: ScanRequest) -> ScanPlan:
        """A source that emits the wanted columns in physical form, with exactly the rows of this version that
        pass the exact filters."""


#: A value for each of the columns that rows are asked by, of the column's own type and as a Literal holds it;
#: None asks for null, which is a key like any other.
Key = tuple[object, ...]
#: A row as Python values, each as a Literal of the column's type holds it.
RowValues = tuple[object, ...]


@runtime_checkable
class KeyAccess(Protocol):
    """What a snapshot may offer besides: scans that read the rows of given keys and no others, see
    :class:`ScanRequest`."""

    @property
    def keys(self) -> tuple[tuple[int, ...], ...]:
        """The columns (ordinals of the table, in the order of a key's values) by which rows can be asked for
        in :attr:`ScanRequest.by`, those first that place the rows."""


#: A path finds up to that many rows at a time.
MOST_FOUND: Final = 10_000


class TooManyRows(Exception):
    """There are more rows than are worth being read one by one."""


class Pieces(msgspec.Struct, frozen=True):
    """How many pieces of a table's data a scan reads. ``what`` they are: ``chunks``, ``files``,
    ``row groups``."""

    what: str
    read: int
    total: int


@runtime_checkable
class PieceWise(Protocol):
    """What a snapshot may offer besides: it tells which part of its data a scan skips."""

    def pieces(self, request: ScanRequest) -> tuple[Pieces, ...]:
        """The pieces that a scan for the request reads, without reading them. Without parameters."""


class RowPath(Protocol):
    """Finds rows of one version of a table by the values of some of its columns."""

    def find(self, keys: Sequence[Key]) -> Sequence[Sequence[RowValues]]:
        """For each key, in their order, its rows. OverflowError or ValueError for a date or timestamp beyond
        Python's years, TooManyRows."""


class RowAccess(KeyAccess, Protocol):
    """What a snapshot may offer besides: its rows as Python values, for queries that read a few of them."""

    def row_path(
        self, by: tuple[int, ...], columns: tuple[int, ...], query: QueryRun | None = None
    ) -> RowPath | None:
        """The way to ``columns`` by the values of ``by`` (both ordinals of the table); None if there is no
        quick one. ``query``: whose rows they are; where members are waited for, that ends with the query."""

    def small_rows(self, columns: tuple[int, ...], limit: int) -> Sequence[RowValues] | None:
        """All rows, if there are at most ``limit`` and they are here; else None."""


def is_repeatable(snapshot: Snapshot) -> bool:
    """Whether each scan gives the same rows; a snapshot whose rows come from elsewhere may say otherwise, by
    an attribute ``repeatable``."""
    return bool(getattr(snapshot, "repeatable", True))


def row_access(snapshot: Snapshot) -> RowAccess | None:
    """The snapshot as one that offers rows, None if it doesn't."""
    return cast(RowAccess, snapshot) if hasattr(snapshot, "row_path") else None


@runtime_checkable
class Table(Protocol):
    """A named relation that queries can read."""

    @property
    def schema(self) -> pa.Schema:
        """Logical column names and types; never changes during the table's life."""

    @property
    def format(self) -> str:
        """The connector's registered name: ``memory``, ``parquet``, ``arrow``, ..."""

    @property
    def partitioning(self) -> Partitioning | None:
        """How rows are placed, or None."""

    def snapshot(self) -> Snapshot:
        """The current version; the caller reads that for as long as it holds it."""

    def drop(self) -> None:
        """Free what the table owns (its memory; managed files). Snapshots taken before stay readable. A
        reader who has looked the table's name up before finds its rows or an error, not an empty table."""


class Write(Protocol):
    """One insert under way. Either :meth:`commit` publishes everything at once, or :meth:`abort` leaves no
    trace."""

    def append(self, batch: pa.RecordBatch) -> None:
        """Take rows in physical form and the table's column order. May be called from several threads."""

    def commit(self) -> int:
        """Publish; returns the number of rows."""

    def abort(self) -> None:
        """Forget everything appended."""


@runtime_checkable
class WritableTable(Table, Protocol):
    """A table that takes rows."""

    def begin_insert(self, *, overwrite: bool = False, time_zone: str = "UTC") -> Write:
        """Start an insert; writers of one table take turns at :meth:`Write.commit`. ``time_zone``: that of
        times that are written as texts."""


class Connector(Protocol):
    """Makes tables of one format (``CREATE TABLE ... USING format``)."""

    @property
    def format(self) -> str:
        """The name after USING, lower case."""

    def create(self, definition: "TableDefinition") -> Table:
        """Make (and where it owns its files, lay out) a table; raises without leaving anything behind."""


class TableDefinition(msgspec.Struct, frozen=True):
    """What ``CREATE TABLE`` said. ``schema`` None: the connector infers it from the data at ``location``.
    ``must_exist``: a location that isn't there is an error whatever the schema. ``catalogued``: of partition
    directories those count that the table was told of. ``time_zone``: that of times in options.

    ``home`` is the directory in which a table without ``location`` may make one of its own. ``files``: those
    that may be opened for the table. ``memory``: what the search for its columns may take.
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
    table: WritableTable,
    batches: Iterable[pa.RecordBatch],
    *,
    overwrite: bool = False,
    time_zone: str = "UTC",
) -> int:
    """Append all batches in one insert; all or nothing. Returns the number of rows."""
    write = table.begin_insert(overwrite=overwrite, time_zone=time_zone)
    try:
        for batch in batches:
            write.append(batch)
    except BaseException:
        write.abort()
        raise
    return write.commit()
