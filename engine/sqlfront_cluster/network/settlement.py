"""Settlement: one connection per pair of members, though both may connect at once, twice, or anew.

The member with the smaller name decides. After the mutual proof the decider sends a
:class:`ConnectionVerdict`: use the connection, or the id of a connection held already. The other member
agrees by closing. Or, if it doesn't know the named connection any more (a connection may be dead at one end
only), it insists by :class:`Settled`; then the named connection is replaced. A connection is in use when
``Settled`` has been sent and received, and no messages are sent before: so no message is lost with a
connection that wasn't chosen.

A member of the same name but another incarnation has been restarted: connections with the old member are
dead.
"""

from threading import Lock
from typing import Final

from sqlfront_cluster.network.connection import MemberConnection
from sqlfront_cluster.network.handshake import ConnectionVerdict, Settled, Steps, expect

_ANEW: Final = "the member has connected anew"


class Connections:
    """All connections of one member, by the other member's name if known."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = Lock()
        # Invariant: a connection is in _all from its first byte until its receiver has been told of the end;
        # in _known from the moment when the other side may refer to it; in _chosen while its pair has no
        # better one.
        self._all: set[MemberConnection] = set()
        self._known: dict[bytes, MemberConnection] = {}
        self._chosen: dict[str, MemberConnection] = {}

    def add(self, connection: MemberConnection) -> None:
        """Register a new connection, whose other side is not known yet."""
        with self._lock:
            self._all.add(connection)

    def know(self, connection: MemberConnection) -> None:
        """Register the connection's id, to which the other side may refer."""
        with self._lock:
            self._known[connection.id] = connection

    def forget(self, connection: MemberConnection) -> None:
        """Remove an ended connection. If it had replaced a connection whose end is still being reported, that
        one is the pair's connection again."""
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

    def all(self) -> list[MemberConnection]:
        """All current connections, in use or not."""
        with self._lock:
            return list(self._all)

    def in_use(self) -> list[MemberConnection]:
        """Return the connections in use, sorted by the other member's name."""
        with self._lock:
            chosen = sorted(self._chosen.items())
        return [connection for _, connection in chosen if connection.in_use]

    def connected(self, name: str) -> bool:
        """Return whether the member ``name`` is a peer now."""
        with self._lock:
            connection = self._chosen.get(name)
        return connection is not None and connection.in_use

    def settle(self, connection: MemberConnection) -> Steps[MemberConnection | None]:
        """The steps by which both sides agree on ``connection``. The steps return None if the connection is
        to be used, otherwise the connection to use instead; they raise HandshakeFailed."""
        if self._name < connection.name:
            instead = self._reserve(connection)
            yield ConnectionVerdict(None if instead is None else instead.id)
            answer = yield None
            if answer is None and instead is not None:
                return instead
            expect(Settled, answer)
            self._choose(connection)
        else:
            verdict = expect(ConnectionVerdict, (yield None))
            if verdict.instead is not None:
                with self._lock:
                    instead = self._known.get(verdict.instead)
                if instead is not None and not instead.closed:
                    return instead
            self._choose(connection)
            yield Settled()
        return None

    def _reserve(self, connection: MemberConnection) -> MemberConnection | None:
        """Make the connection the only one of its pair, close an older connection, and return None. If the
        pair has another connection that may be alive, change nothing and return the other connection."""
        with self._lock:
            held = self._chosen.get(connection.name)
            if held is not None and not held.closed and held.identity == connection.identity:
                return held
            connection.replaces = held
            self._chosen[connection.name] = connection
        if held is not None:
            held.close(_ANEW)
        return None

    def _choose(self, connection: MemberConnection) -> None:
        """Make the connection the only one of its pair; close an older connection."""
        with self._lock:
            held = self._chosen.get(connection.name)
            if held is connection:
                return
            connection.replaces = held
            self._chosen[connection.name] = connection
        if held is not None:
            held.close(_ANEW)
