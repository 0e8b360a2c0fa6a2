"""One version of a spread table, as queries read it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Final, Protocol

import pyarrow as pa

from sqlfront_cluster.members.protocol.member_list import MemberList
from sqlfront_connectors.base import (
    Location,
    Partitioning,
    RowPath,
    RowValues,
    ScanPlan,
    ScanRequest,
)
from sqlfront_connectors.memory.keyed_table import KeyedSnapshot
from sqlfront_connectors.memory.segments.share import key_columns
from sqlfront_connectors.memory.spread.backups import (
    HeldShare,
    held_shares,
    readable,
    readers_of,
)
from sqlfront_connectors.memory.spread.chunk_counts import decode_count, encode_count
from sqlfront_connectors.memory.spread.lookup import NO_KEYS, Lookup
from sqlfront_connectors.memory.spread.processors import ShareScan
from sqlfront_connectors.memory.spread.row_path import MemberRequests, RowRequest, SpreadPath
from sqlfront_connectors.memory.spread.share_statistics import table_statistics
from sqlfront_connectors.memory.spread.store import STORE
from sqlfront_connectors.memory.spread.version import TableVersion, partitions_lost
from sqlfront_engine.dag import DAG, Edge
from sqlfront_engine.jobs.query_run import QueryRun
from sqlfront_engine.processors.sink import ResultSink
from sqlfront_engine.processors.sources.values import Values
from sqlfront_values.expressions import Expr
from sqlfront_values.memo import Memo

#: Pairs of keys and columns for which a version keeps the way; beyond that it discards all of them: the limit
#: bounds the memory.
_MOST_WAYS: Final = 256


class JobRunner(MemberRequests, Protocol):
    """The operations of a cluster that readers of a version need: to run jobs and to ask members."""

    def run(self, dag: DAG, resources: Mapping[str, object]) -> Iterable[pa.RecordBatch]:
        """Run a job on all members, with this process as the coordinator, and return the batches of the job's
        result; reading the result to its end ends the job. ``resources``: objects by the names under which
        the job's processors find them."""


class SnapshotTable(Protocol):
    """The attributes of a spread table that a version of its rows needs."""

    @property
    def name(self) -> str:
        """The table's name."""

    @property
    def schema(self) -> pa.Schema:
        """The table's columns."""

    @property
    def partitioning(self) -> Partitioning | None:
        """The table's partition key."""

    @property
    def members(self) -> JobRunner:
        """The access to the cluster."""

    @property
    def reloaded(self) -> bool:
        """Whether members load the table again from its source if rows are lost."""

    @property
    def backups(self) -> int:
        """The backups that the table is to have."""


class SpreadSnapshot(KeyedSnapshot):
    """One version of a spread table, as queries read it; the rows are in the members' stores.

    The members keep the shares for as long as this object lives. Every job that reads the shares refers to
    this object.
    """

    def __init__(self, table: SnapshotTable, version: TableVersion) -> None:
        super().__init__(
            table.name,
            table.schema,
            table.partitioning,
            version.number,
            version.indexes,
            key_columns(table.partitioning, (index.columns for index in version.indexes)),
            table_statistics(version.known, table.schema),
        )
        # No reference to the table, which refers to this object: a cycle would wait for the garbage
        # collector.
        self.held = version
        self.members = table.members
        self._reloaded, self._wanted_backups = table.reloaded, table.backups
        self._ways = Memo[tuple[tuple[int, ...], tuple[int, ...]], RowRequest](_MOST_WAYS)
        # The last member list for which :attr:`at_owners` was found out, and the value.
        self._looked: tuple[MemberList | None, bool] = None, False

    def scan(self, request: ScanRequest) -> ScanPlan:
        """Return a plan that reads the share of every member; if the request has keys, only the rows with
        these keys. Raises OperationalError if members that held some of the rows are gone."""
        held, placed = self.held, self._partitioning
        if held.key is None:
            return ScanPlan(Values(pa.schema([self.schema.field(place) for place in request.columns]), ()))
        members = self.members.member_list
        in_place = held.dealt == members.dealt
        make: Callable[..., ShareScan] = partial(ShareScan, dealt=members.dealt)
        if not in_place:
            make = self._moved(make, self.readers())
        source = self._source(make, held.key, request)
        resources = {f"{held.key} in use": self}
        return ScanPlan(source, resources, Location.SPREAD, placed if in_place else None)

    @property
    def owners(self) -> tuple[str, ...]:
        """The member that has the rows of each partition: its owner when the version was made."""
        return self.held.owners

    @property
    def holders(self) -> tuple[str, ...]:
        """The names of the members that have rows of the version, sorted."""
        return () if self.held.key is None else tuple(sorted({*self.held.owners}))

    def read(self, holder: str, request: ScanRequest) -> Iterable[pa.RecordBatch]:
        """Run a job that reads the version's rows on one member, and return the rows, in the same order each
        time. ``holder``: the member, one of :attr:`holders`. ``request``: the columns to return; the filters
        of the request are hints, by which the member may leave out rows. Raises OperationalError if members
        with rows are lost, with SQLSTATE 40001 if the cluster changes meanwhile."""
        assert self.held.key is not None
        make = partial(ShareScan, dealt=self.members.member_list.dealt)
        readers = {holder: self.readers()[holder]}
        scan = self._source(self._moved(make, readers), self.held.key, request)
        dag = DAG()
        source, result = dag.vertex("scan", scan, 1), dag.vertex("result", ResultSink(), 1)
        dag.edge(Edge.between(source, result).to_one().distribute_to())
        return self.members.run(dag, {f"{self.held.key} in use": self})

    def _moved(self, make: Callable[..., ShareScan], readers: Mapping[str, str]) -> Callable[..., ShareScan]:
        """Return a maker of a scan in which each member of ``readers`` reads whole shares: its own, and the
        backups of lost owners. ``readers``: by the owner of the share."""
        holders = tuple(owner for owner, reader in readers.items() if owner == reader)
        backups = tuple((reader, owner) for owner, reader in readers.items() if owner != reader)
        return partial(make, holders=holders, backups=backups)

    def _count_chunks(self, filters: tuple[Expr, ...]) -> tuple[int, int]:
        held = self.held
        if held.key is None:
            return 0, 0
        encode = partial(encode_count, held.key, self.name, self.members.member_list.dealt, filters)
        readers = self.readers()
        questions = [{owner: encode() for owner, reader in readers.items() if owner == reader}]
        questions += [{reader: encode(owner)} for owner, reader in readers.items() if owner != reader]
        answers = [answer for each in questions for answer in self.members.ask(STORE, each).values()]
        counts = [decode_count(answer) for answer in answers]
        return sum(read for read, _ in counts), sum(total for _, total in counts)

    def row_path(
        self, by: tuple[int, ...], columns: tuple[int, ...], query: QueryRun | None = None
    ) -> RowPath | None:
        """Return a lookup of rows by the values of the columns ``by``, which returns the values of
        ``columns``. None if ``by`` is neither the partition key nor the columns of an index, if the version
        has no rows, or if a member that has made a share of the version is gone. In ``columns``, the ordinal
        ``len(schema)`` stands for the number of a row on its member. ``query``: the query that reads; when
        the query ends, the lookup stops waiting for members."""
        way = self._ways.get((by, columns))
        if way is None:
            way = self._way(by, columns)
            if way is None:
                return None
        return SpreadPath(self, way, query) if self.at_owners else None

    def _way(self, by: tuple[int, ...], columns: tuple[int, ...]) -> RowRequest | None:
        held = self.held
        if held.key is None or by not in self.keys:
            return None
        numbered = len(self.schema) in columns
        question = Lookup(held.key, self.name, by, columns, NO_KEYS, numbered)
        return self._ways.keep((by, columns), RowRequest(self.schema, self._partitioning, question))

    def small_rows(self, columns: tuple[int, ...], limit: int) -> Sequence[RowValues] | None:
        """Return an empty sequence for a version without rows; else None, since the rows are on other
        members."""
        return () if self.held.key is None else None

    def check_complete(self) -> None:
        """Raise OperationalError unless, of each part of the version, the owner or a holder of a backup is
        present."""
        self.readers()

    @property
    def at_owners(self) -> bool:
        """True if each row can be looked up, and changed by its key, on the member that owned the row's
        partition when the version was made, whoever owns the partition now."""
        members = self.members.member_list
        if self.held.dealt == members.dealt:
            return True
        known, found = self._looked
        if known is not members:
            found = self.held.is_readable(members)
            self._looked = members, found
        return found

    def readers(self) -> Mapping[str, str]:
        """Return, for each member that has made a share of the version, the member that reads this share now:
        the same member, or, if it is gone, a holder of a backup. Raises OperationalError if an owner and all
        holders of its backups are gone."""
        if self.held.key is None:
            return {}
        held = self.held
        readers = readers_of(held.owners, held.backups, readable(self.members.member_list))
        gone = [number for number, owner in enumerate(held.owners) if readers[owner] is None]
        if gone:
            raise partitions_lost(self.name, self.held, gone, reloaded=self._reloaded)
        return {owner: reader for owner, reader in readers.items() if reader is not None}

    def shares(self) -> tuple[HeldShare, ...]:
        """Return the shares of the version, with the state of their backups; empty for a version without
        rows."""
        held = self.held
        if held.key is None:
            return ()
        return held_shares(held.owners, held.backups, self._wanted_backups, self.members.member_list)
