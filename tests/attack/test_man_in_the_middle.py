"""Somebody stands between two members, and sees or alters what they say."""

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from sqlfront_cluster.network.tls.contexts import TlsSettings
from tests.attack.wiretap import Wiretap
from tests.cluster.network.meeting import SECRET, Member, Note, Town, certificates, until

WORD = "not for strangers"


def test_nothing_that_is_said_can_be_read(town: Town) -> None:
    there, b = town.member("b", insecure=False)
    here, a = town.member("a", listen=None, insecure=False)
    with Wiretap(there.addresses[0]) as wiretap:
        here.connect(wiretap.address)
        a.peer("b").send(Note(1, WORD), (WORD.encode() * 1000,))
        b.wait_for(messages=1)
        b.peer("a").send(Note(2, WORD))
        a.wait_for(messages=1)
        heard = wiretap.bytes
    assert len(heard) > len(WORD) * 1000
    for plain in (WORD, "Note", "Hello", "Proof", "test", "0.1.0"):
        assert plain.encode() not in heard


def test_without_tls_everything_could_be(town: Town) -> None:
    """So that the test above is known to look in the right place."""
    there, b = town.member("b")
    here, a = town.member("a", listen=None)
    with Wiretap(there.addresses[0]) as wiretap:
        here.connect(wiretap.address)
        a.peer("b").send(Note(1, WORD))
        b.wait_for(messages=1)
        assert WORD.encode() in wiretap.bytes


@pytest.mark.parametrize("place", [0, 5, 30, -1])
def test_an_altered_byte_ends_the_connection(town: Town, place: int) -> None:
    altering = threading.Event()

    def alter(data: bytes) -> bytes:
        if not altering.is_set():
            return data
        changed = bytearray(data)
        changed[place] ^= 1
        return bytes(changed)

    there, b = town.member("b", insecure=False)
    here, a = town.member("a", listen=None, insecure=False)
    with Wiretap(there.addresses[0], alter) as wiretap:
        here.connect(wiretap.address)
        a.peer("b").send(Note(1))
        b.wait_for(messages=1)
        altering.set()
        a.peer("b").send(Note(2, WORD))
        b.lost("a")
        a.lost("b")
    assert len(b.messages) == 1


class Middleman:
    """Speaks TLS with both sides, with a certificate of its own on each, and hands on what it reads."""

    def __init__(self, target: str, tls: TlsSettings) -> None:
        self._target = target
        self._server, self._client = tls.context(server_side=True), tls.context(server_side=False)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.settimeout(10)
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self.read = bytearray()
        self._thread = threading.Thread(target=self._stand_between, daemon=True)
        self._thread.start()

    def _stand_between(self) -> None:
        host, _, port = self._target.rpartition(":")
        with suppress(OSError):
            near = self._server.wrap_socket(self._listener.accept()[0], server_side=True)
            far = self._client.wrap_socket(socket.create_connection((host, int(port)), 10))
            back = threading.Thread(target=self._hand_on, args=(far, near), daemon=True)
            back.start()
            self._hand_on(near, far)
            back.join(10)
            near.close()
            far.close()

    def _hand_on(self, source: ssl.SSLSocket, target: ssl.SSLSocket) -> None:
        source.settimeout(10)
        with suppress(OSError):
            while data := source.recv(65536):
                self.read += data
                target.sendall(data)
        for each in (source, target):
            with suppress(OSError):
                socket.socket.shutdown(each, socket.SHUT_RDWR)

    def close(self) -> None:
        self._listener.close()
        self._thread.join(20)


@contextmanager
def between(target: str, tls: TlsSettings) -> Iterator[Middleman]:
    """A middleman in front of the target."""
    made = Middleman(target, tls)
    try:
        yield made
    finally:
        made.close()


def pair(town: Town) -> tuple[str, Member, Member]:
    """Where b listens; the two."""
    own = certificates()
    there, b = town.member("b", tls=own)
    _, a = town.member("a", listen=None, tls=own)
    return there.addresses[0], a, b


def test_a_middleman_without_a_certificate_of_the_authority_hears_nothing(town: Town) -> None:
    address, a, b = pair(town)
    with between(address, certificates(b"another secret")) as middleman:
        town.transports[1].connect(middleman.address)
        assert "this side does not trust the certificate of the other side" in a.lost(middleman.address)
    assert not middleman.read
    assert b.events == []


def test_a_middleman_with_a_certificate_of_the_authority_is_noticed(town: Town) -> None:
    """It leaked, or the authority signs for others, too. The handshake is bound to both certificates."""
    address, a, b = pair(town)
    with between(address, certificates(SECRET)) as middleman:
        town.transports[1].connect(middleman.address)
        assert "different secrets" in a.lost(middleman.address)
        until(lambda: town.transports[0].statistics().refused == 1)
    assert b"Proof" in middleman.read
    assert a.peers == b.peers == {}


@pytest.mark.parametrize("stolen", ["a", "b"])
def test_not_even_with_the_certificate_of_one_of_them(town: Town, stolen: str) -> None:
    certificate = {"a": certificates(), "b": certificates()}
    there, b = town.member("b", tls=certificate["b"])
    here, a = town.member("a", listen=None, tls=certificate["a"])
    with between(there.addresses[0], certificate[stolen]) as middleman:
        here.connect(middleman.address)
        assert "different secrets" in a.lost(middleman.address)
    assert a.peers == b.peers == {}
