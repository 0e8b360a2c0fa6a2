"""One connection per pair of members, though both may connect at once, twice, or anew.

The member with the smaller name decides. When the two know each other, it says by a :class:`Verdict` whether
to use the connection or names the one that it holds already. The other one agrees by closing, or, if it
doesn't know that one any more (a connection may be dead at one end only), insists by :class:`Settled`; then
the named one is replaced. A connection is in use when ``Settled`` has been sent and received, and nothing is
sent over it before: so no message is lost with a connection that wasn't chosen.

A member of the same name but another incarnation has been started anew: what is held to the old one is dead.
"""

from threading import Lock
from typing import Final

from sqlfront_cluster.network.connection import Connection
from sqlfront_cluster.network.handshake import Settled, Steps, Verdict, expect

_ANEW: Final = "the member has connected anew"


class Connections:
    """All connections of one member, by the other one's name as far as that is known."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = Lock()
        # Invariant: a connection is in _all from its first byte until its receiver has heard its end, in
        # _known from when the other side may refer to it, in _chosen while its pair has no better one.
        self._all: set[Connection] = set()
        self._known: dict[bytes, Connection] = {}
        self._chosen: dict[str, Connection] = {}

    def add(self, connection: Connection) -> None:
        """Begin to know of a connection."""
        with self._lock:
            self._all.add(connection)

    def know(self, connection: Connection) -> None:
        """Know the connection by its id, which the other side may refer to."""
        with self._lock:
            self._known[connection.id] = connection

    def forget(self, connection: Connection) -> None:
        """The connection has ended."""
        with self._lock:
            self._all.discard(connection)
            if self._known.get(connection.id) is connection:
                del self._known[connection.id]
            if self._chosen.get(connection.name) is connection:
                replaced = connection.replaces
                if replaced is not None and not replaced.finished.is_set():
                    self._chosen[connection.name] = replaced
                else:
                    del self._chosen[connection.name]
        connection.replaces = None

    def all(self) -> list[Connection]:
        """The connections of now, in use or not."""
        with self._lock:
            return list(self._all)

    def in_use(self) -> list[Connection]:
        """The peers, by name."""
        with self._lock:
            chosen = sorted(self._chosen.items())
        return [connection for _, connection in chosen if connection.in_use]

    def connected(self, name: str) -> bool:
        """Whether the member of that name is a peer now."""
        with self._lock:
            connection = self._chosen.get(name)
        return connection is not None and connection.in_use

    def settle(self, connection: Connection) -> Steps[Connection | None]:
        """Agree with the other side: None if the connection is to be used, otherwise the one instead of
        it. Raises HandshakeFailed."""
        if self._name < connection.name:
            instead = self._reserve(connection)
            yield Verdict(None if instead is None else instead.id)
            answer = yield None
            if answer is None and instead is not None:
                return instead
            expect(Settled, answer)
            self._choose(connection)
        else:
            verdict = expect(Verdict, (yield None))
            if verdict.instead is not None:
                with self._lock:
                    instead = self._known.get(verdict.instead)
                if instead is not None and not instead.closed:
                    return instead
            self._choose(connection)
            yield Settled()
        return None

    def _reserve(self, connection: Connection) -> Connection | None:
        """Choose the connection unless its pair has another one that may be alive, which is returned."""
        with self._lock:
            held = self._chosen.get(connection.name)
            if held is not None and not held.closed and held.identity == connection.identity:
                return held
            connection.replaces = held
            self._chosen[connection.name] = connection
        if held is not None:
            held.close(_ANEW)
        return None

    def _choose(self, connection: Connection) -> None:
        """Make it the one connection of its pair; an older one is closed."""
        with self._lock:
            held = self._chosen.get(connection.name)
            if held is connection:
                return
            connection.replaces = held
            self._chosen[connection.name] = connection
        if held is not None:
            held.close(_ANEW)
