"""Frames: what is cut from a stream of bytes, however it is received, and what is refused."""

import random
import struct
from collections.abc import Iterator

import msgspec
import pyarrow as pa
import pytest

from sqlfront_cluster.network.frames import (
    BUFFER_SIZE,
    HEADER,
    MAGIC,
    PROTOCOL_VERSION,
    FrameKind,
    FrameReader,
    IncomingFrame,
    Limits,
    MessageDecoder,
    OtherProtocol,
    _Encoder,
    encode_frame,
)
from sqlfront_cluster.network.transport import InvalidMessage, Part
from sqlfront_values.errors import OperationalError
from tests.cluster.network.meeting import TYPES, Note, Order

SMALL = Limits(message=1 << 20, body=1 << 22)


class Fed:
    """Bytes that arrive in pieces of at most ``piece`` bytes."""

    def __init__(self, data: bytes, piece: int = 1 << 30) -> None:
        self._rest = memoryview(data)
        self._piece = piece

    def __call__(self, view: memoryview, whole: bool) -> int:
        assert len(view), "never asked for nothing"
        count = min(len(view), self._piece, len(self._rest))
        view[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count


def reader(data: bytes, piece: int = 1 << 30, limits: Limits = SMALL) -> FrameReader:
    return FrameReader(Fed(data, piece), limits, {FrameKind.MESSAGE: MessageDecoder(TYPES)})


def read_all(data: bytes, piece: int = 1 << 30) -> Iterator[IncomingFrame]:
    frames = reader(data, piece)
    while (frame := frames.read()) is not None:
        yield frame


def frame(message: msgspec.Struct, *body: Part) -> bytes:
    return b"".join(map(bytes, encode_frame(FrameKind.MESSAGE, message, body).parts))


SENT = [
    (Note(1), b""),
    (Note(2, "x" * 100), b"0123456789"),
    (Order("large", (bytes(BUFFER_SIZE + 17),)), b""),
    (Note(3), bytes(range(256)) * 2000),
    (Order("as large as the buffer", (bytes(BUFFER_SIZE - 40),)), b"!"),
    (Note(4), b""),
]


@pytest.mark.parametrize("piece", [1, 7, 16, 1000, BUFFER_SIZE, 1 << 30])
def test_frames_come_out_as_they_went_in_however_they_are_cut(piece: int) -> None:
    sent = SENT if piece > 1 else SENT[:2]
    data = b"".join(frame(message, body) for message, body in sent)
    received = list(read_all(data, piece))
    assert [item.message for item in received] == [message for message, _ in sent]
    assert [b"" if item.body is None else item.body.to_pybytes() for item in received] == [b for _, b in sent]
    assert sum(item.size for item in received) == len(data)


def test_a_body_is_one_aligned_buffer_of_its_own() -> None:
    first, second = read_all(
        frame(Note(1), b"abc", pa.py_buffer(b"def")) + frame(Note(2), memoryview(b"ghi"))
    )
    assert first.body is not None
    assert second.body is not None
    assert first.body.to_pybytes() == b"abcdef"
    assert second.body.to_pybytes() == b"ghi"
    assert first.body.address % 64 == second.body.address % 64 == 0


def test_parts_of_a_body_are_not_copied() -> None:
    body = pa.py_buffer(bytes(1000))
    assert encode_frame(FrameKind.MESSAGE, Note(1), (body, b"")).parts[1:] == [body]
    assert encode_frame(FrameKind.MESSAGE, Note(1), (body, b"")).parts[1] is body


def test_a_view_of_wider_items_counts_its_bytes() -> None:
    view = memoryview(struct.pack("4q", 1, 2, 3, 4)).cast("q")
    assert encode_frame(FrameKind.MESSAGE, Note(1), (view,)).size == len(frame(Note(1))) + 32


def test_an_end_between_two_frames_is_an_end() -> None:
    assert reader(b"").read() is None


@pytest.mark.parametrize("cut", [1, HEADER.size - 1, HEADER.size, HEADER.size + 3, -1])
def test_an_end_within_a_frame_is_refused(cut: int) -> None:
    with pytest.raises(InvalidMessage, match="ended within a frame"):
        reader(frame(Note(1), b"body")[:cut]).read()


def header(
    magic: bytes = MAGIC,
    version: int = PROTOCOL_VERSION,
    kind: int = int(FrameKind.MESSAGE),
    message: int = 0,
    body: int = 0,
) -> bytes:
    return HEADER.pack(magic, version, kind, message, body)


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", "don't begin a frame"),
        (header(kind=7), "kind 7"),
        (header(kind=FrameKind.CONTROL), "kind 0"),
        (header(message=SMALL.message + 1), "the limits are"),
        (header(body=SMALL.body + 1), "the limits are"),
        (header(body=(1 << 64) - 1), "the limits are"),
        (header(message=4) + b"\xc1\xc1\xc1\xc1", "a malformed message"),
        (header(message=0), "a malformed message"),
    ],
)
def test_what_is_no_frame_is_refused(data: bytes, complaint: str) -> None:
    with pytest.raises(InvalidMessage, match=complaint):
        reader(data).read()


def test_another_version_is_told_apart() -> None:
    with pytest.raises(OtherProtocol, match="version 9 of the protocol"):
        reader(header(version=9)).read()


@pytest.mark.parametrize(
    "message",
    [
        b"",
        msgspec.msgpack.encode({"type": "Unknown", "number": 1}),
        msgspec.msgpack.encode({"type": "Note"}),
        msgspec.msgpack.encode({"type": "Note", "number": "one"}),
        msgspec.msgpack.encode({"number": 1}),
        msgspec.msgpack.encode([1, 2]),
        msgspec.msgpack.encode(Note(1)) + b"\x00",
        msgspec.msgpack.encode(Note(1))[:-1],
        b"\x91" * 100_000,
    ],
)
def test_a_message_must_be_one_of_the_types_to_the_last_byte(message: bytes) -> None:
    with pytest.raises(InvalidMessage, match="a malformed message"):
        reader(header(message=len(message)) + message).read()


def test_a_frame_above_the_limits_is_not_sent() -> None:
    with pytest.raises(OperationalError, match=r"Note has a message of .* the limits are 1000 and 10"):
        encode_frame(FrameKind.MESSAGE, Note(1), (bytes(11),), Limits(1000, 10))
    with pytest.raises(OperationalError, match="limits"):
        encode_frame(FrameKind.MESSAGE, Note(1, "x" * 1000), (), Limits(1000, 10))


def test_messages_keep_nothing_of_the_buffer() -> None:
    first, second = read_all(frame(Order("a", (b"1" * 50,))) + frame(Order("b", (b"2" * 50,))), 30)
    assert first.message == Order("a", (b"1" * 50,))
    assert second.message == Order("b", (b"2" * 50,))


def mutated(seed: random.Random, valid: list[bytes]) -> bytes:
    """Bytes that are nearly frames."""
    data = bytearray(b"".join(seed.choices(valid, k=seed.randint(1, 3))))
    for _ in range(seed.randint(1, 4)):
        at = seed.randrange(len(data))
        match seed.randrange(6):
            case 0:
                data[at] ^= 1 << seed.randrange(8)
            case 1:
                data[at] = seed.choice((0, 1, 0x7F, 0x80, 0xFF))
            case 2:
                del data[at : at + seed.randint(1, 20)]
            case 3:
                data[at:at] = seed.randbytes(seed.randint(1, 20))
            case 4:
                data[:16] = header(message=seed.randrange(200), body=seed.randrange(200))
            case 5:
                data[at:] = seed.randbytes(seed.randint(0, 60))
        if not data:
            return b""
    return bytes(data)


@pytest.mark.slow
@pytest.mark.parametrize("count", [20_000, pytest.param(100_000, marks=pytest.mark.soak)])
def test_mutated_frames_are_frames_or_refused(count: int) -> None:
    seed = random.Random(20261121)
    valid = [frame(message, body[:50]) for message, body in SENT if len(frame(message)) < 1000]
    valid += [frame(Order("o" * n, (bytes(n),))) for n in range(5)] + [seed.randbytes(40)]
    outcomes = {"end": 0, "refused": 0}
    frames, total = 0, 0
    while frames < count:
        source = reader(mutated(seed, valid), seed.choice((1, 5, 1 << 20)), Limits(500, 500))
        try:
            total += 1
            while (item := source.read()) is not None:
                frames += 1
                assert type(item.message) in TYPES
            outcomes["end"] += 1
        except InvalidMessage:
            frames += 1
            outcomes["refused"] += 1
    assert min(outcomes.values()) > total / 50, outcomes


def test_a_message_to_several_peers_is_encoded_once() -> None:
    calls: list[Note] = []
    encoder = _Encoder()

    def noted(message: Note) -> bytes:
        calls.append(message)
        return bytes([message.number])

    encoder._encode = noted
    first, second = Note(1), Note(2)

    assert [encoder.encode(each) for each in (first, first, second, second, first)] == [
        b"\x01",
        b"\x01",
        b"\x02",
        b"\x02",
        b"\x01",
    ]
    assert calls == [first, second, first]
