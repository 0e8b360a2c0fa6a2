"""Byte streams between two members: a connected socket, plain or in TLS.

A channel is read by one thread, which blocks. It is written by one thread at a time, the one that holds the
connection's right to write (see :mod:`sqlfront_cluster.network.outbox`), blocking or not. Reading and writing
may overlap.
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
    """A connected socket, unencrypted. ``binding``: the hashes of the TLS certificates in use, to which the
    handshake's proofs are bound; empty here. ``written``: the number of bytes that were passed to
    :meth:`write` and have been written."""

    #: Hashes of the TLS certificates of the accepting and of the connecting side, as this side sees them; the
    #: handshake's proofs include this value.
    binding: bytes = b""

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection
        self.written = 0
        self._deadline: float | None = None

    def set_deadline(self, deadline: float | None) -> None:
        """Make all blocking calls raise TimeoutError at ``deadline`` (s, of ``time.monotonic``); None:
        never."""
        self._deadline = deadline
        self.socket.settimeout(None)

    def _arm(self) -> None:
        """Give the socket's next system call the time until the deadline. Raises TimeoutError if the deadline
        has passed."""
        if self._deadline is not None:
            remaining = self._deadline - time.monotonic()
            if remaining <= 0:
                raise TimeoutError
            self.socket.settimeout(remaining)

    def open(self) -> None:
        """Do the handshake of the encryption, before the first byte is sent; may block. Does nothing for a
        plain socket."""

    def receive(self, view: memoryview, whole: bool) -> int:
        """Wait for bytes and put them into ``view``; returns their number, 0 at the end of the connection.
        ``whole``: fill ``view`` entirely if one system call can do so."""
        if self._deadline is not None:
            self._arm()
            whole = False
        return self.socket.recv_into(view, 0, socket.MSG_WAITALL if whole else _NO_FLAGS)

    @property
    def buffered(self) -> bool:
        """True if received bytes may be in this object's memory, so that polling the socket doesn't show
        them."""
        return False

    def write(self, pending: Pending, *, wait: bool) -> bool:
        """Write the data in ``pending``, and remove the written part from it. Returns True when all is
        written. Returns False if, with ``wait`` False, the kernel accepts no more for now. Raises OSError if
        the connection is lost."""
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
        """Return whether reading has produced bytes that must be written to the peer, such as TLS's own
        messages. Always False for a plain socket."""
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
    """The error of a connection that the peer closes during TLS's handshake."""


class TlsChannel(Channel):
    """A connected socket with TLS.

    An OpenSSL connection may not be read and written at the same time, and reading blocks. So OpenSSL works
    here on buffers in memory, under a lock that no thread holds while it waits for the socket.
    """

    def __init__(
        self, connection: socket.socket, context: ssl.SSLContext, own_hash: bytes, *, server_side: bool
    ) -> None:
        """``own_hash``: the hash of this member's certificate. ``server_side``: True if this member has
        accepted the connection."""
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
        """Do TLS's handshake. Raises EndedInTls if the peer closes the connection, SSLError if no common
        parameters are found or a certificate isn't accepted."""
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
        """Wait for bytes, and put the decrypted bytes into ``view``; returns their number, 0 at the end of
        the connection. ``whole`` has no effect."""
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
        """True if received bytes, encrypted or not, are in this object's memory."""
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
        """Encrypt and write the data in ``pending``, and remove the written part from it. Returns True when
        all is written; False if, with ``wait`` False, the kernel accepts no more for now. Raises OSError if
        the connection is lost."""
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
        """Return whether OpenSSL has bytes to write, such as the answer to a message of TLS."""
        return self._outgoing.pending > 0

    def close(self) -> None:
        """Release the socket and the buffers. A closed connection is part of reference cycles, which the
        garbage collector may not free for hours, so the buffers are freed now."""
        super().close()
        self._received = bytearray()
        self._encrypted = memoryview(b"")
