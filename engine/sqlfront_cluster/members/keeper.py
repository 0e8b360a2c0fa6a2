"""The keeper: decides on the members of the cluster, the owners of partitions, and the contents of documents.

Each cluster has one keeper. The keeper is no member and takes no part in jobs. It acts only on messages and
timers.

* A newcomer sends ``JoinCluster``, gets the documents and the list, connects with all listed members, and
  reports the connections; the next version of the list has the newcomer as a member. If the list has changed
  meanwhile, the newcomer goes on with the newer list.
* A member is removed from the list for good after :attr:`KeeperSettings.silence_limit` seconds of silence,
  or when its process is known to have ended (:meth:`Keeper.remove`). A silent member stops by itself before
  its removal: each answered heartbeat gives it that many seconds more, counted from when the heartbeat was
  *sent*.
* A member that hands over is marked, and other members get its partitions; it stays until its rows are on
  other members.
* A leaving member is marked, and other members get its partitions. When all members know that it is leaving,
  the keeper says so to the leaving member, which ends when its jobs have ended.
* While there are no documents, hence no tables, partitions are assigned anew with every joining member;
  after that only by :class:`~sqlfront_cluster.members.cluster_messages.Rebalance`, or when their owner has
  gone.
* An observer is a client without a place in the list: it gets the documents and the list, and is told of
  every change like a member; it takes part in nothing, so that its coming and going changes no version.
* A document is changed if the writer knows its version; the writer gets an answer when all members have the
  change.
* Each keeper has a higher epoch than the former keepers, and looks again and again whether it is still the
  keeper (:class:`Tenure`). A keeper that follows another one begins with a :class:`Recovery`: it asks all
  members for their lists and documents, and goes on when all have reported or were silent for too long.
"""

import logging
from collections.abc import Callable
from threading import RLock
from typing import Final, Protocol

import msgspec
from msgspec.structs import replace

from sqlfront_cluster.members.applied_changes import AppliedChanges
from sqlfront_cluster.members.cluster_messages import (
    BEATS,
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
    PutDocument,
    Rebalance,
    Removed,
    Report,
)
from sqlfront_cluster.members.document import Document
from sqlfront_cluster.members.keeper_names import KEEPER, keeper_name
from sqlfront_cluster.members.member_list import MemberInfo, MemberList, nobody
from sqlfront_cluster.members.partition_table import balance, deal, inherit
from sqlfront_cluster.members.recovery import Recovery, first_version, recovered
from sqlfront_cluster.members.removed_members import remember
from sqlfront_cluster.network.transport import Body, Peer, Transport
from sqlfront_engine.scheduler import Clock
from sqlfront_values.partitioning.partitions import DEFAULT_PARTITIONS

logger = logging.getLogger(__name__)


class KeeperSettings(msgspec.Struct, frozen=True):
    """The settings of a keeper. ``silence_limit``: seconds after which a silent member is removed.
    ``partition_count``: the number of partitions of the cluster."""

    silence_limit: float = 5.0
    partition_count: int = DEFAULT_PARTITIONS


DEFAULT_SETTINGS: Final = KeeperSettings()


class Tenure(Protocol):
    """The right of one process to be the keeper."""

    @property
    def epoch(self) -> int:
        """The keeper's epoch, from 1 on: higher than the epochs of all former keepers of the cluster."""

    def is_held(self) -> bool:
        """Return whether no other process has become the keeper since."""


class _OnlyKeeper:
    """The tenure of a keeper that nobody can follow."""

    epoch = 1

    def is_held(self) -> bool:
        """Return True."""
        return True


ONLY_KEEPER: Final = _OnlyKeeper()


class _Known(msgspec.Struct):
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
    #: The list version that all members must have adopted before this member leaves.
    leaves_with: int | None = None


class _Change(msgspec.Struct, frozen=True):
    """A change of a document that not yet all members have. ``writer``: the member that asked for the change
    and waits for the answer. ``request``: the number in the writer's :class:`PutDocument`."""

    version: int
    writer: str
    request: int


class Keeper:
    """The keeper of a cluster, which decides on the members, the owners of partitions, and the contents of
    documents. It is no member, and acts only on messages and timers.

    It is the :class:`~sqlfront_cluster.network.transport.Receiver` of ``transport``, whose name is
    :func:`~sqlfront_cluster.members.keeper_names.keeper_name` of the epoch. ``on_list``: called after every
    change of the member list; it must not block. ``tenure``: the right to be the keeper; an epoch above 1
    means that the keeper follows another one. ``on_superseded``: called once when another process has become
    the keeper; this keeper then says nothing more.
    """

    def __init__(
        self,
        transport: Transport,
        clock: Clock,
        settings: KeeperSettings = DEFAULT_SETTINGS,
        on_list: Callable[[], None] = lambda: None,
        tenure: Tenure = ONLY_KEEPER,
        on_superseded: Callable[[], None] = lambda: None,
    ) -> None:
        assert transport.name == keeper_name(tenure.epoch)
        self.settings = settings
        self.members: MemberList = nobody(settings.partition_count)
        self.documents: dict[str, Document] = {}
        self._transport = transport
        self._clock = clock
        self._on_list = on_list
        self._tenure, self._on_superseded = tenure, on_superseded
        # Guards all fields; held while messages are sent, so that messages keep their order.
        self._lock = RLock()
        self._known: dict[str, _Known] = {}
        self._removed: dict[str, str] = {}
        self._changes: list[_Change] = []
        self._version = 0
        self._applied = AppliedChanges()
        self._closed = False
        self._looked = self._confirmed = clock.now()
        # A former keeper may have answered heartbeats for one more period.
        deadline = self._looked + settings.silence_limit + self._period
        self._recovery = Recovery(deadline) if tenure.epoch > 1 else None
        self._newcomers: dict[str, tuple[Peer, JoinCluster]] = {}
        self._forget_timer = clock.call_at(self._looked + self._period, self._look)
        transport.start(self)

    # ---- the transport's calls

    def connected(self, peer: Peer) -> None:
        """Record a new connection. A member whose connection had broken gets all documents and the member
        list again; a removed member gets the reason of its removal."""
        with self._lock:
            known = self._known.get(peer.name)
            if self._recovery is not None:
                self._recovery.ask(peer)
                self._send(peer, Inquiry())
            elif known is not None:
                known.peer = peer
                known.heard = self._clock.now()
                self._tell_all(known)
            elif peer.name in self._removed:
                self._refuse(peer, self._removed[peer.name])

    def disconnected(self, peer: Peer, reason: str) -> None:
        """Record the loss of a connection. A member may connect again until it is removed; a newcomer must
        join again."""
        with self._lock:
            if self._recovery is not None:
                self._recovery.lost(peer)
                if self._newcomers.get(peer.name, (None,))[0] is peer:
                    del self._newcomers[peer.name]
            known = self._known.get(peer.name)
            if known is None or known.peer is not peer:
                return
            known.peer = None
            if not known.joined:
                del self._known[peer.name]

    def received(self, peer: Peer, message: msgspec.Struct, body: Body) -> None:
        """Handle a message of a member or of a newcomer."""
        with self._lock:
            if not self._confirm():
                return
            if self._recovery is not None:
                self._hear_in_recovery(self._recovery, peer, message)
                return
            if isinstance(message, JoinCluster):
                self._join(peer, message)
                return
            known = self._known.get(peer.name)
            if known is None or known.peer is not peer:
                self._refuse(peer, self._removed.get(peer.name, f"{peer.name} has not joined the cluster"))
                return
            known.heard = self._clock.now()
            self._hear(known, peer, message)

    def _hear(self, known: _Known, peer: Peer, message: msgspec.Struct) -> None:
        match message:
            case Heartbeat():
                known.missing = message.missing
                self._send(peer, HeartbeatAnswer(message.sent, self.settings.silence_limit))
            case ListAdopted():
                known.adopted = max(known.adopted, message.version)
                self._admit_or_release(known)
            case HandOver():
                self._hand_over(known, ends=message.ends)
            case Leave():
                self._leave(known)
            case Left():
                self._take_out(known.info.name, f"member {known.info.name} has left", lost=False)
            case Rebalance():
                self.rebalance()
            case PutDocument():
                self._put(known, peer, message)
            case DocumentsSeen():
                known.seen = max(known.seen, message.version)
                self._answer_writers()
            case _:
                logger.warning("%s sent the keeper %s", peer.name, type(message).__name__)

    # ---- joining

    def _join(self, peer: Peer, message: JoinCluster) -> None:
        name = peer.name
        if self._closed or name in self._removed:
            self._refuse(peer, self._removed.get(name, "the cluster has ended"))
        elif name == KEEPER or (name in self._known and self._known[name].joined):
            self._refuse(peer, f"there is a member {name!r} already")
        else:
            info = MemberInfo(
                name, message.lite, address=message.address, memory=message.memory, files=message.files
            )
            known = self._known[name] = _Known(info, peer, self._clock.now())
            # From now on writers wait until the observer has their changes.
            known.joined = known.observes = message.observes
            self._tell_all(known)
            if known.observes:
                logger.info("client %s has come", name)
                self._tell(ClientsChanged((name,)))

    def _tell_all(self, known: _Known) -> None:
        """Send all documents, and then the member list, to a member or newcomer: whoever has the list also
        has the documents."""
        assert known.peer is not None
        clients = tuple(name for name, each in self._known.items() if each.observes)
        self._send(known.peer, ClientsChanged(clients, all=True))
        for key, document in sorted(self.documents.items(), key=lambda item: item[1].version):
            self._send(known.peer, DocumentCopy(key, document.version, document.content))
        keys = DocumentKeys(tuple(self.documents), self._version, self._applied.entries())
        self._send(known.peer, keys)
        self._send(known.peer, MemberListChanged(self.members))

    def _admit_or_release(self, known: _Known) -> None:
        if not known.joined and known.adopted == self.members.version:
            known.joined = True
            known.seen = self._version
            members = (*self.members.members, known.info)
            owners = self.members.owners
            if not self.documents:
                owners = deal([each.name for each in members if not each.lite], len(owners))
            logger.info("member %s has joined", known.info.name)
            self._publish(members, owners)
        self._allow_leaving()

    def _publish(
        self, members: tuple[MemberInfo, ...], owners: tuple[str, ...], *, invalidate: bool = False
    ) -> None:
        """Make a new version of the list with these ``members`` and ``owners`` of partitions, and send it to
        all members and newcomers. ``invalidate``: True makes members refuse jobs that were planned with
        earlier versions."""
        version = self.members.version + 1
        valid_from = version if invalidate else self.members.valid_from
        dealt = self.members.dealt if owners == self.members.owners else version
        self.members = MemberList(version, members, owners, valid_from, dealt, self._tenure.epoch)
        self._applied.keep_only(self.members)
        self._tell(MemberListChanged(self.members))
        self._on_list()

    def _tell(self, message: KeeperMessage) -> None:
        for known in self._known.values():
            if known.peer is not None:
                self._send(known.peer, message)

    def _send(self, peer: Peer, message: KeeperMessage) -> None:
        peer.send(replace(message, epoch=self._tenure.epoch))

    # ---- leaving

    def _hand_over(self, known: _Known, *, ends: bool) -> None:
        """Mark the member as one that hands over, and give its partitions to others; or, with ``ends``, let
        it own partitions again. Refuses to mark the last member that may own partitions while other members
        hand over, since they hand over to that member."""
        name, marked = known.info.name, not ends
        is_last_heir = self.members.heirs == (name,) and self.members.data_members != (name,)
        if not known.joined or known.observes:
            return
        if known.info.hands_over is marked or known.leaves_with is not None:
            return
        if marked and is_last_heir:
            return
        known.info = replace(known.info, hands_over=marked)
        members = tuple(known.info if each.name == name else each for each in self.members.members)
        owners = self.members.owners
        if ends:
            owners = balance(owners, replace(self.members, members=members).heirs)
        self._publish(members, owners if ends else _inherited(owners, name, members))

    def _leave(self, known: _Known) -> None:
        if known.observes and known.peer is not None:
            self._send(known.peer, LeaveAllowed())
        elif known.joined and known.leaves_with is None:
            known.info = replace(known.info, leaving=True)
            members = tuple(
                known.info if each.name == known.info.name else each for each in self.members.members
            )
            known.leaves_with = self.members.version + 1
            # Partitions move now, not at the member's end: jobs that avoid the member must find its
            # partitions elsewhere.
            self._publish(members, _inherited(self.members.owners, known.info.name, members))

    def _allow_leaving(self) -> None:
        joined = [known for known in self._known.values() if known.joined and not known.observes]
        adopted = min((known.adopted for known in joined), default=0)
        for known in joined:
            if known.leaves_with is not None and adopted >= known.leaves_with and known.peer is not None:
                self._send(known.peer, LeaveAllowed())

    def remove(self, name: str, reason: str) -> None:
        """Remove the member ``name``, whose process is known to have ended, from the cluster for good.
        ``reason``: the reason, for messages. Does nothing if there is no such member."""
        with self._lock:
            self._take_out(name, f"member {name} was removed: {reason}", lost=True)

    def _take_out(self, name: str, reason: str, *, lost: bool) -> None:
        known = self._known.pop(name, None)
        if known is None:
            return
        if known.observes:
            self._tell(ClientsChanged((name,), gone=True))
        else:
            remember(self._removed, name, reason)
        logger.log(logging.WARNING if lost else logging.INFO, "%s", reason)
        if known.joined and not known.observes:
            members = tuple(each for each in self.members.members if each.name != name)
            owners = _inherited(self.members.owners, name, members)
            # A lost client takes no part in other members' jobs, so these go on.
            moved = bool(self.documents) and owners != self.members.owners
            self._publish(members, owners, invalidate=moved or (lost and not known.info.lite))
        if known.peer is not None:
            self._refuse(known.peer, reason)
        self._allow_leaving()
        self._answer_writers()

    def _refuse(self, peer: Peer, reason: str) -> None:
        """Send the peer :class:`Removed` with the reason, on which the peer closes the connection; close the
        connection from here one heartbeat period later."""
        self._send(peer, Removed(reason))
        self._clock.call_at(self._clock.now() + self._period, lambda: peer.close(reason))

    def rebalance(self) -> None:
        """Assign the partitions anew, so that all members that may own partitions (neither lite nor leaving)
        own equally many. Members then refuse jobs that were planned before."""
        with self._lock:
            owners = balance(self.members.owners, self.members.heirs)
            if owners != self.members.owners:
                self._publish(self.members.members, owners, invalidate=True)

    # ---- documents

    def _put(self, writer: _Known, peer: Peer, message: PutDocument) -> None:
        made = self._applied.find(writer.info.name, message.request)
        if made is not None:
            self._changes.append(_Change(made, writer.info.name, message.request))
            self._answer_writers()
            return
        if not self._allows(message):
            version = self._document_version(message.key)
            self._send(peer, DocumentAnswer(message.request, stored=False, version=version))
            return
        self._version += 1
        self._change(writer.info.name, message)

    def _allows(self, message: PutDocument) -> bool:
        """Return whether the documents' versions and the owners of partitions are those that the writer
        expects. Whoever hears of new owners from this keeper has heard of all changes that expect the former
        ones before."""
        expected = (*message.premises, (message.key, message.expected))
        return message.dealt in (None, self.members.dealt) and all(
            version is None or self._document_version(key) == version for key, version in expected
        )

    def _change(self, writer: str, message: PutDocument) -> None:
        """Make the change ``message`` of ``writer``, as the change with the present number."""
        if message.content is None:
            self.documents.pop(message.key, None)
        else:
            self.documents[message.key] = Document(self._version, message.content)
        request, oldest = message.request, message.oldest
        self._applied.note(writer, request, oldest=oldest, version=self._version)
        self._changes.append(_Change(self._version, writer, request))
        self._tell(
            DocumentChanged(message.key, self._version, message.content, writer, request, oldest=oldest)
        )

    def _document_version(self, key: str) -> int:
        document = self.documents.get(key)
        return 0 if document is None else document.version

    def _answer_writers(self) -> None:
        """Send answers for the changes of documents that all members have now, each to the writer of the
        change."""
        seen = min((known.seen for known in self._known.values() if known.joined), default=self._version)
        complete = [change for change in self._changes if change.version <= seen]
        self._changes = [change for change in self._changes if change.version > seen]
        for change in complete:
            writer = self._known.get(change.writer)
            if writer is not None and writer.peer is not None:
                self._send(writer.peer, DocumentAnswer(change.request, stored=True, version=change.version))

    # ---- the epoch

    def _confirm(self) -> bool:
        """Return whether this process may act as the keeper. It looks at most once in a heartbeat period
        whether another process has become the keeper; if so, this keeper ends in silence."""
        now = self._clock.now()
        if self._closed:
            return False
        if now - self._confirmed >= self._period:
            if not self._tenure.is_held():
                self._resign()
                return False
            self._confirmed = now
        return True

    def _resign(self) -> None:
        self._closed = True
        self._forget_timer()
        logger.warning("another process is the keeper now; the keeper of epoch %d ends", self._tenure.epoch)
        # Not under the lock, for which the network's threads may wait.
        self._clock.call_at(self._clock.now(), self._transport.close)
        self._on_superseded()

    def _hear_in_recovery(self, recovery: Recovery, peer: Peer, message: msgspec.Struct) -> None:
        match message:
            case JoinCluster():
                self._newcomers[peer.name] = peer, message
            case DocumentCopy():
                recovery.copy(peer.name, message.key, Document(message.version, message.content))
            case Report():
                recovery.report(peer.name, message)
            case Heartbeat() if peer.name in recovery.reports or peer.name in self._newcomers:
                self._send(peer, HeartbeatAnswer(message.sent, self.settings.silence_limit))
            case _:  # members repeat at the recovery's end whatever counts
                return
        if recovery.complete(frozenset(self._newcomers)):
            self._finish(recovery)

    def _finish(self, recovery: Recovery) -> None:
        """Go on with the state that the reports show, and without the members that have not reported."""
        found = recovered(recovery.reports)
        self._recovery = None
        self.members = found.list
        self.documents = recovery.documents[found.reporter]
        self._applied = AppliedChanges(recovery.reports[found.reporter].applied)
        self._version = first_version(self._tenure.epoch, found.version)
        self._removed = dict.fromkeys(found.removed, "it was removed by a former keeper")
        for info in found.list.members:
            if info.name in recovery.reports:
                self._take_over(info, recovery.reports[info.name], recovery.peers.get(info.name))
        for name in found.clients:
            info, peer = MemberInfo(name, lite=True), recovery.peers.get(name)
            self._known[name] = _Known(info, peer, self._clock.now(), joined=True, observes=True)
        self._publish_recovered()
        for name, peer in recovery.peers.items():
            if name in self._known:
                self._tell_all(self._known[name])
            elif name not in self._newcomers:
                self._refuse(peer, self._removed.get(name, f"{name} was removed by a former keeper"))
        for peer, message in self._newcomers.values():
            self._join(peer, message)
        self._on_list()

    def _take_over(self, info: MemberInfo, report: Report, peer: Peer | None) -> None:
        known = _Known(info, peer, self._clock.now(), joined=True, adopted=report.adopted, seen=report.seen)
        if info.leaving:
            known.leaves_with = first_version(self._tenure.epoch, self.members.version)
        self._known[info.name] = known

    def _publish_recovered(self) -> None:
        """Make the first list of this keeper, without the members that have not reported."""
        latest = self.members
        lost = [each for each in latest.members if each.name not in self._known]
        members = tuple(each for each in latest.members if each.name in self._known)
        owners = latest.owners
        for each in lost:
            reason = f"member {each.name} was removed: it didn't answer the new keeper"
            logger.warning("%s", reason)
            self._removed[each.name] = reason
            owners = _inherited(owners, each.name, members)
        version = first_version(self._tenure.epoch, latest.version)
        moved = bool(self.documents) and owners != latest.owners
        invalid = moved or any(not each.lite for each in lost)
        self.members = MemberList(
            version,
            members,
            owners,
            version if invalid else latest.valid_from,
            latest.dealt if owners == latest.owners else version,
            self._tenure.epoch,
        )
        self._applied.keep_only(self.members)

    # ---- time

    @property
    def _period(self) -> float:
        return self.settings.silence_limit / BEATS

    def _look(self) -> None:
        """Remove the members that were silent for the silence limit, and one member of each pair of members
        without a connection to each other; called once per heartbeat period."""
        with self._lock:
            now = self._clock.now()
            if not self._confirm():
                return
            if self._recovery is not None:
                self._look_in_recovery(self._recovery, now)
                return
            if now - self._looked > 2 * self._period:  # the keeper itself was held up and heard no member
                for known in self._known.values():
                    known.heard = now
            self._looked = now
            limit = self.settings.silence_limit
            for name, known in self._known.copy().items():
                if now - known.heard >= limit:
                    self._take_out(name, f"member {name} was removed: silent for {limit:g} s", lost=True)
            self._part(now)
            self._forget_timer = self._clock.call_at(now + self._period, self._look)

    def _look_in_recovery(self, recovery: Recovery, now: float) -> None:
        """Wait no longer for members that have not reported if it is time."""
        self._looked = now
        self._forget_timer = self._clock.call_at(now + self._period, self._look)
        if now >= recovery.deadline and recovery.reports:
            self._finish(recovery)

    def _part(self, now: float) -> None:
        """For each pair of live members without a connection to each other, remove the member that joined
        later. ``now``: the time of the keeper's clock (s)."""
        order = [each.name for each in self.members.members]
        alive = {
            name: known
            for name, known in self._known.items()
            if name in order and known.peer is not None and now - known.heard < 2 * self._period
        }
        for name in order:
            for other in alive[name].missing if name in alive else ():
                if other in alive and name in alive:
                    later = max(name, other, key=order.index)
                    earlier = other if later == name else name
                    del alive[later]
                    reason = f"member {later} was removed: {later} and {earlier} don't reach each other"
                    self._take_out(later, reason, lost=True)

    def end(self, reason: str = "its keeper was closed") -> None:
        """End the cluster, and send the ``reason`` to all members. A second call does nothing."""
        with self._lock:
            if not self._closed:
                self._closed = True
                self._forget_timer()
                self._tell(ClusterEnded(reason))
                for peer in () if self._recovery is None else self._recovery.peers.values():
                    self._send(peer, ClusterEnded(reason))

    def resign(self) -> None:
        """End this keeper, but not the cluster: another process becomes the keeper."""
        with self._lock:
            self._closed = True
            self._forget_timer()
        self._transport.close()

    def close(self) -> None:
        """End the cluster, and close the keeper's transport."""
        self.end()
        self._transport.close()


def _inherited(owners: tuple[str, ...], name: str, members: tuple[MemberInfo, ...]) -> tuple[str, ...]:
    """Return the owners of the partitions after the member ``name`` has gone or hands over: its partitions go
    to those of ``members`` that may own partitions."""
    return inherit(owners, name, MemberList(0, members, owners).heirs)
