"""The process at the other end of a Unix socket, and its end."""

import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sqlfront_cluster.network.peer_process import WatchedProcess, process_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="other systems don't tell")

#: The first argument is the path of a socket: connects, closes the connection when it is told, and stays.
CALLER = """
import socket, sys
connection = socket.socket(socket.AF_UNIX)
connection.connect(sys.argv[1])
sys.stdin.readline()
connection.close()
sys.stdin.readline()
"""


@pytest.fixture
def caller(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[bytes], socket.socket]]:
    """A process that has connected, and this side of the connection."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))
        listener.listen()
        command = [sys.executable, "-S", "-c", CALLER, str(tmp_path / "socket")]
        with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
            try:
                connection, _ = listener.accept()
                with connection:
                    yield process, connection
            finally:
                process.kill()


def has_ended(process: WatchedProcess | None) -> bool:
    assert process is not None
    return process.ended


def test_a_killed_process_has_ended(caller: tuple[subprocess.Popen[bytes], socket.socket]) -> None:
    process, connection = caller
    watched = process_of(connection)
    assert not has_ended(watched)
    process.send_signal(signal.SIGSTOP)
    assert not has_ended(watched)
    process.kill()
    assert connection.recv(1) == b""
    deadline = time.monotonic() + 10
    while not has_ended(watched):  # before anybody has waited for it
        assert time.monotonic() < deadline


def test_the_end_of_a_connection_is_not_that_of_its_process(
    caller: tuple[subprocess.Popen[bytes], socket.socket],
) -> None:
    process, connection = caller
    watched = process_of(connection)
    assert process.stdin is not None and watched is not None
    process.stdin.write(b"\n")
    process.stdin.flush()
    assert connection.recv(1) == b""
    assert not watched.ended


def test_of_a_connection_over_tcp_nothing_is_known() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        with socket.create_connection(listener.getsockname()):
            accepted, _ = listener.accept()
            with accepted:
                assert process_of(accepted) is None
