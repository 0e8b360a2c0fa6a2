"""Settlement: the agreement on one connection per pair of members, though both may connect at once, twice, or
again.

The member with the smaller name decides. After both proofs, it sends a :class:`ConnectionVerdict`: use this
connection, or the id of another connection that it has already. The other member agrees to that other
connection by closing this one. But if it doesn't have the named connection any more (a connection may be dead
at one end only), it insists on this one by :class:`Settled`, and the named connection is replaced. A
connection is in use when ``Settled`` has been sent and received. No messages are sent before, so no message
is lost with a connection that isn't used.

A member of the same name but another incarnation has been restarted: connections with the earlier member are
dead.
"""

from threading import Lock
from typing import Final

from sqlfront_cluster.network.connection import MemberConnection
from sqlfront_cluster.network.handshake import ConnectionVerdict, Settled, Steps, expect

_ANEW: Final = "the member has connected anew"


class Connections:
    """All connections of the member ``name``: those still in their handshake, and for each other member the
    single connection that is used with it."""

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
        """Add a new connection, whose peer is not known yet."""
        with self._lock:
            self._all.add(connection)

    def know(self, connection: MemberConnection) -> None:
        """Register the connection under its id, by which the peer may name it when it decides about another
        connection between the two members."""
        with self._lock:
            self._known[connection.id] = connection

    def forget(self, connection: MemberConnection) -> None:
        """Remove an ended connection. If the connection had replaced an earlier one, whose end is still being
        reported to the receiver, the earlier one counts again as the connection that is used with the peer.
        """
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
        """Return all current connections, whether they are used already or still in their handshake."""
        with self._lock:
            return list(self._all)

    def in_use(self) -> list[MemberConnection]:
        """Return the connections over which messages can be sent now, one for each peer at most, sorted by
        the peer's name; connections still in their handshake are left out."""
        with self._lock:
            chosen = sorted(self._chosen.items())
        return [connection for _, connection in chosen if connection.in_use]

    def connected(self, name: str) -> bool:
        """Return whether a connection with the member ``name`` is used now."""
        with self._lock:
            connection = self._chosen.get(name)
        return connection is not None and connection.in_use

    def settle(self, connection: MemberConnection) -> Steps[MemberConnection | None]:
        """Return the steps, a generator that :func:`~sqlfront_cluster.network.handshake.perform` runs, by
        which this member and the peer agree whether to use ``connection``. Their result is None if
        ``connection`` is to be used, else the other connection that is used instead; they raise
        HandshakeFailed."""
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
        """Make ``connection`` the only one with its peer, close an older connection with the peer, and return
        None. If the older connection may still work, change nothing and return that connection."""
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
        """Make ``connection`` the only one with its peer, and close an older connection with the peer."""
        with self._lock:
            held = self._chosen.get(connection.name)
            if held is connection:
                return
            connection.replaces = held
            self._chosen[connection.name] = connection
        if held is not None:
            held.close(_ANEW)
