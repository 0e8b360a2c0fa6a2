"""The transport between members of one process: objects are handed over by reference.

Sending only puts the message into a queue. One thread of the network takes messages from the queue and calls
the receivers, in the order of sending. So a receiver is never called from within a ``send``, whatever locks
the sender holds, as with sockets. One thread serves all members, because receivers don't block and share an
interpreter anyway, and because a message with an immediate answer then costs no second change of threads. The
thread begins with the first connection and ends with the last transport.
"""

import logging
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from enum import Enum
from queue import SimpleQueue
from threading import Event, Lock, Thread, current_thread
from typing import Final

import msgspec

from sqlfront_cluster.network.transport import (
    NetworkStatistics,
    Part,
    Peer,
    PeerStatistics,
    Receiver,
    TrafficCounter,
    UnconnectedPeer,
)
from sqlfront_values.errors import Error, ProgrammingError

logger = logging.getLogger(__name__)

_NOT_CORKED: Final = nullcontext()


class LoopbackNetwork:
    """A network between the members of one process; a member's address is its name."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._transports: dict[str, LoopbackTransport] = {}
        self._thread: Thread | None = None
        self._renew()

    def _renew(self) -> None:
        self._events: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        #: Have the function called by the delivering thread, after all earlier functions.
        self.deliver: Callable[[Callable[[], None]], None] = self._events.put

    def transport(self, name: str) -> "LoopbackTransport":
        """Make the transport of a new member ``name``. Raises ProgrammingError if the name is taken."""
        transport = LoopbackTransport(self, name)
        with self._lock:
            if name in self._transports:
                raise ProgrammingError(f"there is a member {name!r} already")
            self._transports[name] = transport
        return transport

    def find(self, name: str) -> "LoopbackTransport | None":
        """Return the transport of the member ``name``; None if there is no such member."""
        with self._lock:
            return self._transports.get(name)

    def begin(self) -> None:
        """Start the thread that delivers all messages, unless it runs already or the network has no
        members."""
        with self._lock:
            if self._thread is None and self._transports:
                self._thread = Thread(
                    target=_deliver, args=(self._events,), name="sqlfront-network-loopback", daemon=True
                )
                self._thread.start()

    def leave(self, transport: "LoopbackTransport") -> None:
        """Remove the member of ``transport`` from the network, and wait until all messages sent before have
        been delivered (on the delivering thread, return at once). The delivering thread ends with the last
        member."""
        done = Event()
        with self._lock:
            self._transports.pop(transport.name, None)
            thread = self._thread
            self.deliver(done.set)
            if not self._transports:
                self._events.put(None)
                self._thread = None
                self._renew()
        if thread is not None and thread is not current_thread():
            done.wait()
            if self._thread is not thread:
                thread.join()


def _deliver(events: "SimpleQueue[Callable[[], None] | None]") -> None:
    """Call the functions in the queue, one after the other, until None comes; errors are logged."""
    while (event := events.get()) is not None:
        try:
            event()
        except Exception:
            logger.exception("the loopback network failed to deliver")
        del event  # so that an idle network keeps nothing alive


class LoopbackPeer:
    """One end of a connection within a process: the member of the transport ``origin`` uses it to send to the
    member ``name``."""

    __slots__ = ("_network", "_open", "_other", "_received", "_sent", "name", "origin")

    def __init__(self, network: LoopbackNetwork, origin: "LoopbackTransport", name: str) -> None:
        self.name = name
        self.origin = origin
        self._network = network
        self._other: LoopbackPeer
        # Invariant: the following are used by the delivering thread only.
        self._open = True
        self._sent, self._received = TrafficCounter(), TrafficCounter()

    def __repr__(self) -> str:
        return f"<LoopbackPeer {self.name!r} of {self.origin.name!r}>"

    def join(self, other: "LoopbackPeer") -> None:
        """Make this peer and ``other`` the two ends of one connection."""
        self._other, other._other = other, self

    def send(self, message: msgspec.Struct, body: Sequence[Part] = ()) -> None:
        """Queue the message, to be delivered to the other member after all earlier messages; the sender
        doesn't wait."""
        self._network.deliver(lambda: self._hand_over(message, body))

    def corked(self) -> AbstractContextManager[None]:
        """Return a context manager that does nothing: sending the messages of a block together, as over a
        socket, has no advantage within a process."""
        return _NOT_CORKED

    def process(self) -> None:
        """Return None: both ends are in this process."""

    def listen(self) -> bool:
        """Return whether the connection is open. No message is handled meanwhile, since a single thread
        delivers all messages of the network."""
        return self._open

    def close(self, reason: str) -> None:
        """Queue the end of the connection, so that the messages sent before are still delivered; ``reason``
        is told to the receivers of both members."""
        self._network.deliver(lambda: self.end(reason))

    def statistics(self) -> PeerStatistics:
        """Return the numbers of messages delivered over this connection so far; their bytes count as 0."""
        return PeerStatistics(self.name, self._sent.snapshot(), self._received.snapshot(), 0)

    def _hand_over(self, message: msgspec.Struct, body: Sequence[Part]) -> None:
        if not self._open:
            return
        other, kind = self._other, type(message).__name__
        self._sent.count(kind, 0)
        other._received.count(kind, 0)
        try:
            other.origin.receiver.received(other, message, body or None)
        except Error as error:
            logger.warning("connection of %r closed: %s", other, error.message)
            self.end(error.message)
        except Exception as error:
            logger.exception("connection of %r closed: a message could not be handled", other)
            self.end(f"handling a message failed: {error}")

    def end(self, reason: str) -> None:
        """On the delivering thread: end the connection, and report the ``reason`` to the receivers of both
        members. A second call does nothing."""
        for peer in (self, self._other):
            if peer._open:
                peer._open = False
                peer.origin.lost(peer, reason)


class _TransportState(Enum):
    """The states of a transport, in the order in which it goes through them; STARTED may be skipped."""

    NEW = "new"
    """The transport has no receiver, and nobody can connect with it."""
    STARTED = "started"
    """Others can connect."""
    CLOSED = "closed"
    """The transport has left the network."""


class LoopbackTransport:
    """A :class:`~sqlfront_cluster.network.transport.Transport` between members of one process; made by
    :meth:`LoopbackNetwork.transport`."""

    by_reference: Final = True

    def __init__(self, network: LoopbackNetwork, name: str) -> None:
        self.name = name
        self.receiver: Receiver
        self._network = network
        self._state = _TransportState.NEW
        # Invariant: changed by the delivering thread only.
        self._peers: dict[str, LoopbackPeer] = {}
        self._past = TrafficCounter(), TrafficCounter()

    def start(self, receiver: Receiver) -> None:
        """Begin to deliver connections and messages to ``receiver``. To be called once."""
        self.receiver = receiver
        if self._state is _TransportState.NEW:
            self._state = _TransportState.STARTED

    def connect(self, address: str) -> None:
        """Begin to connect to the member named ``address``, and return at once: a call of the receiver's
        ``connected`` or ``disconnected`` follows, unless the member is connected already."""
        if self._state is not _TransportState.CLOSED:
            self._network.begin()
            self._network.deliver(lambda: self._connect(address))

    def attend(
        self, peers: Sequence[Peer], done: Callable[[], bool], send: Callable[[], None] = lambda: None
    ) -> bool:
        """Call ``send`` and return False: the calling thread can't handle the answer itself, since only the
        delivering thread of the network calls receivers."""
        send()
        return False

    def statistics(self) -> NetworkStatistics:
        """Return the numbers of messages, per connected member and in total; their bytes count as 0."""
        sent, received = TrafficCounter(), TrafficCounter()
        sent.add(self._past[0])
        received.add(self._past[1])
        peers = tuple(peer for _, peer in sorted(self._peers.copy().items()))
        for peer in peers:
            sent.add(peer._sent)
            received.add(peer._received)
        return NetworkStatistics(
            tuple(peer.statistics() for peer in peers), sent.snapshot(), received.snapshot(), 0
        )

    def close(self) -> None:
        """End all connections and leave the network. When this method returns, the receiver gets no more
        calls (unless the receiver itself has called this method)."""
        if self._state is not _TransportState.CLOSED:
            self._state = _TransportState.CLOSED
            self._network.deliver(self._leave)
            self._network.leave(self)

    def lost(self, peer: LoopbackPeer, reason: str) -> None:
        """Remove an ended connection, add its counts to the counts of past connections, and report the end to
        the receiver. To be called on the delivering thread."""
        del self._peers[peer.name]
        self._past[0].add(peer._sent)
        self._past[1].add(peer._received)
        self.receiver.disconnected(peer, reason)

    def _connect(self, address: str) -> None:
        if self._state is _TransportState.CLOSED or address in self._peers:
            return
        there = self._network.find(address)
        if there is None or there is self or there._state is not _TransportState.STARTED:
            reason = (
                "the other side is this member itself"
                if there is self
                else f"there is no member {address!r} here"
            )
            self.receiver.disconnected(UnconnectedPeer(address), reason)
            return
        here = self._peers[address] = LoopbackPeer(self._network, self, address)
        back = there._peers[self.name] = LoopbackPeer(self._network, there, self.name)
        here.join(back)
        for peer in (here, back):
            peer.origin.receiver.connected(peer)

    def _leave(self) -> None:
        for peer in list(self._peers.values()):
            peer.end(f"member {self.name} closes")
