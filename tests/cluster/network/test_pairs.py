"""One connection per pair, however and how often the two connect."""

import select
import socket
import threading
from typing import Any

import pytest

from sqlfront_cluster.network.addresses import Address
from sqlfront_cluster.network.handshake import Identity
from sqlfront_cluster.network.settlement import Connections
from sqlfront_cluster.network.tcp import TcpTransport
from tests.cluster.network.meeting import Note, Town, until


@pytest.mark.parametrize("attempt", range(15))
def test_members_that_connect_to_each_other_at_once_have_one_connection(town: Town, attempt: int) -> None:
    (first, a), (second, b) = town.member("a"), town.member("b")
    barrier = threading.Barrier(2)

    def connect(one: TcpTransport, other: TcpTransport) -> None:
        barrier.wait(10)
        for _ in range(1 + attempt % 3):
            one.connect(other.addresses[0])

    threads = [threading.Thread(target=connect, args=ends) for ends in ((first, second), (second, first))]
    for thread in threads:
        thread.start()
    for number in range(20):
        a.peer("b").send(Note(number))
        b.peer("a").send(Note(number))
    for thread in threads:
        thread.join()
    for member in (a, b):
        member.wait(lambda member: len(member.messages) == 20)
        assert [message.number for _, message, _ in member.messages] == list(range(20))
    # Superfluous attempts end without a word.
    until(lambda: len(first._connections.all()) == len(second._connections.all()) == 1)
    assert a.events == [("connected", "b")]
    assert b.events == [("connected", "a")]


@pytest.mark.parametrize(("one", "other"), [("a", "b"), ("b", "a")])
def test_connecting_to_a_peer_again_changes_nothing(town: Town, one: str, other: str) -> None:
    (first, a), (second, b) = town.member(one), town.member(other)
    first.connect(second.addresses[0])
    peer = a.peer(other)
    b.peer(one)
    first.connect(second.addresses[0])
    second.connect(first.addresses[0])
    until(lambda: len(first._connections.all()) == len(second._connections.all()) == 1)
    peer.send(Note(1))
    b.wait(lambda member: member.messages)
    assert a.events == [("connected", other)]


class Relay:
    """Stands between two members and can vanish for one of them only."""

    def __init__(self, address: str) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = "{}:{}".format(*self._listener.getsockname())
        host, port = address.split(":")
        self._far = socket.create_connection((host, int(port)))
        self._stop, self._stopped = socket.socketpair()
        self._thread = threading.Thread(target=self._pump)
        self._thread.start()

    def _pump(self) -> None:
        near = self._listener.accept()[0]
        other = {near: self._far, self._far: near}
        while self._stopped not in (readable := select.select([*other, self._stopped], [], [])[0]):
            for one in readable:
                other[one].sendall(one.recv(65536))
        near.close()

    def vanish_for_who_connected(self) -> None:
        """The other side notices nothing."""
        self._stop.close()
        self._thread.join()

    def close(self) -> None:
        for one in (self._far, self._listener, self._stopped):
            one.close()


@pytest.mark.parametrize(("one", "other"), [("a", "b"), ("b", "a")])
def test_a_member_that_lost_its_end_connects_anew_and_the_dead_connection_gives_way(
    town: Town, one: str, other: str
) -> None:
    (first, a), (second, b) = town.member(one), town.member(other)
    relay = Relay(second.addresses[0])
    first.connect(relay.address)
    a.peer(other)
    dead = b.peer(one)
    relay.vanish_for_who_connected()
    assert a.lost(other) == "the other side closed the connection"
    assert b.peers[one] is dead
    until(lambda: not first._connections.all())
    first.connect(second.addresses[0])
    b.wait(lambda member: member.count("connected") == 2)
    assert [event[0] for event in b.events] == ["connected", "disconnected", "connected"]
    a.peer(other)
    b.peers[one].send(Note(7))
    a.wait(lambda member: member.messages)
    relay.close()


@pytest.mark.parametrize(("one", "other"), [("a", "b"), ("b", "a")])
def test_a_member_started_anew_takes_the_place_of_its_predecessor(town: Town, one: str, other: str) -> None:
    (first, a), (second, b) = town.member(one), town.member(other)
    first.connect(second.addresses[0])
    a.peer(other)
    b.peer(one)
    anew, c = town.member(one)
    anew.connect(second.addresses[0])
    c.peer(other)
    b.wait(lambda member: member.count("connected") == 2)
    assert [event[0] for event in b.events] == ["connected", "disconnected", "connected"]
    assert a.lost(other) == "the member has connected anew"


def test_a_member_does_not_connect_to_itself(town: Town) -> None:
    first, a = town.member("a")
    first.connect(first.addresses[0])
    assert a.lost(first.addresses[0]) == "the other side is this member itself"
    assert a.count("connected") == 0


def test_eight_members_all_know_each_other(town: Town) -> None:
    members = [town.member(f"m{number}") for number in range(8)]
    for number, (transport, _) in enumerate(members):
        for other, _ in members[:number]:
            transport.connect(other.addresses[0])
    for transport, member in members:
        member.wait(lambda member: len(member.peers) == 7)
        assert [peer.name for peer in transport.statistics().peers] == sorted(member.peers)
        for peer in list(member.peers.values()):
            peer.send(Note(1))
    for _, member in members:
        member.wait(lambda member: len(member.messages) == 7)


def test_an_attempt_that_fails_gives_its_place_back_to_a_connection_that_is_still_ending() -> None:
    class Held:
        def __init__(self, number: int) -> None:
            self.id, self.name = bytes([number]), "b"
            self.identity = Identity("b", "c", "1", bytes(16))
            self.closed, self.replaces, self.finished = False, None, threading.Event()

        def close(self, reason: str) -> None:
            self.closed = True

    connections: Any = Connections("a")
    old, attempt = Held(1), Held(2)
    for held in (old, attempt):
        connections.add(held)
        connections.know(held)
    assert connections._reserve(old) is None
    assert connections._reserve(attempt) is old
    old.close("lost")
    assert connections._reserve(attempt) is None
    assert attempt.replaces is old
    connections.forget(attempt)
    assert connections._chosen["b"] is old
    old.finished.set()
    connections.forget(old)
    assert connections._chosen == {}


def test_addresses_are_written_as_they_are_read() -> None:
    for text in ("host:1", "[::1]:65535", "127.0.0.1:0", "unix:/a/b"):
        assert str(Address.parse(text)) == text
