"""Somebody has recorded a handshake, every byte of it, and plays it back without knowing the secret."""

import socket
from collections.abc import Callable
from contextlib import suppress

import pytest

from sqlfront_cluster.network.addresses import Address
from sqlfront_cluster.network.frames import HEADER
from tests.attack.wiretap import Wiretap
from tests.cluster.network.meeting import Town, until

Frames = list[bytes]


@pytest.fixture
def recorded(town: Town) -> tuple[str, Frames, Frames]:
    """The address of member b, what a sent it in their handshake, and what b answered."""
    there, b = town.member("b")
    here, a = town.member("a", listen=None)
    with Wiretap(there.addresses[0]) as wiretap:
        here.connect(wiretap.address)
        a.peer("b")
        sent, answered = map(frames, (wiretap.sent[0], wiretap.answered[0]))
    b.lost("a")
    assert len(sent) >= 3 and len(answered) >= 2
    return there.addresses[0], sent, answered


def frames(stream: bytearray) -> Frames:
    """The stream cut into its frames."""
    found, place = [], 0
    while place < len(stream):
        *_, message, body = HEADER.unpack_from(stream, place)
        end = place + HEADER.size + message + body
        found.append(bytes(stream[place:end]))
        place = end
    return found


def said(frame: bytes) -> str:
    """The kind of message that a frame holds."""
    names = ("Hello", "Challenge", "Proof", "Refused", "Verdict", "Settled", "Goodbye")
    return next(name for name in names if name.encode() in frame)


def played(connection: socket.socket, sent: Frames) -> list[str]:
    """Send frame after frame, each when something has come; the kinds of all that came."""
    connection.settimeout(10)
    heard = bytearray()
    for frame in sent:
        with suppress(ConnectionError):
            connection.sendall(frame)
            heard += connection.recv(65536)
    with suppress(ConnectionError):
        while piece := connection.recv(65536):
            heard += piece
    return [said(frame) for frame in frames(heard)]


def test_what_the_connecting_side_said_opens_no_second_connection(
    town: Town, recorded: tuple[str, Frames, Frames]
) -> None:
    address, sent, _ = recorded
    there = town.transports[0]
    with Address.parse(address).connect(5) as connection:
        answers = played(connection, sent)
    assert answers == ["Challenge", "Refused"]
    until(lambda: there.statistics().refused == 1)
    assert there.statistics().peers == ()


@pytest.mark.parametrize("reorder", [reversed, lambda sent: sent[1:], lambda sent: [sent[0], *sent]])
def test_no_order_of_it_does(
    town: Town, recorded: tuple[str, Frames, Frames], reorder: Callable[[Frames], Frames]
) -> None:
    address, sent, _ = recorded
    there = town.transports[0]
    with Address.parse(address).connect(5) as connection:
        assert "Proof" not in played(connection, list(reorder(sent)))
    until(lambda: there.statistics().refused == 1)
    assert there.statistics().peers == ()


def test_what_the_accepting_side_answered_deceives_nobody(
    town: Town, recorded: tuple[str, Frames, Frames]
) -> None:
    _, _, answered = recorded
    transport, member = town.member("victim", listen=None)
    with socket.create_server(("127.0.0.1", 0)) as impostor:
        address = f"127.0.0.1:{impostor.getsockname()[1]}"
        transport.connect(address)
        connection = impostor.accept()[0]
        with connection:
            connection.settimeout(10)
            connection.recv(65536)
            with suppress(ConnectionError):
                connection.sendall(answered[0])
                connection.recv(65536)
                connection.sendall(b"".join(answered[1:]))
            assert "another secret" in member.lost(address)
    assert transport.statistics().peers == ()


def test_a_members_own_words_are_no_proof_to_it(town: Town) -> None:
    """The attacker connects twice and answers each challenge with what the member says on the other line."""
    there, member = town.member("b")
    here = Address.parse(there.addresses[0])
    first, second = here.connect(5), here.connect(5)
    with first, second:
        for connection in (first, second):
            connection.settimeout(10)
        with Wiretap(there.addresses[0]) as wiretap:
            there.connect(wiretap.address)  # the member meets itself: it proves itself to nobody else
            reason = member.lost(wiretap.address)
        assert "this member itself" in reason or "closed the connection" in reason
        proof = frames(wiretap.sent[0])[1]
        hello = frames(wiretap.sent[0])[0]
        assert played(first, [hello, proof]) == ["Challenge", "Refused"]
    assert there.statistics().peers == ()
