"""The making of the next version of a spread table: the shares, their backups, and the publication."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from enum import Enum
from functools import cached_property, partial
from typing import Self

import pyarrow as pa

from sqlfront_cluster.members.member_list import NOBODY, MemberList
from sqlfront_connectors.base import RowValues
from sqlfront_connectors.memory.segments.index import IndexDefinition
from sqlfront_connectors.memory.spread.backups import (
    HOME,
    Backups,
    BackupTargets,
    backups_of,
    targets_of,
)
from sqlfront_connectors.memory.spread.move_processors import (
    CopyBackup,
    CopyShare,
    MoveBackup,
    MoveShare,
    MovingRows,
)
from sqlfront_connectors.memory.spread.moves import CopyStep, MoveStep, PlacedStep
from sqlfront_connectors.memory.spread.processors import BackupShare, ChangeShare, StoreShare
from sqlfront_connectors.memory.spread.published_table import PublishedTable
from sqlfront_connectors.memory.spread.row_changes import ShareChange, by_owner, encode_change
from sqlfront_connectors.memory.spread.share_statistics import (
    ShareStatistics,
    changed,
    decode_statistics_change,
    merged,
    read_reports,
)
from sqlfront_connectors.memory.spread.snapshot import SpreadSnapshot
from sqlfront_connectors.memory.spread.store import STORE
from sqlfront_connectors.memory.spread.version import MOST_JOBS, TableVersion
from sqlfront_connectors.memory.spread.version_keys import changed_key
from sqlfront_engine.dag import DAG, Edge, Vertex
from sqlfront_engine.jobs.query_run import QueryRun
from sqlfront_engine.processors.sink import ResultSink
from sqlfront_values.errors import OperationalError
from sqlfront_values.partitioning.partitions import key_hasher


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


class NextVersion:
    """A context manager that makes the next version of a spread table; no other session writes within it.
    ``processor`` is the sink with which each member makes its share of the version; its input must be
    partitioned by the columns ``keys``. :meth:`publish` makes the version the table's current version. If the
    block ends without a publication, the version is discarded."""

    def __init__(
        self,
        table: PublishedTable,
        how: ChangeMode,
        indexes: tuple[IndexDefinition, ...] | None = None,
        jobs: tuple[str, ...] = (),
        turn: AbstractContextManager[str] | None = None,
    ) -> None:
        """Prepare the change. ``how``: the relation of the new version's rows to the present rows.
        ``indexes``: the indexes of the new version, None = the indexes of the present version. ``jobs``: the
        ids of the durable jobs whose rows the version takes. ``turn``: the context in which the version is
        made, whose value is unique to it; None = a :meth:`PublishedTable.turn`."""
        self._indexes, self._jobs = indexes, jobs
        self.table = table
        self._how = how
        self._turn = table.turn() if turn is None else turn
        #: The previous version, and the member list with which the new version is made.
        self.base: TableVersion
        self.members: MemberList
        # The new version's fields ``dealt`` and ``owners``.
        self._dealt: int
        self._owners: tuple[str, ...]
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
            self._dealt, self._owners = self._placement()
            if self._how is not ChangeMode.OVERWRITE:
                if not table.in_place or NOBODY in self.base.owners:
                    current.check_complete()
                if not self._is_placed(current):
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

    def _placement(self) -> tuple[int, tuple[str, ...]]:
        """Return the fields ``dealt`` and ``owners`` of the new version."""
        return self.members.dealt, self.members.owners

    def _is_placed(self, current: SpreadSnapshot) -> bool:
        """Return whether the rows of the present version lie where this change looks for them."""
        return self.table.in_place

    def publish_shares(self, shares: Sequence[ShareStatistics]) -> None:
        """Publish the new version; ``shares`` are the statistics of each member's share."""
        self._publish(merged(shares, len(self.table.schema), self.table.partitioning))

    def _publish(self, known: ShareStatistics) -> None:
        table = self.table
        version = TableVersion(
            self.base.number + 1,
            self._key,
            known,
            self._dealt,
            self._owners,
            self._made_indexes,
            self._made_jobs,
            self._backups,
        )
        table.members.publish(table, version, self.members.dealt)

    def _placed_backups(self) -> Backups:
        """Return the placement of the version's backups: that of the previous version, whose backups the
        present rows have, or a new one if no present rows stay."""
        if self._how is ChangeMode.OVERWRITE or self.base.key is None:
            return backups_of(self.members, self.table.backups)
        return self.base.backups

    def _share_maker(self) -> Callable[..., StoreShare]:
        """Return the function that makes :attr:`processor` from the fields of :class:`StoreShare`."""
        if self._how in (ChangeMode.DELETE, ChangeMode.UPDATE):
            return partial(ChangeShare, stores=self._how is ChangeMode.UPDATE)
        return StoreShare

    def _backup_maker(self) -> Callable[..., BackupShare]:
        """Return the function that makes the processors of backups from the fields of :class:`BackupShare` up
        to ``held``."""
        store = self.processor
        if isinstance(store, ChangeShare):
            return partial(BackupShare, numbered=True, stores=store.stores)
        return BackupShare

    @cached_property
    def processor(self) -> StoreShare:
        """The sink with which each member makes its share in a job, and emits the rows of its backups."""
        table, made = self.table, self._targets
        return self._share_maker()(
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
        made, store, make = self._targets, self.processor, self._backup_maker()
        common = store.table, store.key, store.base, store.schema, store.partitioning, store.dealt, ()
        return tuple(
            make(*common, following, targets)
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


class StayingVersion(NextVersion):
    """A version whose shares are made where those of the previous version are, whoever owns the partitions
    now."""

    def _placement(self) -> tuple[int, tuple[str, ...]]:
        return self.base.dealt, self.base.owners

    def _is_placed(self, current: SpreadSnapshot) -> bool:
        return current.at_owners


class RowChangeVersion(StayingVersion):
    """A version in which a few rows are added, deleted or replaced, by a question to their members, without a
    job."""

    def change_rows(self, rows: Sequence[RowValues], query: QueryRun | None) -> None:
        """Ask the members with some rows, and those with backups of the rows, to make their shares of the new
        version with these rows deleted or replaced, and publish the version; all other members keep their
        shares. Each item of ``rows`` ends with the number of the row to delete; the values before it are the
        new row that replaces it, or those that determine the row's member. For a change that adds rows
        (APPEND), each item is a new row. ``query``: when this query ends, the method stops waiting for the
        members."""
        table, base = self.table, self.base
        assert base.key is not None
        assert table.partitioning is not None
        stores, numbered = self._how is not ChangeMode.DELETE, self._how is not ChangeMode.APPEND
        kinds = [table.schema.field(column).type for column in self.keys]
        keys = self.keys if stores else tuple(range(len(self.keys)))
        shares = by_owner(rows, key_hasher(kinds), keys, base.owners, stores=stores, numbered=numbered)
        key = changed_key(base.key, dict.fromkeys(shares, self._made_key))
        if key is None:
            shares = {owner: shares.get(owner, ([], [])) for owner in base.owners}
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


class MovedVersion(StayingVersion):
    """The version that a step makes on the way of the rows to the present owners of their partitions."""

    def __init__(self, table: PublishedTable, placed: PlacedStep, members: MemberList) -> None:
        """``members``: the member list for which the step was chosen."""
        super().__init__(table, ChangeMode.APPEND)
        self._placed, self._chosen_for = placed, members.dealt

    def _placement(self) -> tuple[int, tuple[str, ...]]:
        return self._placed.dealt, self._placed.owners

    def _is_placed(self, current: SpreadSnapshot) -> bool:
        return super()._is_placed(current) and self.members.dealt == self._chosen_for

    def _placed_backups(self) -> Backups:
        """Return the placement of the backups that the job makes."""
        return self._placed.backups if isinstance(self._placed.step, CopyStep) else self.base.backups

    def _publish(self, known: ShareStatistics) -> None:
        self._backups = self._placed.backups
        super()._publish(known)

    def _share_maker(self) -> Callable[..., StoreShare]:
        step = self._placed.step
        if isinstance(step, CopyStep):
            return partial(CopyShare, step=step)
        return partial(MoveShare, step=step)

    def _backup_maker(self) -> Callable[..., BackupShare]:
        step = self._placed.step
        if isinstance(step, CopyStep):
            return partial(CopyBackup, step=step)
        return partial(MoveBackup, step=step)

    def dag(self) -> DAG:
        """Return the job that makes the shares; its result is each member's report."""
        dag, table, step = DAG(), self.table, self._placed.step
        store = dag.vertex(f"store {table.name}", self.processor, 1)
        if isinstance(step, MoveStep):
            assert self.base.key is not None
            rows = MovingRows(table.name, self.base.key, step, table.partitioning, self.members.dealt)
            source = dag.vertex(f"scan {table.name}", rows, 1)
            dag.edge(Edge.between(source, store).partitioned((len(table.schema),)).distributed())
        return reported(dag, store, self)


def stored(
    dag: DAG, source: Vertex, table: PublishedTable, version: NextVersion, *, here: bool = False
) -> DAG:
    """Add the vertices to ``dag`` that store the output of ``source`` as the members' shares of ``version``,
    and return ``dag``; the result of the job is each member's report on its share, as
    :meth:`NextVersion.publish` reads it. ``here``: each row is already on the member that owns its partition;
    otherwise the rows are sent to these members."""
    store = dag.vertex(f"store {table.name}", version.processor, 1)
    edge = Edge.between(source, store)
    if not here:
        edge = edge.distributed()
        edge = edge.partitioned(version.keys) if version.keys else edge
    return reported(dag.edge(edge), store, version)


def reported(dag: DAG, store: Vertex, version: NextVersion) -> DAG:
    """Add the vertices to ``dag`` that make the backups of what ``store`` stores, and the result, which is
    the members' reports; return ``dag``."""
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
