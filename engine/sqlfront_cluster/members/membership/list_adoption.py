"""The member list at one member: which version the member uses, and the messages that wait for a later one.

A new version of the member list is used once its new members are connected (or :data:`PATIENCE` is over), so
that jobs find all members of their list. A job or a request planned with a later version than the used one
waits until that version is used here, and so does what the same member asks or says about it. It is dropped
with the connection that it came by: whoever has sent it hears that the connection broke.
"""

from collections.abc import Callable, Container, Iterable
from typing import Final

import msgspec

from sqlfront_cluster.members.member import Member
from sqlfront_cluster.members.membership.member_connections import MemberConnections
from sqlfront_cluster.members.membership.membership_state import MembershipState, MembershipStatus
from sqlfront_cluster.members.membership.watchers import notify
from sqlfront_cluster.members.protocol.cluster_messages import ListAdopted
from sqlfront_cluster.members.protocol.member_list import MemberList
from sqlfront_cluster.members.protocol.messages import (
    CheckJobs,
    CheckParts,
    CheckRequests,
    Init,
    Message,
    Request,
    Submit,
    Terminate,
)
from sqlfront_cluster.network.transport import Peer

#: Seconds for which a member waits for connections with new members before it uses the list without them; all
#: changes of the cluster wait meanwhile.
PATIENCE: Final = 1.0
#: Messages that name the version of the list that they were planned with.
_PLANNED: Final = (Init, Request, Submit)
#: Messages about such messages, which make sense only after them.
_ABOUT: Final = (CheckJobs, CheckParts, CheckRequests, Terminate)
#: Messages that may have to wait for a version of the list.
MAY_WAIT: Final = _PLANNED + _ABOUT


class ListAdoption:
    """The versions of the member list at ``member``. ``others``: the connections with the other members, and
    the latest version. ``send``: sends a message to the keeper. ``forget``: called with the names of members
    and clients that have gone, with the lock held. ``on_joined``: called
    when this member has joined. ``on_gone``: called with the reason if the list has this member no more.
    ``status``: the membership's state, whose lock guards all fields."""

    def __init__(
        self,
        member: Member,
        others: MemberConnections,
        status: MembershipStatus,
        send: Callable[[Message], None],
        forget: Callable[[Iterable[str]], None],
        on_joined: Callable[[], None],
        on_gone: Callable[[str], None],
    ) -> None:
        #: Functions called after each change of the member list in use, and after the loss of a client.
        self.watchers: list[Callable[[], None]] = []
        #: The version of the list that this member uses, None = none yet.
        self.adopted: int | None = None
        self._member = member
        self._others = others
        self._status = status
        self._send = send
        self._forget, self._on_joined, self._on_gone = forget, on_joined, on_gone
        # Messages planned with a list that isn't used here yet, and those about them, in their order.
        self._early: list[tuple[Peer, msgspec.Struct]] = []

    def holds(self, peer: Peer, message: msgspec.Struct) -> bool:
        """Return whether the message of ``peer`` was planned with a later version of the list than this
        member uses, or comes after such a message and may be about it. The message is kept until that version
        is used here."""
        if not (self._early if isinstance(message, _ABOUT) else self._is_early(message)):
            return False
        with self._status.lock:
            waits = self._waits(peer, message, self._early)
            if waits:
                self._early.append((peer, message))
        return waits

    def _waits(
        self, peer: Peer, message: msgspec.Struct, before: Iterable[tuple[Peer, msgspec.Struct]]
    ) -> bool:
        """Return whether the message has to wait. ``before``: the messages that wait already."""
        if isinstance(message, _ABOUT):
            return any(each is peer for each, _ in before)
        return self._is_early(message)

    def _is_early(self, message: msgspec.Struct) -> bool:
        return (
            isinstance(message, _PLANNED)
            and message.list_version is not None
            and message.list_version > self._member.members.version
        )

    def _ready(self) -> list[tuple[Peer, msgspec.Struct]]:
        """With the lock held: return the messages that wait no longer, in their order; keep the others."""
        ready, still = list[tuple[Peer, msgspec.Struct]](), list[tuple[Peer, msgspec.Struct]]()
        for peer, message in self._early:
            (still if self._waits(peer, message, still) else ready).append((peer, message))
        self._early = still
        return ready

    def drop_early(self, peers: Container[Peer]) -> None:
        """With the lock held: forget the messages of ``peers``, whose connections end, that wait for a later
        version."""
        self._early = [(peer, message) for peer, message in self._early if peer not in peers]

    def take_clients(self, present: frozenset[str]) -> None:
        """Take note of the clients that are present, and close the connections with those that have gone, so
        that their jobs end and none of their late messages is handled."""
        gone = self._member.clients - present
        self._member.clients = present
        with self._status.lock:
            self._forget(gone)
            peers = self._others.of(gone)
            self.drop_early(peers)
        for peer in peers:
            peer.close(f"client {peer.name} has gone")
        if gone and self._status.joined:
            notify(self.watchers)

    def hear(self, new: MemberList) -> None:
        """Take a list from the keeper: close the connections with the members that have gone, connect to the
        new members, and use the list when that is done."""
        with self._status.lock:
            if not self._others.is_news(new):
                return
            gone = self._others.follow(new)
            self._forget(gone)
            fenced = self._others.of(gone)
            self.drop_early(fenced)
        for peer in fenced:
            self._member.gone(peer.name)
            peer.close(f"member {peer.name} was removed from the cluster")
        own = self._member.name
        if own in gone:
            self._on_gone(f"member {own} is not in the cluster's list any more")
            return
        self.dial()
        self.settle()
        if self._member.members.version < new.version:
            named = frozenset(each.name for each in new.members)
            self._status.later(PATIENCE, lambda: self.settle(without=named))

    def dial(self) -> None:
        """Connect to the members of the latest list that aren't connected."""
        if not self._status.ended:
            self._others.dial()

    def settle(self, *, without: Container[str] = ()) -> None:
        """Use the latest version of the list if its new members are connected. ``without``: the names of
        those for whose connections this member has waited long enough; a member that is still joining needs
        all of them."""
        member, status = self._member, self._status
        with status.lock:
            latest, used = self._others.latest, member.members
            if status.ended or (latest.version == used.version and status.joined):
                return
            lacking = self._others.lacking()
            if status.joined:
                lacking = [each for each in lacking if each.name not in used and each.name not in without]
            if lacking:
                return
            member.members = latest
            joined = not status.joined and (member.name in latest or member.observes)
            if joined:
                status.state = MembershipState.JOINED
            self.adopted = latest.version
            self._send(ListAdopted(latest.version))
            ready = self._ready()
        for peer, message in ready:
            member.received(peer, message, None)
        notify(self.watchers)
        if joined:
            self._on_joined()
