"""The contract between a member and the transport of its messages."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import msgspec
import pyarrow as pa

from sqlfront_cluster.network.peer_process import PeerProcess
from sqlfront_values.errors import OperationalError

#: A piece of a body to send. Its bytes must not change any more: they are sent without a copy, perhaps later.
#: A transport by reference takes record batches, too.
Part: TypeAlias = bytes | bytearray | memoryview | pa.Buffer | pa.RecordBatch

#: A body as received: over a network one buffer (64-byte aligned, not shared) with the parts' concatenated
#: bytes; by reference the very sequence that was sent; None without a body.
Body: TypeAlias = pa.Buffer | Sequence[Part] | None


class InvalidMessage(OperationalError):
    """The error for a message that the receiver doesn't accept: the sender's connection is closed, and one
    line is logged."""


class Peer(Protocol):
    """A connection with another member, as one of the two sees it.

    All methods may be called on any thread, at any point (even during another call on the same thread, as by
    a finalizer), and no method waits."""

    @property
    def name(self) -> str:
        """The other member's name, proven in the handshake."""

    def send(self, message: msgspec.Struct, body: Sequence[Part] = ()) -> None:
        """Send the message to the other member, to be delivered after all earlier messages.

        A lost connection raises no error here: :meth:`Receiver.disconnected` is called, once, and later
        messages are dropped. Raises OperationalError if message or body is larger than the other member
        accepts.
        """

    def corked(self) -> AbstractContextManager[None]:
        """Return a context manager that collects the messages to this peer and sends them at the end of the
        block, in a single system call if possible. Blocks can be nested; the messages stay in order."""

    def process(self) -> PeerProcess | None:
        """Return the process at the other end, if that has made the connection and the system can tell when
        it ends; None = nothing is known about it. To be called in :meth:`Receiver.connected`."""

    def listen(self) -> bool:
        """Handle the messages that have arrived, from within a long call of a receiver's method, during which
        the connection's thread handles no others.

        Returns False if the connection has ended, else True; ``disconnected`` is called after the receiver's
        method has returned. On any other thread, does nothing and returns True. Raises nothing."""

    def close(self, reason: str) -> None:
        """End the connection; the receivers of both members get a call of ``disconnected``. Messages under
        way are lost. The ``reason`` is sent to the other member if possible. Only the first call has an
        effect."""


class Receiver(Protocol):
    """The object to which a transport delivers connections and messages: a member.

    Methods are called by threads of the transport, and by threads that wait for an answer in
    :meth:`Transport.attend`. For one peer, calls come one after the other (except within
    :meth:`Peer.listen`), in the order ``connected``, any number of ``received``, ``disconnected``; for
    different peers, at the same time. Methods must not block. No method is called from within
    :meth:`Peer.send`, so locks may be held while sending. At most one peer of a name is connected at a time:
    the old peer's ``disconnected`` comes before the new peer's ``connected``.
    """

    def connected(self, peer: Peer) -> None:
        """Record a new connection with the member ``peer.name``, whichever of the two has made it."""

    def received(self, peer: Peer, message: msgspec.Struct, body: Body) -> None:
        """Handle a message of one of the transport's types. An error raised here closes the connection: for
        an :class:`~sqlfront_values.errors.Error` (such as :class:`InvalidMessage`) with one line in the log,
        for any other exception with a traceback in the log."""

    def disconnected(self, peer: Peer, reason: str) -> None:
        """Record that the connection with ``peer`` has ended; or that no connection could be made: then
        ``peer`` is an :class:`UnconnectedPeer`, whose name is the address given to
        :meth:`Transport.connect`."""


class Transport(Protocol):
    """A member's connections to other members. A transport is made with the types of all messages that may
    arrive."""

    @property
    def name(self) -> str:
        """The name of the member to which the transport belongs, unique in the cluster."""

    @property
    def by_reference(self) -> bool:
        """True if messages and bodies arrive as the objects that were sent, not as copies."""

    def start(self, receiver: Receiver) -> None:
        """Accept connections, and call ``receiver`` from now on. To be called once."""

    def connect(self, address: str) -> None:
        """Begin to connect to the member at the address, and return at once: a call of
        :meth:`Receiver.connected` or :meth:`Receiver.disconnected` follows, unless the member is connected
        already."""

    def attend(
        self, peers: Sequence[Peer], done: Callable[[], bool], send: Callable[[], None] = lambda: None
    ) -> bool:
        """Call ``send``, which sends a request, and handle the messages of ``peers`` on the calling thread
        until ``done()`` is true, so that no other thread has to wake the calling thread. The thread must hold
        no lock that the receiver's methods acquire.

        Returns True once ``done()`` is true. Returns False if attending is impossible or has ended early:
        ``send`` was called nevertheless, and the caller has to wait until the receiver wakes it.
        """

    def statistics(self) -> "NetworkStatistics":
        """Return the numbers and sizes of the messages through this transport so far."""

    def close(self) -> None:
        """Refuse new connections and end all existing connections. When this method returns, ``disconnected``
        has been called for each, and the receiver gets no more calls (unless the receiver itself has called
        this method)."""


class UnconnectedPeer:
    """The peer in a call of :meth:`Receiver.disconnected` for a member that could not be reached.
    ``refused``: True if the members can't belong to one cluster (they have another secret, encryption or
    version), so that trying again is useless."""

    __slots__ = ("name", "refused")

    def __init__(self, address: str, *, refused: bool = False) -> None:
        self.name = address
        self.refused = refused

    def send(self, message: msgspec.Struct, body: Sequence[Part] = ()) -> None:
        """Drop the message, since there is no connection."""

    def corked(self) -> AbstractContextManager[None]:
        """Return a context manager that does nothing."""
        return nullcontext()

    def process(self) -> None:
        """Return None: there is no connection."""

    def listen(self) -> bool:
        """Return False: there is no connection."""
        return False

    def close(self, reason: str) -> None:
        """Do nothing: there is no connection."""


@dataclass(frozen=True, slots=True)
class Traffic:
    """The traffic of one type of message: the number of messages, and the bytes of their frames (header,
    message and body, before encryption). A transport that hands over messages by reference makes no frames,
    and counts 0 bytes."""

    messages: int
    bytes: int


@dataclass(frozen=True, slots=True)
class PeerStatistics:
    """The traffic between this member and the member ``name``. ``sent`` and ``received``: the messages by the
    name of their type. ``queued``: bytes that wait to be sent and that the kernel has not accepted yet."""

    name: str
    sent: Mapping[str, Traffic]
    received: Mapping[str, Traffic]
    queued: int


@dataclass(frozen=True, slots=True)
class NetworkStatistics:
    """The traffic of a transport. ``peers``: the members that are connected now, by name. ``sent`` and
    ``received``: the messages to and from all members so far, by the name of their type. ``refused``: the
    number of incoming connections that ended before their handshake was complete."""

    peers: tuple[PeerStatistics, ...]
    sent: Mapping[str, Traffic]
    received: Mapping[str, Traffic]
    refused: int


class TrafficCounter:
    """A counter of messages by the name of their type. One thread at a time may count; others may read
    meanwhile."""

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
        """Add all counts of ``other`` to this counter."""
        for kind, (messages, size) in other._counts.copy().items():
            counts = self._counts.setdefault(kind, [0, 0])
            counts[0] += messages
            counts[1] += size

    def snapshot(self) -> dict[str, Traffic]:
        """Return the counts so far, by the name of the message's type."""
        return {kind: Traffic(*counts) for kind, counts in self._counts.copy().items()}
