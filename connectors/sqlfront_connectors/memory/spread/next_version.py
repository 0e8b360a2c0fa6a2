"""The making of the next version of a spread table: the shares, their backups, and the publication."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from enum import Enum
from functools import cached_property, partial
from typing import Self

import pyarrow as pa

from sqlfront_cluster.members.protocol.member_list import NOBODY, MemberList
from sqlfront_connectors.memory.segments.index import IndexDefinition
from sqlfront_connectors.memory.spread.backups import (
    HOME,
    Backups,
    BackupTargets,
    backups_of,
    targets_of,
)
from sqlfront_connectors.memory.spread.processors import (
    BackupShare,
    ChangeShare,
    MergeShare,
    StoreShare,
)
from sqlfront_connectors.memory.spread.published_table import PublishedTable
from sqlfront_connectors.memory.spread.share_statistics import (
    ShareStatistics,
    merged,
    read_reports,
)
from sqlfront_connectors.memory.spread.version import MOST_JOBS, TableVersion
from sqlfront_engine.dag import DAG, Edge, Vertex
from sqlfront_engine.processors.sink import ResultSink
from sqlfront_values.errors import OperationalError


class ChangeMode(Enum):
    """The relation of a new version's rows to the previous version's rows and to the input of the write: the
    input is added (APPEND) or replaces all rows (OVERWRITE); or the input's last column has the numbers of
    the rows to delete (DELETE), and the other columns have the rows that replace them (UPDATE); or each row
    of the input says what to do (MERGE, MERGE_REPEATED)."""

    APPEND = "append"
    """Keep the previous rows; the input's rows come behind them."""
    OVERWRITE = "overwrite"
    """Replace all previous rows by the input's rows."""
    DELETE = "delete"
    """Delete the rows whose numbers are in the input's last column."""
    UPDATE = "update"
    """Delete the rows whose numbers are in the input's last column; the other columns hold the rows that
    replace them."""
    MERGE = "merge"
    """Make the changes of :mod:`sqlfront_engine.row_actions`; a row that is found twice is an error."""
    MERGE_REPEATED = "merge repeated"
    """Make the changes of :mod:`sqlfront_engine.row_actions`; a row may be deleted repeatedly."""


_MERGES = (ChangeMode.MERGE, ChangeMode.MERGE_REPEATED)


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
        #: Whether the version was published.
        self.is_published = False

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
                # Invariant: judged by this version and this list, since they are what the change is made of;
                # the table may have a later version, which is in place, by now.
                if self.base.dealt != self.members.dealt or NOBODY in self.base.owners:
                    current.check_complete()
                if not self._is_placed():
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

    def _is_placed(self) -> bool:
        """Return whether the rows of ``base`` lie where this change looks for them."""
        return self.base.key is None or self.base.dealt == self.members.dealt

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
        self.is_published = True

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
        if self._how in _MERGES:
            return partial(MergeShare, distinct=self._how is ChangeMode.MERGE)
        return StoreShare

    def _backup_maker(self) -> Callable[..., BackupShare]:
        """Return the function that makes the processors of backups from the fields of :class:`BackupShare` up
        to ``held``."""
        store = self.processor
        if isinstance(store, ChangeShare):
            return partial(BackupShare, numbered=True, stores=store.stores)
        if isinstance(store, MergeShare):
            return partial(BackupShare, acts=True)
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
