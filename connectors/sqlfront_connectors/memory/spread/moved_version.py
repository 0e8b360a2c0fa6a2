"""The making of the version of one step on the way of a spread table's rows to the present owners of their
partitions (:mod:`~sqlfront_connectors.memory.spread.moves`)."""

from collections.abc import Callable
from functools import partial

from sqlfront_cluster.members.protocol.member_list import MemberList
from sqlfront_connectors.memory.spread.backups import Backups
from sqlfront_connectors.memory.spread.move_processors import (
    CopyBackup,
    CopyShare,
    MoveBackup,
    MoveShare,
    MovingRows,
)
from sqlfront_connectors.memory.spread.moves import CopyStep, MoveStep, PlacedStep
from sqlfront_connectors.memory.spread.next_version import ChangeMode, NextVersion, reported
from sqlfront_connectors.memory.spread.processors import BackupShare, StoreShare
from sqlfront_connectors.memory.spread.published_table import PublishedTable
from sqlfront_connectors.memory.spread.version import TableVersion
from sqlfront_engine.dag import DAG, Edge


class MovedVersion(NextVersion):
    """The version that a step makes of the version ``chosen``. ``members``: the member list for which the
    step was chosen. Entering raises OperationalError (40001) if the table has another version, or partitions
    have other owners."""

    def __init__(
        self, table: PublishedTable, placed: PlacedStep, chosen: TableVersion, members: MemberList
    ) -> None:
        super().__init__(table, ChangeMode.APPEND)
        self._placed, self._chosen, self._chosen_for = placed, chosen, members.dealt

    def _placement(self) -> tuple[int, tuple[str, ...]]:
        return self._placed.dealt, self._placed.owners

    def _is_placed(self) -> bool:
        chosen = self.base is self._chosen and self.members.dealt == self._chosen_for
        return chosen and self.base.is_readable(self.members)

    def _placed_backups(self) -> Backups:
        return self._placed.backups

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
