"""The keeper's records of members, clients and newcomers."""

from collections.abc import Mapping, Sequence

import msgspec

from sqlfront_cluster.members.protocol.cluster_messages import KeeperMessage
from sqlfront_cluster.members.protocol.member_list import MemberInfo
from sqlfront_cluster.network.transport import Peer


class KnownMember(msgspec.Struct):
    """The keeper's record of a member, or of a newcomer that is joining (``joined`` False).

    ``peer``: the connection, None = lost. ``heard``: the time of the last message (s, the keeper's clock).
    ``adopted``: the version of the member list that the member uses. ``seen``: the version up to which it has
    the changes of documents. ``observes``: it is a client without a place in the member list. ``missing``:
    the members to which it has no connection. ``leaves_with``: the version of the list that all members must
    use before the member may leave, None = it isn't leaving."""

    info: MemberInfo
    peer: Peer | None
    heard: float
    joined: bool = False
    adopted: int = 0
    seen: int = 0
    observes: bool = False
    missing: tuple[str, ...] = ()
    leaves_with: int | None = None


class KnownMembers(dict[str, KnownMember]):
    """The keeper's records by name; the keeper's lock guards them."""

    def tell(self, message: KeeperMessage) -> None:
        """Send a message to all members, clients and newcomers that are connected."""
        for known in self.values():
            if known.peer is not None:
                known.peer.send(message)

    @property
    def clients(self) -> tuple[str, ...]:
        """The names of the clients without a place in the member list."""
        return tuple(name for name, each in self.items() if each.observes)

    def seen(self, latest: int, writer: str) -> int:
        """Return the number of the last change of documents that all members and clients except ``writer``
        have: ``latest`` if there are no others."""
        others = (known.seen for name, known in self.items() if known.joined and name != writer)
        return min(others, default=latest)

    def released(self) -> list[Peer]:
        """Return the connections with those leaving members of which all members know that they leave."""
        joined = [known for known in self.values() if known.joined and not known.observes]
        adopted = min((known.adopted for known in joined), default=0)
        return [
            known.peer
            for known in joined
            if known.leaves_with is not None and adopted >= known.leaves_with and known.peer is not None
        ]

    def heard_since(self, now: float, seconds: float) -> dict[str, KnownMember]:
        """Return the connected ones of which a message has come in the last ``seconds`` before ``now``."""
        return {
            name: known
            for name, known in self.items()
            if known.peer is not None and now - known.heard < seconds
        }


def parted(order: Sequence[str], live: Mapping[str, KnownMember]) -> list[tuple[str, str]]:
    """Return members to remove so that all others reach each other: of each pair of live members without a
    connection the one that joined later, with the name of the other one. ``order``: the names of all members
    in the order of joining. ``live``: the members that the keeper hears."""
    remaining = {name: known for name, known in live.items() if name in order}
    found = []
    for name in order:
        for other in remaining[name].missing if name in remaining else ():
            if other in remaining and name in remaining:
                later = max(name, other, key=order.index)
                earlier = other if later == name else name
                del remaining[later]
                found.append((later, earlier))
    return found
