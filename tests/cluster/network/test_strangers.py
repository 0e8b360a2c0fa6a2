"""Who isn't a member, or doesn't behave like one: the connection is closed, one line is logged, and the
member goes on."""

import logging
import random
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import msgspec
import pytest

from sqlfront_cluster.network.channels import Channel
from sqlfront_cluster.network.frames import HEADER, FrameKind, Limits, encode_frame
from sqlfront_cluster.network.handshake import Challenge, Hello, Refused
from sqlfront_values.errors import ProgrammingError
from tests.cluster.network.meeting import Member, Note, Town, settings, until


@pytest.fixture
def logged(caplog: pytest.LogCaptureFixture) -> Callable[[], list[str]]:
    """The lines that the network logs as warnings or worse."""
    caplog.set_level(logging.WARNING)

    def lines() -> list[str]:
        ours = [record for record in caplog.records if record.name.startswith("sqlfront_cluster.network")]
        return [record.getMessage() for record in ours]

    return lines


def connected(member: Member, times: int) -> bool:
    return member.count("connected") == times


class Stranger:
    """A bare socket to a member."""

    def __init__(self, address: str) -> None:
        host, port = address.split(":")
        self.socket = socket.create_connection((host, int(port)), 10)
        self.socket.settimeout(20)

    def __enter__(self) -> "Stranger":
        return self

    def __exit__(self, *error: object) -> None:
        self.socket.close()

    def say(self, data: bytes) -> None:
        with suppress(ConnectionError):
            self.socket.sendall(data)

    def tell(self, message: msgspec.Struct, kind: FrameKind = FrameKind.CONTROL) -> None:
        self.say(b"".join(map(bytes, encode_frame(kind, message).parts)))

    def hear(self) -> bytes:
        """All until the end."""
        heard = b""
        with suppress(ConnectionError):
            while data := self.socket.recv(65536):
                heard += data
        return heard


def still_there(town: Town, address: str) -> None:
    """The member takes other members as before."""
    transport, member = town.member(f"friend-{len(town.transports)}", listen=None)
    transport.connect(address)
    member.wait(lambda member: member.peers)
    transport.close()


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "don't begin a frame"),
        (b"\x16\x03\x01\x02\x00" + bytes(100), "the other side speaks TLS"),
        (HEADER.pack(b"sf", 1, FrameKind.CONTROL, 5000, 0), "limits are 4096 and 0"),
        (HEADER.pack(b"sf", 1, FrameKind.CONTROL, 1, 1), "limits are 4096 and 0"),
        (HEADER.pack(b"sf", 1, FrameKind.MESSAGE, 10, 0) + bytes(10), "kind 1, which isn't taken now"),
        (HEADER.pack(b"sf", 1, FrameKind.CONTROL, 3, 0) + b"abc", "a malformed message"),
        (HEADER.pack(b"sf", 2, FrameKind.CONTROL, 3, 0) + b"abc", "speaks version 2 of the protocol"),
    ],
)
def test_what_is_no_handshake_is_refused(
    town: Town, logged: Callable[[], list[str]], data: bytes, reason: str
) -> None:
    transport, _ = town.member("a")
    with Stranger(transport.addresses[0]) as stranger:
        stranger.say(bytes(data))
        heard = stranger.hear()
    until(lambda: transport.statistics().refused == 1)
    until(logged)
    assert len(logged()) == 1
    assert reason in logged()[0]
    assert b"member" not in heard
    still_there(town, transport.addresses[0])


def test_a_stranger_learns_nothing_but_that_it_is_refused(
    town: Town, logged: Callable[[], list[str]]
) -> None:
    transport, _ = town.member("a-name-that-is-not-told")
    with Stranger(transport.addresses[0]) as stranger:
        stranger.tell(Hello(bytes(32)))
        identity = {"name": "x", "cluster": "y", "product": "z", "incarnation": bytes(16)}
        proof = msgspec.msgpack.encode({"type": "Proof", "identity": identity, "code": bytes(32)})
        stranger.say(HEADER.pack(b"sf", 1, FrameKind.CONTROL, len(proof), 0) + proof)
        heard = stranger.hear()
    expected = len(b"".join(map(bytes, encode_frame(FrameKind.CONTROL, Challenge(bytes(32))).parts)))
    assert heard[expected:] == b"".join(map(bytes, encode_frame(FrameKind.CONTROL, Refused()).parts))
    until(logged)
    assert "another secret" in logged()[0]


@pytest.mark.parametrize("steps", [0, 1, 2])
def test_a_handshake_must_be_complete_in_time(
    town: Town, logged: Callable[[], list[str]], steps: int
) -> None:
    transport, _ = town.member("a", handshake_timeout=0.15)
    with Stranger(transport.addresses[0]) as stranger:
        if steps == 1:
            stranger.tell(Hello(bytes(32)))
        elif steps == 2:
            stranger.say(b"sf")
        stranger.hear()
    until(logged)
    assert "not complete within 0.15 s" in logged()[0]


def test_a_handshake_that_drips_must_be_complete_in_time_too(town: Town) -> None:
    transport, _ = town.member("a", handshake_timeout=0.2)
    pause = threading.Event()
    with Stranger(transport.addresses[0]) as stranger:
        for byte in HEADER.pack(b"sf", 1, FrameKind.CONTROL, 4000, 0) + bytes(4000):
            if transport.statistics().refused:
                break
            stranger.say(bytes([byte]))
            pause.wait(0.01)
        assert transport.statistics().refused == 1


@pytest.mark.parametrize("after", [0, 1])
def test_an_end_in_the_handshake_is_no_harm(town: Town, logged: Callable[[], list[str]], after: int) -> None:
    transport, _ = town.member("a")
    with Stranger(transport.addresses[0]) as stranger:
        if after:
            stranger.tell(Hello(bytes(32)))
    until(lambda: transport.statistics().refused == 1)
    until(logged)
    assert len(logged()) == 1
    still_there(town, transport.addresses[0])


def test_strangers_cannot_take_all_places(town: Town, logged: Callable[[], list[str]]) -> None:
    transport, _ = town.member("a", unauthenticated_limit=3)
    strangers = [Stranger(transport.addresses[0]) for _ in range(3)]
    until(lambda: len(transport._strangers) == 3)
    still_there(town, transport.addresses[0])  # the oldest had to go
    assert strangers[0].hear() == b""
    until(logged)
    assert "in the middle of the handshake" in logged()[0]
    for stranger in strangers:
        stranger.socket.close()
    until(lambda: not transport._strangers)
    still_there(town, transport.addresses[0])


@pytest.mark.parametrize(
    ("changes", "theirs", "ours"),
    [
        ({"secret": b"guessed"}, "another secret", "different secrets"),
        (
            {"cluster": "other"},
            "the other side belongs to cluster 'other'",
            "the other side belongs to cluster 'test'",
        ),
        ({"product": "0.2.0"}, "the other side runs version 0.2.0", "the other side runs version 0.1.0"),
    ],
)
def test_who_does_not_belong_hears_why_as_far_as_it_may(
    town: Town, logged: Callable[[], list[str]], changes: dict[str, Any], theirs: str, ours: str
) -> None:
    transport, a = town.member("a")
    other, b = town.member("b", **changes)
    other.connect(transport.addresses[0])
    assert ours in b.lost(transport.addresses[0])
    until(lambda: len(logged()) == 2)
    assert any(theirs in line for line in logged())
    assert a.events == []
    still_there(town, transport.addresses[0])


def test_a_member_of_another_version_of_the_protocol_hears_so(town: Town) -> None:
    transport, _ = town.member("a")
    with Stranger(transport.addresses[0]) as stranger:
        stranger.say(HEADER.pack(b"sf", 200, FrameKind.CONTROL, 0, 0))
        assert stranger.hear()[:3] == b"sf\x01"


def test_who_connects_is_not_taken_in_by_a_false_member(town: Town) -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    host, port = listener.getsockname()
    transport, a = town.member("a", handshake_timeout=0.2)
    transport.connect(f"{host}:{port}")
    accepted = listener.accept()[0]
    assert "not complete" in a.lost(f"{host}:{port}")
    accepted.close()
    listener.close()


# ---- members that misbehave


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"nonsense that is no frame", "don't begin a frame"),
        (HEADER.pack(b"sf", 1, FrameKind.MESSAGE, 10_000, 0), "limits are 1000 and 1000"),
        (HEADER.pack(b"sf", 1, FrameKind.MESSAGE, 10, 1 << 40), "limits are 1000 and 1000"),
        (HEADER.pack(b"sf", 1, FrameKind.MESSAGE, 10, 0) + b"0123456789", "a malformed message"),
        (HEADER.pack(b"sf", 1, 9, 10, 0), "kind 9"),
        (b"".join(map(bytes, encode_frame(FrameKind.CONTROL, Hello(bytes(32))).parts)), "sent Hello"),
    ],
)
def test_a_member_that_sends_nonsense_is_disconnected(
    town: Town, logged: Callable[[], list[str]], data: bytes, reason: str
) -> None:
    (_, a), (second, b) = town.pair(limits=Limits(1000, 1000))
    channel: Channel = a.peer("b").channel
    channel.socket.sendall(data)
    assert reason in b.lost("a")
    a.lost("b")
    until(logged)
    assert len([line for line in logged() if reason in line]) == 1
    third, c = town.member("c", limits=Limits(1000, 1000))
    third.connect(second.addresses[0])
    c.peer("b").send(Note(1))
    b.wait(lambda member: member.messages)


def test_a_frame_cut_off_by_the_end_is_not_received(town: Town, logged: Callable[[], list[str]]) -> None:
    (_, a), (_, b) = town.pair()
    channel: Channel = a.peer("b").channel
    frame = b"".join(map(bytes, encode_frame(FrameKind.MESSAGE, Note(1), (bytes(1000),)).parts))
    channel.socket.sendall(frame[:-10])
    channel.socket.shutdown(socket.SHUT_WR)
    assert b.lost("a") == "the connection ended within a frame"
    assert b.messages == []


@pytest.mark.slow
@pytest.mark.parametrize("count", [300, pytest.param(1000, marks=pytest.mark.soak)])
@pytest.mark.parametrize("proven", [False, True])
def test_random_bytes_and_mutated_frames_on_sockets(
    town: Town, proven: bool, count: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL)
    seed = random.Random(proven)
    target, b = town.member("b")
    sent = (Note(1), ()), (Note(2, "x" * 50), (b"body",)), (Hello(bytes(32)), ())
    frames = [encode_frame(kind, message, body) for kind in FrameKind for message, body in sent]
    valid = [b"".join(map(bytes, frame.parts)) for frame in frames]
    transport, a = town.member("a", listen=None) if proven else (target, b)
    for number in range(count):
        data = bytearray(b"".join(seed.choices(valid, k=3)))
        for _ in range(seed.randint(1, 5)):
            data[seed.randrange(len(data))] = seed.randrange(256)
        if proven:
            transport.connect(target.addresses[0])
            a.wait(partial(connected, times=number + 1))
            with suppress(OSError, KeyError):
                channel = a.peers["b"].channel
                channel.socket.sendall(data + seed.randbytes(seed.randint(0, 100)))
            with suppress(KeyError):
                a.peers["b"].close("next")
            a.wait(lambda member: not member.peers)
            b.wait(lambda member: not member.peers)
        else:
            with Stranger(target.addresses[0]) as stranger:
                stranger.say(bytes(data))
                stranger.socket.shutdown(socket.SHUT_WR)
                stranger.hear()
    until(lambda: not target._connections.all())
    still_there(town, target.addresses[0])


def test_a_secret_is_needed_and_not_shown() -> None:
    with pytest.raises(ProgrammingError, match="secret"):
        settings(secret=b"")
    assert "the secret of the tests" not in repr(settings())
