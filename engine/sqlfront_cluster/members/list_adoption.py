"""The member list at one member: which version the member uses, and the messages that wait for a later one.

A new version of the member list is used once its new members are connected (or :data:`PATIENCE` is over), so
that jobs find all members of their list. A job or a request planned with a later version than the used one
waits until that version is used here.
"""

from collections.abc import Callable
from typing import Final

from sqlfront_cluster.members.cluster_messages import ClientsChanged, ListAdopted
from sqlfront_cluster.members.member import Member
from sqlfront_cluster.members.member_connections import MemberConnections
from sqlfront_cluster.members.member_list import MemberList
from sqlfront_cluster.members.membership_state import MembershipState, MembershipStatus
from sqlfront_cluster.members.messages import Init, Message, Request, Submit
from sqlfront_cluster.members.watchers import notify
from sqlfront_cluster.network.transport import Peer

#: Seconds for which a member waits for connections with new members before it uses the list without them; all
#: changes of the cluster wait meanwhile.
PATIENCE: Final = 1.0


class ListAdoption:
    """The versions of the member list at ``member``. ``others``: the connections with the other members, and
    the latest version. ``send``: sends a message to the keeper. ``on_present``: called with the names of the
    members and clients that are present after each change of them, with the lock held. ``on_joined``: called
    when this member has joined. ``on_gone``: called with the reason if the list has this member no more.
    ``status``: the membership's state, whose lock guards all fields."""

    def __init__(
        self,
        member: Member,
        others: MemberConnections,
        status: MembershipStatus,
        send: Callable[[Message], None],
        on_present: Callable[[frozenset[str]], None],
        on_joined: Callable[[], None],
        on_gone: Callable[[str], None],
    ) -> None:
        #: Functions called after each change of the member list in use, and after the loss of a client.
        self.watchers: list[Callable[[], None]] = []
        self._member = member
        self._others = others
        self._status = status
        self._send = send
        self._on_present, self._on_joined, self._on_gone = on_present, on_joined, on_gone
        # Init messages and requests planned with a list that isn't used here yet.
        self._early: list[tuple[Peer, Init | Request | Submit]] = []

    def holds(self, peer: Peer, message: Init | Request | Submit) -> bool:
        """Return whether the message of ``peer`` was planned with a later version of the list than this
        member uses; such a message is kept until that version is used here."""
        if not self._is_early(message):
            return False
        with self._status.lock:
            early = self._is_early(message)
            if early:
                self._early.append((peer, message))
        return early

    def _is_early(self, message: Init | Request | Submit) -> bool:
        return message.list_version is not None and message.list_version > self._member.members.version

    def drop_early(self) -> None:
        """With the lock held: forget the messages that wait for a later version, at the membership's end."""
        self._early.clear()

    def change_clients(self, message: ClientsChanged) -> None:
        """Note the clients that have come or gone, and close the connections with those that have gone, so
        that their jobs end and none of their late messages is handled."""
        before, named = self._member.clients, frozenset(message.names)
        present = named if message.all else before - named if message.gone else before | named
        self._member.clients = present
        gone = before - present
        with self._status.lock:
            self._on_present(self._present())
            peers = self._others.of(gone)
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
            self._on_present(self._present())
            fenced = self._others.of(gone)
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
            self._status.later(PATIENCE, lambda: self.settle(patient=False))

    def _present(self) -> frozenset[str]:
        return self._member.clients.union(each.name for each in self._others.latest.members)

    def dial(self) -> None:
        """Connect to the members of the latest list that aren't connected."""
        if not self._status.ended:
            self._others.dial()

    def settle(self, *, patient: bool = True) -> None:
        """Use the latest version of the list if its new members are connected. ``patient`` False: don't wait
        for the connections, except for a member that is still joining, which needs all of them."""
        member, status = self._member, self._status
        with status.lock:
            latest, used = self._others.latest, member.members
            if status.ended or (latest.version == used.version and status.joined):
                return
            lacking = self._others.lacking()
            if status.joined:
                lacking = [each for each in lacking if each.name not in used] if patient else []
            if lacking:
                return
            member.members = latest
            joined = not status.joined and (member.name in latest or member.observes)
            if joined:
                status.state = MembershipState.JOINED
            self._send(ListAdopted(latest.version))
            ready = [each for each in self._early if not self._is_early(each[1])]
            self._early = [each for each in self._early if self._is_early(each[1])]
        for peer, message in ready:
            member.received(peer, message, None)
        notify(self.watchers)
        if joined:
            self._on_joined()
