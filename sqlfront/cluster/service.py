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
    """The service of a member that holds shares of tables; see
    :class:`~sqlfront_cluster.launchers.running.MemberService`. ``grace``: see :class:`ShareHolder`."""

    def __init__(self, grace: float = GRACE) -> None:
        super().__init__(grace)
        self._caretaker: caretakers.Caretaker | None = None
        # Held while the caretaker is made: two threads may report changes of the member list.
        self._beginning = Lock()

    def attach(self, running: RunningMember) -> None:
        """Hold shares for the member ``running``, and watch the member list for the loss of members."""
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
    """Make a caretaker of the cluster's permanent tables that works on the member ``running``, with a
    session of its own."""
    members = processes.ProcessMembers(running)
    session = sessions.Session(Config(), members)
    return caretakers.Caretaker(lambda: session.context, members.documents, everybodys=True)


def service() -> TableService:
    """Make the service of a new member; launchers name this function."""
    return TableService()
