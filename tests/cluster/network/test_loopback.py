"""Members of one process: by reference, in order, never from within a send."""

import logging
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pytest

from sqlfront_cluster.network.loopback import LoopbackNetwork, LoopbackTransport
from sqlfront_cluster.network.transport import Body, InvalidMessage, Peer
from sqlfront_values.errors import ProgrammingError
from tests.cluster.network.meeting import Answer, Member, Note, network_threads, until

Members = Callable[..., tuple[LoopbackTransport, Member]]
Pair = tuple[tuple[LoopbackTransport, Member], tuple[LoopbackTransport, Member]]


@pytest.fixture
def network() -> Iterator[Members]:
    made = LoopbackNetwork()
    transports = []

    def member(name: str, answer: Answer | None = None) -> tuple[LoopbackTransport, Member]:
        transport, receiver = made.transport(name), Member(answer)
        transports.append(transport)
        transport.start(receiver)
        return transport, receiver

    yield member
    for transport in transports:
        transport.close()


def pair(network: Members, answer: Answer | None = None) -> Pair:
    (first, a), (second, b) = network("a", answer), network("b", answer)
    first.connect("b")
    a.peer("b")
    b.peer("a")
    return (first, a), (second, b)


def test_objects_are_handed_over_by_reference_and_in_order(network: Members) -> None:
    (first, a), (_, b) = pair(network)
    batch = pa.record_batch({"x": pa.array([1, 2])})
    notes = [Note(number) for number in range(500)]
    for note in notes:
        a.peer("b").send(note, (batch,) if note.number % 2 else ())
    b.wait(lambda member: len(member.messages) == 500)
    assert all(arrived is sent for (_, arrived, _), sent in zip(b.messages, notes, strict=True))
    assert b.messages[0][2] is None
    assert b.messages[1][2][0] is batch
    assert first.by_reference
    assert first.statistics().peers[0].sent["Note"].messages == 500


def test_a_receiver_is_never_called_within_a_send(network: Members) -> None:
    depth, deepest = threading.local(), []

    def answer(peer: Peer, message: Any, body: Body) -> None:
        depth.now = getattr(depth, "now", 0) + 1
        deepest.append(depth.now)
        if message.number:
            peer.send(Note(message.number - 1))
            peer.send(Note(0))
        depth.now -= 1

    (_, a), (_, b) = pair(network, answer)
    a.peer("b").send(Note(1000))
    until(lambda: len(a.messages) + len(b.messages) == 2001)
    assert set(deepest) == {1}


def test_a_lock_may_be_held_while_sending(network: Members) -> None:
    locks = {"a": threading.Lock(), "b": threading.Lock()}

    def answer(peer: Peer, message: Any, body: Body) -> None:
        with locks["b" if peer.name == "a" else "a"]:
            if message.number:
                peer.send(Note(message.number - 1))

    (_, a), (_, b) = pair(network, answer)
    peers = a.peer("b"), b.peer("a")
    for _ in range(200):
        with locks["a"]:
            peers[0].send(Note(2))
        with locks["b"]:
            peers[1].send(Note(2))
    until(lambda: len(a.messages) == len(b.messages) == 600)


def test_members_that_connect_to_each_other_at_once_have_one_connection(network: Members) -> None:
    (first, a), (second, b) = network("a"), network("b")
    for _ in range(3):
        first.connect("b")
        second.connect("a")
    a.peer("b").send(Note(1))
    b.wait(lambda member: member.messages)
    assert a.events == [("connected", "b")]
    assert b.events == [("connected", "a")]


def test_both_sides_hear_a_close_once_and_nothing_afterwards(network: Members) -> None:
    (first, a), (_, b) = pair(network)
    peer = a.peer("b")
    peer.send(Note(1))
    peer.close("fenced")
    peer.close("again")
    peer.send(Note(2))
    assert a.lost("b") == b.lost("a") == "fenced"
    first.connect("b")
    a.peer("b").send(Note(3))
    b.wait(lambda member: len(member.messages) == 2)
    assert [message.number for _, message, _ in b.messages] == [1, 3]
    assert a.count("disconnected") == b.count("disconnected") == 1
    assert first.statistics().sent["Note"].messages == 2


def test_who_is_not_there_is_disconnected(network: Members) -> None:
    first, a = network("a")
    first.connect("b")
    assert a.lost("b") == "there is no member 'b' here"
    first.connect("a")
    assert a.lost("a") == "the other side is this member itself"


def test_a_closed_member_is_gone(network: Members) -> None:
    (_, a), (second, b) = pair(network)
    second.close()
    assert a.events[-1] == ("disconnected", "b", "member b closes")
    assert b.events[-1] == ("disconnected", "a", "member b closes")


def test_a_member_may_be_closed_by_its_receiver(network: Members) -> None:
    made: list[LoopbackTransport] = []
    (first, _), (_, b) = pair(network, lambda *_: made[0].close())
    made.append(first)
    b.peer("a").send(Note(1))
    assert b.lost("a") == "member a closes"


def test_a_failing_receiver_loses_only_that_peer(network: Members, caplog: pytest.LogCaptureFixture) -> None:
    def fail(peer: Peer, message: Any, body: Body) -> None:
        raise ValueError("broken") if message.number else InvalidMessage("not what was agreed")

    (first, a), (_, b) = network("a"), network("b", fail)
    other, c = network("c")
    first.connect("b")
    other.connect("b")
    with caplog.at_level(logging.WARNING):
        a.peer("b").send(Note(1))
        assert a.lost("b") == "handling a message failed: broken"
        assert c.peer("b")
        c.peer("b").send(Note(0))
        assert c.lost("b") == "not what was agreed"
    assert b.count("disconnected") == 2
    assert [bool(record.exc_info) for record in caplog.records] == [True, False]


def test_a_name_is_borne_once(network: Members) -> None:
    network("a")
    with pytest.raises(ProgrammingError, match="a member 'a' already"):
        network("a")


def test_the_thread_ends_with_the_last_member_and_the_network_can_be_used_again() -> None:
    network, others = LoopbackNetwork(), len(network_threads())
    for _ in range(3):
        first, second = network.transport("a"), network.transport("b")
        a, b = Member(), Member()
        first.start(a)
        second.start(b)
        assert len(network_threads()) == others
        first.connect("b")
        a.peer("b").send(Note(1))
        b.wait(lambda member: member.messages)
        first.close()
        assert len(network_threads()) == others + 1
        second.close()
        assert len(network_threads()) == others
