"""Memory tables that are spread over the members of a cluster.

A table is a sequence of versions, and each member holds its share of each version in its
:class:`~sqlfront_connectors.memory.store.TableStore`. A query names the version that it was planned with, so
it reads one version everywhere without any message. Writing is a job: the rows go to the members of their
keys, each makes its share of the new version there, and one step publishes it
(:meth:`Members.publish`). What fails before that step leaves shares that nobody names; they are freed.

A version knows how the partitions were dealt when it was made. Where that has changed since, its shares lie
elsewhere than the jobs' partitions: as long as all their holders are there the rows are read where they are,
and placed anew by the next write; if a holder is lost, the table says which partitions are gone.
"""

import secrets
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import Enum
from functools import partial
from typing import Final, Protocol, Self

import msgspec
import pyarrow as pa

from sqlfront_cluster.members.member_list import NOBODY, MemberList
from sqlfront_connectors.base import (
    Location,
    Partitioning,
    Pieces,
    RowPath,
    RowValues,
    ScanPlan,
    ScanRequest,
    TableStatistics,
)
from sqlfront_connectors.memory.chunk_counts import decode_count, encode_count
from sqlfront_connectors.memory.chunks import judged
from sqlfront_connectors.memory.index import IndexDefinition, key_columns
from sqlfront_connectors.memory.lookup import NO_KEYS, Lookup
from sqlfront_connectors.memory.scan import key_literals
from sqlfront_connectors.memory.share import ChangeShare, ShareScan, StoreShare
from sqlfront_connectors.memory.share_statistics import (
    ShareStatistics,
    merged,
    nothing,
    read_reports,
    table_statistics,
)
from sqlfront_connectors.memory.spread_rows import SpreadPath, Way
from sqlfront_connectors.memory.store import STORE
from sqlfront_engine.dag import DAG, Edge, OnlyOn, Vertex
from sqlfront_engine.forks import when_forgotten
from sqlfront_engine.jobs.query_run import QueryRun
from sqlfront_engine.processors.sink import ResultSink
from sqlfront_engine.processors.sources.held_rows import HeldBatches, HeldRows
from sqlfront_engine.processors.sources.values import Values
from sqlfront_values.errors import OperationalError
from sqlfront_values.expressions import Expr

_ROWS: Final = "rows"
#: The SQLSTATE of reading a table of which parts are lost for good.
LOST: Final = "58030"
#: Of how many pairs of keys and columns a version remembers the way; then it begins anew.
_MOST_WAYS: Final = 256
#: How many partitions an error names.
_NAMED: Final = 10


class Members(Protocol):
    """What a spread table asks of the cluster. No method is called with a lock held that a job could
    need."""

    @property
    def member_list(self) -> MemberList:
        """Who is in the cluster now, and how the partitions are dealt."""

    def run(self, dag: DAG, resources: Mapping[str, object]) -> Iterable[pa.RecordBatch]:
        """The result of a job on all members, coordinated here; reading it to its end ends the job."""

    def begin_turn(self, table: "SpreadTable") -> str:
        """Wait until no other session writes to the table; returns a text that no other turn has."""

    def end_turn(self, table: "SpreadTable") -> None:
        """Let others write; shares that were made in this turn and not published may be freed. Nothing if
        the turn was not taken."""

    def publish(self, table: "SpreadTable", version: "TableVersion") -> None:
        """Make it the table's current version for all sessions at once, unless somebody else has changed the
        table since this turn began: OperationalError then. Calls :meth:`SpreadTable.adopt`."""

    def ask(
        self, service: str, questions: Mapping[str, bytes], query: QueryRun | None = None
    ) -> Mapping[str, bytes | memoryview]:
        """See :meth:`sqlfront_cluster.members.requests.Requests.ask`."""

    def dropped(self, table: "SpreadTable") -> None:
        """Nobody is to read the table any more."""

    def release(self, key: str) -> None:
        """This process reads a version no more, or never published it; called by finalizers, too."""


class TableVersion(msgspec.Struct, frozen=True):
    """One version of a table's rows. ``key``: under which its shares are found, None = it has no rows and no
    shares. ``dealt`` and ``owners``: of the member list with which the shares were made. ``indexes``: those
    that every share has."""

    number: int
    key: str | None
    known: ShareStatistics
    dealt: int = 0
    owners: tuple[str, ...] = ()
    indexes: tuple[IndexDefinition, ...] = ()


class SpreadSnapshot:
    """One version of a spread table. Its shares stay where they are for as long as somebody has this object,
    as every job does that reads them."""

    def __init__(self, table: "SpreadTable", version: TableVersion) -> None:
        self.held = version
        self.members = table.members
        # Not the table itself, which has this object: both would wait for the garbage collector.
        self.name, self.schema = table.name, table.schema
        self._reloaded, self._partitioning = table.reloaded, table.partitioning
        self._statistics = table_statistics(version.known, table.schema)
        self._ways: dict[tuple[tuple[int, ...], tuple[int, ...]], Way] = {}

    @property
    def version(self) -> int:
        """Grows with every commit."""
        return self.held.number

    @property
    def statistics(self) -> TableStatistics:
        """Exact counts and bounds; estimated distinct counts."""
        return self._statistics

    @property
    def keys(self) -> tuple[tuple[int, ...], ...]:
        """The clustering columns, and those of indexes."""
        return key_columns(self._partitioning, self.held.indexes)

    @property
    def indexes(self) -> tuple[IndexDefinition, ...]:
        """The table's secondary indexes."""
        return self.held.indexes

    def exact_filters(self, filters: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """None: rows are found by keys."""
        return ()

    def scan(self, request: ScanRequest) -> ScanPlan:
        """A scan of every member's share, by key where the request has keys.

        OperationalError if the members that held some of the rows are gone.
        """
        held, placed = self.held, self._partitioning
        if held.key is None:
            return ScanPlan(Values(pa.schema([self.schema.field(place) for place in request.columns]), ()))
        members = self.members.member_list
        in_place = held.dealt == members.dealt
        if not in_place:
            self.check_complete()
        source = ShareScan(
            held.key,
            self.name,
            request.columns,
            None if placed is None else (placed.columns, placed.count),
            key_literals(request, self.schema),
            request.partitions,
            request.limit,
            by=request.by,
            keys_from=request.keys_from,
            filters=judged(request.filters) if request.keys is None else (),
            dealt=members.dealt,
            holders=None if in_place else tuple(dict.fromkeys(held.owners)),
        )
        resources = {f"{held.key} in use": self}
        return ScanPlan(source, resources, Location.SPREAD, placed if in_place else None)

    def pieces(self, request: ScanRequest) -> tuple[Pieces, ...]:
        """The chunks that a scan reads that has no keys, as their owners say."""
        held = self.held
        if request.keys is not None or request.keys_from is not None:
            return ()
        if held.key is None:
            return (Pieces("chunks", 0, 0),)
        question = encode_count(held.key, self.name, self.members.member_list.dealt, request.filters)
        answers = self.members.ask(STORE, dict.fromkeys(held.owners, question))
        counts = [decode_count(answer) for answer in answers.values()]
        return (Pieces("chunks", sum(each.read for each in counts), sum(each.total for each in counts)),)

    def row_path(
        self, by: tuple[int, ...], columns: tuple[int, ...], query: QueryRun | None = None
    ) -> RowPath | None:
        """The way to rows by the clustering key or an index, as long as they lie with their partitions'
        owners. The ordinal behind the table's is that of a row's number on its member."""
        way = self._ways.get((by, columns))
        if way is None:
            way = self._way(by, columns)
            if way is None:
                return None
        if way.question.dealt != self.members.member_list.dealt:
            return None
        return SpreadPath(self, way, query)

    def _way(self, by: tuple[int, ...], columns: tuple[int, ...]) -> Way | None:
        held = self.held
        if held.key is None or by not in self.keys:
            return None
        if len(self._ways) >= _MOST_WAYS:
            self._ways.clear()
        numbered = len(self.schema) in columns
        question = Lookup(held.key, self.name, held.dealt, by, columns, NO_KEYS, numbered)
        way = self._ways[by, columns] = Way(self.schema, self._partitioning, question)
        return way

    def small_rows(self, columns: tuple[int, ...], limit: int) -> Sequence[RowValues] | None:
        """None: they aren't here, unless there are none."""
        return () if self.held.key is None else None

    def check_complete(self) -> None:
        """Raise OperationalError unless all members are there that hold a part of the version."""
        if self.held.key is None:
            return
        present = {*self.members.member_list.data_members} & {*self.members.member_list.owners}
        gone = [number for number, owner in enumerate(self.held.owners) if owner not in present]
        if gone:
            raise _gone(self.name, self.held, gone, reloaded=self._reloaded)


class SpreadTable:
    """A memory table with a share on each member.

    ``identity``: its name in the cluster, which no other table has or had. ``reloaded``: if members with
    parts of it are lost somebody fills it anew from where its rows came from.
    """

    def __init__(
        self,
        name: str,
        schema: pa.Schema,
        partitioning: Partitioning | None,
        members: Members,
        identity: str | None = None,
    ) -> None:
        self.name = name
        self.members = members
        self.identity = identity or f"memory:{secrets.token_hex(8)}"
        self.reloaded = False
        self._schema = schema
        self._partitioning = partitioning
        self._writer = threading.RLock()
        self._turns, self._turn, self._begun = 0, "", 0
        # Held for a moment, by the thread that hears of changes, too.
        self._adopting = threading.RLock()
        # Invariant: replaced as a whole; readers take the reference once.
        self._current = SpreadSnapshot(self, TableVersion(0, None, nothing(len(schema))))

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

    def adopt(self, version: TableVersion) -> None:
        """This version has been published; who publishes it may hear of it elsewhere, too."""
        with self._adopting:
            if version.number > self._current.held.number:
                self._current = made = SpreadSnapshot(self, version)
                if version.key is not None:
                    when_forgotten(made, self.members.release, version.key).atexit = False

    def drop(self) -> None:
        """No name stands for the table any more. The rows go with the last who may read them: one who has
        just looked the name up is to find them, not nothing."""
        self.members.dropped(self)

    @property
    def in_place(self) -> bool:
        """Whether the rows lie where jobs look for their partitions."""
        held = self._current.held
        return held.key is None or held.dealt == self.members.member_list.dealt

    @contextmanager
    def turn(self) -> Iterator[str]:
        """While it lasts, nobody else writes; the text is that of :meth:`Members.begin_turn`."""
        with self._writer:
            self._turns += 1
            try:
                if self._turns == 1:
                    self._turn = self.members.begin_turn(self)
                yield self._turn
            finally:
                self._turns -= 1
                if not self._turns:
                    self.members.end_turn(self)

    def next_version(self, how: "How", indexes: tuple[IndexDefinition, ...] | None = None) -> "NextVersion":
        """The writer's turn, as a context manager: from its entry to its exit nobody else writes.
        ``indexes``: those of the new version, None = those of the present one."""
        return NextVersion(self, how, indexes)

    def set_indexes(self, indexes: tuple[IndexDefinition, ...]) -> None:
        """Publish a version of the same rows with these indexes and no others, which all members have made
        before."""
        with self.turn():
            if not self.in_place:
                place_anew(self)
            with self.next_version(How.APPEND, indexes) as version:
                version.publish(self.members.run(_storing(self, version), {_ROWS: HeldBatches(())}))

    def begin_insert(self, *, overwrite: bool = False, time_zone: str = "UTC") -> "SpreadWrite":
        """An insert that is published by its commit. Nothing of it is text."""
        return SpreadWrite(self, overwrite=overwrite)

    def next_key(self, turn: str) -> str:
        """The key of a version to be made in this turn. Versions have new ones also if they fail, so that
        what is left of one is never taken for another."""
        self._begun += 1
        return f"{self.identity}@{turn}.{self._begun}"


class How(Enum):
    """What becomes of the rows of the version before, and what the rows are that come."""

    APPEND = "append"
    """They stay; others come behind them."""
    OVERWRITE = "overwrite"
    """Others take the place of all of them."""
    DELETE = "delete"
    """Those go whose numbers come."""
    UPDATE = "update"
    """Those go whose numbers come behind other rows, which take their place."""


class NextVersion:
    """A version in the making. ``processor`` makes the members' shares of it, from rows partitioned by
    ``keys``; :meth:`publish` makes it the table's current one. Left without that, it never was."""

    def __init__(
        self, table: SpreadTable, how: How, indexes: tuple[IndexDefinition, ...] | None = None
    ) -> None:
        """``indexes``: those of the new version, None = those of the present one."""
        self._indexes = indexes
        self.table = table
        self._how = how
        self._turn = table.turn()
        #: The version that it follows, and the members that have its shares.
        self.base: TableVersion
        self.members: MemberList
        self.processor: StoreShare

    @property
    def keys(self) -> tuple[int, ...]:
        """The ordinals of the clustering columns; none if there are none."""
        partitioning = self.table.partitioning
        return () if partitioning is None else partitioning.columns

    def __enter__(self) -> Self:
        table = self.table
        turn = self._turn.__enter__()
        try:
            current = table.snapshot()
            self.base = current.held
            self.members = table.members.member_list
            if self._how is not How.OVERWRITE:
                current.check_complete()
                if not table.in_place:
                    raise OperationalError(
                        f"the partitions of `{table.name}` have moved; run the statement again",
                        sqlstate="40001",
                    )
            self.processor = self._processor(turn)
        except BaseException:
            self._turn.__exit__(None, None, None)
            raise
        return self

    def publish(self, reports: Iterable[pa.RecordBatch]) -> int:
        """Let the new version be read, once all shares have been made; ``reports`` is what the members said.
        Returns the number of rows written."""
        shares, written = read_reports(reports)
        self.publish_shares(shares)
        return written

    def publish_shares(self, shares: Sequence[ShareStatistics]) -> None:
        """The same with what was said of each share."""
        table = self.table
        known = merged(shares, len(table.schema), table.partitioning)
        version = TableVersion(
            self.base.number + 1,
            self.processor.key,
            known,
            self.members.dealt,
            self.members.owners,
            self._made_indexes,
        )
        table.members.publish(table, version)

    def _processor(self, turn: str) -> StoreShare:
        table, placed = self.table, self.table.partitioning
        make: Callable[..., StoreShare] = StoreShare
        if self._how in (How.DELETE, How.UPDATE):
            make = partial(ChangeShare, stores=self._how is How.UPDATE)
        return make(
            table.name,
            table.next_key(turn),
            None if self._how is How.OVERWRITE else self.base.key,
            table.schema,
            None if placed is None else (placed.columns, placed.count),
            self.members.dealt,
            tuple(index.columns for index in self._made_indexes),
        )

    @property
    def _made_indexes(self) -> tuple[IndexDefinition, ...]:
        return self.base.indexes if self._indexes is None else self._indexes

    def __exit__(self, *_: object) -> None:
        # Looked at while nobody else publishes: an interrupt may have come right after this one did.
        published = self.table.snapshot().held.key == self.processor.key
        self._turn.__exit__(None, None, None)
        if not published:
            self.table.members.release(self.processor.key)


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
        with self._table.turn():
            if not self._overwrite and not self._table.in_place:
                place_anew(self._table)
            with self._table.next_version(How.OVERWRITE if self._overwrite else How.APPEND) as version:
                rows = HeldBatches(tuple(self._batches))
                dag = _storing(self._table, version)
                return version.publish(self._table.members.run(dag, {_ROWS: rows}))

    def abort(self) -> None:
        """Forget the rows."""
        self._batches.clear()


def place_anew(table: SpreadTable) -> None:
    """Make a version of the same rows whose shares lie as the partitions are dealt now."""
    with table.turn():
        columns = tuple(range(len(table.schema)))
        planned = table.snapshot().scan(ScanRequest(columns))
        if table.in_place:
            return
        with table.next_version(How.OVERWRITE) as version:
            dag = DAG()
            source = dag.vertex(f"scan {table.name}", planned.source, 1)
            version.publish(table.members.run(stored(dag, source, table, version), planned.resources))


def _storing(table: SpreadTable, version: NextVersion) -> DAG:
    """Rows of the coordinator to the members that store them."""
    dag = DAG()
    columns = tuple(range(len(table.schema)))
    source = dag.vertex("rows", HeldRows(_ROWS, table.name, columns), 1, OnlyOn())
    return stored(dag, source, table, version)


def stored(dag: DAG, source: Vertex, table: SpreadTable, version: NextVersion, *, here: bool = False) -> DAG:
    """The DAG with all that comes of a vertex stored; ``here``: the rows are on their members already."""
    store = dag.vertex(f"store {table.name}", version.processor, 1)
    edge = Edge.between(source, store)
    if not here:
        edge = edge.distributed()
        edge = edge.partitioned(version.keys) if version.keys else edge
    dag.edge(edge)
    result = dag.vertex("result", ResultSink(), 1)
    return dag.edge(Edge.between(store, result).to_one().distribute_to())


def _gone(table: str, version: TableVersion, partitions: list[int], *, reloaded: bool) -> OperationalError:
    """The error for a table of which parts are lost."""
    named = ", ".join(map(str, partitions[:_NAMED])) + (", ..." if len(partitions) > _NAMED else "")
    lost = ", ".join(sorted({version.owners[number] or NOBODY for number in partitions}))
    what = (
        f"partitions {named} ({len(partitions)} of {len(version.owners)}) of `{table}` were lost with {lost}"
    )
    if reloaded:
        return OperationalError(
            f"{what}; the table is loaded again from its source: run the query again", sqlstate="40001"
        )
    return OperationalError(
        f"{what}, and it has no source to be loaded from again; overwrite or drop it", sqlstate=LOST
    )
