"""Members that write down what they hear, and how tests wait for it."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec

from sqlfront_cluster.network.tcp import NetworkSettings, TcpTransport
from sqlfront_cluster.network.tls.authority import issue
from sqlfront_cluster.network.tls.contexts import TlsSettings
from sqlfront_cluster.network.transport import Body, Peer

#: Seconds within which everything that a test waits for must have happened.
PATIENCE = 20.0


class Note(msgspec.Struct, frozen=True, tag=True):
    """What the tests send."""

    number: int
    text: str = ""


class Order(msgspec.Struct, frozen=True, tag=True):
    """A second kind of message."""

    name: str
    parts: tuple[bytes, ...] = ()


TYPES = (Note, Order)
SECRET = b"the secret of the tests"

#: What a member does with a message.
Answer = Callable[[Peer, msgspec.Struct, Body], None]


class Member:
    """A receiver that writes everything down. ``answer`` is called with each message, outside any lock."""

    def __init__(self, answer: Answer | None = None) -> None:
        self.changed = threading.Condition()
        self.events: list[tuple[str, ...]] = []
        # Any, since the tests look into what they know to be theirs.
        self.messages: list[tuple[str, Any, Any]] = []
        self.peers: dict[str, Any] = {}
        self._answer = answer
        self._busy: set[int] = set()

    def connected(self, peer: Peer) -> None:
        with self._call(peer):
            assert peer.name not in self.peers, "one peer a name"
            self.peers[peer.name] = peer
            self.events.append(("connected", peer.name))

    def received(self, peer: Peer, message: msgspec.Struct, body: Body) -> None:
        with self._call(peer):
            assert self.peers[peer.name] is peer
            self.messages.append((peer.name, message, body))
        if self._answer is not None:
            self._answer(peer, message, body)

    def disconnected(self, peer: Peer, reason: str) -> None:
        with self._call(peer):
            if self.peers.get(peer.name) is peer:
                del self.peers[peer.name]
            self.events.append(("disconnected", peer.name, reason))

    @contextmanager
    def _call(self, peer: Peer) -> Iterator[None]:
        with self.changed:
            assert id(peer) not in self._busy, "never two calls for one peer"
            self._busy.add(id(peer))
            try:
                yield
            finally:
                self._busy.discard(id(peer))
                self.changed.notify_all()

    def wait(self, fact: Callable[["Member"], object], patience: float = PATIENCE) -> None:
        """Until the fact holds; the test fails if that takes too long."""
        with self.changed:
            assert self.changed.wait_for(lambda: fact(self), patience), (self.events, len(self.messages))

    def peer(self, name: str) -> Any:
        """The peer of that name, when it is connected."""
        self.wait(lambda member: name in member.peers)
        return self.peers[name]

    def lost(self, name: str) -> str:
        """The reason of the connection's end, when it has ended."""
        found: list[str] = []

        def heard(member: Member) -> bool:
            found[:] = [event[2] for event in member.events if event[:2] == ("disconnected", name)]
            return bool(found)

        self.wait(heard)
        return found[-1]

    def wait_for(self, messages: int) -> None:
        """Until that many have come."""
        self.wait(lambda member: len(member.messages) == messages)

    def count(self, kind: str) -> int:
        """How many events of that kind there were."""
        return sum(event[0] == kind for event in self.events)


def until(fact: Callable[[], object], patience: float = PATIENCE) -> None:
    """Until the fact holds, asked again and again."""
    deadline = time.monotonic() + patience
    pause = threading.Event()
    while not fact():
        assert time.monotonic() < deadline, "it never came true"
        pause.wait(0.002)


def settings(**changes: object) -> NetworkSettings:
    """A cluster's settings: without TLS unless certificates are given, and each refusal is logged."""
    given: dict[str, object] = {"cluster": "test", "secret": SECRET, "product": "0.1.0", **changes}
    given.setdefault("insecure", "tls" not in given)
    given.setdefault("refusal_period", 0.0)
    return NetworkSettings(**given)  # type: ignore[arg-type]


class Town:
    """Makes transports and closes them at the end."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.transports: list[TcpTransport] = []

    def transport(
        self, name: str | None = None, *, listen: str | None = "127.0.0.1:0", **changes: object
    ) -> TcpTransport:
        """A transport that isn't started."""
        listens = [] if listen is None else [listen]
        transport = TcpTransport(settings(**changes), TYPES, listen=listens, name=name)
        self.transports.append(transport)
        return transport

    def member(
        self,
        name: str | None = None,
        answer: Answer | None = None,
        **options: object,
    ) -> tuple[TcpTransport, Member]:
        """A started transport and who hears it."""
        transport, member = self.transport(name, **options), Member(answer)  # type: ignore[arg-type]
        transport.start(member)
        return transport, member

    def pair(self, **options: object) -> tuple[tuple[TcpTransport, Member], tuple[TcpTransport, Member]]:
        """Two members; the first has connected to the second."""
        first, second = self.member("a", **options), self.member("b", **options)  # type: ignore[arg-type]
        first[0].connect(second[0].addresses[0])
        first[1].peer("b")
        second[1].peer("a")
        return first, second

    def close(self) -> None:
        """Close all transports."""
        for transport in self.transports:
            transport.close()


def open_files() -> int:
    """How many files this process has open."""
    for folder in ("/proc/self/fd", "/dev/fd"):
        with suppress(OSError):
            return len(os.listdir(folder))
    raise AssertionError("no way to count open files")


def network_threads() -> list[str]:
    """The network's threads in this process."""
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("sqlfront-network")]


def certificates(secret: bytes = SECRET) -> TlsSettings:
    """A member's certificate, by the authority of the secret."""
    return issue(secret)
