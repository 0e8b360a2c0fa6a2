"""Members on real sockets: order, sizes, slow readers, ends in every state."""

import gc
import logging
import random
import threading
import time
import weakref
from typing import Any

import msgspec
import pyarrow as pa
import pytest

from sqlfront_cluster.network.frames import Limits
from sqlfront_cluster.network.tcp import TcpTransport
from sqlfront_cluster.network.transport import Body, InvalidMessage, Peer, Traffic, TrafficCounter
from sqlfront_values.errors import OperationalError, ProgrammingError
from tests.cluster.network.meeting import (
    Member,
    Note,
    Order,
    Town,
    certificates,
    network_threads,
    open_files,
    until,
)


@pytest.fixture(params=["tcp", "unix", "tls"])
def way(request: pytest.FixtureRequest, town: Town) -> dict[str, Any]:
    """How the members of a test listen."""
    if request.param == "tls":
        return {"tls": certificates()}
    if request.param == "unix":
        numbers = iter(range(100))
        return {"unix": lambda: f"unix:{town.folder}/{next(numbers)}"}
    return {}


Pair = tuple[tuple[TcpTransport, Member], tuple[TcpTransport, Member]]


def pair(town: Town, way: dict[str, Any], **changes: object) -> Pair:
    """Two connected members: transport and member of each."""
    unix = way.get("unix")
    options = {**{name: value for name, value in way.items() if name != "unix"}, **changes}
    first = town.member("a", listen=unix() if unix else "127.0.0.1:0", **options)
    second = town.member("b", listen=unix() if unix else "127.0.0.1:0", **options)
    first[0].connect(second[0].addresses[0])
    first[1].peer("b")
    second[1].peer("a")
    return first, second


def test_messages_and_bodies_arrive_in_order(town: Town, way: dict[str, Any]) -> None:
    (_, a), (_, b) = pair(town, way)
    peer = a.peer("b")
    seed = random.Random(1)
    sent = [(Note(n), seed.randbytes(seed.choice((0, 1, 100, 70_000)))) for n in range(300)]
    for message, body in sent:
        peer.send(message, (body[:50], body[50:]))
    b.wait(lambda member: len(member.messages) == len(sent))
    arrived = [(message, b"" if body is None else body.to_pybytes()) for _, message, body in b.messages]
    assert arrived == sent


def test_a_large_body_arrives_whole_and_aligned(town: Town, way: dict[str, Any]) -> None:
    (_, a), (_, b) = pair(town, way)
    body = pa.py_buffer(random.Random(2).randbytes(20_000_001))
    a.peer("b").send(Order("large"), (body, b"", body))
    b.wait(lambda member: member.messages)
    arrived = b.messages[0][2]
    assert arrived.size == 2 * body.size
    assert arrived.slice(0, body.size).equals(body)
    assert arrived.slice(body.size).equals(body)
    assert arrived.address % 64 == 0


def test_many_threads_send_at_once_and_each_keeps_its_order(town: Town, way: dict[str, Any]) -> None:
    (_, a), (_, b) = pair(town, way)
    peer = a.peer("b")

    def send(thread: int) -> None:
        for number in range(300):
            peer.send(Note(number, str(thread)), (bytes(number * 10),))

    threads = [threading.Thread(target=send, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    b.wait(lambda member: len(member.messages) == 6 * 300)
    for sender in range(6):
        assert [m.number for _, m, _ in b.messages if m.text == str(sender)] == list(range(300))
    assert all((body.size if body else 0) == message.number * 10 for _, message, body in b.messages)


def test_a_message_can_be_answered_while_it_is_handled(town: Town, way: dict[str, Any]) -> None:
    def answer(peer: Peer, message: Any, body: Body) -> None:
        if message.number:
            peer.send(Note(message.number - 1))

    (_, a), (_, b) = pair(town, way, answer=answer)
    a.peer("b").send(Note(500))
    until(lambda: len(a.messages) + len(b.messages) == 501)


class Gate:
    """Receives nothing more until it is opened."""

    def __init__(self) -> None:
        self.open = threading.Event()

    def __call__(self, peer: Peer, message: Any, body: Body) -> None:
        assert self.open.wait(20)


def test_a_slow_reader_holds_nobody_up_and_loses_nothing(town: Town, way: dict[str, Any]) -> None:
    gate = Gate()
    (first, a), (_, b) = pair(town, way, answer=gate)
    peer = a.peer("b")
    sent = [(Note(n), bytes([n % 256]) * 100_000) for n in range(300)]
    for message, body in sent:
        peer.send(message, (body,))  # 30 MB: far more than the kernel takes
    assert first.statistics().peers[0].queued > 1_000_000
    gate.open.set()
    b.wait(lambda member: len(member.messages) == 300)
    assert [(message, body.to_pybytes()) for _, message, body in b.messages] == sent
    until(lambda: first.statistics().peers[0].queued == 0)
    peer.send(Note(1000))
    b.wait(lambda member: member.messages[-1][1] == Note(1000))


def test_writes_in_small_pieces_lose_nothing(town: Town) -> None:
    (_, a), (_, b) = pair(town, {})
    import socket

    peer = a.peer("b")
    peer.channel.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1)
    body = random.Random(3).randbytes(500_000)
    for number in range(10):
        peer.send(Note(number), (body[: number * 50_000], body[number * 50_000 :]))
    b.wait(lambda member: len(member.messages) == 10)
    assert all(arrived.to_pybytes() == body for _, _, arrived in b.messages)


def test_a_peer_that_takes_nothing_is_given_up(town: Town, way: dict[str, Any]) -> None:
    gate = Gate()
    (_, a), (_, b) = pair(town, way, answer=gate, outbox_limit=1_000_000)
    peer = a.peer("b")
    for number in range(300):
        peer.send(Note(number), (bytes(100_000),))
    gate.open.set()
    assert "the other side takes no data: " in a.lost("b")
    b.lost("a")


def test_one_frame_above_the_bound_of_the_outbox_passes(town: Town, way: dict[str, Any]) -> None:
    (_, a), (_, b) = pair(town, way, outbox_limit=1_000_000)
    a.peer("b").send(Note(1), (bytes(30_000_000),))
    b.wait(lambda member: member.messages)


def test_corked_messages_leave_together_and_in_order(town: Town, way: dict[str, Any]) -> None:
    (_, a), (_, b) = pair(town, way)
    peer = a.peer("b")
    with peer.corked():
        peer.send(Note(1))
        with peer.corked():
            peer.send(Note(2), (b"x",))
        assert peer.statistics().sent == {}
    assert peer.statistics().sent["Note"].messages == 2
    b.wait(lambda member: len(member.messages) == 2)
    assert [message.number for _, message, _ in b.messages] == [1, 2]


def test_in_the_midst_of_a_message_later_ones_and_the_end_are_heard(town: Town, way: dict[str, Any]) -> None:
    heard: list[object] = []

    def answer(peer: Peer, message: msgspec.Struct, body: Body) -> None:
        heard.append(message)
        if message == Note(1):
            until(lambda: not peer.listen())
            heard.append("the end")

    options = {name: value for name, value in way.items() if name != "unix"}
    listen = way["unix"]() if "unix" in way else "127.0.0.1:0"
    _, a = first = town.member("a", listen=None, **options)
    second, b = town.member("b", answer, listen=listen, **options)
    first[0].connect(second.addresses[0])
    peer = a.peer("b")
    with peer.corked():
        peer.send(Note(1))
        peer.send(Note(2), (b"with a body",))
    until(lambda: heard == [Note(1), Note(2)])
    assert b.peer("a").listen(), "without effect on a thread that doesn't read"
    peer.send(Note(3))
    until(lambda: heard == [Note(1), Note(2), Note(3)])
    peer.close("enough")
    b.wait(lambda member: ("disconnected", "a", "enough") in member.events)
    assert heard == [Note(1), Note(2), Note(3), "the end"]


def test_an_ended_connection_waits_for_no_garbage_collector(town: Town, way: dict[str, Any]) -> None:
    """A member may go for hours without a full collection, and whoever knows the secret may come and go."""
    (_, a), (_, b) = pair(town, way)
    ended = [weakref.ref(member.peers[name]) for member, name in ((a, "b"), (b, "a"))]
    gc.disable()
    try:
        a.peer("b").close("enough")
        until(lambda: not any(each() for each in ended))
    finally:
        gc.enable()


def test_a_finalizer_may_send_within_a_send(town: Town) -> None:
    (_, a), (_, b) = pair(town, {})
    peer = a.peer("b")
    connection_write = peer.channel.write
    sent: list[object] = []

    def write(pending: Any, *, wait: bool) -> Any:
        if len(sent) < 3:  # as if the garbage collector ran here
            sent.append(1)
            peer.send(Note(100 + len(sent)))
        return connection_write(pending, wait=wait)

    peer.channel.write = write
    peer.send(Note(1))
    b.wait(lambda member: len(member.messages) == 4)
    assert b.messages[0][1] == Note(1)


def test_a_message_above_the_limits_is_an_error_of_its_sender(town: Town) -> None:
    (_, a), (_, b) = pair(town, {}, limits=Limits(message=1000, body=1000))
    peer = a.peer("b")
    with pytest.raises(OperationalError, match="limits are 1000 and 1000"):
        peer.send(Note(1), (bytes(1001),))
    peer.send(Note(2))
    b.wait(lambda member: member.messages)


def test_messages_are_counted_by_kind_also_after_the_end(town: Town, way: dict[str, Any]) -> None:
    (first, a), (second, b) = pair(town, way)
    peer = a.peer("b")
    for number in range(3):
        peer.send(Note(number), (bytes(100),))
    peer.send(Order("x"))
    b.wait(lambda member: len(member.messages) == 4)
    sent = first.statistics().peers[0].sent
    assert second.statistics().peers[0].received == sent
    assert {kind: traffic.messages for kind, traffic in sent.items()} == {"Note": 3, "Order": 1}
    assert sent["Note"].bytes > 300
    peer.close("counted")
    a.lost("b")
    until(lambda: not first.statistics().peers)
    assert first.statistics().sent == sent
    assert isinstance(sent["Order"], Traffic)


# ---- ends


def test_both_sides_hear_the_reason_of_a_close(town: Town, way: dict[str, Any]) -> None:
    (_, a), (_, b) = pair(town, way)
    peer = a.peer("b")
    peer.close("fenced: silent for 5 s")
    peer.close("a second reason")
    assert a.lost("b") == "fenced: silent for 5 s"
    assert b.lost("a") == "fenced: silent for 5 s"
    peer.send(Note(1))  # dropped
    assert a.count("disconnected") == b.count("disconnected") == 1
    assert b.messages == []


@pytest.mark.parametrize("step", ["counting", "writing"])
def test_an_interrupt_in_the_midst_of_sending_ends_the_connection(
    town: Town, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """What has been sent by then is unknown: silence afterwards would be worse."""
    (_, a), (_, b) = pair(town, {})
    peer = a.peer("b")
    place, name = (type(peer.channel), "write") if step == "writing" else (TrafficCounter, "count")
    whole = getattr(place, name)

    def interrupted(*arguments: Any, **named: Any) -> None:
        monkeypatch.undo()
        whole(*arguments, **named)
        raise KeyboardInterrupt

    monkeypatch.setattr(place, name, interrupted)
    with pytest.raises(KeyboardInterrupt):
        peer.send(Note(1))

    a.lost("b")
    b.lost("a")


def test_a_closed_transport_leaves_its_peers(town: Town, way: dict[str, Any]) -> None:
    (first, a), (_, b) = pair(town, way)
    first.close()
    assert a.lost("b") == b.lost("a") == "member a closes"
    first.close()


@pytest.mark.parametrize("way", ["connected", "was connected to"])
def test_a_closed_transport_has_heard_of_every_end(town: Town, way: str) -> None:
    (first, a), (second, b) = pair(town, {})
    closing, member = (first, a) if way == "connected" else (second, b)
    heard, told = member.disconnected, threading.Event()

    def slowly(peer: Peer, reason: str) -> None:
        time.sleep(0.2)
        heard(peer, reason)
        told.set()

    member.disconnected = slowly  # type: ignore[method-assign]
    closing.close()

    assert told.is_set()


def test_a_transport_may_be_closed_by_its_receiver(town: Town, way: dict[str, Any]) -> None:
    made: list[TcpTransport] = []
    (first, a), (_, b) = pair(town, way, answer=lambda *_: made[0].close())
    made.append(first)
    b.peer("a").send(Note(1))
    a.lost("b")
    b.lost("a")


def test_a_connection_that_ends_while_a_body_is_under_way(town: Town, way: dict[str, Any]) -> None:
    gate = Gate()
    (_, a), (_, b) = pair(town, way, answer=gate)
    peer = a.peer("b")
    peer.send(Note(0))
    for number in range(100):
        peer.send(Note(number), (bytes(1_000_000),))
    peer.close("enough")
    gate.open.set()
    assert a.lost("b") == "enough"
    b.lost("a")


def test_a_side_that_only_stops_writing_has_ended(town: Town) -> None:
    import socket

    (_, a), (_, b) = pair(town, {})
    a.peer("b").channel.socket.shutdown(socket.SHUT_WR)
    assert b.lost("a") == "the other side closed the connection"
    a.lost("b")


def test_a_reset_connection_is_heard_on_both_sides(town: Town) -> None:
    import socket
    import struct

    (_, a), (_, b) = pair(town, {})
    connection = a.peer("b").channel.socket
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.shutdown(socket.SHUT_RD)
    a.lost("b")
    b.lost("a")


def test_members_connect_again_after_an_end(town: Town, way: dict[str, Any]) -> None:
    (first, a), (second, b) = pair(town, way)
    for number in range(5):
        one, other, transport, address = (a, "b", first, second) if number % 2 else (b, "a", second, first)
        one.peer(other).close("again")
        until(lambda: not a.peers and not b.peers)
        transport.connect(address.addresses[0])
        a.peer("b").send(Note(number))
        b.wait_for(messages=number + 1)
    assert a.count("connected") == b.count("connected") == 6


def test_who_cannot_be_reached_is_disconnected(town: Town, way: dict[str, Any]) -> None:
    first, a = town.member("a")
    other = town.transport("b")
    other.close()
    first.connect(other.addresses[0])
    assert "cannot connect" in a.lost(other.addresses[0])
    first.connect("unix:/nowhere/at/all")
    assert "cannot connect" in a.lost("unix:/nowhere/at/all")


def test_that_somebody_cannot_be_reached_is_logged_once(
    town: Town, way: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    first, a = town.member("a")
    for number in range(5):
        first.connect("unix:/nowhere/at/all")
        until(lambda: a.count("disconnected") == number + 1)  # noqa: B023 - called at once
    assert caplog.text.count("member a cannot connect") == 1


def test_an_address_must_be_one(town: Town) -> None:
    first, _ = town.member("a")
    for text in ("nowhere", "host:", "host:http", "host:70000", ":1", "unix:", "::1:5"):
        with pytest.raises(ProgrammingError, match="is not an address"):
            first.connect(text)


def test_a_taken_address_is_refused(town: Town) -> None:
    first = town.transport("a")
    with pytest.raises(OperationalError, match="cannot listen on"):
        town.transport("b", listen=first.addresses[0])


def test_a_unix_socket_left_behind_is_replaced_and_a_live_one_is_not(town: Town) -> None:
    import socket

    path = f"{town.folder}/socket"
    stale = socket.socket(socket.AF_UNIX)
    stale.bind(path)
    stale.close()
    town.transport("a", listen=f"unix:{path}").start(town.member("x")[1])
    with pytest.raises(OperationalError, match="cannot listen on"):
        town.transport("b", listen=f"unix:{path}")


def test_a_failing_receiver_loses_only_that_peer(town: Town, caplog: pytest.LogCaptureFixture) -> None:
    def fail(peer: Peer, message: Any, body: Body) -> None:
        raise (
            ValueError("the receiver is broken") if message.number else InvalidMessage("not what was agreed")
        )

    hub, b = town.member("b", fail)
    _, a = (sender := town.member("a"))
    _, c = (other := town.member("c"))
    sender[0].connect(hub.addresses[0])
    other[0].connect(hub.addresses[0])
    with caplog.at_level(logging.WARNING):
        a.peer("b").send(Note(1))
        assert b.lost("a") == "handling a message failed: the receiver is broken"
        c.peer("b").send(Note(0))
        assert b.lost("c") == "not what was agreed"
    records = [record for record in caplog.records if record.name.startswith("sqlfront_cluster.network")]
    assert len(records) == 2
    assert bool(records[0].exc_info)
    assert not records[1].exc_info


def test_nothing_is_left_behind_after_many_connections(town: Town) -> None:
    hub, b = town.member("b")
    files, threads = open_files(), len(network_threads())
    for _ in range(50):
        transport, a = town.member("a", listen=None)
        transport.connect(hub.addresses[0])
        a.peer("b").send(Note(1))
        transport.close()
    until(lambda: b.count("disconnected") == 50)
    until(lambda: len(network_threads()) == threads)
    until(lambda: open_files() <= files)


def test_who_waits_for_connections_does_nothing(town: Town) -> None:
    town.pair()
    before = time.process_time()
    threading.Event().wait(0.3)
    assert time.process_time() - before < 0.1
