"""Memory tables whose rows are distributed over the members of a cluster.

A table is a sequence of versions, and each member has its share of each version in its
:class:`~sqlfront_connectors.memory.spread.store.TableStore`. A query names the version with which it was
planned, so every member reads the same version without any message. Writing is a job: each row goes to the
member that owns the row's partition, each member makes its share of the new version, and one step publishes
the version (:meth:`ClusterAccess.publish`). A failure before the publication leaves shares of an unpublished
version, which are freed.

A version records which members owned the partitions when it was made. If partitions have changed owners
since, jobs expect the rows on other members than those that have them. As long as all members with rows are
present, queries read the rows where they are, and the next write first moves them to the present owners. If a
member with rows is lost, an error names the lost partitions.
"""

import secrets
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from enum import Enum
from functools import cached_property, partial
from typing import Final, Protocol, Self

import msgspec
import pyarrow as pa

from sqlfront_cluster.members.member_list import CHANGED, NOBODY, MemberList
from sqlfront_connectors.base import (
    Location,
    Partitioning,
    RowPath,
    RowValues,
    ScanPlan,
    ScanRequest,
)
from sqlfront_connectors.memory.keyed_table import KeyedSnapshot, KeyedTable
from sqlfront_connectors.memory.segments.index import IndexDefinition
from sqlfront_connectors.memory.segments.row_paths import batch_of
from sqlfront_connectors.memory.segments.share import key_columns
from sqlfront_connectors.memory.spread.backups import (
    HOME,
    Backups,
    BackupTargets,
    HeldShare,
    backups_of,
    held_shares,
    readable,
    readers_of,
    targets_of,
)
from sqlfront_connectors.memory.spread.chunk_counts import decode_count, encode_count
from sqlfront_connectors.memory.spread.lookup import NO_KEYS, Lookup
from sqlfront_connectors.memory.spread.processors import BackupShare, ChangeShare, ShareScan, StoreShare
from sqlfront_connectors.memory.spread.row_changes import ShareChange, by_owner, encode_change
from sqlfront_connectors.memory.spread.row_path import MemberRequests, RowRequest, SpreadPath
from sqlfront_connectors.memory.spread.share_statistics import (
    ShareStatistics,
    changed,
    decode_statistics_change,
    merged,
    nothing,
    read_reports,
    table_statistics,
)
from sqlfront_connectors.memory.spread.store import STORE
from sqlfront_connectors.memory.spread.version_keys import changed_key
from sqlfront_engine.dag import DAG, Edge, OnlyOn, Vertex
from sqlfront_engine.forks import when_forgotten
from sqlfront_engine.jobs.query_run import QueryRun
from sqlfront_engine.processors.sink import ResultSink
from sqlfront_engine.processors.sources.held_rows import HeldBatches, HeldRows
from sqlfront_engine.processors.sources.values import Values
from sqlfront_values.errors import OperationalError
from sqlfront_values.expressions import Expr
from sqlfront_values.memo import Memo
from sqlfront_values.partitioning.partitions import key_hasher

_ROWS: Final = "rows"
#: The SQLSTATE of reading a table of which parts are lost for good.
LOST: Final = "58030"
#: Pairs of keys and columns for which a version keeps the way; beyond that it discards all of them: the limit
#: bounds the memory.
_MOST_WAYS: Final = 256
#: Partitions that an error names at most, so that the message stays readable.
_NAMED: Final = 10
#: Durable jobs, the latest ones, whose ids a version keeps: each publication of a version sends the ids to
#: all members, so that the limit bounds the size of the message.
MOST_JOBS: Final = 100


class ClusterAccess(MemberRequests, Protocol):
    """The operations of a cluster that a table whose rows are spread over its members needs: to run jobs, and
    to publish versions for all sessions.

    A caller must not hold a lock that a job could need.
    """

    def run(self, dag: DAG, resources: Mapping[str, object]) -> Iterable[pa.RecordBatch]:
        """Run a job on all members, with this process as the coordinator, and return the batches of the job's
        result; reading the result to its end ends the job. ``resources``: objects by the names under which
        the job's processors find them."""

    def begin_turn(self, table: "SpreadTable") -> str:
        """Wait until no other session writes to the table, and reserve the table for writes of this process
        until :meth:`end_turn`. Returns a text that is unique to this reservation."""

    def end_turn(self, table: "SpreadTable") -> None:
        """End the reservation of :meth:`begin_turn`, so that other sessions can write. Shares that were made
        since and not published may be freed. Does nothing without a reservation."""

    def begin_attempt(self, table: "SpreadTable") -> str | None:
        """Begin a change of the table's present version without a reservation: :meth:`publish` then fails,
        with SQLSTATE 40001, if another session has changed the table meanwhile or has it reserved. Costs no
        message. Returns a text that is unique to this attempt; None if only a reservation can help."""

    def end_attempt(self, table: "SpreadTable", *, failed: bool) -> None:
        """End the attempt of :meth:`begin_attempt`. ``failed``: members may have shares that were not
        published; these are freed once they can't be published any more."""

    def publish(self, table: "SpreadTable", version: "TableVersion") -> None:
        """Make ``version`` the table's current version for all sessions at once, in this process by
        :meth:`SpreadTable.adopt`. Raises OperationalError if another session has changed the table since
        :meth:`begin_turn` or :meth:`begin_attempt`."""

    def dropped(self, table: "SpreadTable") -> None:
        """Tell the cluster that the table was dropped, so that no new query reads it."""

    def release(self, key: str) -> None:
        """Record that this process no longer reads the version with this key, or has failed to publish the
        version. Finalizers of garbage-collected objects may call this method."""


class TableVersion(msgspec.Struct, frozen=True):
    """The description of one version of a table's rows, which all members know.

    ``number``: grows by 1 with each version. ``key``: the key by which each member's store finds its share,
    see :mod:`~sqlfront_connectors.memory.spread.version_keys`; None if the version has no rows. ``known``:
    the statistics of all rows. ``dealt``: the version of the member list (not of the table) that last changed
    the partitions' owners before the shares were made. ``owners``: the owner of each partition at that time.
    ``indexes``: the indexes that every share has. ``jobs``: the ids of the last :data:`MOST_JOBS` durable
    jobs that have put their rows into the table, with this version or an earlier one, in the order of their
    commits. ``backups``: the members that hold backups of each owner's share, written before the version was
    published."""

    number: int
    key: str | None
    known: ShareStatistics
    dealt: int = 0
    owners: tuple[str, ...] = ()
    indexes: tuple[IndexDefinition, ...] = ()
    jobs: tuple[str, ...] = ()
    backups: Backups = ()


class SpreadSnapshot(KeyedSnapshot):
    """One version of a :class:`SpreadTable`, as queries read it; the rows are in the members' stores.

    The members keep the shares for as long as this object lives. Every job that reads the shares refers to
    this object.
    """

    def __init__(self, table: "SpreadTable", version: TableVersion) -> None:
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
        has no rows, or if partitions have changed their owners since the rows were written. In ``columns``,
        the ordinal ``len(schema)`` stands for the number of a row on its member. ``query``: the query that
        reads; when the query ends, the lookup stops waiting for members."""
        way = self._ways.get((by, columns))
        if way is None:
            way = self._way(by, columns)
            if way is None:
                return None
        if way.question.dealt != self.members.member_list.dealt:
            return None
        return SpreadPath(self, way, query)

    def _way(self, by: tuple[int, ...], columns: tuple[int, ...]) -> RowRequest | None:
        held = self.held
        if held.key is None or by not in self.keys:
            return None
        numbered = len(self.schema) in columns
        question = Lookup(held.key, self.name, held.dealt, by, columns, NO_KEYS, numbered)
        return self._ways.keep((by, columns), RowRequest(self.schema, self._partitioning, question))

    def small_rows(self, columns: tuple[int, ...], limit: int) -> Sequence[RowValues] | None:
        """Return an empty sequence for a version without rows; else None, since the rows are on other
        members."""
        return () if self.held.key is None else None

    def check_complete(self) -> None:
        """Raise OperationalError unless, of each part of the version, the owner or a holder of a backup is
        present."""
        self.readers()

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
            raise _gone(self.name, self.held, gone, reloaded=self._reloaded)
        return {owner: reader for owner, reader in readers.items() if reader is not None}

    def shares(self) -> tuple[HeldShare, ...]:
        """Return the shares of the version, with the state of their backups; empty for a version without
        rows."""
        held = self.held
        if held.key is None:
            return ()
        return held_shares(held.owners, held.backups, self._wanted_backups, self.members.member_list)


class SpreadTable(KeyedTable):
    """A memory table whose rows are distributed over the members of a cluster, one share on each member.
    ``members``: the access to the cluster. ``identity``: the name under which the cluster knows the table,
    which no other table ever gets; None = make a new one."""

    is_spread = True

    def __init__(
        self,
        name: str,
        schema: pa.Schema,
        partitioning: Partitioning | None,
        members: ClusterAccess,
        identity: str | None = None,
        backups: int = 0,
    ) -> None:
        super().__init__(name, schema, partitioning, backups)
        self.members = members
        self.identity = identity or f"memory:{secrets.token_hex(8)}"
        self._writer = threading.RLock()
        self._turns, self._turn, self._begun = 0, "", 0
        # Held only for a moment; the thread that hears of changes takes the lock, too.
        self._adopting = threading.RLock()
        # Invariant: replaced as a whole; readers take the reference once.
        self._current = SpreadSnapshot(self, TableVersion(0, None, nothing(len(schema))))

    def snapshot(self) -> SpreadSnapshot:
        """Return the version that was published last."""
        return self._current

    def adopt(self, version: TableVersion) -> None:
        """Make ``version``, which a session has published, the current version; a version that is not newer
        than the current one changes nothing."""
        with self._adopting:
            if version.number > self._current.held.number:
                self._current = made = SpreadSnapshot(self, version)
                if version.key is not None:
                    when_forgotten(made, self.members.release, version.key).atexit = False

    def drop(self) -> None:
        """Tell the cluster that the table is dropped. The rows are freed after their last reader: a reader
        that has just looked up the table's name can still read them."""
        self.members.dropped(self)

    @property
    def in_place(self) -> bool:
        """True if the rows lie on the members that own the rows' partitions now, which is where jobs look for
        the rows."""
        held = self._current.held
        return held.key is None or held.dealt == self.members.member_list.dealt

    @property
    def home_columns(self) -> tuple[int, ...]:
        """The columns whose values determine on which member a row is: the columns of CLUSTERED BY; for a
        table without CLUSTERED BY the ordinal ``len(schema)``, which stands for the column HOME that
        :class:`~sqlfront_connectors.memory.numbered_table.NumberedTable` adds after the table's columns for
        UPDATE and DELETE."""
        return (len(self.schema),) if self.partitioning is None else self.partitioning.columns

    @contextmanager
    def turn(self) -> Iterator[str]:
        """Return a context manager that reserves the table: within its block no other session writes to the
        table, and entering waits for the other writers. The context manager's value is a text that is unique
        to the reservation. The same thread may enter a second time within the block."""
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

    def has_rows_of(self, job: str) -> bool:
        """Return whether the durable job with the id ``job`` has put its rows into the table; the table knows
        the latest :data:`MOST_JOBS` jobs that have done so."""
        return job in self._current.held.jobs

    def next_version(
        self,
        how: "ChangeMode",
        indexes: tuple[IndexDefinition, ...] | None = None,
        jobs: tuple[str, ...] = (),
    ) -> "NextVersion":
        """Return a context manager that makes a new version, during which no other session writes.

        ``how``: the relation of the new version's rows to the present rows. ``indexes``: the indexes of the
        new version, None = the indexes of the present version. ``jobs``: the ids of the durable jobs whose
        rows the version takes. Entering raises OperationalError if present rows stay and partitions have
        moved or members with rows are lost, and if the table has the rows of one of the ``jobs`` already.
        """
        return NextVersion(self, how, indexes, jobs)

    @contextmanager
    def storing(
        self,
        *,
        overwrite: bool,
        indexes: tuple[IndexDefinition, ...] | None = None,
        jobs: tuple[str, ...] = (),
    ) -> Iterator["NextVersion"]:
        """Return a context manager that makes a new version to which rows are added, or with ``overwrite`` a
        version in which new rows replace all present rows; no other session writes meanwhile. If present rows
        stay and their partitions have changed owners, the rows are first moved to the present owners.
        ``indexes``: the indexes of the new version, None = the indexes of the present version. ``jobs``: the
        ids of the durable jobs whose rows the version takes."""
        with self.turn():
            if not overwrite and not self.in_place:
                place_anew(self)
            how = ChangeMode.OVERWRITE if overwrite else ChangeMode.APPEND
            with self.next_version(how, indexes, jobs) as version:
                yield version

    def publish(self, batches: Sequence[pa.RecordBatch], *, overwrite: bool, job: str | None = None) -> int:
        """Send the rows to the members that own their partitions, and publish a new version with these rows
        after all present rows, or with ``overwrite`` in place of all present rows. Returns the number of rows
        sent. ``job``: the id of the durable job whose rows these are, None = no job's. Raises
        OperationalError if the table has the job's rows already."""
        with self.storing(overwrite=overwrite, jobs=() if job is None else (job,)) as version:
            return self._publish(version, batches)

    def change_rows(self, rows: Sequence[RowValues], *, stores: bool, query: QueryRun | None = None) -> None:
        """Publish a version in which some rows are deleted or, with ``stores``, replaced, by one request to
        each member with such rows, without a job. Each item of ``rows`` ends with the number of the row to
        delete; the values before it are the new row (with ``stores``) or the deleted row's values of
        :attr:`home_columns`. The table must have a partition key. ``query``: when this query ends, the method
        stops waiting for members."""
        if rows:
            with self.next_version(_mode(stores=stores)) as version:
                version.change_rows(rows, query)

    def change_found(
        self, find: Callable[[], Sequence[RowValues]], *, stores: bool, query: QueryRun | None = None
    ) -> int:
        """Change the rows that ``find`` returns, as :meth:`change_rows` does, and return their number. The
        first attempt does without the reservation of :meth:`turn`, which costs two changes of documents; if
        another session writes to the table meanwhile, the rows are found and changed again in a turn."""
        count = self._attempt(find, _mode(stores=stores), query)
        return super().change_found(find, stores=stores, query=query) if count is None else count

    def add_rows(self, rows: Sequence[RowValues], query: QueryRun | None = None) -> None:
        """Publish a version with a few rows after all present rows, unless ``rows`` is empty: by one request
        to each member that owns the partition of a row, and to the holders of backups, without a job; by a
        job if the table has no rows yet or no partition key. ``query``: when this query ends, the method
        stops waiting for members."""
        if not rows or self._attempt(lambda: rows, ChangeMode.APPEND, query) is not None:
            return
        with self.turn():
            if self.partitioning is None or self._current.held.key is None or not self.in_place:
                self.publish([batch_of(rows, self.schema)], overwrite=False)
                return
            with self.next_version(ChangeMode.APPEND) as version:
                version.change_rows(rows, query)

    def _attempt(
        self, find: Callable[[], Sequence[RowValues]], how: "ChangeMode", query: QueryRun | None
    ) -> int | None:
        """Find and change rows without a reservation; return their number, None if another session may have
        changed the table meanwhile, or a job has to make the change, so that nothing was changed."""
        if self.partitioning is None:
            return None
        with self._writer:
            before = self._current
            possible = before.held.key is not None and not self._turns
            token = self.members.begin_attempt(self) if possible else None
            if token is None:
                return None
            count, failed = 0, False
            try:
                rows = find()
                if rows:
                    failed = True
                    with NextVersion(self, how, turn=nullcontext(token)) as version:
                        if version.base is not before.held:
                            return None
                        version.change_rows(rows, query)
                    count, failed = len(rows), False
                elif self._current is not before:
                    return None
            except OperationalError as error:
                if error.sqlstate != CHANGED:
                    raise
                return None
            finally:
                self.members.end_attempt(self, failed=failed)
            return count

    def set_indexes(self, indexes: tuple[IndexDefinition, ...]) -> None:
        """Publish a version of the same rows with exactly these indexes; first every member makes its share
        with the indexes."""
        with self.storing(overwrite=False, indexes=indexes) as version:
            self._publish(version, ())

    def succeed(self, former: KeyedTable) -> None:
        """Take the indexes of ``former``, the spread table that this table is about to replace in the
        catalog: publish a version with the same rows and these indexes. The version also lists the jobs that
        have put their rows into ``former``."""
        assert isinstance(former, SpreadTable)
        held = former.snapshot().held
        with self.storing(overwrite=False, indexes=held.indexes, jobs=held.jobs) as version:
            self._publish(version, ())

    def _publish(self, version: "NextVersion", batches: Sequence[pa.RecordBatch]) -> int:
        """Run a job that distributes the batches and makes every member's share of ``version``, publish the
        version, and return the number of rows written."""
        dag = DAG()
        columns = tuple(range(len(self.schema)))
        source = dag.vertex("rows", HeldRows(_ROWS, self.name, columns), 1, OnlyOn())
        rows = HeldBatches(tuple(batches))
        return version.publish(self.members.run(stored(dag, source, self, version), {_ROWS: rows}))

    def next_key(self, turn: str) -> str:
        """Return a new, unique key for the shares of a version that the present writer makes. ``turn``: the
        text of the writer's reservation, the value of :meth:`turn`. A second call with the same text returns
        another key, so that shares left by a failed version are never mistaken for shares of the next
        version."""
        self._begun += 1
        return f"{self.identity}@{turn}.{self._begun}"


class ChangeMode(Enum):
    """The relation of a new version's rows to the previous version's rows and to the input of the write: the
    input is added (APPEND) or replaces all rows (OVERWRITE); or the input's last column has the numbers of
    the rows to delete (DELETE), and the other columns have the rows that replace them (UPDATE)."""

    APPEND = "append"
    """Keep the previous rows; the input's rows come behind them."""
    OVERWRITE = "overwrite"
    """Replace all previous rows by the input's rows."""
    DELETE = "delete"
    """Delete the rows whose numbers are in the input's last column."""
    UPDATE = "update"
    """Delete the rows whose numbers are in the input's last column; the other columns hold the rows that
    replace them."""


def _mode(*, stores: bool) -> ChangeMode:
    return ChangeMode.UPDATE if stores else ChangeMode.DELETE


class NextVersion:
    """A context manager that makes the next version of a :class:`SpreadTable`; no other session writes within
    it. ``processor`` is the sink with which each member makes its share of the version; its input must be
    partitioned by the columns ``keys``. :meth:`publish` makes the version the table's current version. If the
    block ends without a publication, the version is discarded."""

    def __init__(
        self,
        table: SpreadTable,
        how: ChangeMode,
        indexes: tuple[IndexDefinition, ...] | None = None,
        jobs: tuple[str, ...] = (),
        turn: AbstractContextManager[str] | None = None,
    ) -> None:
        """Prepare the change. ``how``: the relation of the new version's rows to the present rows.
        ``indexes``: the indexes of the new version, None = the indexes of the present version. ``jobs``: the
        ids of the durable jobs whose rows the version takes. ``turn``: the context in which the version is
        made, whose value is unique to it; None = a :meth:`SpreadTable.turn`."""
        self._indexes, self._jobs = indexes, jobs
        self.table = table
        self._how = how
        self._turn = table.turn() if turn is None else turn
        #: The previous version, and the member list with which the new version is made.
        self.base: TableVersion
        self.members: MemberList
        self._backups: Backups = ()

    @property
    def keys(self) -> tuple[int, ...]:
        """The ordinals of the partition key's columns; empty for a table without partition key."""
        partitioning = self.table.partitioning
        return () if partitioning is None else partitioning.columns

    def __enter__(self) -> Self:
        table = self.table
        turn = self._turn.__enter__()
        try:
            current = table.snapshot()
            self.base = current.held
            self.members = table.members.member_list
            for job in filter(table.has_rows_of, self._jobs):
                raise OperationalError(f"`{table.name}` has the rows of the job {job} already")
            if self._how is not ChangeMode.OVERWRITE:
                # Invariant: judged by this version and this list, since they are what the change is made of;
                # the table may have a later version, which is in place, by now.
                in_place = self.base.key is None or self.base.dealt == self.members.dealt
                if not in_place or NOBODY in self.base.owners:
                    current.check_complete()
                if not in_place:
                    raise OperationalError(
                        f"the partitions of `{table.name}` have moved; run the statement again",
                        sqlstate="40001",
                    )
            self._backups = self._placed_backups()
            # The key of the shares that are made, and that of the version, which may name other shares, too.
            self._key = self._made_key = table.next_key(turn)
        except BaseException:
            self._turn.__exit__(None, None, None)
            raise
        return self

    def publish(self, reports: Iterable[pa.RecordBatch]) -> int:
        """Publish the new version. ``reports``: the output of the job that made the shares, in which each
        member reports its share's statistics; it is read to its end first. Returns the number of rows
        written."""
        shares, written = read_reports(reports)
        self.publish_shares(shares)
        return written

    def change_rows(self, rows: Sequence[RowValues], query: QueryRun | None) -> None:
        """Ask the members with some rows, and those with backups of the rows, to make their shares of the new
        version with these rows deleted or replaced, and publish the version; all other members keep their
        shares. Each item of ``rows`` ends with the number of the row to delete; the values before it are the
        new row that replaces it, or those that determine the row's member. For a change that adds rows
        (APPEND), each item is a new row. ``query``: when this query ends, the method stops waiting for the
        members."""
        table, base, members = self.table, self.base, self.members
        assert base.key is not None
        assert table.partitioning is not None
        stores, numbered = self._how is not ChangeMode.DELETE, self._how is not ChangeMode.APPEND
        kinds = [table.schema.field(column).type for column in self.keys]
        keys = self.keys if stores else tuple(range(len(self.keys)))
        shares = by_owner(rows, key_hasher(kinds), keys, members.owners, stores=stores, numbered=numbered)
        key = changed_key(base.key, dict.fromkeys(shares, self._made_key))
        if key is None:
            shares = {owner: shares.get(owner, ([], [])) for owner in members.owners}
        else:
            self._key = key
        answers = table.members.ask(STORE, self._questions(base.key, shares), query)
        changes = [decode_statistics_change(answers[owner], table.schema) for owner in sorted(shares)]
        if key is None:
            self.publish_shares([after for _, after in changes])
            return
        known = base.known
        for before, after in changes:
            known = changed(known, before, after, table.partitioning)
        self._publish(known)

    def _questions(self, base: str, shares: Mapping[str, ShareChange]) -> dict[str, bytes]:
        """Return the question to each owner that changes its share, and to each holder of a backup of it.
        ``base``: the key of the previous version. ``shares``: the change of each owner's share."""
        encode = partial(encode_change, self._made_key, base, self.table.name, self.members.dealt)
        asked: dict[str, list[tuple[str, ShareChange]]] = {}
        for owner, holders in {**dict.fromkeys(shares, ()), **dict(self.base.backups)}.items():
            for member in (owner, *holders) if owner in shares else ():
                asked.setdefault(member, []).append((owner, shares[owner]))
        return {member: encode(changes) for member, changes in asked.items()}

    def publish_shares(self, shares: Sequence[ShareStatistics]) -> None:
        """Publish the new version; ``shares`` are the statistics of each member's share."""
        self._publish(merged(shares, len(self.table.schema), self.table.partitioning))

    def _publish(self, known: ShareStatistics) -> None:
        table = self.table
        version = TableVersion(
            self.base.number + 1,
            self._key,
            known,
            self.members.dealt,
            self.members.owners,
            self._made_indexes,
            self._made_jobs,
            self._backups,
        )
        table.members.publish(table, version)

    def _placed_backups(self) -> Backups:
        """Return the placement of the version's backups: that of the previous version, whose backups the
        present rows have, or a new one if no present rows stay."""
        if self._how is ChangeMode.OVERWRITE or self.base.key is None:
            return backups_of(self.members, self.table.backups)
        return self.base.backups

    @cached_property
    def processor(self) -> StoreShare:
        """The sink with which each member makes its share in a job, and emits the rows of its backups."""
        table, made = self.table, self._targets
        make: Callable[..., StoreShare] = StoreShare
        if self._how in (ChangeMode.DELETE, ChangeMode.UPDATE):
            make = partial(ChangeShare, stores=self._how is ChangeMode.UPDATE)
        return make(
            table.name,
            self._made_key,
            None if self._how is ChangeMode.OVERWRITE else self.base.key,
            table.schema,
            table.partitioning,
            self.members.dealt,
            tuple(index.columns for index in self._made_indexes),
            targets=made[0] if made else None,
        )

    @cached_property
    def backup_processors(self) -> tuple[BackupShare, ...]:
        """The sinks that make the backups of the shares in a job, the first one of the rows that
        :attr:`processor` emits, the next one of the rows that the first one emits."""
        made, store = self._targets, self.processor
        numbered = isinstance(store, ChangeShare)
        stores = isinstance(store, ChangeShare) and store.stores
        common = store.table, store.key, store.base, store.schema, store.partitioning, store.dealt, ()
        return tuple(
            BackupShare(*common, following, targets, numbered, stores)
            for targets, following in zip(made, (*made[1:], None)[: len(made)], strict=True)
        )

    @cached_property
    def _targets(self) -> tuple[BackupTargets, ...]:
        return targets_of(self._backups, self.members.owners) if self._backups else ()

    @property
    def _made_indexes(self) -> tuple[IndexDefinition, ...]:
        return self.base.indexes if self._indexes is None else self._indexes

    @property
    def _made_jobs(self) -> tuple[str, ...]:
        return (*self.base.jobs, *self._jobs)[-MOST_JOBS:]

    def __exit__(self, *_: object) -> None:
        # Read while no other session can publish: an interrupt may have come right after this session's
        # publication.
        published = self.table.snapshot().held.key == self._key
        self._turn.__exit__(None, None, None)
        if not published:
            self.table.members.release(self._key)


def place_anew(table: SpreadTable) -> None:
    """Move the table's rows to the members that now own the rows' partitions, by publishing a version of the
    same rows. Does nothing if the rows are on the right members."""
    with table.turn():
        columns = tuple(range(len(table.schema)))
        planned = table.snapshot().scan(ScanRequest(columns))
        if table.in_place:
            return
        with table.next_version(ChangeMode.OVERWRITE) as version:
            dag = DAG()
            source = dag.vertex(f"scan {table.name}", planned.source, 1)
            version.publish(table.members.run(stored(dag, source, table, version), planned.resources))


def stored(dag: DAG, source: Vertex, table: SpreadTable, version: NextVersion, *, here: bool = False) -> DAG:
    """Add the vertices to ``dag`` that store the output of ``source`` as the members' shares of ``version``,
    and return ``dag``; the result of the job is each member's report on its share, as
    :meth:`NextVersion.publish` reads it. ``here``: each row is already on the member that owns its partition;
    otherwise the rows are sent to these members."""
    store = dag.vertex(f"store {table.name}", version.processor, 1)
    edge = Edge.between(source, store)
    if not here:
        edge = edge.distributed()
        edge = edge.partitioned(version.keys) if version.keys else edge
    dag.edge(edge)
    store = backed_up(dag, store, version)
    result = dag.vertex("result", ResultSink(), 1)
    return dag.edge(Edge.between(store, result).to_one().distribute_to())


def backed_up(dag: DAG, store: Vertex, version: NextVersion) -> Vertex:
    """Add the vertices to ``dag`` that make the backups of what ``store`` stores, and return the vertex that
    emits the members' reports."""
    for number, processor in enumerate(version.backup_processors):
        backup = dag.vertex(f"backup {number + 1} of {version.table.name}", processor, 1)
        dag.edge(Edge.between(store, backup).partitioned((HOME,)).distributed())
        store = backup
    return store


def _gone(table: str, version: TableVersion, partitions: list[int], *, reloaded: bool) -> OperationalError:
    """Return the error for a table whose ``partitions`` were lost with their members. ``reloaded``: the
    members load the table again from its source, so the error asks to run the query again."""
    named = ", ".join(map(str, partitions[:_NAMED])) + (", ..." if len(partitions) > _NAMED else "")
    owners, held = {version.owners[number] or NOBODY for number in partitions}, dict(version.backups)
    lost = ", ".join(sorted({name for owner in owners for name in (owner, *held.get(owner, ()))}))
    what = (
        f"partitions {named} ({len(partitions)} of {len(version.owners)}) of `{table}` were lost with {lost}"
    )
    if reloaded:
        return OperationalError(
            f"{what}; the members load the table again from its source: run the query again", sqlstate="40001"
        )
    return OperationalError(
        f"{what}, and the table has no source to be loaded from again; overwrite or drop the table",
        sqlstate=LOST,
    )
