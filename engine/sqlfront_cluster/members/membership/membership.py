"""A member's part in its cluster: joining, staying, leaving, and being removed.

:class:`Membership` stands between a member and its transport: the member uses it as its transport, and the
transport delivers messages to it. A membership exchanges messages with the keeper, connects with the other
members, and forwards the messages about jobs to the member; messages of removed members are dropped.

* At the end of its lease the member stops by itself; the keeper, which counts from the later arrival, has not
  removed it before. So a member that was paused until after its removal answers none of the messages that
  wait in its sockets.
* Without a keeper the member goes on until its lease ends. If another process becomes the keeper meanwhile,
  the member reports to it what it has, keeps its jobs and rows, and ignores former keepers from then on.

A membership consists of ``keeper_connection`` (finding the keeper, and the lease), ``member_connections``
(with the other members), ``list_adoption`` (the version of the member list in use), and ``document_copies``.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import msgspec

from sqlfront_cluster.members.member import Member
from sqlfront_cluster.members.membership.document_copies import DocumentCopies, PutOutcome
from sqlfront_cluster.members.membership.keeper_connection import RETRY, KeeperConnection
from sqlfront_cluster.members.membership.list_adoption import MAY_WAIT, ListAdoption
from sqlfront_cluster.members.membership.member_connections import MemberConnections
from sqlfront_cluster.members.membership.membership_state import (
    MembershipSettings,
    MembershipState,
    MembershipStatus,
)
from sqlfront_cluster.members.membership.watchers import notify
from sqlfront_cluster.members.protocol.cluster_messages import (
    ClientsChanged,
    ClusterEnded,
    DocumentAnswer,
    DocumentChanged,
    DocumentCopy,
    DocumentKeys,
    HandOver,
    Heartbeat,
    HeartbeatAnswer,
    Inquiry,
    JoinCluster,
    Leave,
    LeaveAllowed,
    Left,
    ListAdopted,
    MemberListChanged,
    Rebalance,
    Removed,
    Report,
)
from sqlfront_cluster.members.protocol.document import ConditionalChange, Document
from sqlfront_cluster.members.protocol.keeper_names import keeper_epoch
from sqlfront_cluster.network.transport import (
    Body,
    NetworkStatistics,
    Peer,
    Receiver,
    Transport,
    UnconnectedPeer,
)
from sqlfront_engine.engine import Engine
from sqlfront_engine.processor import NO_RESOURCES
from sqlfront_values.errors import OperationalError

#: Seconds between two checks for the end of a leaving member's jobs, and before the first one; the end of the
#: process waits so long at most. A job that takes longer to arrive fails with the member's end.
LEAVING_PERIOD: Final = 0.05
#: SQLSTATE: the server rejected the connection.
REFUSED: Final = "08004"

logger = logging.getLogger(__name__)


class Membership:
    """A member's part in its cluster: it joins, stays, leaves or is removed. It stands between the member,
    which uses it as its transport, and the real ``transport``: it exchanges messages with the keeper, and
    passes on the messages of other members.

    ``resources``: the resources of the :class:`~sqlfront_cluster.members.member.Member`. ``on_joined``:
    called when the keeper's list has the member. ``locate``: returns the address of the present keeper, None
    = always the keeper's address in the settings. ``on_end``: called once, when the membership ends: with the
    error that ended it, or None if the member has left of its own accord or was closed.
    """

    def __init__(
        self,
        engine: Engine,
        transport: Transport,
        settings: MembershipSettings,
        resources: Mapping[str, object] = NO_RESOURCES,
        on_joined: Callable[[], None] = lambda: None,
        on_end: Callable[[OperationalError | None], None] = lambda error: None,
        locate: Callable[[], str] | None = None,
    ) -> None:
        self.name = transport.name
        self.by_reference = transport.by_reference
        self.settings = settings
        self._transport = transport
        self._on_end = on_end
        # The state; its lock guards the fields of all parts.
        self._status = MembershipStatus(engine.clock)
        # Whether the keeper lets this member leave, which waits for the end of its jobs.
        self._awaits_idle = False
        self._others = MemberConnections(self.name, self.connect, engine.clock, self._status)
        # The names of removed members.
        self._removed = self._others.removed
        #: The connection with the keeper.
        self.keeper = KeeperConnection(
            self.name,
            settings,
            locate,
            self.connect,
            self._heartbeat,
            self._expired,
            engine.clock,
            self._status,
        )
        self._copies = DocumentCopies(self.name, self.keeper.send, self._status)
        #: Functions called with a document's key after each change of the document, before the writer of the
        #: change learns that all members have it.
        self.watchers = self._copies.watchers
        #: Functions called with a document's key after the watchers, while the writer may go on already.
        self.followers = self._copies.followers
        self.member = Member(engine, self, self._others.latest, resources)
        self.member.check_usable = self.check_usable
        self.member.observes = settings.observes
        self._adoption = ListAdoption(
            self.member,
            self._others,
            self._status,
            self.keeper.send,
            self._copies.forget,
            on_joined,
            self._stop_or_leave,
        )
        #: Functions called after each change of the member list in use, and after the loss of a client.
        self.list_watchers = self._adoption.watchers

    # ---- the member's transport

    def start(self, receiver: Receiver) -> None:
        """Do nothing. The member calls this method because it uses this object as its transport; the real
        transport is started by :meth:`join`."""

    def connect(self, address: str) -> None:
        """Begin to connect to the member at ``address``, and return at once: a call of :meth:`connected` or
        :meth:`disconnected` follows, unless the member is connected already."""
        self._transport.connect(address)

    def attend(
        self, peers: Sequence[Peer], done: Callable[[], bool], send: Callable[[], None] = lambda: None
    ) -> bool:
        """Call ``send``, which sends a request, and handle messages of ``peers`` on this thread until
        ``done()`` is true; then return True. Return False if that is impossible or has ended early: ``send``
        was called nevertheless, and another thread handles the answer."""
        return self._transport.attend(peers, done, send)

    def statistics(self) -> NetworkStatistics:
        """Return the numbers and sizes of the messages through the member's transport so far."""
        return self._transport.statistics()

    def close(self) -> None:
        """End the membership at once; unless it has left before, the other members see this member as
        lost."""
        self._end("this member was closed", None)
        self._transport.close()

    # ---- joining and leaving

    def join(self) -> None:
        """Begin to join the cluster, and return at once: ``on_joined`` or ``on_end`` is called later."""
        self._transport.start(self)
        self.keeper.begin()

    @property
    def joined(self) -> bool:
        """True from the moment when the keeper's member list has this member until the member has left; still
        true while the member is leaving."""
        return self._status.joined

    def is_present(self, name: str) -> bool:
        """Return whether ``name`` is a member of the cluster, or a client without a place in the list."""
        return name in self.member.members or name in self.member.clients

    def leave(self) -> None:
        """Begin to leave, and return at once: new jobs avoid this member, and the membership ends when the
        jobs on this member have ended. The membership of a member that is still joining ends at once."""
        with self._status.lock:
            if self._status.state is MembershipState.JOINED:
                self._status.state = MembershipState.LEAVING
                self._status.why = f"member {self.name} is leaving"
                self.keeper.send(Leave())
        if self._status.state is MembershipState.JOINING:
            self._end(f"member {self.name} has left", None)

    def hand_over(self, *, ends: bool = False) -> None:
        """Ask the keeper to give this member's partitions to others while jobs still read the rows that it
        holds, since the member is about to leave; with ``ends``, to let the member own partitions again.
        Returns at once."""
        self.keeper.send(HandOver(ends))

    def give_up_place(self, list_version: int) -> None:
        """Ask the keeper to mark this member as leaving, if the member list still has the version
        ``list_version``; returns at once. The member leaves when :meth:`leave` is called, too."""
        self.keeper.send(Leave(list_version))

    def rebalance(self) -> None:
        """Ask the keeper to assign the partitions anew, so that all members that may own partitions (neither
        lite nor leaving) own equally many. Returns at once."""
        self.keeper.send(Rebalance())

    def check_usable(self) -> None:
        """Raise OperationalError unless jobs may begin on this member: the member is in the member list (else
        SQLSTATE 08003), and the keeper has answered a heartbeat recently enough for the member to go on (else
        08006)."""
        if self._status.state is not MembershipState.JOINED:
            raise OperationalError(self._status.why, sqlstate="08003")
        if self.keeper.expired:
            raise OperationalError(self.keeper.cut_off(), sqlstate="08006")

    def check_present(self) -> None:
        """Raise OperationalError (08006) if the membership has ended, so that it hears of no change any
        more."""
        if self._status.ended:
            raise OperationalError(f"{self._status.why}; nothing was changed", sqlstate="08006")

    # ---- documents

    @property
    def documents(self) -> dict[str, Document]:
        """The documents of the cluster, by key."""
        return self._copies.documents

    def put(self, change: ConditionalChange, done: Callable[[PutOutcome], None]) -> int:
        """Ask the keeper to make a change of a document. Returns at once. While there is no keeper, the
        request waits for the next one.

        ``done`` is called once, on any thread, with the keeper's answer; if the answer says that the change
        was made, every member has the change by then. If no answer can come, ``done`` gets an
        OperationalError: with SQLSTATE 08006 nothing was changed, with 08007 the change may have been made or
        not. Returns the request's number, for :meth:`withdraw`.
        """
        return self._copies.put(change, done)

    def withdraw(self, request: int) -> bool:
        """Give up the request for a change with this number, if it still waits for a keeper; return whether
        it did: then the change will not be made, and ``done`` is not called."""
        return self._copies.withdraw(request)

    def _take_all(self, message: DocumentKeys) -> None:
        clients = frozenset(message.clients)
        # First those that have come, last those that have gone: no document names a client that is unknown.
        self._adoption.take_clients(self.member.clients | clients)
        with self._status.lock:
            changed = self._copies.take_all(message)
            if self._status.state is MembershipState.LEAVING:
                self.keeper.send(Leave())
        if changed is None:
            return
        self._adoption.take_clients(clients)
        for key in changed:
            notify(self.watchers, key)
        self._copies.watched = self._copies.seen
        # It tells what this member has; a new keeper may have answered none before it had all reports.
        self.keeper.send(self.keeper.heartbeat())
        for key in changed:
            notify(self.followers, key)

    def _change_clients(self, message: ClientsChanged) -> None:
        """Take note of the clients that have come or gone, unless a change before got lost: then all come
        again with all documents."""
        if self._copies.count(message.version):
            before, named = self.member.clients, frozenset(message.names)
            self._adoption.take_clients(before - named if message.gone else before | named)

    def _hear_list(self, message: MemberListChanged) -> None:
        """Take a new list, unless a change of documents before it got lost: then the list comes again with
        all documents."""
        if self._copies.has(message.documents):
            self._adoption.hear(message.list)

    def _heartbeat(self) -> Heartbeat:
        missing = self._others.missing_for(self.keeper.lease)
        return Heartbeat(self._status.now(), missing, self._copies.watched, self._adoption.adopted)

    def _heartbeat_answered(self, message: HeartbeatAnswer) -> None:
        """Extend the lease, and find out whether a message of the keeper got lost."""
        self.keeper.answered(message)
        if message.documents is not None:
            lacks_list = message.list_version > self._others.latest.version
            self._copies.compare(message.sent, message.documents, lacks_list=lacks_list)
            if self._status.state is MembershipState.LEAVING:
                self.keeper.send(Leave())  # it or its answer may have been lost

    def _report(self) -> None:
        """Tell a new keeper what this member has; a newcomer asks to join, since its first request got
        lost."""
        with self._status.lock:
            keeper = self.keeper.peer
            self._copies.pause()
            if keeper is None:
                return
            if not self.joined:
                self._ask_to_join(keeper)
                return
            for message in self._copies.messages():
                keeper.send(message)
            adopted, removed = self.member.members.version, tuple(self._removed.copy())
            applied, clients = self._copies.applied(), tuple(self.member.clients)
            latest, seen = self._others.latest, self._copies.seen
            versions = self._copies.versions()
            keeper.send(Report(latest, adopted, seen, applied, removed, clients, versions))
            keeper.send(self.keeper.heartbeat())

    # ---- the transport's calls

    def connected(self, peer: Peer) -> None:
        """Record a new connection to the keeper or to a member; close a connection to a removed member."""
        if keeper_epoch(peer.name):
            self._keeper_connected(peer)
            return
        with self._status.lock:
            fenced = self._status.ended or not self._others.add(peer)
        if fenced:
            peer.close(f"member {peer.name} was removed from the cluster")
            return
        self.member.connected(peer)
        self._adoption.settle()

    def _keeper_connected(self, peer: Peer) -> None:
        with self._status.lock:
            if self._status.ended:
                return
            useless = self.keeper.meet(peer)
            if useless is not peer:
                self._greet_keeper(peer)
        if useless is not None and useless is not self.keeper.peer:
            useless.close("another process is the keeper now")

    def _greet_keeper(self, peer: Peer) -> None:
        """With the lock held: begin to listen to ``peer`` as the keeper."""
        self._copies.begin()
        if self.joined:
            peer.send(self.keeper.heartbeat())
            peer.send(ListAdopted(self.member.members.version))
            self._copies.tell_seen()
        else:
            self._ask_to_join(peer)

    def _ask_to_join(self, keeper: Peer) -> None:
        engine, settings = self.member.engine, self.settings
        memory, files = engine.memory.limit, engine.files
        keeper.send(JoinCluster(settings.address, settings.lite, memory, files, settings.observes))

    def disconnected(self, peer: Peer, reason: str) -> None:
        """Record a broken connection, or a failed attempt to connect, and try again later. If the keeper has
        refused this member before it joined, the membership ends instead."""
        if keeper_epoch(peer.name) or peer.name == self.keeper.place:
            self._keeper_lost(peer, reason)
            return
        with self._status.lock:
            self._adoption.drop_early((peer,))
        if self._others.lost(peer):
            self.member.disconnected(peer, reason)
        self._status.later(RETRY, self._adoption.dial)

    def _keeper_lost(self, peer: Peer, reason: str) -> None:
        with self._status.lock:
            if not self.keeper.lost(peer, reason) or self._status.ended:
                return
            self._copies.pause()
        notify(self.keeper.watchers)
        if isinstance(peer, UnconnectedPeer) and peer.refused and not self.joined:
            self._stop(f"no connection with the keeper at {self.keeper.place}: {reason}", REFUSED)
        self.keeper.dial_later()

    def received(self, peer: Peer, message: msgspec.Struct, body: Body) -> None:
        """Handle a message of the keeper, or pass on a message of another member to this member. A job or
        request that was planned with a later version of the member list than this member uses waits until
        that version is used here; messages of removed members are dropped."""
        if keeper_epoch(peer.name):
            if self.keeper.is_from_keeper(peer, message):
                self._hear_keeper(message)
        elif not (
            peer.name in self._removed
            or self._status.state is MembershipState.ENDED  # not by a property: every message comes here
            or (isinstance(message, MAY_WAIT) and self._adoption.holds(peer, message))
        ):
            self.member.received(peer, message, body)

    def _hear_keeper(self, message: msgspec.Struct) -> None:
        match message:
            case Inquiry():
                self._report()
            case DocumentCopy():
                self._copies.copy(message)
            case MemberListChanged():
                self._hear_list(message)
            case ClientsChanged():
                self._change_clients(message)
            case HeartbeatAnswer():
                self._heartbeat_answered(message)
            case DocumentChanged():
                self._copies.change(message)
            case DocumentKeys():
                self._take_all(message)
            case DocumentAnswer():
                self._copies.answered(message)
            case LeaveAllowed():
                self._leave_soon()
            case Removed():
                self._stop_or_leave(message.reason)
            case ClusterEnded():
                self._stop(f"the cluster has ended: {message.reason}")
            case _:
                logger.warning("the keeper sent %s, which nobody takes", type(message).__name__)

    # ---- the end

    def _leave_soon(self) -> None:
        """Leave when the jobs here have ended. All members know by now that this member leaves, but a job
        that one of them sent before may still be on its way, unless this is a client, which gets none. Does
        nothing before :meth:`leave`: the keeper says again then that the member may leave."""
        if self._status.state is not MembershipState.LEAVING or self._awaits_idle:
            return
        self._awaits_idle = True
        if self.settings.lite or self.settings.observes:
            self._leave_when_idle()
        else:
            self._status.later(LEAVING_PERIOD, self._leave_when_idle)

    def _leave_when_idle(self) -> None:
        if self._status.ended:
            return
        if self.member.statistics().idle:
            self._awaits_idle = False  # the keeper may be lost before it hears of it
            self.keeper.send(Left())
        else:
            self._status.later(LEAVING_PERIOD, self._leave_when_idle)

    def _stop_or_leave(self, reason: str) -> None:
        if self._status.state is MembershipState.LEAVING:
            self._end(f"member {self.name} has left", None)
        else:
            self._stop(reason)

    def _stop(self, reason: str, sqlstate: str = "08006") -> None:
        self._end(reason, OperationalError(reason, sqlstate=sqlstate))

    def _end(self, why: str, error: OperationalError | None) -> None:
        with self._status.lock:
            if self._status.ended:
                return
            self._status.state = MembershipState.ENDED
            self._status.why = why
            peers = self._others.all()
            if self.keeper.peer is not None:
                peers.append(self.keeper.peer)
            self._adoption.drop_early(peers)
        if error is not None:
            logger.warning("%s", why)
            self.member.abandon(error)
        self._copies.fail_requests()
        for peer in peers:
            peer.close(why)
        self._on_end(error)

    def _expired(self) -> None:
        self._stop(self.keeper.cut_off())
