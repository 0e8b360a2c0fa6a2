"""Connections that say nothing, little by little, or everything at once; and very many of them."""

import socket
import threading
import time
from contextlib import ExitStack, suppress

import pytest

import sqlfront
from sqlfront_cluster.network.frames import HEADER, MAGIC, PROTOCOL_VERSION, FrameKind, encode_frame
from sqlfront_cluster.network.handshake import Hello
from tests.attack.fort import SECRET, Fort

# One worker starts the clusters.
pytestmark = pytest.mark.xdist_group("fort")


def opened(address: str) -> socket.socket:
    host, _, port = address.rpartition(":")
    return socket.create_connection((host, int(port)), 10)


def newcomer(fort: Fort) -> float:
    """The seconds that a new session takes to come about and be answered."""
    began = time.perf_counter()
    insecure = fort.cluster.security.insecure or None
    where = f"sqlfront://{fort.cluster.address}"
    with sqlfront.connect(where, secret=SECRET, insecure=insecure, workers=1) as connection:
        assert connection.execute("SELECT count(*) FROM t").fetchall() == [(1000,)]
    return time.perf_counter() - began


def test_half_open_connections_keep_nobody_out(fort: Fort) -> None:
    """More than a member has room for, all of them silent, or one byte short of a whole frame."""
    short = b"".join(map(bytes, encode_frame(int(FrameKind.CONTROL), Hello(bytes(32))).parts))[:-1]
    with fort.attacked(), ExitStack() as held:
        for number in range(100):
            for address in fort.targets:
                stranger = held.enter_context(opened(address))
                with suppress(OSError):
                    stranger.sendall(short if number % 2 else b"")
        assert newcomer(fort) < 5.0


@pytest.mark.attack
def test_who_sends_byte_by_byte_is_given_up(fort: Fort) -> None:
    head = HEADER.pack(MAGIC, PROTOCOL_VERSION, int(FrameKind.CONTROL), 4000, 0) + bytes(4000)
    ended: list[float] = []

    def drip(address: str) -> None:
        began = time.monotonic()
        with opened(address) as stranger, suppress(OSError):
            for byte in head:
                stranger.sendall(bytes([byte]))
                time.sleep(0.02)
        ended.append(time.monotonic() - began)

    with fort.attacked():
        threads = [threading.Thread(target=drip, args=(each,)) for each in fort.targets for _ in range(5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert max(ended) < 15.0, "a handshake has five seconds"


@pytest.mark.parametrize("count", [300, pytest.param(5_000, marks=pytest.mark.attack)])
def test_connections_come_and_go_by_the_hundred(fort: Fort, count: int) -> None:
    with fort.attacked():
        for number in range(count):
            opened(fort.targets[number % len(fort.targets)]).close()
        newcomer(fort)


def test_whoever_reads_nothing_is_waited_for_by_nobody(fort: Fort) -> None:
    """A client that asks for many rows and doesn't take them: the others don't wait for it."""
    insecure = fort.cluster.security.insecure or None
    where = f"sqlfront://{fort.cluster.address}"
    lazy = sqlfront.connect(where, secret=SECRET, insecure=insecure, workers=1)
    with fort.attacked():
        cursors = [lazy.execute("SELECT a.id, b.id FROM t a, t b") for _ in range(5)]
        time.sleep(1.0)
        assert all(cursor.fetchone() for cursor in cursors)
        lazy.close()
