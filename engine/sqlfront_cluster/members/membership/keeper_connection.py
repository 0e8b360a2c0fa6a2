"""A member's connection with the keeper: finding the keeper, heartbeats, and the lease.

Each answered heartbeat gives the member a lease, the time for which it may go on, counted from when the
heartbeat was sent. While the keeper is lost or silent, the member looks for another keeper; a former keeper,
whose epoch is lower, is ignored.
"""

from collections.abc import Callable
from enum import Enum
from typing import Final

import msgspec

from sqlfront_cluster.members.membership.membership_state import MembershipSettings, MembershipStatus
from sqlfront_cluster.members.membership.watchers import notify
from sqlfront_cluster.members.protocol.cluster_messages import (
    BEATS,
    Heartbeat,
    HeartbeatAnswer,
    KeeperMessage,
)
from sqlfront_cluster.members.protocol.keeper_names import keeper_epoch
from sqlfront_cluster.members.protocol.messages import Message
from sqlfront_cluster.network.transport import Peer
from sqlfront_engine.scheduler import Clock
from sqlfront_values.errors import Error

#: Seconds between two attempts to connect: a new member is reached within the time, and a missing one costs
#: two attempts a second.
RETRY: Final = 0.5
#: Heartbeats without an answer after which a member looks for another keeper: fewer than the silence limit
#: has, so that a new keeper is found before the lease ends.
SILENT_BEATS: Final = 2


class KeeperContact(Enum):
    """Whether a member hears its keeper."""

    HEARD = "heard"
    """The keeper has answered one of the last heartbeats."""
    SILENT = "silent"
    """There is a connection, or was one, and the last heartbeats were not answered."""
    LOST = "lost"
    """There is no connection, and the last heartbeats before were answered."""


class KeeperConnection:
    """The connection of the member ``name`` with the present keeper, and the lease that the keeper gives the
    member.

    ``settings``: the keeper's first address and the first limit. ``locate``: returns the address of the
    present keeper, None = always the first address. ``connect``: begins to connect to an address.
    ``heartbeat``: returns a heartbeat to send now. ``on_expired``: called when the lease is over.
    ``status``: the membership's state, whose lock guards ``peer`` and ``epoch``; methods whose description
    says "with the lock held" don't take the lock.
    """

    def __init__(
        self,
        name: str,
        settings: MembershipSettings,
        locate: Callable[[], str] | None,
        connect: Callable[[str], None],
        heartbeat: Callable[[], Heartbeat],
        on_expired: Callable[[], None],
        clock: Clock,
        status: MembershipStatus,
    ) -> None:
        #: The address at which the keeper was looked for last.
        self.place = settings.keeper
        #: The connection, None = there is none.
        self.peer: Peer | None = None
        #: The highest epoch of a keeper that was heard; 0 before the first.
        self.epoch = 0
        #: The seconds for which an answered heartbeat lets the member go on: the keeper's silence limit.
        self.lease = settings.silence_limit
        #: When the last answered heartbeat was sent (s, the clock's).
        self.lease_from = clock.now()
        #: Functions called when the keeper is lost, and after each heartbeat while the keeper is silent.
        self.watchers: list[Callable[[], None]] = []
        self._name = name
        self._locate = locate or (lambda: settings.keeper)
        self._connect = connect
        #: Returns a heartbeat to send now.
        self.heartbeat = heartbeat
        self._on_expired = on_expired
        self._clock = clock
        self._status = status
        self._last_failure = ""

    # ---- the connection

    def begin(self) -> None:
        """Connect to the keeper, and send heartbeats from the next period on."""
        self._connect(self.place)
        self._status.later(self._period, self._beat)

    def meet(self, peer: Peer) -> Peer | None:
        """With the lock held: use the new connection ``peer`` from now on, unless a keeper of a later epoch
        is known. Returns the connection that is of no use any more, None = there is none: the former
        keeper's, or ``peer`` itself."""
        former, epoch = self.peer, keeper_epoch(peer.name)
        if epoch < self.epoch or (former is not None and epoch < keeper_epoch(former.name)):
            return peer
        self.peer = peer
        return former

    def lost(self, peer: Peer, reason: str) -> bool:
        """With the lock held: record a broken connection, or a failed attempt to connect; return whether
        there is no connection with any keeper now."""
        if self.peer is peer:
            self.peer = None
        if self.peer is not None:
            return False
        self._last_failure = reason
        return True

    def is_from_keeper(self, peer: Peer, message: msgspec.Struct) -> bool:
        """Return whether the message is from the present keeper, not from a former one."""
        with self._status.lock:
            if not isinstance(message, KeeperMessage) or peer is not self.peer:
                return False
            present = message.epoch >= self.epoch
            self.epoch = max(self.epoch, message.epoch)
        return present

    def send(self, message: Message) -> None:
        """Send a message to the keeper; does nothing if there is no connection."""
        peer = self.peer
        if peer is not None:
            peer.send(message)

    # ---- looking for a keeper

    def dial_later(self) -> None:
        """Look for the keeper in a moment."""
        self._status.later(RETRY, self._dial)

    def _dial(self) -> None:
        """Look for the keeper, unless one is connected that isn't silent."""
        if self._status.ended or (self.peer is not None and not self._silent()):
            return
        try:
            place = self._locate()
        except Error:  # the cluster's files say at this moment that there is no keeper
            place = self.place
        if self.peer is None or place != self.place:
            self.place = place
            self._connect(place)

    def contact(self) -> KeeperContact:
        """Return whether this member hears its keeper."""
        if self._silent():
            return KeeperContact.SILENT
        return KeeperContact.LOST if self.peer is None else KeeperContact.HEARD

    def _silent(self) -> bool:
        """Return whether the keeper has not answered the last heartbeats."""
        return self._clock.now() - self.lease_from > SILENT_BEATS * self._period

    # ---- heartbeats, and the lease

    @property
    def _period(self) -> float:
        return self.lease / BEATS

    @property
    def expired(self) -> bool:
        """True if no heartbeat was answered in the time that the keeper allows."""
        return self._clock.now() >= self._lease_end

    @property
    def _lease_end(self) -> float:
        return self.lease_from + self.lease

    def answered(self, message: HeartbeatAnswer) -> None:
        """Extend the lease, since the keeper has answered a heartbeat."""
        self.lease_from, self.lease = max(self.lease_from, message.sent), message.lease

    def _beat(self) -> None:
        """Send a heartbeat to the keeper, and schedule the next one, at the end of the lease at the latest;
        say instead that the lease is over if no heartbeat was answered in the time that the keeper allows."""
        if self._status.ended:
            return
        if self.expired:
            self._on_expired()
            return
        self.send(self.heartbeat())
        if self._silent():
            notify(self.watchers)
            self._dial()
            self.dial_later()
        self._clock.call_at(min(self._clock.now() + self._period, self._lease_end), self._beat)

    def cut_off(self) -> str:
        """Return the text of the error that the lease is over."""
        silent = self._clock.now() - self.lease_from
        reason = f"; {self._last_failure}" if self._last_failure and self.peer is None else ""
        if not self._status.joined:
            return f"there is no cluster at {self.place}: its keeper didn't answer{reason}"
        return (
            f"member {self._name} was cut off from its cluster: "
            f"the keeper at {self.place} has not answered for {silent:.1f} s{reason}"
        )
