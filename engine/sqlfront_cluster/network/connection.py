"""A connection with another member: the :class:`~sqlfront_cluster.network.transport.Peer` over sockets."""

import logging
import select
import socket
from collections import deque
from collections.abc import Sequence
from contextlib import AbstractContextManager
from enum import Enum
from threading import Event, RLock, get_ident
from typing import Final

import msgspec

from sqlfront_cluster.network.attending import Gate
from sqlfront_cluster.network.channels import Channel
from sqlfront_cluster.network.frames import (
    UNAUTHENTICATED,
    FrameKind,
    FrameReader,
    Limits,
    MessageDecoder,
    encode_frame,
)
from sqlfront_cluster.network.handshake import CONTROL_TYPES, Control, Goodbye, Identity, expect
from sqlfront_cluster.network.outbox import Outbox
from sqlfront_cluster.network.transport import Part, PeerStatistics, Receiver, TrafficCounter
from sqlfront_values.errors import Error

logger = logging.getLogger(__name__)

#: Characters accepted of another member's reason: an error's text quotes the reason.
_REASON_LENGTH: Final = 500

_CONTROL_DECODER: Final = MessageDecoder(CONTROL_TYPES)

# As plain integers: an enum's attributes and comparisons would be a tenth of what a small message costs.
_CONTROL: Final = int(FrameKind.CONTROL)
_MESSAGE: Final = int(FrameKind.MESSAGE)


class ConnectionState(Enum):
    """The states of a connection, in their order; OPEN may be left out."""

    HANDSHAKE = "handshake"
    """The two sides have not agreed to use the connection."""
    OPEN = "open"
    """Both sides use the connection."""
    ENDING = "ending"
    """One side has closed the connection, or writing has failed. Arrived data may still be read."""
    RELEASED = "released"
    """Socket, thread and memory are given back."""


class MemberConnection:
    """A connection, from the handshake to its end. Only the reading thread closes the socket and calls the
    receiver (except for attending threads, see :mod:`.attending`); other threads may send and
    :meth:`close`."""

    def __init__(self, channel: Channel, remote: str, *, limits: Limits, outbox_limit: int) -> None:
        #: The other side's proven name; before the proof, its address.
        self.name = remote
        self.remote = remote
        self.channel = channel
        self.id = b""
        self.identity: Identity | None = None
        #: The connection replaced by this one: its end is reported before this one's beginning.
        self.replaces: MemberConnection | None = None
        #: Set when the connection is in use, or will never be.
        self.decided = Event()
        #: Set when the receiver has been told of the end.
        self.finished = Event()
        self._limits = limits
        self._received = TrafficCounter()
        self._reader = FrameReader(channel.receive, UNAUTHENTICATED, {_CONTROL: _CONTROL_DECODER})
        self._outbox = Outbox(channel, outbox_limit, self.close, self._break)
        # Reentrant, because a finalizer may close while its thread holds the lock.
        self._closing = RLock()
        self._state = ConnectionState.HANDSHAKE
        # The reason for closing, and the failure of writing.
        self._reason: str | None = None
        self._broken: str | None = None
        self._receiver: Receiver
        # Held by the reader once the handshake is over: by this connection's own thread, or by an attending
        # thread. An RLock knows its owner, which could not be noted separately without a gap for an
        # interrupt.
        self._reading = RLock()
        self._thread = 0
        # The place where the reading thread waits after the first attempt to attend.
        self._gate: Gate | None = None
        self._wanted = False
        # The number of times attended; and the end of the connection, noted while attended or while handling
        # a message.
        self._attended = 0
        self._ended: Exception | str | None = None

    def __repr__(self) -> str:
        return f"<Connection with {self.name!r}>"

    # ---- Peer

    def send(self, message: msgspec.Struct, body: Sequence[Part] = ()) -> None:
        """See :meth:`~sqlfront_cluster.network.transport.Peer.send`."""
        self._outbox.send(encode_frame(_MESSAGE, message, body, self._limits))

    def corked(self) -> AbstractContextManager[None]:
        """See :meth:`~sqlfront_cluster.network.transport.Peer.corked`."""
        return self._outbox

    def listen(self) -> bool:
        """See :meth:`~sqlfront_cluster.network.transport.Peer.listen`."""
        if not self._reading._is_owned():  # type: ignore[attr-defined]
            return True
        self._outbox.push()  # even while corked: the other side waits for signs of life, too
        while self._ended is None and (self._is_buffered() or _readable(self.channel.socket)):
            try:
                self._ended = self._handle_next()
            except Exception as error:  # noqa: BLE001 - raised again by the receiver's caller
                self._ended = error
        return self._ended is None

    def close(self, reason: str) -> None:
        """See :meth:`~sqlfront_cluster.network.transport.Peer.close`."""
        with self._closing:
            if self._reason is not None:
                return
            self._reason = reason
            if self._state is ConnectionState.OPEN:
                self._state = ConnectionState.ENDING
                self._outbox.send_last(encode_frame(_CONTROL, Goodbye(reason[:_REASON_LENGTH])))
            self._shutdown()

    def _break(self, reason: str) -> None:
        """Record that writing has failed for ``reason``, and end the connection. Arrived data is still read:
        it may contain the other side's reason."""
        self._broken = reason
        self._shutdown()

    def _shutdown(self) -> None:
        with self._closing:
            if self._state is not ConnectionState.RELEASED:
                self._state = ConnectionState.ENDING
                self.channel.shutdown()

    @property
    def closed(self) -> bool:
        """Whether the end of the connection has begun."""
        return self._state is ConnectionState.ENDING or self._state is ConnectionState.RELEASED

    @property
    def in_use(self) -> bool:
        """Whether both sides have agreed to use this connection, and its end has not begun."""
        return self._state is ConnectionState.OPEN

    def statistics(self) -> PeerStatistics:
        """Return the traffic over this connection so far, and the bytes that wait to be sent."""
        sent, received = self.traffic
        return PeerStatistics(self.name, sent.snapshot(), received.snapshot(), self._outbox.queued)

    @property
    def traffic(self) -> tuple[TrafficCounter, TrafficCounter]:
        """The counters of sent and received messages."""
        return self._outbox.traffic, self._received

    # ---- the handshake's conversation

    def tell(self, message: Control) -> None:
        """See :meth:`~sqlfront_cluster.network.handshake.Conversation.tell`."""
        self.channel.write(deque(encode_frame(_CONTROL, message).parts), wait=True)

    def hear(self) -> msgspec.Struct | None:
        """See :meth:`~sqlfront_cluster.network.handshake.Conversation.hear`."""
        frame = self._reader.read()
        return None if frame is None else frame.message

    def introduce(self, identity: Identity) -> None:
        """Record the other side's proven identity."""
        self.identity = identity
        self.name = identity.name

    # ---- in use

    def use(self, messages: MessageDecoder) -> None:
        """End the handshake: from now on the connection sends messages, and accepts those that ``messages``
        decodes."""
        self._reader.decoders[_MESSAGE] = messages
        self._reader.limits = self._limits
        self.channel.set_deadline(None)
        self._outbox.start()
        with self._closing:
            if self._state is ConnectionState.HANDSHAKE:
                self._state = ConnectionState.OPEN
        self.decided.set()

    def run(self, receiver: Receiver) -> None:
        """Hand arriving messages to the receiver until the connection ends; then tell the receiver the
        reason."""
        level = logging.INFO
        self._receiver = receiver
        self._thread = get_ident()
        try:
            with self._reading:
                receiver.connected(self)
                reason = self._receive()
            if reason is None:
                assert self._gate is not None
                reason = self._receive_at_gate(self._gate)
        except Error as error:
            reason, level = error.message, logging.WARNING
        except OSError as error:
            reason = str(error)
        except Exception as error:  # the receiver's fault: its state is unknown, so this peer is given up
            reason, level = f"handling a message failed: {error}", logging.NOTSET
            logger.exception("connection with %s closed: a message could not be handled", self._who)
        if self._reason is None:
            self.close(reason)
        elif level == logging.WARNING:  # an error after the connection's end is no news
            level = logging.INFO
        if level:
            logger.log(level, "connection with %s closed: %s", self._who, self._reason)
        try:
            receiver.disconnected(self, self._reason or reason)
        except Exception:
            logger.exception("the end of the connection with %s could not be handled", self._who)

    def _receive(self) -> str | None:
        """Handle messages until the end of the connection, and return the reason of the end; return None once
        a thread wants to attend."""
        while (end := self._handle_next()) is None:
            if self._wanted:
                end = self._handle_buffered()
                if end is None:
                    self._gate = Gate(self.channel.socket)
                return end
        return end

    def _receive_at_gate(self, gate: Gate) -> str:
        """Handle messages until the end of the connection, and return the reason of the end; attending
        threads may handle messages meanwhile. Raises the error that ended the connection."""
        while True:
            attended = self._attended
            gate.wait()
            with self._reading:
                if self._ended is None and self._attended != attended:
                    continue  # earlier messages have been handled; later ones wake this thread again
                if self._ended is not None or not self.handle():
                    break
        if isinstance(self._ended, Exception):
            raise self._ended
        assert self._ended is not None
        return self._ended

    def _handle_next(self) -> str | None:
        """Wait for a message and hand it to the receiver; return None, or the reason if the connection has
        ended."""
        if self._ended is not None:
            if isinstance(self._ended, Exception):
                raise self._ended
            return self._ended
        frame = self._reader.read()
        if frame is None or self._reason is not None:
            return self._broken or "the other side closed the connection"
        if frame.kind == _CONTROL:
            return expect(Goodbye, frame.message).reason[:_REASON_LENGTH]
        self._received.count(type(frame.message).__name__, frame.size)
        self._receiver.received(self, frame.message, frame.body)
        if self.channel.flush_needed():
            self._outbox.flush()
        return None

    def _handle_buffered(self) -> str | None:
        """Handle the messages received together with earlier ones, since buffered bytes wake no thread;
        return None, or the reason if the connection has ended."""
        while self._is_buffered():
            end = self._handle_next()
            if end is not None:
                return end
        return None

    def _is_buffered(self) -> bool:
        """Return whether unhandled bytes have left the socket."""
        return self._reader.buffered or self.channel.buffered

    # ---- attending, see sqlfront_cluster.network.attending

    def begin(self) -> bool:
        """See :meth:`~sqlfront_cluster.network.attending.AttendedConnection.begin`."""
        if get_ident() == self._thread or not self._reading.acquire(False):
            self._wanted = Gate.possible
            return False
        if self._gate is None or self._ended is not None:
            self._reading.release()
            return False
        self._attended += 1
        self._gate.close()
        return True

    @property
    def descriptor(self) -> int:
        """See :meth:`~sqlfront_cluster.network.attending.AttendedConnection.descriptor`."""
        return self.channel.socket.fileno()

    def handle(self) -> bool:
        """See :meth:`~sqlfront_cluster.network.attending.AttendedConnection.handle`."""
        try:
            self._ended = self._handle_next() or self._handle_buffered() or self._ended
        except Exception as error:  # noqa: BLE001 - raised again by the reading thread
            self._ended = error
        except BaseException:
            self._ended = "interrupted in the midst of a message"
            raise
        return self._ended is None

    def end(self) -> None:
        """See :meth:`~sqlfront_cluster.network.attending.AttendedConnection.end`."""
        if get_ident() != self._thread and self._reading._is_owned():  # type: ignore[attr-defined]
            if self._gate is not None:
                self._gate.open() if self._ended is None else self._gate.wake()
            self._reading.release()

    @property
    def _who(self) -> str:
        return self.name if self.name == self.remote else f"{self.name} at {self.remote}"

    def release(self) -> None:
        """Release the connection's socket, writing thread and memory. To be called last by the reading
        thread."""
        self.close("given up")
        self._shutdown()
        self._outbox.stop()
        with self._closing:
            self._state = ConnectionState.RELEASED
            if self._gate is not None:
                self._gate.release()
            self.channel.close()
        self.decided.set()
        self.finished.set()


def _readable(connection: socket.socket) -> bool:
    """Return whether the socket has data or has ended."""
    poll = select.poll()
    poll.register(connection, select.POLLIN)
    return bool(poll.poll(0))
