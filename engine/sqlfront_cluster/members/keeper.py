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
* A leaving member is marked, and other members get its partitions. When all members know that it is leaving,
  the keeper says so to the leaving member, which ends when its jobs have ended.
* While there are no documents, hence no tables, partitions are assigned anew with every joining member;
  after that only by :class:`~sqlfront_cluster.members.cluster_messages.Rebalance`, or when their owner has
  gone.
* A document is changed if the writer knows its version; the writer gets an answer when all members have the
  change.
"""

import logging
from collections.abc import Callable, Iterable
from threading import RLock
from typing import Final

import msgspec
from msgspec.structs import replace

from sqlfront_cluster.members.cluster_messages import (
    ClusterEnded,
    DocumentAnswer,
    DocumentChanged,
    DocumentKeys,
    DocumentsSeen,
    Heartbeat,
    HeartbeatAnswer,
    JoinCluster,
    Leave,
    LeaveAllowed,
    Left,
    ListAdopted,
    MemberListChanged,
    PutDocument,
    Rebalance,
    Removed,
)
from sqlfront_cluster.members.member_list import MemberInfo, MemberList, nobody
from sqlfront_cluster.members.partition_table import balance, deal, inherit
from sqlfront_cluster.network.transport import Body, Peer, Transport
from sqlfront_engine.scheduler import Clock
from sqlfront_values.partitioning.partitions import DEFAULT_PARTITIONS

#: The name of every cluster's keeper; no member may have this name.
KEEPER: Final = "keeper"
#: Heartbeats within the silence limit: so many messages in a row have to be late before a member is given up.
BEATS: Final = 5
#: Names of removed members that are remembered, so that a removed member that comes back is refused; the
#: limit bounds the keeper's memory.
REMEMBERED: Final = 1000

logger = logging.getLogger(__name__)


class KeeperSettings(msgspec.Struct, frozen=True):
    """The settings of a keeper. ``silence_limit``: seconds after which a silent member is removed.
    ``partition_count``: the number of partitions of the cluster."""

    silence_limit: float = 5.0
    partition_count: int = DEFAULT_PARTITIONS


DEFAULT_SETTINGS: Final = KeeperSettings()


class Document(msgspec.Struct, frozen=True):
    """A replicated document, such as a table's definition. ``version``: the number of its last change; the
    changes of all documents are counted together."""

    version: int
    content: bytes


class _Known(msgspec.Struct):
    """The keeper's record of a member, or of a newcomer that is joining (``joined`` False).

    ``peer``: the connection, None = lost. ``heard``: the time of the last message (s, the keeper's clock).
    ``adopted``: the version of the member list that the member uses. ``seen``: the version up to which it has
    the changes of documents. ``missing``: the members to which it has no connection. ``leaves_with``: the
    version of the list that all members must use before the member may leave, None = it isn't leaving."""

    info: MemberInfo
    peer: Peer | None
    heard: float
    joined: bool = False
    adopted: int = 0
    seen: int = 0
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
    :data:`KEEPER`. ``on_list``: called after every change of the member list; it must not block.
    """

    def __init__(
        self,
        transport: Transport,
        clock: Clock,
        settings: KeeperSettings = DEFAULT_SETTINGS,
        on_list: Callable[[], None] = lambda: None,
    ) -> None:
        assert transport.name == KEEPER
        self.settings = settings
        self.members: MemberList = nobody(settings.partition_count)
        self.documents: dict[str, Document] = {}
        self._transport = transport
        self._clock = clock
        self._on_list = on_list
        # Guards all fields; held while messages are sent, so that messages keep their order.
        self._lock = RLock()
        self._known: dict[str, _Known] = {}
        self._removed: dict[str, str] = {}
        self._changes: list[_Change] = []
        self._version = 0
        self._closed = False
        self._looked = clock.now()
        self._forget_timer = clock.call_at(self._looked + self._period, self._look)
        transport.start(self)

    # ---- the transport's calls

    def connected(self, peer: Peer) -> None:
        """Record a new connection. A member whose connection had broken gets all documents and the member
        list again; a removed member gets the reason of its removal."""
        with self._lock:
            known = self._known.get(peer.name)
            if known is not None:
                known.peer = peer
                known.heard = self._clock.now()
                self._tell_all(known)
            elif peer.name in self._removed:
                self._refuse(peer, self._removed[peer.name])

    def disconnected(self, peer: Peer, reason: str) -> None:
        """Record the loss of a connection. A member may connect again until it is removed; a newcomer must
        join again."""
        with self._lock:
            known = self._known.get(peer.name)
            if known is None or known.peer is not peer:
                return
            known.peer = None
            if not known.joined:
                del self._known[peer.name]

    def received(self, peer: Peer, message: msgspec.Struct, body: Body) -> None:
        """Handle a message of a member or of a newcomer."""
        with self._lock:
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
                peer.send(HeartbeatAnswer(message.sent, self.settings.silence_limit))
            case ListAdopted():
                known.adopted = max(known.adopted, message.version)
                self._admit_or_release(known)
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
            self._tell_all(known)

    def _tell_all(self, known: _Known) -> None:
        """Send all documents, and then the member list, to a member or newcomer: whoever has the list also
        has the documents."""
        assert known.peer is not None
        for key, document in sorted(self.documents.items(), key=lambda item: item[1].version):
            known.peer.send(DocumentChanged(key, document.version, document.content))
        known.peer.send(DocumentKeys(tuple(self.documents), self._version))
        known.peer.send(MemberListChanged(self.members))

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
        self.members = MemberList(version, members, owners, valid_from, dealt)
        self._tell(MemberListChanged(self.members))
        self._on_list()

    def _tell(self, message: msgspec.Struct) -> None:
        for known in self._known.values():
            if known.peer is not None:
                known.peer.send(message)

    # ---- leaving

    def _leave(self, known: _Known) -> None:
        if known.joined and known.leaves_with is None:
            known.info = replace(known.info, leaving=True)
            members = tuple(
                known.info if each.name == known.info.name else each for each in self.members.members
            )
            known.leaves_with = self.members.version + 1
            # Partitions move now, not at the member's end: jobs that avoid the member must find its
            # partitions elsewhere.
            self._publish(members, _inherited(self.members.owners, known.info.name, members))

    def _allow_leaving(self) -> None:
        joined = [known for known in self._known.values() if known.joined]
        adopted = min((known.adopted for known in joined), default=0)
        for known in joined:
            if known.leaves_with is not None and adopted >= known.leaves_with and known.peer is not None:
                known.peer.send(LeaveAllowed())

    def remove(self, name: str, reason: str) -> None:
        """Remove the member ``name``, whose process is known to have ended, from the cluster for good.
        ``reason``: the reason, for messages. Does nothing if there is no such member."""
        with self._lock:
            self._take_out(name, f"member {name} was removed: {reason}", lost=True)

    def _take_out(self, name: str, reason: str, *, lost: bool) -> None:
        known = self._known.pop(name, None)
        if known is None:
            return
        self._removed[name] = reason
        if len(self._removed) > REMEMBERED:
            del self._removed[next(iter(self._removed))]
        logger.log(logging.WARNING if lost else logging.INFO, "%s", reason)
        if known.joined:
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
        peer.send(Removed(reason))
        self._clock.call_at(self._clock.now() + self._period, lambda: peer.close(reason))

    def rebalance(self) -> None:
        """Assign the partitions anew, so that all members that may own partitions (neither lite nor leaving)
        own equally many. Members then refuse jobs that were planned before."""
        with self._lock:
            owners = balance(self.members.owners, self.members.data_members)
            if owners != self.members.owners:
                self._publish(self.members.members, owners, invalidate=True)

    # ---- documents

    def _put(self, writer: _Known, peer: Peer, message: PutDocument) -> None:
        version = self._document_version(message.key)
        if (message.expected is not None and message.expected != version) or any(
            self._document_version(key) != premise for key, premise in message.premises
        ):
            peer.send(DocumentAnswer(message.request, stored=False, version=version))
            return
        self._version += 1
        if message.content is None:
            self.documents.pop(message.key, None)
        else:
            self.documents[message.key] = Document(self._version, message.content)
        self._changes.append(_Change(self._version, writer.info.name, message.request))
        self._tell(DocumentChanged(message.key, self._version, message.content))

    def _document_version(self, key: str) -> int:
        document = self.documents.get(key)
        return 0 if document is None else document.version

    def _answer_writers(self) -> None:
        """Send answers for the changes of documents that all members have now, each to the writer of the
        change."""
        seen = min((known.seen for known in self._known.values() if known.joined), default=self._version)
        while self._changes and self._changes[0].version <= seen:
            change = self._changes.pop(0)
            writer = self._known.get(change.writer)
            if writer is not None and writer.peer is not None:
                writer.peer.send(DocumentAnswer(change.request, stored=True, version=change.version))

    # ---- time

    @property
    def _period(self) -> float:
        return self.settings.silence_limit / BEATS

    def _look(self) -> None:
        """Remove the members that were silent for the silence limit, and one member of each pair of members
        without a connection to each other; called once per heartbeat period."""
        with self._lock:
            if self._closed:
                return
            now = self._clock.now()
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

    def _part(self, now: float) -> None:
        """For each pair of live members without a connection to each other, remove the member that joined
        later. ``now``: the time of the keeper's clock (s)."""
        order = [each.name for each in self.members.members]
        alive = {
            name: known
            for name, known in self._known.items()
            if known.joined and known.peer is not None and now - known.heard < 2 * self._period
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

    def close(self) -> None:
        """End the cluster, and close the keeper's transport."""
        self.end()
        self._transport.close()


def _inherited(owners: tuple[str, ...], name: str, members: Iterable[MemberInfo]) -> tuple[str, ...]:
    """Return the owners of the partitions after the loss of the member ``name``, whose partitions go to those
    of ``members`` that are neither lite nor leaving."""
    return inherit(owners, name, [each.name for each in members if not each.lite and not each.leaving])
