"""A connection with another member over a socket: the implementation of
:class:`~sqlfront_cluster.network.transport.Peer`."""

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
from sqlfront_cluster.network.peer_process import PeerProcess, process_of
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
    """The states of a connection, in the order in which it goes through them: HANDSHAKE; OPEN (both sides use
    the connection; skipped if they never agree to use it); ENDING (one side has closed it or writing has
    failed; data that has arrived may still be read); RELEASED."""

    HANDSHAKE = "handshake"
    """The two sides have not agreed to use the connection."""
    OPEN = "open"
    """Both sides use the connection."""
    ENDING = "ending"
    """One side has closed the connection, or writing has failed. Arrived data may still be read."""
    RELEASED = "released"
    """Socket, thread and memory are given back."""


class MemberConnection:
    """A connection over a socket with another member or the keeper, from the handshake to its end.

    Only the connection's reading thread closes the socket and calls the receiver; a thread that waits for an
    answer may *attend* the connection, that is, do so in place of the reading thread (:mod:`.attending`).
    Other threads may send and :meth:`close`. ``remote``: the peer's address, for the log. ``limits``: the
    largest messages and bodies. ``outbox_limit``: the bytes that may wait to be sent; more end the
    connection.
    """

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
        """Send a message to the peer, after all earlier messages and without waiting; it is dropped if the
        connection has ended. Raises OperationalError if the message or the body is larger than the peer
        accepts."""
        self._outbox.send(encode_frame(_MESSAGE, message, body, self._limits))

    def corked(self) -> AbstractContextManager[None]:
        """Return a context manager that collects the messages of its block and sends them at the block's end,
        in a single system call if possible."""
        return self._outbox

    def process(self) -> PeerProcess | None:
        """Return the process that has made this connection, which this side has accepted, if the system can
        tell when it ends, else None; called in the receiver's ``connected``."""
        return process_of(self.channel.socket)

    def listen(self) -> bool:
        """Handle the messages that have arrived, from within a long call of the receiver on the reading
        thread; does nothing on any other thread. Return False if the connection has ended, else True."""
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
        """End the connection, and send the ``reason`` to the peer if possible. Only the first call has an
        effect."""
        with self._closing:
            if self._reason is not None:
                return
            self._reason = reason
            if self._state is ConnectionState.OPEN:
                self._state = ConnectionState.ENDING
                self._outbox.send_last(encode_frame(_CONTROL, Goodbye(reason[:_REASON_LENGTH])))
            self._shutdown()

    def _break(self, reason: str) -> None:
        """Record that writing has failed for ``reason``, and end the connection. Data that has arrived is
        still read: it may contain the peer's reason for the end."""
        self._broken = reason
        self._shutdown()

    def _shutdown(self) -> None:
        with self._closing:
            if self._state is not ConnectionState.RELEASED:
                self._state = ConnectionState.ENDING
                self.channel.shutdown()

    @property
    def closed(self) -> bool:
        """True once the end of the connection has begun."""
        return self._state is ConnectionState.ENDING or self._state is ConnectionState.RELEASED

    @property
    def in_use(self) -> bool:
        """True if both members have agreed to use this connection, and its end has not begun."""
        return self._state is ConnectionState.OPEN

    def statistics(self) -> PeerStatistics:
        """Return the numbers and sizes of the messages over this connection so far, and the bytes that wait
        to be sent."""
        sent, received = self.traffic
        return PeerStatistics(self.name, sent.snapshot(), received.snapshot(), self._outbox.queued)

    @property
    def traffic(self) -> tuple[TrafficCounter, TrafficCounter]:
        """The counters of the messages that were sent, and of those that were received."""
        return self._outbox.traffic, self._received

    # ---- the handshake's conversation

    def tell(self, message: Control) -> None:
        """During the handshake: send a message, and wait until the network has accepted it."""
        self.channel.write(deque(encode_frame(_CONTROL, message).parts), wait=True)

    def hear(self) -> msgspec.Struct | None:
        """During the handshake: wait for the next message and return it; None at the end of the
        connection."""
        frame = self._reader.read()
        return None if frame is None else frame.message

    def introduce(self, identity: Identity) -> None:
        """Record the identity that the peer has proven in the handshake."""
        self.identity = identity
        self.name = identity.name

    # ---- in use

    def use(self, messages: MessageDecoder) -> None:
        """End the handshake: from now on the connection sends the members' messages, and receives those that
        ``messages`` can decode."""
        self._reader.decoders[_MESSAGE] = messages
        self._reader.limits = self._limits
        self.channel.set_deadline(None)
        self._outbox.start()
        with self._closing:
            if self._state is ConnectionState.HANDSHAKE:
                self._state = ConnectionState.OPEN
        self.decided.set()

    def run(self, receiver: Receiver) -> None:
        """Pass arriving messages to the receiver until the connection ends, and then the reason of the end;
        called by the reading thread."""
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
        """Handle messages until the connection ends, and return the reason of the end. Return None as soon as
        another thread wants to attend the connection; :meth:`_receive_at_gate` is to be called then."""
        while (end := self._handle_next()) is None:
            if self._wanted:
                end = self._handle_buffered()
                if end is None:
                    self._gate = Gate(self.channel.socket)
                return end
        return end

    def _receive_at_gate(self, gate: Gate) -> str:
        """Handle messages until the connection ends, and return the reason of the end; attending threads may
        handle messages in between. Raises the error that has ended the connection, if any."""
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
        """Wait for a message and pass it to the receiver. Return None, or the reason if the connection has
        ended. Raises the error that has ended the connection."""
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
        """Handle all messages that were received together with earlier ones: for bytes that have left the
        socket, no thread is woken. Return None, or the reason if the connection has ended."""
        while self._is_buffered():
            end = self._handle_next()
            if end is not None:
                return end
        return None

    def _is_buffered(self) -> bool:
        """Return whether received bytes that belong to no handled message have left the socket."""
        return self._reader.buffered or self.channel.buffered

    # ---- attending, see sqlfront_cluster.network.attending

    def begin(self) -> bool:
        """Suspend the reading thread, so that the calling thread may read the connection in its place (attend
        it), and return True. Return False if that is not possible now; it may be possible at the next call.
        """
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
        """The socket's file descriptor, for polling by the thread that reads the connection in place of the
        reading thread."""
        return self.channel.socket.fileno()

    def handle(self) -> bool:
        """Wait for a message, and handle it and all further messages that have arrived; called by the thread
        that reads the connection in place of the reading thread. Returns False if the connection has ended,
        else True."""
        try:
            self._ended = self._handle_next() or self._handle_buffered() or self._ended
        except Exception as error:  # noqa: BLE001 - raised again by the reading thread
            self._ended = error
        except BaseException:
            self._ended = "interrupted in the midst of a message"
            raise
        return self._ended is None

    def end(self) -> None:
        """Let the reading thread go on. Does nothing unless :meth:`begin` has suspended it for the calling
        thread."""
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
