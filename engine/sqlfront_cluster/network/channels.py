"""Bytes between two members: a connected socket, plain or in TLS.

A channel is read by one thread, blocking, and written by the thread that has the turn (see
:mod:`sqlfront_cluster.network.connection`), blocking or not; reading and writing may overlap.
"""

import socket
import ssl
import time
from collections import deque
from itertools import islice
from threading import RLock
from typing import Final, TypeAlias

import pyarrow as pa

from sqlfront_cluster.network.tls.contexts import certificate_hash

#: Buffers per system call: POSIX systems allow 1024 (IOV_MAX).
MAX_BUFFERS: Final = 1024
#: Bytes that are encrypted before each write: 16 records of TLS, a copy that stays in the processor's cache.
TLS_SLICE: Final = 256 * 1024

_DO_NOT_WAIT: Final = socket.MSG_DONTWAIT
_NO_FLAGS: Final = 0

#: The data still to be written, in order; a partly written piece is replaced by a view of its rest.
Pending: TypeAlias = "deque[bytes | memoryview | pa.Buffer]"


class Channel:
    """A connected socket, unencrypted. ``written`` counts the bytes taken from the pending data."""

    #: Hashes of the TLS certificates of the accepting and of the connecting side, as this side sees them; the
    #: handshake's proofs include this value.
    binding: bytes = b""

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection
        self.written = 0
        self._deadline: float | None = None

    def set_deadline(self, deadline: float | None) -> None:
        """Have all waiting calls raise TimeoutError at ``deadline`` (of ``time.monotonic``); None: never."""
        self._deadline = deadline
        self.socket.settimeout(None)

    def _arm(self) -> None:
        """Bound the socket's next system call by the deadline. Raises TimeoutError if the deadline is
        over."""
        if self._deadline is not None:
            remaining = self._deadline - time.monotonic()
            if remaining <= 0:
                raise TimeoutError
            self.socket.settimeout(remaining)

    def open(self) -> None:
        """Do the channel's own handshake before the first byte, if the channel has one; may wait."""

    def receive(self, view: memoryview, whole: bool) -> int:
        """Wait for bytes and put them into ``view``; returns their number, 0 at the end of the connection.
        ``whole``: fill the view, if one system call can."""
        if self._deadline is not None:
            self._arm()
            whole = False
        return self.socket.recv_into(view, 0, socket.MSG_WAITALL if whole else _NO_FLAGS)

    @property
    def buffered(self) -> bool:
        """Whether there may be received bytes that have left the socket."""
        return False

    def write(self, pending: Pending, *, wait: bool) -> bool:
        """Write the pending data, and remove the written part from ``pending``. Returns True when all data is
        written, False if, with ``wait`` False, the kernel takes no more for now. Raises OSError if the
        connection is lost."""
        flags = _NO_FLAGS if wait else _DO_NOT_WAIT
        send, send_many = self.socket.send, self.socket.sendmsg
        while pending:
            if wait:
                self._arm()
            try:
                if len(pending) == 1:
                    count = send(pending[0], flags)
                else:
                    count = send_many(list(islice(pending, MAX_BUFFERS)), (), flags)
            except BlockingIOError:
                return False
            self.written += count
            _consume(pending, count)
        return True

    def flush_needed(self) -> bool:
        """Return whether reading has produced bytes that must be written, such as TLS's own messages."""
        return False

    def shutdown(self) -> None:
        """Shut the socket down, so that reads and writes on all threads end."""
        try:
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:  # not connected any more
            pass

    def close(self) -> None:
        """Release the socket and large buffers; called once no thread reads or writes any more."""
        self.socket.close()


def _consume(pending: Pending, count: int) -> None:
    while count:
        size = len(pending[0])
        if size > count:
            pending[0] = memoryview(pending[0])[count:]
            return
        pending.popleft()
        count -= size


class EndedInTls(ConnectionError):
    """The error if the other side closes the connection during TLS's handshake."""


class TlsChannel(Channel):
    """A connected socket with TLS.

    An OpenSSL connection may not be read and written at the same time, and reading blocks. So OpenSSL works
    on memory here, under a lock that is never held while a socket waits.
    """

    def __init__(
        self, connection: socket.socket, context: ssl.SSLContext, own_hash: bytes, *, server_side: bool
    ) -> None:
        """``own_hash``: the hash of the context's certificate."""
        super().__init__(connection)
        self._own_hash = own_hash
        self._server_side = server_side
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side=server_side)
        # Reentrant, because a finalizer may send while its thread holds the lock.
        self._lock = RLock()
        self._received = bytearray(TLS_SLICE)
        # Encrypted data still to be written. Invariant: used only by the thread that has the turn to write.
        self._encrypted = memoryview(b"")

    def open(self) -> None:
        """Do TLS's own handshake. Raises EndedInTls, or SSLError if the two sides don't agree."""
        try:
            self._shake_hands()
        except ConnectionError as error:
            raise EndedInTls(
                "the other side ended the connection in TLS's handshake; perhaps one of the two is insecure,"
                " and the other isn't"
            ) from error
        other = certificate_hash(self._tls.getpeercert(binary_form=True) or b"")
        self.binding = self._own_hash + other if self._server_side else other + self._own_hash

    def _shake_hands(self) -> None:
        while True:
            try:
                self._tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                self.write(deque(), wait=True)
                if not self._feed():
                    raise ConnectionError from None
            except ssl.SSLError:
                self.write(deque(), wait=True)  # the alert, so that the other side knows why
                raise
        self.write(deque(), wait=True)

    def receive(self, view: memoryview, whole: bool) -> int:
        """See :meth:`Channel.receive`."""
        while True:
            try:
                with self._lock:
                    # With a buffer, read returns the number of bytes; the stubs know only the other form.
                    return self._tls.read(len(view), view)  # type: ignore[return-value]
            except ssl.SSLWantReadError:
                pass
            except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
                return 0
            if not self._feed():
                return 0

    @property
    def buffered(self) -> bool:
        """See :meth:`Channel.buffered`."""
        return self._incoming.pending > 0 or self._tls.pending() > 0

    def _feed(self) -> bool:
        """Wait for encrypted bytes and hand them to OpenSSL; returns False at the end of the connection, else
        True."""
        self._arm()
        count = self.socket.recv_into(self._received)
        with self._lock:
            self._incoming.write(memoryview(self._received)[:count])
        return count > 0

    def write(self, pending: Pending, *, wait: bool) -> bool:
        """See :meth:`Channel.write`."""
        flags = _NO_FLAGS if wait else _DO_NOT_WAIT
        while True:
            if not self._encrypted:
                self._encrypt(pending)
                if not self._encrypted:
                    return True
            if wait:
                self._arm()
            try:
                count = self.socket.send(self._encrypted, flags)
            except BlockingIOError:
                return False
            self._encrypted = self._encrypted[count:]

    def _encrypt(self, pending: Pending) -> None:
        plain = bytearray()
        while pending and len(plain) < TLS_SLICE:
            part = memoryview(pending[0])[: TLS_SLICE - len(plain)]
            plain += part
            _consume(pending, len(part))
        self.written += len(plain)
        with self._lock:
            rest = memoryview(plain)
            while rest:
                rest = rest[self._tls.write(rest) :]
            self._encrypted = memoryview(self._outgoing.read())

    def flush_needed(self) -> bool:
        """See :meth:`Channel.flush_needed`."""
        return self._outgoing.pending > 0

    def close(self) -> None:
        """See :meth:`Channel.close`. A closed connection is part of reference cycles, which the garbage
        collector may leave alone for hours: the buffers are freed now."""
        super().close()
        self._received = bytearray()
        self._encrypted = memoryview(b"")
