"""A spread table as all sessions know it: its present version, and the turns of those that write."""

import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

import pyarrow as pa

from sqlfront_connectors.base import Partitioning
from sqlfront_connectors.memory.keyed_table import KeyedTable
from sqlfront_connectors.memory.spread.share_statistics import nothing
from sqlfront_connectors.memory.spread.snapshot import JobRunner, SpreadSnapshot
from sqlfront_connectors.memory.spread.version import TableVersion
from sqlfront_connectors.memory.writer_lock import WriterLock
from sqlfront_engine.forks import when_forgotten


class ClusterAccess(JobRunner, Protocol):
    """The operations of a cluster that a table whose rows are spread over its members needs: to run jobs, and
    to publish versions for all sessions.

    A caller must not hold a lock that a job could need.
    """

    def begin_turn(self, table: "PublishedTable") -> str:
        """Wait until no other session writes to the table, and reserve the table for writes of this process
        until :meth:`end_turn`. Returns a text that is unique to this reservation."""

    def end_turn(self, table: "PublishedTable") -> None:
        """End the reservation of :meth:`begin_turn`, so that other sessions can write. Shares that were made
        since and not published may be freed. Does nothing without a reservation."""

    def begin_attempt(self, table: "PublishedTable") -> str | None:
        """Begin a change of the table's present version without a reservation: :meth:`publish` then fails,
        with SQLSTATE 40001, if another session has changed the table meanwhile or has it reserved. Costs no
        message. Returns a text that is unique to this attempt; None if only a reservation can help."""

    def end_attempt(self, table: "PublishedTable", *, failed: bool) -> None:
        """End the attempt of :meth:`begin_attempt`. ``failed``: members may have shares that were not
        published; these are freed once they can't be published any more."""

    def publish(self, table: "PublishedTable", version: TableVersion, dealt: int) -> None:
        """Make ``version`` the table's current version for all sessions at once, in this process by
        :meth:`PublishedTable.adopt`. ``dealt``: the version of the member list with which the shares were
        made. Raises OperationalError if partitions have changed their owners since, or another session has
        changed the table since :meth:`begin_turn` or :meth:`begin_attempt`."""

    def dropped(self, table: "PublishedTable") -> None:
        """Tell the cluster that the table was dropped, so that no new query reads it."""

    def release(self, key: str) -> None:
        """Record that this process no longer reads the version with this key, or has failed to publish the
        version. Finalizers of garbage-collected objects may call this method."""


class PublishedTable(KeyedTable):
    """A spread table without the statements that change it. ``members``: the access to the cluster.
    ``identity``: the name under which the cluster knows the table, which no other table ever gets; None =
    make a new one."""

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
        self._writer = WriterLock()
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
    def takes_row_changes(self) -> bool:
        """True if the members with the rows of the present version, and those with their backups, are
        present, so that rows can be changed by their keys, without a job, where they are."""
        return self._current.held.is_changeable(self.members.member_list)

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

    def next_key(self, turn: str) -> str:
        """Return a new, unique key for the shares of a version that the present writer makes. ``turn``: the
        text of the writer's reservation, the value of :meth:`turn`. A second call with the same text returns
        another key, so that shares left by a failed version are never mistaken for shares of the next
        version."""
        self._begun += 1
        return f"{self.identity}@{turn}.{self._begun}"
