"""What a member's process does for tables beside running jobs: it holds shares as long as anybody may read
them, and the first of the members looks after tables whose members have gone."""

import logging
import math
from collections.abc import Callable, Mapping
from threading import Lock
from typing import TYPE_CHECKING, Final

import sqlfront_connectors.registry  # noqa: F401 - makes the connectors' processors known to the member
from sqlfront.cluster.documents import TURN, turn_of
from sqlfront.cluster.relations import TABLE, decode_table
from sqlfront_connectors.memory.store import TableStore
from sqlfront_engine.launchers.running import RunningMember
from sqlfront_engine.lazy_modules import lazy_module

if TYPE_CHECKING:
    from sqlfront.cluster import caretaker as caretakers
else:
    caretakers = lazy_module("sqlfront.cluster.caretaker")

#: Seconds for which a version that was replaced can still be read by queries that were planned with it.
GRACE: Final = 60.0
#: Seconds after which a new share is looked at: its writer may have given up already.
STAGED: Final = 5.0

logger = logging.getLogger(__name__)


class TableService:
    """See :class:`~sqlfront_engine.launchers.running.MemberService`.

    A share is kept while its table's document names its version, or its writer has the turn. A version that
    was published before is kept for ``grace`` seconds more.
    """

    def __init__(self, grace: float = GRACE) -> None:
        self._grace = grace
        self._store = TableStore(dealt=self._dealt)
        self._store.on_stage = self._staged
        self._running: RunningMember
        self._caretaker: caretakers.Caretaker | None = None
        # Held while the caretaker is made: changes of the list may be told by two threads.
        self._beginning = Lock()
        # Guards the following.
        self._lock = Lock()
        self._current: dict[str, str] = {}
        self._published: set[str] = set()
        # Shares that have come, or were needed when they were looked at; and since when the others aren't,
        # the oldest first. So a sweep looks at few of them, however many versions are kept.
        self._watched: set[str] = set()
        self._unneeded: dict[str, float] = {}
        # The one timer for the next sweep.
        self._due = math.inf
        self._forget_timer: Callable[[], None] = lambda: None

    @property
    def resources(self) -> Mapping[str, object]:
        """The member's shares."""
        return self._store

    def _dealt(self) -> int:
        return self._running.member.members.dealt

    def attach(self, running: RunningMember) -> None:
        """Hold the shares of this member."""
        self._running = running
        self._store.member = running.membership.name
        running.membership.watchers.append(self._hear)
        running.membership.list_watchers.append(self._hear_list)

    def close(self) -> None:
        """Stop looking after tables."""
        if self._caretaker is not None:
            self._caretaker.close()

    def _staged(self, key: str) -> None:
        with self._lock:
            if key in self._store:
                self._watched.add(key)
        self._later(STAGED)

    def _hear(self, key: str) -> None:
        if key.startswith(TABLE):
            document = self._running.membership.documents.get(key)
            identity = key.removeprefix(TABLE)
            version = None if document is None else decode_table(document.content).key
            with self._lock:
                replaced = self._current.pop(identity, None)
                if replaced is not None and replaced not in self._store:
                    self._published.discard(replaced)
                if version is not None:
                    self._current[identity] = version
                    self._published.add(version)
        if key.startswith((TABLE, TURN)):
            self.sweep()

    def _hear_list(self) -> None:
        self.sweep()
        members = self._running.member.members.data_members
        if members and members[0] == self._running.membership.name and self._current:
            with self._beginning:
                if self._caretaker is None:
                    self._caretaker = caretakers.of_cluster(self._running)
            self._caretaker.wake()

    def sweep(self) -> None:
        """Free the shares that nobody needs any more."""
        now, due = self._running.engine.clock.now(), math.inf
        with self._lock:
            for key in [key for key in self._watched if not self._is_needed(key)]:
                self._watched.discard(key)
                self._unneeded[key] = now
                if key not in self._published:
                    self._free(key)
            while self._unneeded:
                key, since = next(iter(self._unneeded.items()))
                if now < since + self._grace:
                    due = since + self._grace
                    break
                self._free(key)
        if due < math.inf:
            self._sweep_at(due)

    def _free(self, key: str) -> None:
        """With the lock held."""
        del self._unneeded[key]
        self._published.discard(key)
        self._store.free(key)

    def _is_needed(self, key: str) -> bool:
        identity, _, made = key.partition("@")
        if self._current.get(identity) == key:
            return True
        turn = self._running.membership.documents.get(f"{TURN}{identity}")
        if turn is None:
            return False
        writer = turn_of(turn)
        return writer.token == made.rpartition(".")[0] and writer.holder in self._running.member.members

    def _later(self, seconds: float) -> None:
        self._sweep_at(self._running.engine.clock.now() + seconds)

    def _sweep_at(self, when: float) -> None:
        """Sweep by then, if no sweep is to come sooner."""
        clock = self._running.engine.clock
        with self._lock:
            if when < self._due:
                self._forget_timer()
                self._due, self._forget_timer = when, clock.call_at(when, self._timed)

    def _timed(self) -> None:
        with self._lock:
            self._due = math.inf
        self.sweep()


def service() -> TableService:
    """The service of a new member."""
    return TableService()
