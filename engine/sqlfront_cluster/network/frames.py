"""Frames: the format of messages on a connection.

A frame is a header of 16 bytes, a message in msgpack, and a body::

    0      2         3      4                8              16
    | "sf" | version | kind | message length |  body length | message ... | body ...

Integers are big-endian. Every deviation (another magic, version or kind, lengths above the limits, a message
that isn't of one of the expected types to the last byte) raises
:class:`~sqlfront_cluster.network.transport.InvalidMessage`; header errors do so before memory is allocated
for the frame. The reader is independent of sockets: it gets a function that fills a memoryview.
"""

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Final, NamedTuple, TypeAlias, Union

import msgspec
import pyarrow as pa

from sqlfront_cluster.network.transport import InvalidMessage, Part
from sqlfront_values.decoders import make_decoder
from sqlfront_values.errors import OperationalError

#: Changes with every change of frames or handshake. Members of different versions refuse each other.
PROTOCOL_VERSION: Final = 1

MAGIC: Final = b"sf"
HEADER: Final = struct.Struct(">2sBBIQ")
_HEADER_SIZE: Final = HEADER.size
_unpack_header: Final = HEADER.unpack_from
_pack_header: Final = HEADER.pack

#: Bytes of a reader's buffer; larger messages and all bodies get memory of their own. Each connection keeps
#: one buffer, which takes in many small messages at a system call.
BUFFER_SIZE: Final = 64 * 1024

#: A function that fills the view, or a part (the whole view if the flag is set and possible); returns the
#: number of bytes, 0 at the end of the connection.
Receive: TypeAlias = Callable[[memoryview, bool], int]


class OtherProtocol(InvalidMessage):
    """The error for a frame in another version of the protocol."""


class OtherEncryption(InvalidMessage):
    """The error of a peer that sends TLS where unencrypted frames were expected."""


#: The first bytes of TLS's alerts and handshakes (RFC 8446, 5.1).
_TLS_RECORDS: Final = (b"\x15\x03", b"\x16\x03")


class FrameKind(IntEnum):
    """The addressee of a frame's message: the peer's transport (CONTROL), or the member that uses the
    transport (MESSAGE)."""

    CONTROL = 0  #: the transports themselves
    MESSAGE = 1  #: the members


@dataclass(frozen=True, slots=True)
class Limits:
    """The largest accepted message and body, in bytes."""

    message: int = 16 * 1024 * 1024
    body: int = 1024 * 1024 * 1024


#: Limits (bytes) before the other side's proof: room for the handshake's messages, and nothing that a
#: stranger could fill memory with.
UNAUTHENTICATED: Final = Limits(message=4096, body=0)


class IncomingFrame(NamedTuple):
    """A received frame: a message with its header and body. ``kind``: a :class:`FrameKind` as a number.
    ``body``: None for an empty body. ``size``: bytes, including the header."""

    kind: int
    message: msgspec.Struct
    body: pa.Buffer | None
    size: int


class OutgoingFrame(NamedTuple):
    """A frame to be sent: a message with its header and body. ``name``: the name of the message's type, for
    the statistics; empty for control messages. ``parts``: the non-empty pieces of the frame, for each of
    which ``len`` is the size in bytes. ``size``: bytes of all parts."""

    name: str
    parts: list[bytes | memoryview | pa.Buffer]
    size: int


class MessageDecoder:
    """A decoder of messages that belong to one of the given Struct types, each with a tag.

    >>> class Ping(msgspec.Struct, tag=True):
    ...     number: int
    >>> MessageDecoder([Ping]).decode(msgspec.msgpack.encode(Ping(1)))
    Ping(number=1)
    """

    __slots__ = ("_decode",)

    def __init__(self, types: Sequence[type[msgspec.Struct]]) -> None:
        # Union[...] of a tuple known only at run time, which `|` cannot write.
        self._decode = make_decoder(Union[tuple(types)])  # noqa: UP007

    def decode(self, data: bytes | bytearray) -> msgspec.Struct:
        """Decode a message in msgpack. Raises InvalidMessage if ``data`` isn't exactly one message of the
        decoder's types."""
        try:
            message: msgspec.Struct = self._decode(data)  # type: ignore[assignment]
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            raise InvalidMessage(f"a malformed message: {error}") from None
        return message


class _Encoder:
    """An encoder of messages that caches the encoding of the last message, since a message often goes to
    several peers."""

    __slots__ = ("_encode", "_latest")

    def __init__(self) -> None:
        self._encode = msgspec.msgpack.Encoder().encode
        # Replaced as a whole, since several threads encode.
        self._latest: tuple[msgspec.Struct | None, bytes] = (None, b"")

    def encode(self, message: msgspec.Struct) -> bytes:
        latest, encoded = self._latest
        if latest is not message:
            encoded = self._encode(message)
            self._latest = message, encoded
        return encoded


_encode = _Encoder().encode


def encode_frame(
    kind: int, message: msgspec.Struct, body: Sequence[Part] = (), limits: Limits | None = None
) -> OutgoingFrame:
    """Return the frame for a message, which must be frozen, and its body. ``kind``: a :class:`FrameKind`. The
    frame refers to the body's parts without copying them. A message object that is sent to several peers is
    encoded once.

    Raises OperationalError if the message or the body is larger than ``limits`` allow (None = no limits).
    """
    encoded = _encode(message)
    name = type(message).__name__
    parts: list[bytes | memoryview | pa.Buffer] = []
    size = 0
    if body:
        parts = [part if type(part) in _PLAIN else memoryview(part).cast("B") for part in body if len(part)]
        size = sum(map(len, parts))
    if limits is not None and (len(encoded) > limits.message or size > limits.body):
        raise OperationalError(
            f"{name} has a message of {len(encoded)} and a body of {size} bytes; "
            f"the limits are {limits.message} and {limits.body}"
        )
    head = _pack_header(MAGIC, PROTOCOL_VERSION, kind, len(encoded), size) + encoded
    parts.insert(0, head)
    return OutgoingFrame(name if kind else "", parts, len(head) + size)


_PLAIN: Final = frozenset({bytes, pa.Buffer})


class FrameReader:
    """A reader of frames (messages with their headers and bodies) from a stream of bytes.

    ``receive``: waits for bytes, fills a buffer with them, and returns their number, 0 at the end.
    ``limits``: the largest accepted message and body. ``decoders``: the decoder of each :class:`FrameKind`; a
    frame of a kind without a decoder is refused. ``limits`` and ``decoders`` may be changed between two
    reads.
    """

    __slots__ = ("_buffer", "_end", "_receive", "_start", "_view", "decoders", "limits")

    def __init__(self, receive: Receive, limits: Limits, decoders: dict[int, MessageDecoder]) -> None:
        self.limits = limits
        self.decoders = decoders
        self._receive = receive
        self._buffer = bytearray(BUFFER_SIZE)
        self._view = memoryview(self._buffer)
        # Invariant: self._buffer[self._start:self._end] has been received and not yet used.
        self._start = self._end = 0

    @property
    def buffered(self) -> bool:
        """True if bytes of the next frame have been received already."""
        return self._end > self._start

    def read(self) -> IncomingFrame | None:
        """Wait for the next frame and return it; None at the end of the connection. Raises InvalidMessage for
        bytes that are no acceptable frame, and if the connection ends within a frame; also raises the errors
        of ``receive``. After an error, nothing more can be read."""
        if self._end - self._start < _HEADER_SIZE and not self._fill(_HEADER_SIZE, end_allowed=True):
            return None
        start = self._start + _HEADER_SIZE
        magic, version, kind, length, body_length = _unpack_header(self._buffer, self._start)
        decoder = self.decoders.get(kind)
        if magic != MAGIC or version != PROTOCOL_VERSION or decoder is None:
            raise _complaint(magic, version, kind)
        if length > self.limits.message or body_length > self.limits.body:
            raise InvalidMessage(
                f"a frame with a message of {length} and a body of {body_length} bytes; "
                f"the limits are {self.limits.message} and {self.limits.body}"
            )
        end = start + length
        if end <= self._end:  # nearly always: the message has come as a whole
            data: bytes | bytearray = bytes(self._view[start:end])
            self._start = end
        else:
            self._start = start
            data = self._take(length)
        message = decoder.decode(data)
        body = self._take_body(body_length) if body_length else None
        return IncomingFrame(kind, message, body, _HEADER_SIZE + length + body_length)

    def _fill(self, needed: int, *, end_allowed: bool = False) -> bool:
        """Receive until at least ``needed`` unread bytes are in the buffer, and return True. If the
        connection ends while the buffer is empty and ``end_allowed`` is true, return False; any other end
        raises InvalidMessage."""
        have = self._end - self._start
        if have == 0:
            self._start = self._end = 0
        elif self._start + needed > BUFFER_SIZE:
            self._view[:have] = self._view[self._start : self._end]
            self._start, self._end = 0, have
        while have < needed:
            count = self._receive(self._view[self._end :], False)
            if not count:
                if end_allowed and not have:
                    return False
                raise InvalidMessage("the connection ended within a frame")
            self._end += count
            have += count
        return True

    def _take(self, length: int) -> bytes | bytearray:
        """Return the next ``length`` bytes as a new object, to which messages may refer."""
        if length > BUFFER_SIZE:
            data = bytearray(length)
            self._take_into(memoryview(data))
            return data
        if self._end - self._start < length:
            self._fill(length)
        start = self._start
        self._start = start + length
        return bytes(self._view[start : self._start])

    def _take_body(self, length: int) -> pa.Buffer:
        try:
            body = pa.allocate_buffer(length)
        except (MemoryError, pa.ArrowMemoryError):
            raise InvalidMessage(f"there is no memory for a body of {length} bytes") from None
        self._take_into(memoryview(body).cast("B"))
        return body

    def _take_into(self, view: memoryview) -> None:
        have = min(self._end - self._start, len(view))
        view[:have] = self._view[self._start : self._start + have]
        self._start += have
        while have < len(view):
            count = self._receive(view[have:], True)
            if not count:
                raise InvalidMessage("the connection ended within a frame")
            have += count


def _complaint(magic: bytes, version: int, kind: int) -> InvalidMessage:
    if magic in _TLS_RECORDS:
        return OtherEncryption("the other side speaks TLS, and this side is insecure")
    if magic != MAGIC:
        return InvalidMessage("bytes that don't begin a frame")
    if version != PROTOCOL_VERSION:
        return OtherProtocol(
            f"the other side speaks version {version} of the protocol, this member {PROTOCOL_VERSION}"
        )
    return InvalidMessage(f"a frame of kind {kind}, which isn't taken now")
