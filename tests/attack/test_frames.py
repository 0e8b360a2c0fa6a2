"""Whoever sends nonsense, before or after proving to know the secret, harms nobody but itself."""

import socket
from collections import deque
from contextlib import suppress

import pytest

from sqlfront_cluster.launchers.running import network_settings
from sqlfront_cluster.members.protocol.cluster_messages import MESSAGES
from sqlfront_cluster.network.line import Line
from sqlfront_values.errors import OperationalError
from tests.attack.fort import Fort
from tests.attack.frames import Frames

# One worker starts the clusters.
pytestmark = pytest.mark.xdist_group("fort")


def stranger(address: str, data: bytes) -> None:
    """Send the bytes, and hear the end."""
    host, _, port = address.rpartition(":")
    with suppress(OSError), socket.create_connection((host, int(port)), 10) as made:
        made.settimeout(10)
        made.sendall(data)
        made.shutdown(socket.SHUT_WR)
        while made.recv(65536):
            pass


def insider(fort: Fort, address: str, name: str, frames: Frames, count: int) -> None:
    """Prove to know the secret, then send frames until the other side has enough."""
    with suppress(OperationalError, OSError):
        line = Line(network_settings(fort.cluster.security), MESSAGES, address, name, 10.0)
        try:
            for _ in range(count):
                _send(line, frames.after_the_proof() or b"\0")
            line._channel.socket.shutdown(socket.SHUT_WR)
            while True:
                line.receive()
        finally:
            line.close()


def _send(line: Line, data: bytes) -> None:
    line._arm(10.0)
    line._channel.write(deque([data]), wait=True)


@pytest.mark.parametrize("count", [150, pytest.param(3_000, marks=pytest.mark.attack)])
def test_before_the_proof(fort: Fort, count: int) -> None:
    frames = Frames(seed=count)
    with fort.attacked():
        for number in range(count):
            stranger(fort.targets[number % len(fort.targets)], frames.before_the_proof())


@pytest.mark.parametrize("count", [150, pytest.param(3_000, marks=pytest.mark.attack)])
def test_after_the_proof(fort: Fort, count: int) -> None:
    frames = Frames(seed=count)
    with fort.attacked():
        for number in range(count):
            insider(fort, fort.targets[number % len(fort.targets)], f"attacker-{number}", frames, 4)
