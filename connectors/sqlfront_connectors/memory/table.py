"""The memory table: immutable versions, published at once, replaced by inserts."""

import itertools
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Final

import pyarrow as pa

from sqlfront_connectors.base import (
    Partitioning,
    RowPath,
    RowValues,
    ScanPieces,
    ScanPlan,
    ScanRequest,
    TableDefinition,
    TableStatistics,
    WritableTable,
)
from sqlfront_connectors.memory.scan import MemoryScan, key_literals
from sqlfront_connectors.memory.segments.chunks import count_chunks, judged
from sqlfront_connectors.memory.segments.index import IndexDefinition
from sqlfront_connectors.memory.segments.merging import NO_ROWS, merged
from sqlfront_connectors.memory.segments.segment import RowNumbers, Segment, build_segments
from sqlfront_connectors.memory.segments.share import TableShare
from sqlfront_connectors.memory.segments.table_memory import TableMemory
from sqlfront_engine.jobs.query_run import QueryRun
from sqlfront_engine.memory import MemoryBudget
from sqlfront_values.errors import InternalError, ProgrammingError
from sqlfront_values.expressions import Expr
from sqlfront_values.partitioning.partitions import DEFAULT_PARTITIONS

_identities = itertools.count(1)
#: Inserts of more rows than this are put in order before the writer's turn.
_MANY_ROWS: Final = 4096


class MemorySnapshot:
    """One version of a memory table."""

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
        self._name = name
        self._schema = schema
        self._partitioning = partitioning
        self.segments = segments
        self._share = TableShare(schema, partitioning, segments, tuple(index.columns for index in indexes))
        self._resource = f"{identity}@{version}"
        self._version = version
        #: The table's secondary indexes.
        self.indexes = indexes
        self._statistics = self._share.statistics

    @property
    def version(self) -> int:
        """A number that grows by one with every commit."""
        return self._version

    @property
    def statistics(self) -> TableStatistics:
        """The exact number of rows; bounds and null counts, which include deleted rows until a merge removes
        the rows; and estimated distinct counts."""
        return self._statistics

    @property
    def keys(self) -> tuple[tuple[int, ...], ...]:
        """The clustering columns, and the columns of each index."""
        return self._share.keys

    def exact_filters(self, filters: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """Return no filter: the scan finds rows by keys only."""
        return ()

    def scan(self, request: ScanRequest) -> ScanPlan:
        """Scan the segments, by key where the request has keys."""
        placed = self._partitioning
        source = MemoryScan(
            self._resource,
            self._name,
            request.columns,
            None if placed is None else (placed.columns, placed.count),
            key_literals(request, self._schema),
            request.partitions,
            request.limit,
            by=request.by,
            keys_from=request.keys_from,
            filters=judged(request.filters) if request.keys is None else (),
        )
        return ScanPlan(source, {self._resource: self._share})

    def pieces(self, request: ScanRequest) -> tuple[ScanPieces, ...]:
        """Count the chunks that a scan without keys reads."""
        if request.keys is not None or request.keys_from is not None:
            return ()
        return (ScanPieces("chunks", *count_chunks(self.segments, judged(request.filters))),)

    def row_path(
        self, by: tuple[int, ...], columns: tuple[int, ...], query: QueryRun | None = None
    ) -> RowPath | None:
        """Return the path to rows by the clustering key or an index."""
        return self._share.path(by, columns)

    def small_rows(self, columns: tuple[int, ...], limit: int) -> Sequence[RowValues] | None:
        """Return all rows, if the version has at most ``limit`` rows and Python can represent the dates; else
        None."""
        rows = self._statistics.rows
        if rows is None or rows > limit:
            return None
        try:
            return self._share.all(columns)
        except (OverflowError, ValueError):
            return None


class MemoryTable:
    """A table held in this process (see :mod:`sqlfront_connectors.memory`)."""

    def __init__(
        self,
        name: str,
        schema: pa.Schema,
        partitioning: Partitioning | None = None,
        budget: MemoryBudget | None = None,
    ) -> None:
        """``budget``: the budget to charge for the rows, None = no budget."""
        self.name = name
        #: The accounting of the table's rows and indexes.
        self.memory = None if budget is None else TableMemory(budget)
        self._schema = schema
        self._partitioning = partitioning
        self._identity = f"memory:{next(_identities)}"
        self._writer = threading.RLock()
        # Invariant: replaced as a whole under _writer; readers take the reference once.
        self._current = MemorySnapshot(name, schema, partitioning, (), self._identity, 0)

    @property
    def schema(self) -> pa.Schema:
        """The logical column names and types."""
        return self._schema

    @property
    def format(self) -> str:
        """``memory``."""
        return "memory"

    @property
    def partitioning(self) -> Partitioning | None:
        """The partitioning by CLUSTERED BY, or None."""
        return self._partitioning

    def snapshot(self) -> MemorySnapshot:
        """Return the version that was published last."""
        return self._current

    def drop(self) -> None:
        """Do nothing: the rows go with their last reader. A reader that has just looked up the table's name
        still finds the rows."""

    def turn(self) -> AbstractContextManager[object]:
        """Return a context manager within which no other writer publishes."""
        return self._writer

    def begin_insert(self, *, overwrite: bool = False, time_zone: str = "UTC") -> "MemoryWrite":
        """Start an insert that its commit publishes. ``time_zone`` has no effect: the table stores no time as
        text."""
        return MemoryWrite(self, overwrite=overwrite)

    def publish(self, batches: list[pa.RecordBatch], *, overwrite: bool) -> int:
        """Publish the rows (after all present rows, or instead of them) as the next version, at once."""
        rows = sum(batch.num_rows for batch in batches)
        added: tuple[Segment, ...] = ()
        if rows > _MANY_ROWS:  # outside the lock: other writers need not wait
            added, batches = build_segments(batches, self._schema, self._partitioning), []
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
        """Publish ``version`` without the ``deleted`` rows (row numbers by the number of the segment) and
        with the batches' rows; publish nothing without deleted or new rows. The caller has the turn:
        ``version`` is still the current version."""
        if not deleted and not any(batch.num_rows for batch in batches):
            return
        with self._writer:
            if version is not self._current:
                raise InternalError(f"`{self.name}` has another version than the one to be changed")
            self._current = self._next(version.segments, batches, gone=deleted)

    def set_indexes(self, indexes: tuple[IndexDefinition, ...]) -> None:
        """Publish a version of the same rows with exactly these indexes; the indexes of large segments are
        built first. The caller has the turn."""
        with self._writer:
            self._current = self._next(self._current.segments, (), indexes)

    def _next(
        self,
        segments: Sequence[Segment],
        added: Sequence[pa.RecordBatch],
        indexes: tuple[IndexDefinition, ...] | None = None,
        gone: Mapping[int, RowNumbers] = NO_ROWS,
    ) -> MemorySnapshot:
        version = self._current.version + 1
        indexes = self._current.indexes if indexes is None else indexes
        columns = [index.columns for index in indexes]
        together = merged(segments, self._schema, self._partitioning, added, columns, gone)
        if self.memory is not None:
            present = self._current.segments  # counted at their publication
            changed = [now for now, before in itertools.zip_longest(together, present) if now is not before]
            self.memory.hold([segment for segment in changed if segment is not None], self.name)
        return MemorySnapshot(
            self.name,
            self._schema,
            self._partitioning,
            together,
            self._identity,
            version,
            indexes,
        )


class MemoryWrite:
    """An insert into a memory table under way."""

    def __init__(self, table: MemoryTable, *, overwrite: bool) -> None:
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
        """Publish all rows as one new version. Raises OperationalError if there is no memory for the
        version."""
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


#: A maker of empty memory tables of a name, schema and partitioning.
MakeTable = Callable[[str, pa.Schema, Partitioning | None], WritableTable]


class MemoryConnector:
    """The connector of ``USING memory [CLUSTERED BY (k, ...) [INTO n BUCKETS]]``. ``make`` makes the tables,
    by default in this process."""

    def __init__(self, make: MakeTable = MemoryTable) -> None:
        self._make = make

    @property
    def format(self) -> str:
        """``memory``."""
        return "memory"

    def create(self, definition: TableDefinition) -> WritableTable:
        """Make an empty table. Raises ProgrammingError for a clause that a memory table has no use for."""
        if definition.schema is None:
            raise ProgrammingError(f"table {definition.name}: USING memory needs columns or AS SELECT")
        if definition.location is not None or definition.options:
            raise ProgrammingError(f"table {definition.name}: USING memory takes no LOCATION and no OPTIONS")
        if definition.partitioned_by:
            raise ProgrammingError(
                f"table {definition.name}: memory tables are placed by CLUSTERED BY, not PARTITIONED BY"
            )
        return self._make(definition.name, definition.schema, partitioning_of(definition))


def partitioning_of(definition: TableDefinition) -> Partitioning | None:
    """Return the partitioning that CLUSTERED BY asks for."""
    if not definition.clustered_by:
        return None
    assert definition.schema is not None
    names = [name.lower() for name in definition.schema.names]
    missing = [name for name in definition.clustered_by if name.lower() not in names]
    if missing:
        raise ProgrammingError(
            f"table {definition.name}: CLUSTERED BY names no column `{missing[0]}`; "
            f"its columns are {', '.join(definition.schema.names)}"
        )
    columns = tuple(names.index(name.lower()) for name in definition.clustered_by)
    nested = [column for column in columns if pa.types.is_nested(definition.schema.field(column).type)]
    if nested:
        raise ProgrammingError(
            f"table {definition.name}: `{definition.schema.field(nested[0]).name}` can't be a clustering key"
        )
    return Partitioning(columns, definition.buckets or DEFAULT_PARTITIONS)
