"""The connections of one member with the other members of its cluster."""

from collections.abc import Callable, Iterable

from sqlfront_cluster.members.membership.membership_state import MembershipStatus
from sqlfront_cluster.members.protocol.member_list import MemberInfo, MemberList, nobody
from sqlfront_cluster.members.protocol.removed_members import remember
from sqlfront_cluster.network.transport import Peer
from sqlfront_engine.scheduler import Clock


class MemberConnections:
    """The connections that the member ``name`` has with other members, those that it lacks, and those that it
    refuses since the members were removed. ``connect``: begins to connect to an address. ``status``: the
    membership's state, whose lock guards all fields; methods whose description says "with the lock held"
    don't take the lock."""

    def __init__(
        self, name: str, connect: Callable[[str], None], clock: Clock, status: MembershipStatus
    ) -> None:
        #: The latest member list from the keeper.
        self.latest: MemberList = nobody()
        #: The removed members, each with the reason.
        self.removed: dict[str, str] = {}
        self._name = name
        self._connect = connect
        self._clock = clock
        self._lock = status.lock
        self._peers: dict[str, Peer] = {}
        # Members without a connection, and since when (s, the clock's).
        self._missing: dict[str, float] = {}
        self._dialling: set[str] = set()

    def add(self, peer: Peer) -> bool:
        """With the lock held: record a new connection. Returns False, and records nothing, if the member was
        removed."""
        if peer.name in self.removed:
            return False
        self._peers[peer.name] = peer
        self._missing.pop(peer.name, None)
        self._dialling -= {each.address for each in self.latest.members if each.name == peer.name}
        return True

    def lost(self, peer: Peer) -> bool:
        """Record a broken connection, or a failed attempt to connect; return whether there was a
        connection."""
        with self._lock:
            known = self._peers.get(peer.name) is peer
            if known:
                del self._peers[peer.name]
            self._dialling.discard(peer.name)
        return known

    def of(self, names: Iterable[str]) -> list[Peer]:
        """With the lock held: return the connections with those of ``names`` that are connected."""
        return [self._peers[name] for name in names if name in self._peers]

    def all(self) -> list[Peer]:
        """With the lock held: return all connections."""
        return list(self._peers.values())

    def is_news(self, new: MemberList) -> bool:
        """With the lock held: return whether ``new`` is later than the latest list."""
        return new.version > self.latest.version or not self.latest.members

    def follow(self, new: MemberList) -> list[str]:
        """With the lock held: take ``new`` as the latest list. Returns the names of the members that have
        gone with it: there may still be connections with them, but new ones are refused from now on."""
        gone = [each.name for each in self.latest.members if each.name not in new]
        self.latest = new
        for name in gone:
            remember(self.removed, name, "it was removed from the cluster")
            self._missing.pop(name, None)
        return gone

    def dial(self) -> None:
        """Connect to all members of the latest list that have an address and aren't connected. (Members that
        join later connect to this member themselves.)"""
        now = self._clock.now()
        with self._lock:
            wanted = self.lacking()
            for each in wanted:
                self._missing.setdefault(each.name, now)
            addresses = [each.address for each in wanted if each.address not in self._dialling]
            self._dialling.update(addresses)
        for address in addresses:
            self._connect(address)

    def lacking(self) -> list[MemberInfo]:
        """With the lock held: return the members of the latest list to which a connection is wanted and not
        there."""
        return [each for each in self.latest.members if self._lacks(each)]

    def _lacks(self, info: MemberInfo) -> bool:
        return bool(info.address) and info.name != self._name and info.name not in self._peers

    def missing_for(self, seconds: float) -> tuple[str, ...]:
        """Return the names of the members to which there has been no connection for ``seconds``."""
        if not self._missing:
            return ()
        with self._lock:
            now = self._clock.now()
            return tuple(sorted(name for name, since in self._missing.items() if now - since >= seconds))
