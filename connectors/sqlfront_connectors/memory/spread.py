"""Memory tables that are spread over the members of a cluster.

A table is a sequence of versions, and each member holds its share of each version in its
:class:`~sqlfront_connectors.memory.store.TableStore`. A query names the version that it was planned with, so
it reads one version everywhere without any message. Writing is a job: the rows go to the members of their
keys, each makes its share of the new version there, and one step here publishes it. What fails before that
step leaves shares that nobody names; they are freed.
"""

import secrets
import threading
import weakref
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from typing import Final, Protocol, Self

import pyarrow as pa

from sqlfront_connectors.base import (
    Location,
    Partitioning,
    ScanPlan,
    ScanRequest,
    TableStatistics,
)
from sqlfront_connectors.memory.keys import key_filters
from sqlfront_connectors.memory.share import ShareScan, StoreShare
from sqlfront_connectors.memory.share_statistics import (
    ShareStatistics,
    appended,
    merged,
    nothing,
    read_reports,
    table_statistics,
)
from sqlfront_engine.dag import DAG, Edge, OnlyOn
from sqlfront_engine.expressions import Expr
from sqlfront_engine.processors.held_rows import HeldBatches, HeldRows
from sqlfront_engine.processors.sink import ResultSink
from sqlfront_engine.processors.values import Values

_ROWS: Final = "rows"


class Members(Protocol):
    """What a spread table asks of the cluster. No method is called with a lock held that a job could
    need."""

    def run(self, dag: DAG, resources: Mapping[str, object]) -> Iterable[pa.RecordBatch]:
        """The result of a job on all members, coordinated here; reading it to its end ends the job."""

    def free(self, key: str) -> None:
        """Have all members forget their shares of a version, soon; called by finalizers, too."""


class SpreadSnapshot:
    """One version of a spread table. Its shares stay where they are for as long as somebody has this object,
    as every job does that reads them. ``key`` None: the version without rows that has no shares."""

    def __init__(
        self,
        name: str,
        schema: pa.Schema,
        partitioning: Partitioning | None,
        key: str | None,
        version: int,
        known: ShareStatistics,
    ) -> None:
        self.key = key
        self.known = known
        self._name = name
        self._schema = schema
        self._partitioning = partitioning
        self._version = version
        self._statistics = table_statistics(known, schema)

    @property
    def version(self) -> int:
        """Grows with every commit."""
        return self._version

    @property
    def statistics(self) -> TableStatistics:
        """Exact counts and bounds; estimated distinct counts."""
        return self._statistics

    def exact_filters(self, filters: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """The conjuncts that give the whole clustering key, or none."""
        return () if self.key is None else key_filters(self._partitioning, filters)[0]

    def scan(self, request: ScanRequest) -> ScanPlan:
        """A scan of every member's share, by key where the filters give it."""
        if self.key is None:
            return ScanPlan(Values(pa.schema([self._schema.field(place) for place in request.columns]), ()))
        placed = self._partitioning
        _, key = key_filters(placed, request.filters)
        source = ShareScan(
            self.key,
            self._name,
            request.columns,
            None if placed is None else (placed.columns, placed.count),
            key,
            request.partitions,
            request.limit,
        )
        return ScanPlan(source, {f"{self.key} in use": self}, Location.SPREAD, placed)


class SpreadTable:
    """A memory table with a share on each member."""

    def __init__(
        self, name: str, schema: pa.Schema, partitioning: Partitioning | None, members: Members
    ) -> None:
        self.name = name
        self.members = members
        self._schema = schema
        self._partitioning = partitioning
        self._identity = f"memory:{secrets.token_hex(8)}"
        self._writer = threading.RLock()
        # Versions are numbered also if they fail, so that what is left of one is never taken for another.
        self._begun = 0
        # Invariant: replaced as a whole under _writer; readers take the reference once.
        self._current = self._snapshot(None, nothing(len(schema)))

    def _snapshot(self, key: str | None, known: ShareStatistics) -> SpreadSnapshot:
        made = SpreadSnapshot(self.name, self._schema, self._partitioning, key, self._begun, known)
        if key is not None:
            weakref.finalize(made, self.members.free, key).atexit = False
        return made

    @property
    def schema(self) -> pa.Schema:
        """Logical column names and types."""
        return self._schema

    @property
    def format(self) -> str:
        """``memory``."""
        return "memory"

    @property
    def partitioning(self) -> Partitioning | None:
        """By CLUSTERED BY, or None."""
        return self._partitioning

    def snapshot(self) -> SpreadSnapshot:
        """The version that was published last."""
        return self._current

    def drop(self) -> None:
        """Let go of the rows; snapshots keep what they hold."""
        with self._writer:
            self._begun += 1
            self._current = self._snapshot(None, nothing(len(self._schema)))

    def turn(self) -> AbstractContextManager[object]:
        """While it lasts, nobody else writes."""
        return self._writer

    def next_version(self, *, overwrite: bool = False) -> "NextVersion":
        """The writer's turn, as a context manager: from its entry to its exit nobody else writes."""
        return NextVersion(self, overwrite=overwrite)

    def begin_insert(self, *, overwrite: bool = False) -> "SpreadWrite":
        """An insert that is published by its commit."""
        return SpreadWrite(self, overwrite=overwrite)


class NextVersion:
    """A version in the making. ``processor`` makes the members' shares of it, from rows partitioned by
    ``keys``; :meth:`publish` makes it the table's current one. Left without that, it never was."""

    def __init__(self, table: SpreadTable, *, overwrite: bool) -> None:
        self._table = table
        self._overwrite = overwrite
        self._published = False
        self.processor: StoreShare

    @property
    def keys(self) -> tuple[int, ...]:
        """The ordinals of the clustering columns; none if there are none."""
        partitioning = self._table.partitioning
        return () if partitioning is None else partitioning.columns

    def __enter__(self) -> Self:
        table = self._table
        table._writer.acquire()
        table._begun += 1
        placed = table.partitioning
        self.processor = StoreShare(
            table.name,
            f"{table._identity}@{table._begun}",
            None if self._overwrite else table._current.key,
            table.schema,
            None if placed is None else (placed.columns, placed.count),
        )
        return self

    def publish(self, reports: Iterable[pa.RecordBatch]) -> int:
        """Let the new version be read, once all shares have been made; ``reports`` is what the members said.
        Returns the number of rows written."""
        table, width = self._table, len(self._table.schema)
        added = merged(read_reports(reports), width, table.partitioning)
        before = nothing(width) if self._overwrite else table._current.known
        table._current = table._snapshot(self.processor.key, appended(before, added))
        self._published = True
        return added.rows

    def __exit__(self, *_: object) -> None:
        self._table._writer.release()
        if not self._published:
            self._table.members.free(self.processor.key)


class SpreadWrite:
    """Rows on their way into a spread table, kept here until the commit sends them to their members."""

    def __init__(self, table: SpreadTable, *, overwrite: bool) -> None:
        self._table = table
        self._overwrite = overwrite
        self._batches: list[pa.RecordBatch] = []

    def append(self, batch: pa.RecordBatch) -> None:
        """Keep the batch until the commit."""
        self._batches.append(batch)

    def commit(self) -> int:
        """Publish all rows as one new version."""
        with self._table.next_version(overwrite=self._overwrite) as version:
            rows = HeldBatches(tuple(self._batches))
            dag = _storing(self._table, version)
            return version.publish(self._table.members.run(dag, {_ROWS: rows}))

    def abort(self) -> None:
        """Forget the rows."""
        self._batches.clear()


def _storing(table: SpreadTable, version: NextVersion) -> DAG:
    """Rows of the coordinator to the members that store them."""
    dag = DAG()
    columns = tuple(range(len(table.schema)))
    source = dag.vertex("rows", HeldRows(_ROWS, table.name, columns), 1, OnlyOn())
    store = dag.vertex(f"store {table.name}", version.processor, 1)
    edge = Edge.between(source, store).distributed()
    dag.edge(edge.partitioned(version.keys) if version.keys else edge)
    result = dag.vertex("result", ResultSink(), 1)
    return dag.edge(Edge.between(store, result).to_one().distribute_to())
