"""The contract between a member and the transport of its messages."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import msgspec
import pyarrow as pa

from sqlfront_values.errors import OperationalError

#: A piece of a body to send. Its bytes must not change any more: they are sent without a copy, perhaps later.
#: A transport by reference takes record batches, too.
Part: TypeAlias = bytes | bytearray | memoryview | pa.Buffer | pa.RecordBatch

#: A body as received: over a network one buffer (64-byte aligned, not shared) with the parts' concatenated
#: bytes; by reference the very sequence that was sent; None without a body.
Body: TypeAlias = pa.Buffer | Sequence[Part] | None


class InvalidMessage(OperationalError):
    """The error for a forbidden message: the sender's connection is closed, with one line in the log."""


class Peer(Protocol):
    """A connection with another member. All methods may be called on any thread, at any point (even during
    another call on the same thread, as by a finalizer), and none waits."""

    @property
    def name(self) -> str:
        """The other member's name, proven in the handshake."""

    def send(self, message: msgspec.Struct, body: Sequence[Part] = ()) -> None:
        """Have the message delivered to the other member after all earlier messages.

        A lost connection raises no error here: the receiver hears ``disconnected``, once, and later messages
        are dropped. Raises OperationalError if message or body is larger than the other side accepts.
        """

    def corked(self) -> AbstractContextManager[None]:
        """A context manager that collects the messages to this peer and sends them at the end of the block,
        if possible in a single system call. Blocks nest; the order is kept."""

    def listen(self) -> bool:
        """Handle the messages that have arrived meanwhile, from within a long call of the receiver: the
        connection's own thread handles no messages during the call. Returns whether the connection goes on;
        the receiver hears of an end after the call. On any other thread does nothing and returns True. Raises
        nothing."""

    def close(self, reason: str) -> None:
        """End the connection; both sides hear ``disconnected``. Messages still in transit are lost. The
        reason reaches the other side if possible; only the first close counts."""


class Receiver(Protocol):
    """The member, as its transport sees it.

    Methods are called by threads of the transport and by attending threads (:meth:`Transport.attend`). For
    one peer, calls come one after the other (but for :meth:`Peer.listen`), in the order ``connected``, any
    number of ``received``, ``disconnected``; for different peers, at the same time. Methods must not block.
    No method is called from within :meth:`Peer.send`, so locks may be held while sending. At most one peer of
    a name is connected at a time: the old peer's ``disconnected`` comes before the new peer's ``connected``.
    """

    def connected(self, peer: Peer) -> None:
        """Note a connection with the member ``peer.name``, made by either side."""

    def received(self, peer: Peer, message: msgspec.Struct, body: Body) -> None:
        """Handle a message of one of the transport's types. An error closes the connection: quietly with the
        error's text for an :class:`~sqlfront_values.errors.Error` (such as :class:`InvalidMessage`), with a
        traceback in the log for any other exception."""

    def disconnected(self, peer: Peer, reason: str) -> None:
        """Record that the connection has ended, or could not be made: then ``peer`` is an
        :class:`UnconnectedPeer`, whose name is the address given to :meth:`Transport.connect`."""


class Transport(Protocol):
    """A member's connections to the others. Made with the closed set of message types that may arrive."""

    @property
    def name(self) -> str:
        """The member's own name, unique in the cluster."""

    @property
    def by_reference(self) -> bool:
        """Whether messages and bodies arrive as the very objects that were sent."""

    def start(self, receiver: Receiver) -> None:
        """Accept connections, and call ``receiver`` from now on. To be called once."""

    def connect(self, address: str) -> None:
        """Connect to the member at the address, without waiting: ``connected`` or ``disconnected`` follows,
        unless the member is connected already."""

    def attend(
        self, peers: Sequence[Peer], done: Callable[[], bool], send: Callable[[], None] = lambda: None
    ) -> bool:
        """Call ``send``, which sends a request, and handle the messages of ``peers`` on the calling thread
        until ``done()`` is true, instead of letting the thread wait for an answer. The thread may hold no
        lock that a receiver's methods take.

        Returns True once ``done()`` is true. Returns False if attending is impossible or has ended early:
        ``send`` was called nevertheless, and the receiver has to wake the waiting thread.
        """

    def statistics(self) -> "NetworkStatistics":
        """Return the traffic through this transport so far."""

    def close(self) -> None:
        """Refuse new connections and end all existing ones. When this returns, the receiver has heard
        ``disconnected`` for each and gets no more calls (unless close was called from one of its methods)."""


class UnconnectedPeer:
    """The placeholder in :meth:`Receiver.disconnected` for a member that could not be reached. ``refused``:
    the member is there, but the two sides don't belong together, so trying again is useless."""

    __slots__ = ("name", "refused")

    def __init__(self, address: str, *, refused: bool = False) -> None:
        self.name = address
        self.refused = refused

    def send(self, message: msgspec.Struct, body: Sequence[Part] = ()) -> None:
        """Drop the message."""

    def corked(self) -> AbstractContextManager[None]:
        """A context manager that does nothing."""
        return nullcontext()

    def listen(self) -> bool:
        """Return False: there is no connection."""
        return False

    def close(self, reason: str) -> None:
        """Do nothing."""


@dataclass(frozen=True, slots=True)
class Traffic:
    """The count of the messages of one type, and the sum of the sizes of the messages' frames in bytes
    (header, message and body, before encryption). A transport that hands messages over by reference makes no
    frames, and counts 0 bytes."""

    messages: int
    bytes: int


@dataclass(frozen=True, slots=True)
class PeerStatistics:
    """The traffic between this member and the member ``name``, by the message's type name; ``queued`` bytes
    are waiting outside of the kernel."""

    name: str
    sent: Mapping[str, Traffic]
    received: Mapping[str, Traffic]
    queued: int


@dataclass(frozen=True, slots=True)
class NetworkStatistics:
    """The currently connected peers, by name, and the messages to and from all peers ever. ``refused`` counts
    the incoming connections that ended before their handshake did."""

    peers: tuple[PeerStatistics, ...]
    sent: Mapping[str, Traffic]
    received: Mapping[str, Traffic]
    refused: int


class TrafficCounter:
    """A counter of messages by kind. One writer at a time; concurrent reading is possible."""

    __slots__ = ("_counts",)

    def __init__(self) -> None:
        self._counts: dict[str, list[int]] = {}

    def count(self, kind: str, size: int) -> None:
        """Count a message of ``size`` bytes whose type is called ``kind``."""
        counts = self._counts.get(kind)
        if counts is None:
            counts = self._counts[kind] = [0, 0]
        counts[0] += 1
        counts[1] += size

    def add(self, other: "TrafficCounter") -> None:
        """Add all counts of another counter."""
        for kind, (messages, size) in other._counts.copy().items():
            counts = self._counts.setdefault(kind, [0, 0])
            counts[0] += messages
            counts[1] += size

    def snapshot(self) -> dict[str, Traffic]:
        """Return the counts so far, by kind."""
        return {kind: Traffic(*counts) for kind, counts in self._counts.copy().items()}
