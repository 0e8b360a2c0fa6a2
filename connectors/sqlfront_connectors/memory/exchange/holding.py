"""The lifetime of a member's shares of tables: a share is kept as long as a reader may need it."""

import math
from collections.abc import Callable, Mapping
from threading import Lock
from typing import Final

from sqlfront_cluster.launchers.running import RunningMember
from sqlfront_connectors.memory.exchange.service import EXCHANGE, RowExchange
from sqlfront_connectors.memory.segments.table_memory import TableMemory
from sqlfront_connectors.memory.spread.documents import TABLE, TURN, VersionShares, decode_shares, turn_of
from sqlfront_connectors.memory.spread.store import TableStore
from sqlfront_connectors.memory.spread.version_keys import (
    backup_key,
    expected_version,
    share_key,
    token_of,
    uses,
    writer_of,
)

#: Seconds for which queries that were planned with a replaced version can still begin to read it; later ones
#: are planned again. The old rows take memory meanwhile, those of each step when rows move to other members.
GRACE: Final = 5.0
#: Seconds after which a new share is checked: its writer may have given up already.
STAGED: Final = 5.0


class ShareHolder:
    """A :class:`~sqlfront_cluster.launchers.running.MemberService` that decides when the member frees the
    shares of old versions.

    A share is kept as long as the table's document names its version (the version is current), the version
    is being made, or a reader holds the version. A version is being made as long as its writer has the
    exclusive right to write to the table or, if the writer does without, as long as the document has not
    changed since: then the writer may still publish the version, and afterwards it can't. A version that was
    current once is then kept for ``grace`` seconds more, unless memory is short.
    """

    def __init__(self, grace: float = GRACE) -> None:
        self._grace = grace
        self._store = TableStore(dealt=self._dealt)
        self._store.on_stage = self._staged
        self._exchange = RowExchange(self._store, self._held)
        self._store.services[EXCHANGE] = self._exchange
        self._running: RunningMember
        # Guards the fields below.
        self._lock = Lock()
        self._current: dict[str, frozenset[str]] = {}
        self._published: set[str] = set()
        # The version of each table's document from which ``_current`` is.
        # Invariant: changed together with ``_current``, so that a share that was just published is needed.
        self._heard: dict[str, int] = {}
        # ``_watched``: new shares, and shares that the last check found needed. ``_unneeded``: the other
        # shares, each with the time since when, the oldest first. So a sweep checks few shares, however many
        # versions are kept.
        self._watched: set[str] = set()
        self._unneeded: dict[str, float] = {}
        # The one timer for the next sweep.
        self._due = math.inf
        self._forget_timer: Callable[[], None] = lambda: None

    @property
    def resources(self) -> Mapping[str, object]:
        """The member's shares, as resources of the member's jobs."""
        return self._store

    def _dealt(self) -> int:
        return self._running.member.members.dealt

    def attach(self, running: RunningMember) -> None:
        """Begin to manage the shares of the member ``running``: changes of the keeper's documents and of the
        member list from now on lead to a :meth:`sweep`."""
        self._running = running
        self._store.member = running.membership.name
        self._exchange.budget = running.engine.memory
        self._store.memory = TableMemory(running.engine.tables)
        for budget in (running.engine.memory, running.engine.tables):
            budget.relief = self.relieve
        running.membership.watchers.append(self._hear)
        running.membership.followers.append(self._follow)
        running.membership.list_watchers.append(self._hear_list)

    def hand_over(self, is_over: Callable[[], bool], *, forced: bool) -> bool:
        """Return True: the shares are lost with the member, or a subclass moves them."""
        return True

    def leave(self) -> None:
        """Do nothing: the shares stay until the member has left."""

    def close(self) -> None:
        """Do nothing: the shares end with the member's process."""

    def _staged(self, key: str) -> None:
        with self._lock:
            if self._store.holds(key):
                self._watched.add(key)
        self._later(STAGED)

    def _held(self, version: str) -> None:
        """Note that a reader has begun to hold the version ``version``, or has ended the last hold on it, and
        sweep."""
        with self._lock:
            for key in [key for key in self._unneeded if uses(version, key, self._store.member)]:
                del self._unneeded[key]
                self._watched.add(key)
        self.sweep()

    def _hear_list(self) -> None:
        self._exchange.keep_only(self._running.membership.is_present)
        self.sweep()

    def _hear(self, key: str) -> None:
        """Free the shares of a dropped table, and those of a writer that has given up, before the writer of
        the change goes on."""
        if key.startswith(TURN) or (key.startswith(TABLE) and key not in self._running.membership.documents):
            self._look_at(key)

    def _follow(self, key: str) -> None:
        """Take note of a table's new version. The writer doesn't wait for this: the shares of the former
        version stay for a while anyway."""
        if key.startswith(TABLE) and key in self._running.membership.documents:
            self._look_at(key)

    def _look_at(self, key: str) -> None:
        if key.startswith(TABLE):
            with self._lock:
                self._read_table(key.removeprefix(TABLE))
        self.sweep()

    def _read_table(self, identity: str) -> None:
        """Find out which shares the present version of a table has, unless that is known. The caller has to
        hold the lock."""
        document = self._running.membership.documents.get(f"{TABLE}{identity}")
        if self._heard.get(identity) == (None if document is None else document.version):
            return
        current = frozenset() if document is None else self._keys_of(decode_shares(document.content))
        self._heard.pop(identity, None)
        if document is not None:
            self._heard[identity] = document.version
        replaced = self._current.pop(identity, frozenset()) - current
        self._published -= {each for each in replaced if not self._store.holds(each)}
        self._published |= current
        if current:
            self._current[identity] = current

    def _keys_of(self, table: VersionShares) -> frozenset[str]:
        """Return the keys of this member's share of a table's current version, and of the backups that the
        member holds."""
        if table.key is None:
            return frozenset()
        name = self._store.member
        held = (backup_key(table.key, owner) for owner, holders in table.backups if name in holders)
        return frozenset((share_key(table.key, name), *held))

    def sweep(self) -> None:
        """Free the shares that no reader or writer needs any more. A share of a version that was current once
        is freed when nobody has needed it for ``grace`` seconds, any other share now. Schedule the next sweep
        for the moment at which the next share's ``grace`` ends."""
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

    def relieve(self) -> bool:
        """Free all versions that nobody needs and that are kept only for some seconds more (``grace``),
        because memory is short; a query that was planned with such a version is planned again. Return whether
        any version was freed."""
        self.sweep()
        with self._lock:
            keys = tuple(self._unneeded)
            for key in keys:
                self._free(key)
        return bool(keys)

    def _free(self, key: str) -> None:
        """Remove the share ``key``, which nobody needs, from the store. The caller has to hold the lock."""
        del self._unneeded[key]
        self._published.discard(key)
        self._store.free(key)

    def _is_needed(self, key: str) -> bool:
        """Return whether a reader or a writer needs the share ``key``. The caller has to hold the lock."""
        identity, token = key.partition("@")[0], token_of(key)
        expected = expected_version(token)
        # Before the table's version is read: a writer publishes before its turn ends, or the writer goes.
        writes = self._has_turn(identity, token) if expected is None else self._is_present(writer_of(token))
        self._read_table(identity)
        if key in self._current.get(identity, ()) or self._exchange.is_held(key):
            return True
        return writes and (expected is None or self._heard.get(identity, math.inf) <= expected)

    def _is_present(self, member: str) -> bool:
        return self._running.membership.is_present(member)

    def _has_turn(self, identity: str, token: str) -> bool:
        """Return whether the turn of the table is that of ``token``, and its holder is present."""
        turn = self._running.membership.documents.get(f"{TURN}{identity}")
        if turn is None:
            return False
        writer = turn_of(turn)
        return writer.token == token and self._is_present(writer.holder)

    def _later(self, seconds: float) -> None:
        self._sweep_at(self._running.engine.clock.now() + seconds)

    def _sweep_at(self, when: float) -> None:
        """Schedule a sweep for the time ``when`` (of the engine's clock), unless an earlier sweep is
        scheduled."""
        clock = self._running.engine.clock
        with self._lock:
            if when < self._due:
                self._forget_timer()
                self._due, self._forget_timer = when, clock.call_at(when, self._timed)

    def _timed(self) -> None:
        with self._lock:
            self._due = math.inf
        self.sweep()
