"""A server of Spark Connect that doesn't answer, or isn't there: who is told, and that nothing hangs. In
processes of their own, since one that has talked to a server has no other Spark any more."""

import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec

import pytest

from tests.sqlfront.spark import mute

pytestmark = pytest.mark.skipif(find_spec("grpc") is None, reason="needs the packages of pyspark[connect]")

#: How long what waits for nothing may take on a busy machine (s): less than gRPC waits for a server.
SOON = 15.0
#: Prints the errors of statements that need Spark; nothing is closed.
UNCLOSED = """
import sys, threading, sqlfront
session = sqlfront.connect(spark=sys.argv[1]).session
assert session.execute("SELECT 1 AS a").collect() == [(1,)]
query = session.begin("SELECT * FROM unknown")
threading.Timer(1.5, query.cancel, ("KILL",)).start()
for options in ({"timeout": 0.5}, {"query": query}):
    try:
        session.execute("SELECT * FROM unknown", **options)
    except sqlfront.OperationalError as error:
        print(error.sqlstate, error.message, flush=True)
assert session.execute("SELECT 2 AS a").collect() == [(2,)]
"""
#: The same of one that has as much time as it takes.
CLOSED = """
import sys, time, sqlfront
began = time.monotonic()
with sqlfront.connect(spark=sys.argv[1]) as connection:
    try:
        connection.execute("SELECT * FROM unknown")
    except sqlfront.OperationalError as error:
        print(error.message)
print(time.monotonic() - began)
"""


@pytest.fixture(params=["connections", pytest.param("calls", marks=pytest.mark.cluster)])
def address(request: pytest.FixtureRequest) -> Iterator[str]:
    """The address of one that takes these."""
    command = [sys.executable, "-m", mute.__name__, request.param]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield f"sc://127.0.0.1:{process.stdout.readline().strip()}"
        process.kill()


def printed(program: str, address: str) -> list[str]:
    """What a program prints that ends well and writes no warnings."""
    command = [sys.executable, "-c", program, address]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


def test_statements_end_when_they_are_told_to_and_the_process_with_them(address: str) -> None:
    began = time.monotonic()
    assert printed(UNCLOSED, address) == [
        f"57014 the query ran longer than its timeout of 0.5 s; it was waiting for Spark ({address})",
        f"HY008 the query was cancelled by KILL; it was waiting for Spark ({address})",
    ]
    assert time.monotonic() - began < SOON


def test_ctrl_c_ends_the_command(address: str) -> None:
    command = [sys.executable, "-m", "sqlfront", "--spark", address, "--format", "csv"]
    command += ["-c", "SELECT 1 AS a", "-c", "SELECT * FROM unknown"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert [process.stdout.readline() for _ in range(2)] == ["a\n", "1\n"]
        time.sleep(0.5)  # well into waiting
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=120)
    assert process.returncode == 130
    assert errors.splitlines()[-1] == "sqlfront: interrupted"
    assert time.monotonic() - began < SOON


@pytest.mark.parametrize(
    ("is_there", "reason", "limit"),
    [
        pytest.param(False, "Connection refused", SOON, id="nobody"),
        pytest.param(True, "timed out", 2 * SOON, id="somebody mute", marks=pytest.mark.cluster),
    ],
)
def test_who_does_not_answer_is_given_up(is_there: bool, reason: str, limit: float) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"sc://127.0.0.1:{server.getsockname()[1]}"
        if not is_there:
            server.close()
        message, seconds = printed(CLOSED, address)
    assert message.startswith(f"Spark can't be started ({address}): ")
    assert reason in message
    assert float(seconds) < limit
