"""Service for tables in a member's process, besides running jobs: the service holds shares as long as a
reader may need them, and the service of the first member looks after tables whose members have gone."""

from threading import Lock
from typing import TYPE_CHECKING

import sqlfront_connectors.registry  # noqa: F401 - makes the connectors' processors known to the member
from sqlfront.cluster import caretaker as caretakers
from sqlfront.cluster import processes
from sqlfront.config import Config
from sqlfront_cluster.launchers.running import RunningMember
from sqlfront_connectors.memory.exchange.holding import GRACE, ShareHolder
from sqlfront_values.lazy_modules import lazy_module

if TYPE_CHECKING:
    from sqlfront import session as sessions
else:
    sessions = lazy_module("sqlfront.session")


class TableService(ShareHolder):
    """See :class:`~sqlfront_cluster.launchers.running.MemberService`."""

    def __init__(self, grace: float = GRACE) -> None:
        super().__init__(grace)
        self._caretaker: caretakers.Caretaker | None = None
        # Held while the caretaker is made: two threads may report changes of the member list.
        self._beginning = Lock()

    def attach(self, running: RunningMember) -> None:
        """Hold the shares of this member."""
        super().attach(running)
        running.membership.list_watchers.append(self._look_after)

    def close(self) -> None:
        """Stop looking after tables."""
        if self._caretaker is not None:
            self._caretaker.close()

    def _look_after(self) -> None:
        members = self._running.member.members.data_members
        if members and members[0] == self._running.membership.name and self._current:
            with self._beginning:
                if self._caretaker is None:
                    self._caretaker = caretaker_of(self._running)
            self._caretaker.wake()


def caretaker_of(running: RunningMember) -> "caretakers.Caretaker":
    """The caretaker of the cluster's tables on one of the cluster's members."""
    members = processes.ProcessMembers(running)
    session = sessions.Session(Config(), members)
    return caretakers.Caretaker(lambda: session.context, members.documents, everybodys=True)


def service() -> TableService:
    """The service of a new member."""
    return TableService()
