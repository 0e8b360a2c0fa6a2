"""A member's part in its cluster: joining, staying, leaving, and being removed.

:class:`Membership` stands between a member and its transport: the member uses it as its transport, and the
transport delivers messages to it. A membership exchanges messages with the keeper, connects with the other
members, and forwards the messages about jobs to the member; messages of removed members are dropped.

* A new version of the member list is used once its new members are connected (or :data:`PATIENCE` is over),
  so that jobs find all members of their list. A job or a request planned with a later version than the used
  one waits until that version is used here.
* Each answered heartbeat gives the member a lease, the time for which it may go on, counted from when the
  heartbeat was sent. At the lease's end the member stops by itself; the keeper, which counts from the later
  arrival, has not removed it before. So a member that was paused until after its removal answers none of the
  messages that wait in its sockets.
* Without a keeper the member goes on until its lease ends. If another process becomes the keeper meanwhile,
  the member reports to it what it has, keeps its jobs and rows, and ignores former keepers from then on.
  Requests for changes of documents wait; those without an answer are sent again, and the keeper knows which
  of them were carried out.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from functools import partial
from threading import RLock
from typing import Final, TypeAlias

import msgspec
from msgspec.structs import replace

from sqlfront_cluster.members.applied_changes import AppliedChanges
from sqlfront_cluster.members.cluster_messages import (
    ClientsChanged,
    ClusterEnded,
    DocumentAnswer,
    DocumentChanged,
    DocumentCopy,
    DocumentKeys,
    DocumentsSeen,
    HandOver,
    Heartbeat,
    HeartbeatAnswer,
    Inquiry,
    JoinCluster,
    KeeperMessage,
    Leave,
    LeaveAllowed,
    Left,
    ListAdopted,
    MemberListChanged,
    Premises,
    PutDocument,
    Rebalance,
    Removed,
    Report,
)
from sqlfront_cluster.members.document import Document
from sqlfront_cluster.members.keeper import BEATS, REMEMBERED
from sqlfront_cluster.members.keeper_names import keeper_epoch
from sqlfront_cluster.members.member import Member
from sqlfront_cluster.members.member_list import MemberInfo, MemberList, nobody
from sqlfront_cluster.members.messages import Init, Request, Submit
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
from sqlfront_values.errors import Error, OperationalError

#: Seconds between two attempts to connect: a new member is reached within the time, and a missing one costs
#: two attempts a second.
RETRY: Final = 0.5
#: Seconds for which a member waits for connections with new members before it uses the list without them; all
#: changes of the cluster wait meanwhile.
PATIENCE: Final = 1.0
#: Seconds between two checks for the end of a leaving member's jobs, and before the first one; the end of the
#: process waits so long at most. A job that takes longer to arrive fails with the member's end.
LEAVING_PERIOD: Final = 0.05

#: Heartbeats without an answer after which a member looks for another keeper: fewer than the silence limit
#: has, so that a new keeper is found before the lease ends.
SILENT_BEATS: Final = 2

#: SQLSTATE: the server rejected the connection.
REFUSED: Final = "08004"

#: The outcome of a change: the answer, or the error.
PutOutcome: TypeAlias = DocumentAnswer | OperationalError

logger = logging.getLogger(__name__)


class MembershipSettings(msgspec.Struct, frozen=True):
    """The settings of a membership. ``keeper``: the keeper's address. ``address``: the address at which other
    members connect to this member, empty for none. ``lite``: the member owns no partitions.
    ``silence_limit``: seconds to wait for the keeper's first answer; later the limit that the keeper sends
    applies. ``observes``: this is a client that gets the documents and the member list, but no place in the
    list, and submits its jobs to members."""

    keeper: str
    address: str = ""
    lite: bool = False
    silence_limit: float = 5.0
    observes: bool = False


class MembershipState(Enum):
    """The states of a membership, in the order in which it goes through them. JOINING: the member list
    doesn't have the member yet. JOINED: the list has the member. LEAVING: the list still has the member,
    which wants to leave, so that no new job begins here. ENDED: the membership is over."""

    JOINING = "joining"
    """The member is not in the list yet."""
    JOINED = "joined"
    """The member is in the list."""
    LEAVING = "leaving"
    """The member is in the list; running jobs go on, and no job begins here."""
    ENDED = "ended"
    """The member has left, was removed or was closed."""


class KeeperContact(Enum):
    """Whether a member hears its keeper."""

    HEARD = "heard"
    """The keeper has answered one of the last heartbeats."""
    SILENT = "silent"
    """There is a connection, or was one, and the last heartbeats were not answered."""
    LOST = "lost"
    """There is no connection, and the last heartbeats before were answered."""


#: States in which the member is in the list.
_LISTED: Final = frozenset({MembershipState.JOINED, MembershipState.LEAVING})


class _Put(msgspec.Struct):
    """A request for a change of a document, until it is answered. ``done``: receives the outcome. ``sent``:
    whether the request was sent to any keeper."""

    request: PutDocument
    done: Callable[[PutOutcome], None]
    sent: bool = False


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
        #: The documents of the cluster, by key.
        self.documents: dict[str, Document] = {}
        #: Functions called with a document's key after each change of the document.
        self.watchers: list[Callable[[str], None]] = []
        #: The clients without a place in the member list.
        self.clients: frozenset[str] = frozenset()
        #: Functions called after each change of the member list in use, and after the loss of a client.
        self.list_watchers: list[Callable[[], None]] = []
        #: Functions called when the keeper is lost, and after each heartbeat while the keeper is silent.
        self.keeper_watchers: list[Callable[[], None]] = []
        self._transport = transport
        self._clock = engine.clock
        self._on_joined, self._on_end = on_joined, on_end
        # Guards the following fields. The member's locks are taken within this lock, never the other way
        # round.
        self._lock = RLock()
        self._latest: MemberList = nobody()
        self._locate = locate or (lambda: settings.keeper)
        # The address at which the keeper was looked for last.
        self._keeper_at = settings.keeper
        self._keeper: Peer | None = None
        # Whether this keeper has sent all documents since it was connected.
        self._synced = False
        # The highest epoch of a keeper that was heard.
        self._epoch = 0
        # Documents that the keeper has sent since it was connected, until it has sent all.
        self._copies: dict[str, Document] = {}
        self._applied = AppliedChanges()
        self._peers: dict[str, Peer] = {}
        self._removed: dict[str, None] = {}
        self._missing: dict[str, float] = {}
        self._dialling: set[str] = set()
        # Init messages and requests planned with a list that isn't used here yet.
        self._early: list[tuple[Peer, Init | Request | Submit]] = []
        self._puts: dict[int, _Put] = {}
        self._requests = 0
        self._seen = 0
        self._state = MembershipState.JOINING
        # The reason why no job may begin here.
        self._why = "this member has not joined its cluster yet"
        self._last_failure = ""
        self._lease_from = self._clock.now()
        self._lease = settings.silence_limit
        self.member = Member(engine, self, self._latest, resources)
        self.member.check_usable = self.check_usable
        self.member.observes = settings.observes

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
        self._transport.connect(self._keeper_at)
        self._later(self._period, self._beat)

    @property
    def joined(self) -> bool:
        """True from the moment when the keeper's member list has this member until the member has left; still
        true while the member is leaving."""
        return self._state in _LISTED

    def is_present(self, name: str) -> bool:
        """Return whether ``name`` is a member of the cluster, or a client without a place in the list."""
        return name in self.member.members or name in self.clients

    @property
    def _ended(self) -> bool:
        return self._state is MembershipState.ENDED

    def leave(self) -> None:
        """Begin to leave, and return at once: new jobs avoid this member, and the membership ends when the
        jobs on this member have ended. The membership of a member that is still joining ends at once."""
        with self._lock:
            if self._state is MembershipState.JOINED:
                self._state = MembershipState.LEAVING
                self._why = f"member {self.name} is leaving"
                self._tell_keeper(Leave())
        if self._state is MembershipState.JOINING:
            self._end(f"member {self.name} has left", None)

    def hand_over(self, *, ends: bool = False) -> None:
        """Ask the keeper to give this member's partitions to others while jobs still read the rows that it
        holds, since the member is about to leave; with ``ends``, to let the member own partitions again.
        Returns at once."""
        self._tell_keeper(HandOver(ends))

    def rebalance(self) -> None:
        """Ask the keeper to assign the partitions anew, so that all members that may own partitions (neither
        lite nor leaving) own equally many. Returns at once."""
        self._tell_keeper(Rebalance())

    def check_usable(self) -> None:
        """Raise OperationalError unless jobs may begin on this member: the member is in the member list (else
        SQLSTATE 08003), and the keeper has answered a heartbeat recently enough for the member to go on (else
        08006)."""
        if self._state is not MembershipState.JOINED:
            raise OperationalError(self._why, sqlstate="08003")
        if self._clock.now() - self._lease_from >= self._lease:
            raise OperationalError(self._cut_off(), sqlstate="08006")

    # ---- documents

    def put(
        self,
        key: str,
        content: bytes | None,
        expected: int | None,
        done: Callable[[PutOutcome], None],
        premises: Premises = (),
    ) -> None:
        """Ask the keeper to store ``content`` (None: remove the document) under ``key``, if the document's
        version is ``expected`` (0: there is no such document, None: any version), and if other documents, the
        ``premises``, still have the versions given with their keys. Returns at once. While there is no
        keeper, the request waits for the next one.

        ``done`` is called once, on any thread, with the keeper's answer; if the answer says that the change
        was made, every member has the change by then. If no answer can come, ``done`` gets an
        OperationalError: with SQLSTATE 08006 nothing was changed, with 08007 the change may have been made or
        not.
        """
        with self._lock:
            ended = self._ended
            if not ended:
                self._requests += 1
                request = PutDocument(self._requests, key, expected, content, premises)
                self._puts[self._requests] = put = _Put(request, done)
                if self._synced:
                    self._send_put(put)
        if ended:
            done(OperationalError(f"{self._why}; nothing was changed", sqlstate="08006"))

    def _send_put(self, put: "_Put") -> None:
        """Send a request for a change; called under the lock, and at most once for each connection."""
        assert self._keeper is not None
        put.sent = True
        self._keeper.send(replace(put.request, oldest=next(iter(self._puts))))

    def _fail_puts(self) -> None:
        with self._lock:
            puts, self._puts = self._puts, {}
        for put in puts.values():
            put.done(_unanswered(self._why) if put.sent else _not_sent(self._why))

    def _change(self, message: DocumentChanged) -> None:
        with self._lock:
            if message.content is None:
                changed = self.documents.pop(message.key, None) is not None
            else:
                changed = True
                self.documents[message.key] = Document(message.version, message.content)
            self._seen = max(self._seen, message.version)
            request, oldest = message.request, message.oldest
            self._applied.note(message.writer, request, oldest=oldest, version=message.version)
        if changed:
            self._notify(message.key)
        self._tell_keeper(DocumentsSeen(self._seen))

    def _take_all(self, message: DocumentKeys) -> None:
        """Use the documents that the keeper has sent since it was connected, all at once: a part of them
        would be a state that the cluster never had."""
        with self._lock:
            documents, self._copies = self._copies, {}
            former, self.documents = self.documents, documents
            self._seen = message.version
            self._applied = AppliedChanges(message.applied)
            self._synced = True
            for put in self._puts.values():
                self._send_put(put)
            if self._state is MembershipState.LEAVING:
                self._tell_keeper(Leave())
        for key in sorted(former.keys() | documents.keys()):
            if former.get(key) != documents.get(key):
                self._notify(key)
        if self.joined or self.settings.observes:
            self._tell_keeper(DocumentsSeen(self._seen))

    def _report(self) -> None:
        """Tell a new keeper what this member has."""
        with self._lock:
            keeper = self._keeper
            self._synced = False
            if keeper is None or not self.joined or self.settings.observes:
                return
            for key, document in self.documents.items():
                keeper.send(DocumentCopy(key, document.version, document.content))
            adopted, removed = self.member.members.version, tuple(self._removed.copy())
            applied, clients = self._applied.entries(), tuple(self.clients)
            keeper.send(Report(self._latest, adopted, self._seen, applied, removed, clients))
            keeper.send(Heartbeat(self._clock.now(), self._missing_too_long()))

    def _notify(self, key: str) -> None:
        for watcher in tuple(self.watchers):
            _call(partial(watcher, key))

    # ---- the transport's calls

    def connected(self, peer: Peer) -> None:
        """Record a new connection to the keeper or to a member; close a connection to a removed member."""
        if keeper_epoch(peer.name):
            self._keeper_connected(peer)
            return
        with self._lock:
            fenced = self._ended or peer.name in self._removed
            if not fenced:
                self._peers[peer.name] = peer
                self._missing.pop(peer.name, None)
                self._dialling -= {each.address for each in self._latest.members if each.name == peer.name}
        if fenced:
            peer.close(f"member {peer.name} was removed from the cluster")
            return
        self.member.connected(peer)
        self._settle()

    def _keeper_connected(self, peer: Peer) -> None:
        with self._lock:
            if self._ended:
                return
            former = self._keeper
            if keeper_epoch(peer.name) < self._epoch or (
                former is not None and keeper_epoch(peer.name) < keeper_epoch(former.name)
            ):
                former = peer
            else:
                self._meet_keeper(peer)
        if former is not None and former is not self._keeper:
            former.close("another process is the keeper now")

    def _meet_keeper(self, peer: Peer) -> None:
        """Begin to listen to ``peer`` as the keeper, and to no former one; called under the lock."""
        self._keeper, self._synced, self._copies = peer, False, {}
        if self.joined:
            peer.send(Heartbeat(self._clock.now(), self._missing_too_long()))
            peer.send(ListAdopted(self.member.members.version))
            peer.send(DocumentsSeen(self._seen))
        else:
            engine = self.member.engine
            memory, files = engine.memory.limit, engine.files
            settings = self.settings
            peer.send(JoinCluster(settings.address, settings.lite, memory, files, settings.observes))

    def disconnected(self, peer: Peer, reason: str) -> None:
        """Record a broken connection, or a failed attempt to connect, and try again later. If the keeper has
        refused this member before it joined, the membership ends instead."""
        if keeper_epoch(peer.name) or peer.name == self._keeper_at:
            self._keeper_lost(peer, reason)
            return
        with self._lock:
            known = self._peers.get(peer.name) is peer
            if known:
                del self._peers[peer.name]
            self._dialling.discard(peer.name)
        if known:
            self.member.disconnected(peer, reason)
        self._later(RETRY, self._dial)

    def _keeper_lost(self, peer: Peer, reason: str) -> None:
        with self._lock:
            if self._keeper is peer:
                self._keeper, self._synced = None, False
            if self._keeper is not None or self._ended:
                return
            self._last_failure = reason
        for watcher in self.keeper_watchers.copy():
            _call(watcher)
        if isinstance(peer, UnconnectedPeer) and peer.refused and not self.joined:
            self._stop(f"no connection with the keeper at {self._keeper_at}: {reason}", REFUSED)
        self._later(RETRY, self._dial_keeper)

    def _dial_keeper(self) -> None:
        """Look for the keeper, unless one is connected that isn't silent."""
        if self._ended or (self._keeper is not None and not self._silent()):
            return
        try:
            place = self._locate()
        except Error:  # the cluster's files say at this moment that there is no keeper
            place = self._keeper_at
        if self._keeper is None or place != self._keeper_at:
            self._keeper_at = place
            self._transport.connect(place)

    def contact(self) -> KeeperContact:
        """Return whether this member hears its keeper."""
        if self._silent():
            return KeeperContact.SILENT
        return KeeperContact.LOST if self._keeper is None else KeeperContact.HEARD

    @property
    def epoch(self) -> int:
        """The highest epoch of a keeper that this member has heard; 0 before the first."""
        return self._epoch

    @property
    def lease(self) -> float:
        """The seconds for which an answered heartbeat lets the member go on: the keeper's silence limit."""
        return self._lease

    def _silent(self) -> bool:
        """Return whether the keeper has not answered the last heartbeats."""
        return self._clock.now() - self._lease_from > SILENT_BEATS * self._period

    def received(self, peer: Peer, message: msgspec.Struct, body: Body) -> None:
        """Handle a message of the keeper, or pass on a message of another member to this member. A job or
        request that was planned with a later version of the member list than this member uses waits until
        that version is used here; messages of removed members are dropped."""
        if keeper_epoch(peer.name):
            if self._is_from_keeper(peer, message):
                self._hear_keeper(message)
        elif peer.name in self._removed or self._ended:
            return
        elif isinstance(message, Init | Request | Submit) and self._is_early(message):
            with self._lock:
                early = self._is_early(message)
                if early:
                    self._early.append((peer, message))
            if not early:
                self.member.received(peer, message, body)
        else:
            self.member.received(peer, message, body)

    def _is_early(self, message: Init | Request | Submit) -> bool:
        """Return whether the message was planned with a later version of the member list than this member
        uses."""
        return message.list_version is not None and message.list_version > self.member.members.version

    def _is_from_keeper(self, peer: Peer, message: msgspec.Struct) -> bool:
        """Return whether the message is from the present keeper, not from a former one."""
        with self._lock:
            if not isinstance(message, KeeperMessage) or peer is not self._keeper:
                return False
            present = message.epoch >= self._epoch
            self._epoch = max(self._epoch, message.epoch)
        return present

    def _hear_keeper(self, message: msgspec.Struct) -> None:
        match message:
            case Inquiry():
                self._report()
            case DocumentCopy():
                self._copies[message.key] = Document(message.version, message.content)
            case MemberListChanged():
                self._hear_list(message.list)
            case ClientsChanged():
                self._change_clients(message)
            case HeartbeatAnswer():
                self._lease_from, self._lease = max(self._lease_from, message.sent), message.lease
            case DocumentChanged():
                self._change(message)
            case DocumentKeys():
                self._take_all(message)
            case DocumentAnswer():
                with self._lock:
                    put = self._puts.pop(message.request, None)
                if put is not None:
                    put.done(message)
            case LeaveAllowed():
                self._leave_soon()
            case Removed():
                self._stop_or_leave(message.reason)
            case ClusterEnded():
                self._stop(f"the cluster has ended: {message.reason}")
            case _:
                logger.warning("the keeper sent %s, which nobody takes", type(message).__name__)

    # ---- the list

    def _change_clients(self, message: ClientsChanged) -> None:
        """Note the clients that have come or gone, and close the connections with those that have gone, so
        that their jobs end and none of their late messages is handled."""
        before, named = self.clients, frozenset(message.names)
        self.clients = named if message.all else before - named if message.gone else before | named
        self.member.clients = self.clients
        gone = before - self.clients
        with self._lock:
            peers = [self._peers[name] for name in gone if name in self._peers]
        for peer in peers:
            peer.close(f"client {peer.name} has gone")
        for watcher in tuple(self.list_watchers) if gone and self.joined else ():
            _call(watcher)

    def _hear_list(self, new: MemberList) -> None:
        with self._lock:
            if new.version <= self._latest.version and self._latest.members:
                return
            gone = [each.name for each in self._latest.members if each.name not in new]
            self._latest = new
            self._applied.keep_only(new)
            for name in gone:
                self._removed[name] = None
                self._missing.pop(name, None)
                if len(self._removed) > REMEMBERED:
                    del self._removed[next(iter(self._removed))]
            fenced = [self._peers[name] for name in gone if name in self._peers]
        for peer in fenced:
            peer.close(f"member {peer.name} was removed from the cluster")
        if self.name in gone:
            self._stop_or_leave(f"member {self.name} is not in the cluster's list any more")
            return
        self._dial()
        self._settle()
        if self.member.members.version < new.version:
            self._later(PATIENCE, lambda: self._settle(patient=False))

    def _dial(self) -> None:
        """Connect to all members of the latest list that have an address and aren't connected. (Members that
        join later connect to this member themselves.)"""
        now = self._clock.now()
        with self._lock:
            if self._ended:
                return
            wanted = [each for each in self._latest.members if self._lacks(each)]
            for each in wanted:
                self._missing.setdefault(each.name, now)
            addresses = [each.address for each in wanted if each.address not in self._dialling]
            self._dialling.update(addresses)
        for address in addresses:
            self._transport.connect(address)

    def _lacks(self, info: MemberInfo) -> bool:
        return bool(info.address) and info.name != self.name and info.name not in self._peers

    def _settle(self, *, patient: bool = True) -> None:
        """Use the latest version of the list if its new members are connected. ``patient`` False: don't wait
        for the connections, except for a member that is still joining, which needs all of them."""
        with self._lock:
            latest, used = self._latest, self.member.members
            if self._ended or (latest.version == used.version and self.joined):
                return
            lacking = [each for each in latest.members if self._lacks(each)]
            if self.joined:
                lacking = [each for each in lacking if each.name not in used] if patient else []
            if lacking:
                return
            self.member.members = latest
            joined = not self.joined and (self.name in latest or self.settings.observes)
            if joined:
                self._state = MembershipState.JOINED
            self._tell_keeper(ListAdopted(latest.version))
            ready = [each for each in self._early if not self._is_early(each[1])]
            self._early = [each for each in self._early if self._is_early(each[1])]
        for peer, message in ready:
            self.member.received(peer, message, None)
        for watcher in tuple(self.list_watchers):
            _call(watcher)
        if joined:
            self._on_joined()

    # ---- the end

    def _leave_soon(self) -> None:
        """Leave when the jobs here have ended. All members know by now that this member leaves, but a job
        that one of them sent before may still be on its way, unless this is a client, which gets none."""
        if self.settings.lite or self.settings.observes:
            self._leave_when_idle()
        else:
            self._later(LEAVING_PERIOD, self._leave_when_idle)

    def _leave_when_idle(self) -> None:
        if self._ended:
            return
        if self.member.statistics().idle:
            self._tell_keeper(Left())
        else:
            self._later(LEAVING_PERIOD, self._leave_when_idle)

    def _stop_or_leave(self, reason: str) -> None:
        if self._state is MembershipState.LEAVING:
            self._end(f"member {self.name} has left", None)
        else:
            self._stop(reason)

    def _stop(self, reason: str, sqlstate: str = "08006") -> None:
        self._end(reason, OperationalError(reason, sqlstate=sqlstate))

    def _end(self, why: str, error: OperationalError | None) -> None:
        with self._lock:
            if self._ended:
                return
            self._state = MembershipState.ENDED
            self._why = why
            peers = list(self._peers.values())
            if self._keeper is not None:
                peers.append(self._keeper)
            self._early.clear()
        if error is not None:
            logger.warning("%s", why)
            self.member.abandon(error)
        self._fail_puts()
        for peer in peers:
            peer.close(why)
        self._on_end(error)

    # ---- time

    @property
    def _period(self) -> float:
        return self._lease / BEATS

    def _later(self, seconds: float, function: Callable[[], None]) -> None:
        if not self._ended:
            self._clock.call_at(self._clock.now() + seconds, function)

    def _beat(self) -> None:
        """Send a heartbeat to the keeper, and schedule the next one; end the membership instead if no
        heartbeat was answered in the time that the keeper allows."""
        now = self._clock.now()
        if self._ended:
            return
        if now - self._lease_from >= self._lease:
            self._stop(self._cut_off())
            return
        self._tell_keeper(Heartbeat(now, self._missing_too_long()))
        if self._silent():
            for watcher in self.keeper_watchers.copy():
                _call(watcher)
            self._dial_keeper()
            self._later(RETRY, self._dial_keeper)
        self._later(self._period, self._beat)

    def _missing_too_long(self) -> tuple[str, ...]:
        if not self._missing:
            return ()
        with self._lock:
            now = self._clock.now()
            return tuple(sorted(name for name, since in self._missing.items() if now - since >= self._lease))

    def _cut_off(self) -> str:
        silent = self._clock.now() - self._lease_from
        reason = f"; {self._last_failure}" if self._last_failure and self._keeper is None else ""
        if not self.joined:
            return f"there is no cluster at {self._keeper_at}: its keeper didn't answer{reason}"
        return (
            f"member {self.name} was cut off from its cluster: "
            f"the keeper at {self._keeper_at} has not answered for {silent:.1f} s{reason}"
        )

    def _tell_keeper(self, message: msgspec.Struct) -> None:
        keeper = self._keeper
        if keeper is not None:
            keeper.send(message)


def _unanswered(why: str) -> OperationalError:
    return OperationalError(f"{why}; the change may have been made", sqlstate="08007")


def _not_sent(why: str) -> OperationalError:
    return OperationalError(f"{why}; nothing was changed", sqlstate="08006")


def _call(watcher: Callable[[], None]) -> None:
    """Call ``watcher``, and log its error if it raises one. The error must not reach the caller, since the
    cluster waits for the answer that the caller sends next."""
    try:
        watcher()
    except Exception:
        logger.exception("a watcher failed")
