"""The contract between a member and whatever carries its messages."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import msgspec
import pyarrow as pa

from sqlfront_values.errors import OperationalError

#: A piece of a body that is sent. Its bytes must not change any more: they are sent without being copied,
#: perhaps later. A transport that hands over by reference takes record batches too.
Part: TypeAlias = bytes | bytearray | memoryview | pa.Buffer | pa.RecordBatch

#: A body as it arrives: over a network one buffer (64-byte aligned, not shared with anyone) that holds the
#: parts' bytes one after the other; by reference the very sequence that was sent; None if there was none.
Body: TypeAlias = pa.Buffer | Sequence[Part] | None


class InvalidMessage(OperationalError):
    """The other side sent what it must not: its connection is closed, with one line in the log."""


class Peer(Protocol):
    """The connection with another member. All methods may be called on any thread, at any point (also while
    another call is under way on the same thread, as a finalizer does), and none waits."""

    @property
    def name(self) -> str:
        """The other member's name, which it has proven to be allowed to bear."""

    def send(self, message: msgspec.Struct, body: Sequence[Part] = ()) -> None:
        """Have the message delivered to the other member after all that was sent to it earlier.

        A lost connection raises nothing here: the receiver hears ``disconnected``, once, and what is sent
        afterwards is dropped. Raises OperationalError if message or body is larger than the other side
        accepts.
        """

    def corked(self) -> AbstractContextManager[None]:
        """While the context lasts, what is sent to this peer is collected; at its end it leaves at once,
        if possible in a single system call. Contexts nest; order is kept."""

    def listen(self) -> bool:
        """Hand on what has arrived meanwhile, from within a call of the receiver that takes long: its own
        thread hears nothing else. False if the connection has ended, which the receiver hears once that call
        returns. Without effect on any other thread. Raises nothing."""

    def close(self, reason: str) -> None:
        """End the connection; both sides hear ``disconnected``. What was sent but has not arrived is lost.
        The reason reaches the other side if it can; only the first close counts."""


class Receiver(Protocol):
    """The member, as its transport sees it.

    They are called by threads of the transport and by who attends (:meth:`Transport.attend`).
    For one peer its methods are called one after the other (but for :meth:`Peer.listen`), in the order
    ``connected``, any number of ``received``, ``disconnected``; for different peers at the same time. They
    must not block. No method is called from within :meth:`Peer.send`, so that locks may be held while
    sending. With one name at most one peer is connected at a time: the old one's ``disconnected`` comes
    before the new one's ``connected``.
    """

    def connected(self, peer: Peer) -> None:
        """The member named ``peer.name`` is there, whoever of the two connected."""

    def received(self, peer: Peer, message: msgspec.Struct, body: Body) -> None:
        """A message of one of the transport's types. If this raises, the connection is closed: quietly with
        the error's text if it is an :class:`~sqlfront_values.errors.Error` (such as
        :class:`InvalidMessage`), otherwise with a traceback in the log."""

    def disconnected(self, peer: Peer, reason: str) -> None:
        """The connection has ended, or could not be made: then ``peer`` is an :class:`UnconnectedPeer`, whose
        name is the address that was given to :meth:`Transport.connect`."""


class Transport(Protocol):
    """A member's way to the others. Made with the closed set of message types that may arrive."""

    @property
    def name(self) -> str:
        """The member's own name, unique in the cluster."""

    @property
    def by_reference(self) -> bool:
        """Whether messages and bodies arrive as the objects that were sent."""

    def start(self, receiver: Receiver) -> None:
        """Be reachable, and call ``receiver`` from now on. To be called once."""

    def connect(self, address: str) -> None:
        """Connect to the member at the address, without waiting: ``connected`` or ``disconnected`` follows,
        unless that member is connected already."""

    def attend(
        self, peers: Sequence[Peer], done: Callable[[], bool], send: Callable[[], None] = lambda: None
    ) -> bool:
        """For who is about to wait for what these peers send: handle it on this thread until ``done()``,
        beginning with ``send``, which asks for it. The thread may hold no lock that a receiver's methods
        take. False: it can't be done (any more), and who waits has to be woken by the receiver; ``send`` was
        called nevertheless."""

    def statistics(self) -> "NetworkStatistics":
        """What went through this transport."""

    def close(self) -> None:
        """Be unreachable and end all connections. When this returns, the receiver has heard
        ``disconnected`` of each and hears nothing more (unless called from one of its methods)."""


class UnconnectedPeer:
    """What stands for a member that could not be reached in :meth:`Receiver.disconnected`. ``refused``: it is
    there, but the two don't belong together, so that there is no use in trying again."""

    __slots__ = ("name", "refused")

    def __init__(self, address: str, *, refused: bool = False) -> None:
        self.name = address
        self.refused = refused

    def send(self, message: msgspec.Struct, body: Sequence[Part] = ()) -> None:
        """Dropped."""

    def corked(self) -> AbstractContextManager[None]:
        """Nothing to collect."""
        return nullcontext()

    def listen(self) -> bool:
        """Nothing to hear."""
        return False

    def close(self, reason: str) -> None:
        """It is closed."""


@dataclass(frozen=True, slots=True)
class Traffic:
    """Messages of one kind; ``bytes`` are those on the wire, header and body included (by reference: 0)."""

    messages: int
    bytes: int


@dataclass(frozen=True, slots=True)
class PeerStatistics:
    """What went between this member and the one named ``name``, by the message's type name; ``queued`` bytes
    are on their way out but not yet in the kernel."""

    name: str
    sent: Mapping[str, Traffic]
    received: Mapping[str, Traffic]
    queued: int


@dataclass(frozen=True, slots=True)
class NetworkStatistics:
    """The peers connected now, by name, and the messages to and from all peers there have ever been.
    ``refused`` counts the connections from outside that ended before the handshake did."""

    peers: tuple[PeerStatistics, ...]
    sent: Mapping[str, Traffic]
    received: Mapping[str, Traffic]
    refused: int


class TrafficCounter:
    """Counts messages by kind. One writer at a time; reading is possible meanwhile."""

    __slots__ = ("_counts",)

    def __init__(self) -> None:
        self._counts: dict[str, list[int]] = {}

    def count(self, kind: str, size: int) -> None:
        """One more message of ``size`` bytes."""
        counts = self._counts.get(kind)
        if counts is None:
            counts = self._counts[kind] = [0, 0]
        counts[0] += 1
        counts[1] += size

    def add(self, other: "TrafficCounter") -> None:
        """All that the other one counted."""
        for kind, (messages, size) in other._counts.copy().items():
            counts = self._counts.setdefault(kind, [0, 0])
            counts[0] += messages
            counts[1] += size

    def snapshot(self) -> dict[str, Traffic]:
        """The counts so far."""
        return {kind: Traffic(*counts) for kind, counts in self._counts.copy().items()}
