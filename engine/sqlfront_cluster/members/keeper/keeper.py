"""The keeper: decides on the members of the cluster, the owners of partitions, and the contents of documents.

Each cluster has one keeper. The keeper is no member and takes no part in jobs. It acts only on messages and
timers.

* A newcomer sends ``JoinCluster``, gets the documents and the list, connects with all listed members, and
  reports the connections; the next version of the list has the newcomer as a member. If the list has changed
  meanwhile, the newcomer goes on with the newer list.
* A member is removed from the list for good after :attr:`KeeperSettings.silence_limit` seconds of silence,
  or when its process is known to have ended (:meth:`Keeper.remove`, and :class:`EndedProcesses` for those on
  the keeper's machine). A silent member stops by itself before its removal: each answered heartbeat gives it
  that many seconds more, counted from when the heartbeat was *sent*.
* A member that hands over is marked, and other members get its partitions; it stays until its rows are on
  other members.
* A leaving member is marked, and other members get its partitions. When all members know that it is leaving,
  the keeper says so to the leaving member, which ends when its jobs have ended.
* While there are no documents, hence no tables, partitions are assigned anew with every joining member;
  after that only by :class:`~sqlfront_cluster.members.protocol.cluster_messages.Rebalance`, or when their
  owner has gone.
* An observer is a client without a place in the list: it gets the documents and the list, and is told of
  every change like a member; it takes part in nothing, so that its coming and going changes no version.
* A document is changed if the writer knows its version; the writer gets the change, and an answer when all
  others have it, too.
* Each keeper has a higher epoch than the former keepers, and looks again and again whether it is still the
  keeper (:class:`Tenure`). A keeper that follows another one begins with a :class:`Recovery`: it asks all
  members for their lists and documents, and goes on when all have reported or were silent for too long.
"""

import logging
from collections.abc import Callable
from functools import partial
from threading import RLock

import msgspec
from msgspec.structs import replace

from sqlfront_cluster.members.keeper.ended_processes import EndedProcesses
from sqlfront_cluster.members.keeper.keeper_documents import KeeperDocuments
from sqlfront_cluster.members.keeper.keeper_settings import DEFAULT_SETTINGS, KeeperSettings
from sqlfront_cluster.members.keeper.known_members import KnownMember, KnownMembers, parted
from sqlfront_cluster.members.keeper.list_changes import (
    with_departing,
    with_newcomer,
    with_returning,
    without,
)
from sqlfront_cluster.members.keeper.partition_table import balance
from sqlfront_cluster.members.keeper.recovery import Recovery
from sqlfront_cluster.members.keeper.takeover import take_over
from sqlfront_cluster.members.keeper.tenure import ONLY_KEEPER, RecentTenure, Tenure
from sqlfront_cluster.members.protocol.cluster_messages import (
    BEATS,
    ClientsChanged,
    ClusterEnded,
    DocumentAnswer,
    DocumentChanged,
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
    SendAgain,
)
from sqlfront_cluster.members.protocol.document import Document
from sqlfront_cluster.members.protocol.keeper_names import KEEPER, keeper_name
from sqlfront_cluster.members.protocol.member_list import MemberInfo, MemberList, nobody
from sqlfront_cluster.members.protocol.removed_members import remember
from sqlfront_cluster.network.transport import Body, Peer, Transport
from sqlfront_engine.scheduler import Clock

logger = logging.getLogger(__name__)


class Keeper:
    """The keeper of a cluster, which decides on the members, the owners of partitions, and the contents of
    documents. It is no member, and acts only on messages and timers.

    It is the :class:`~sqlfront_cluster.network.transport.Receiver` of ``transport``, whose name is
    :func:`~sqlfront_cluster.members.protocol.keeper_names.keeper_name` of the epoch. ``on_list``: called
    after every change of the member list; it must not block. ``tenure``: the right to be the keeper, of a new
    cluster or after another keeper. ``on_superseded``: called once when another process has become the
    keeper; this keeper then says nothing more. ``ended``: members that are known to have ended with the
    former keeper.
    """

    def __init__(
        self,
        transport: Transport,
        clock: Clock,
        settings: KeeperSettings = DEFAULT_SETTINGS,
        on_list: Callable[[], None] = lambda: None,
        tenure: Tenure = ONLY_KEEPER,
        on_superseded: Callable[[], None] = lambda: None,
        ended: frozenset[str] = frozenset(),
    ) -> None:
        assert transport.name == keeper_name(tenure.epoch)
        self.settings = settings
        self.members: MemberList = nobody(settings.partition_count)
        self._transport = transport
        self._clock = clock
        self._on_list = on_list
        self._tenure = RecentTenure(tenure, clock, self._period)
        self._on_superseded = on_superseded
        # Guards all fields; held while messages are sent, so that messages keep their order.
        self._lock = RLock()
        self._known = KnownMembers()
        self._documents = KeeperDocuments()
        self._removed: dict[str, str] = {}
        self._processes = EndedProcesses(clock, self._process_ended)
        self._closed = False
        self._looked = clock.now()
        # A former keeper may have answered heartbeats for one more period.
        deadline = self._looked + settings.silence_limit + self._period
        self._recovery = None if tenure.begins else Recovery(deadline, ended)
        self._forget_timer = clock.call_at(self._looked + self._period, self._look)
        transport.start(self)

    # ---- the transport's calls

    def connected(self, peer: Peer) -> None:
        """Record a new connection. A member whose connection had broken gets all documents and the member
        list again; a removed member gets the reason of its removal."""
        with self._lock:
            self._processes.met(peer)
            known = self._known.get(peer.name)
            if self._recovery is not None:
                self._ask(self._recovery, peer)
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
            known = self._known.get(peer.name)
            if known is not None and known.peer is peer:
                known.peer = None
                if not known.joined:
                    del self._known[peer.name]
            if self._recovery is None and peer.name not in self._known:
                self._processes.forget(peer.name)
            else:
                self._processes.lost(peer)

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
            if known is None and isinstance(message, Heartbeat) and message.adopted is None:
                self._send(peer, Inquiry())  # a newcomer, whose JoinCluster was lost
                return
            if known is None or known.peer is not peer:
                self._refuse(peer, self._removed.get(peer.name, f"{peer.name} has not joined the cluster"))
                return
            known.heard = self._clock.now()
            self._hear(known, peer, message)

    def _hear(self, known: KnownMember, peer: Peer, message: msgspec.Struct) -> None:
        match message:
            case Heartbeat():
                self._take_heartbeat(known, peer, message)
            case SendAgain():
                self._tell_all(known)
            case ListAdopted():
                self._note_adopted(known, message.version)
            case HandOver():
                self._hand_over(known, ends=message.ends)
            case Leave():
                if message.list_version in (None, self.members.version):
                    self._leave(known)
            case Left():
                self._take_out(known.info.name, f"member {known.info.name} has left", lost=False)
            case Rebalance():
                self.rebalance()
            case PutDocument():
                self._put(known, peer, message)
            case DocumentsSeen():
                self._note_seen(known, message.version)
            case _:
                logger.warning("%s sent the keeper %s", peer.name, type(message).__name__)

    def _take_heartbeat(self, known: KnownMember, peer: Peer, message: Heartbeat) -> None:
        """Answer a heartbeat, and note what it says about messages that may have been lost."""
        known.missing = message.missing
        limit, documents = self.settings.silence_limit, self._documents.version
        self._send(peer, HeartbeatAnswer(message.sent, limit, documents, self.members.version))
        if message.seen > known.seen:
            self._note_seen(known, message.seen)
        if message.adopted is not None and (message.adopted > known.adopted or not known.joined):
            self._note_adopted(known, message.adopted)

    def _note_adopted(self, known: KnownMember, version: int) -> None:
        known.adopted = max(known.adopted, version)
        self._admit_or_release(known)

    def _note_seen(self, known: KnownMember, version: int) -> None:
        known.seen = max(known.seen, version)
        self._answer_writers()

    # ---- joining

    def _join(self, peer: Peer, message: JoinCluster) -> None:
        name = peer.name
        known = self._known.get(name)
        if known is not None and known.peer is peer:
            self._tell_all(known)  # the request was taken for lost, and has come twice
        elif self._closed or name in self._removed:
            self._refuse(peer, self._removed.get(name, "the cluster has ended"))
        elif name == KEEPER or (name in self._known and self._known[name].joined):
            self._refuse(peer, f"there is a member {name!r} already")
        else:
            info = MemberInfo(
                name, message.lite, address=message.address, memory=message.memory, files=message.files
            )
            known = self._known[name] = KnownMember(info, peer, self._clock.now())
            # From now on writers wait until the observer has their changes.
            known.joined = known.observes = message.observes
            self._tell_all(known)
            if known.observes:
                logger.info("client %s has come", name)
                self._tell(ClientsChanged((name,), self._documents.count()))

    def _tell_all(self, known: KnownMember) -> None:
        """Send all documents and clients, and then the member list, to a member or newcomer: whoever has the
        list also has the documents."""
        assert known.peer is not None
        for message in self._documents.messages(self._known.clients):
            self._send(known.peer, message)
        self._send(known.peer, self._present_list())

    def _present_list(self) -> MemberListChanged:
        return MemberListChanged(self.members, self._documents.version)

    def _admit_or_release(self, known: KnownMember) -> None:
        if not known.joined and known.adopted == self.members.version:
            known.joined = True
            logger.info("member %s has joined", known.info.name)
            self._publish(*with_newcomer(self.members, known.info, anew=not self._documents.contents))
        self._allow_leaving()

    def _publish(
        self, members: tuple[MemberInfo, ...], owners: tuple[str, ...], *, invalidate: bool = False
    ) -> None:
        """Make a new version of the list with these ``members`` and ``owners`` of partitions, and send it to
        all members and newcomers. ``invalidate``: True makes members refuse jobs that were planned with
        earlier versions."""
        self.members = self.members.followed_by(
            self.members.version + 1, members, owners, self._tenure.epoch, invalidate=invalidate
        )
        self._tell(self._present_list())
        self._on_list()

    def _tell(self, message: KeeperMessage) -> None:
        self._known.tell(replace(message, epoch=self._tenure.epoch))

    def _send(self, peer: Peer, message: KeeperMessage) -> None:
        peer.send(replace(message, epoch=self._tenure.epoch))

    # ---- leaving

    def _hand_over(self, known: KnownMember, *, ends: bool) -> None:
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
        change = with_returning if ends else with_departing
        self._publish(*change(self.members, known.info))

    def _leave(self, known: KnownMember) -> None:
        if known.observes and known.peer is not None:
            self._send(known.peer, LeaveAllowed())
        elif known.joined and known.leaves_with is None:
            known.info = replace(known.info, leaving=True)
            known.leaves_with = self.members.version + 1
            # Partitions move now, not at the member's end: jobs that avoid the member must find its
            # partitions elsewhere.
            self._publish(*with_departing(self.members, known.info))
        else:
            self._allow_leaving()

    def _allow_leaving(self) -> None:
        for peer in self._known.released():
            self._send(peer, LeaveAllowed())

    def remove(self, name: str, reason: str) -> None:
        """Remove the member ``name``, whose process is known to have ended, from the cluster for good.
        ``reason``: the reason, for messages. Does nothing if there is no such member."""
        with self._lock:
            self._take_out(name, f"member {name} was removed: {reason}", lost=True)

    def _process_ended(self, name: str) -> bool:
        with self._lock:
            if self._recovery is not None:
                return False  # who has reported is known at its end
            if not self._confirm():
                return False  # unless this keeper has ended, it will be asked again
            self._take_out(name, f"member {name} was removed: its process has ended", lost=True)
        return True

    def _take_out(self, name: str, reason: str, *, lost: bool) -> None:
        self._processes.forget(name)
        known = self._known.pop(name, None)
        if known is None:
            return
        if known.observes:
            self._tell(ClientsChanged((name,), self._documents.count(), gone=True))
        else:
            remember(self._removed, name, reason)
        self._documents.keep_only(self._known)
        logger.log(logging.WARNING if lost else logging.INFO, "%s", reason)
        if known.joined and not known.observes:
            members, owners = without(self.members, name)
            # A lost client takes no part in other members' jobs, so these go on.
            moved = bool(self._documents.contents) and owners != self.members.owners
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

    @property
    def documents(self) -> dict[str, Document]:
        """The documents by key."""
        return self._documents.contents

    @property
    def clients(self) -> tuple[str, ...]:
        """The names of the clients without a place in the member list."""
        return self._known.clients

    def _put(self, writer: KnownMember, peer: Peer, message: PutDocument) -> None:
        outcome = self._documents.put(writer.info.name, message, self.members.dealt)
        match outcome:
            case DocumentChanged():
                self._tell(outcome)
                self._answer_writers()  # at once if there is nobody else
            case DocumentAnswer():
                self._send(peer, outcome)
            case None:
                self._answer_writers()

    def _answer_writers(self) -> None:
        """Send answers for the changes of documents that all members have now, each to the writer of the
        change. The writer itself gets its change before the answer, on the same connection."""
        for name, answer in self._documents.answers(partial(self._known.seen, self._documents.version)):
            writer = self._known.get(name)
            if writer is not None and writer.peer is not None:
                self._send(writer.peer, answer)

    # ---- the epoch

    def _confirm(self) -> bool:
        """Return whether this process may act as the keeper. It looks at most once in a heartbeat period
        whether another process has become the keeper; if so, this keeper ends in silence."""
        if self._closed:
            return False
        try:
            held = self._tenure.is_held()
        except OSError as error:
            # Others may have become the keeper meanwhile: say nothing until that is known.
            logger.warning("the keeper can't find out whether another one has followed it: %s", error)
            return False
        if not held:
            self._resign()
            return False
        return True

    def _resign(self) -> None:
        self._stop()
        logger.warning("another process is the keeper now; the keeper of epoch %d ends", self._tenure.epoch)
        # Not under the lock, for which the network's threads may wait.
        self._clock.call_at(self._clock.now(), self._transport.close)
        self._on_superseded()

    def _hear_in_recovery(self, recovery: Recovery, peer: Peer, message: msgspec.Struct) -> None:
        recovery.hear(peer, message)
        if isinstance(message, Heartbeat):
            if recovery.knows(peer.name):
                self._send(peer, HeartbeatAnswer(message.sent, self.settings.silence_limit))
            if recovery.lacks(peer.name, self._clock.now() - self._period):
                self._ask(recovery, peer)
        if recovery.complete:
            self._finish(recovery)

    def _ask(self, recovery: Recovery, peer: Peer) -> None:
        recovery.ask(peer, self._clock.now())
        self._send(peer, Inquiry())

    def _finish(self, recovery: Recovery) -> None:
        """Go on with the state that the reports show, and without the members that have not reported."""
        state = take_over(recovery, self._tenure.epoch, self._clock.now())
        self._recovery = None
        self.members, self._documents = state.members, state.documents
        self._known, self._removed = state.known, state.removed
        for name, peer in recovery.peers.items():
            if name in self._known:
                self._tell_all(self._known[name])
            elif name not in recovery.newcomers:
                self._refuse(peer, self._removed.get(name, f"{name} was removed by a former keeper"))
        for peer, message in recovery.newcomers.values():
            self._join(peer, message)
        self._processes.keep_only(self._known)
        self._on_list()

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
                if not self._closed:
                    self._forget_timer = self._clock.call_at(now + self._period, self._look)
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
        if now >= recovery.deadline and recovery.begun:
            self._finish(recovery)

    def _part(self, now: float) -> None:
        """For each pair of live members without a connection to each other, remove the member that joined
        later. ``now``: the time of the keeper's clock (s)."""
        order = [each.name for each in self.members.members]
        live = self._known.heard_since(now, 2 * self._period)
        for later, earlier in parted(order, live):
            reason = f"member {later} was removed: {later} and {earlier} don't reach each other"
            self._take_out(later, reason, lost=True)

    def end(self, reason: str = "its keeper was closed") -> None:
        """End the cluster, and send the ``reason`` to all members. A second call does nothing."""
        with self._lock:
            if not self._closed:
                self._stop()
                self._tell(ClusterEnded(reason))
                for peer in () if self._recovery is None else self._recovery.peers.values():
                    self._send(peer, ClusterEnded(reason))

    def resign(self) -> None:
        """End this keeper, but not the cluster: another process becomes the keeper."""
        with self._lock:
            self._stop()
        self._transport.close()

    def _stop(self) -> None:
        self._closed = True
        self._forget_timer()
        self._processes.close()

    def close(self) -> None:
        """End the cluster, and close the keeper's transport."""
        self.end()
        self._transport.close()
