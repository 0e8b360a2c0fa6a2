"""`sqlfront member --job-store`: the store's exclusive epoch decides which member is the next keeper."""

import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import sqlfront
from tests.sqlfront.test_cluster_command import COMMAND, ENVIRONMENT

pytestmark = pytest.mark.cluster

SECRET = "open sesame"
#: Seconds to wait: far longer than it takes on a busy machine.
PATIENCE = 40.0


class Town:
    """Members that share a store and no folder."""

    def __init__(self, place: Path) -> None:
        self.place, self.store = place, place / "store"
        self.processes: dict[int, subprocess.Popen[str]] = {}
        self.keeper = f"unix:{place}/0"
        self.start()
        self.start("--join", self.keeper)
        self.start("--join", self.keeper)

    def start(self, *arguments: str) -> str:
        """Start one more member, and return the line that it says when it is ready, or its error."""
        bind = f"unix:{self.place}/{len(self.processes)}"
        given = ("--bind", bind, "--job-store", str(self.store), "--file-access", "all", *arguments)
        process = subprocess.Popen(
            [*COMMAND, "member", *given],
            env={**ENVIRONMENT, "SQLFRONT_SECRET": SECRET},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.processes[process.pid] = process
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith(("member ", "sqlfront: ")):
                return line
        raise AssertionError("the member says nothing")

    def connect(self, *, store: bool = True, lite: bool = True) -> sqlfront.Connection:
        return sqlfront.connect(
            cluster=f"sqlfront://{self.keeper.removeprefix('unix:')}",
            secret=SECRET,
            workers=1,
            job_store=str(self.store) if store else None,
            lite=lite,
        )

    def epoch(self) -> int:
        """The last epoch whose keeper has said where it is."""
        return max(int(path.suffix[1:]) for path in (self.store / "keepers").glob("address.*"))

    def process_of(self, epoch: int) -> int:
        """The process of the keeper of the epoch."""
        path = self.store / "keepers" / f"address.{epoch:06}"
        return int(json.loads(path.read_text())["process"])

    def close(self) -> None:
        for process in self.processes.values():
            process.kill()
            process.communicate()


def until(fact: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not fact():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.05)


@pytest.fixture
def town(tmp_path: Path) -> Iterator[Town]:
    town = Town(tmp_path)
    try:
        yield town
    finally:
        town.close()


def test_members_follow_killed_and_stopped_keepers_and_refuse_those_that_come_back(town: Town) -> None:
    assert "a cluster runs with the store" in town.start()
    with town.connect() as connection:
        connection.execute(
            "CREATE TABLE t USING memory CLUSTERED BY (k) OPTIONS (backups 1)"
            " AS SELECT id AS k FROM range(100)"
        )
        os.kill(town.process_of(1), signal.SIGKILL)
        until(lambda: town.epoch() == 2)
        connection.execute("INSERT INTO t SELECT 100")

        stopped = town.process_of(2)
        town.start("--join", f"unix:{town.place}/0")
        os.kill(stopped, signal.SIGSTOP)
        until(lambda: town.epoch() == 3)
        connection.execute("INSERT INTO t SELECT 101")
        os.kill(stopped, signal.SIGCONT)
        until(lambda: town.processes[stopped].poll() is not None)

        connection.execute("INSERT INTO t SELECT 102")
        assert connection.execute("SELECT count(*), sum(k) FROM t").fetchall() == [(103, 5253)]
        with town.connect() as other:
            assert other.execute("SELECT count(*) FROM t").fetchall() == [(103,)]


def test_sessions_without_the_store_are_told_by_members_where_the_keeper_is(town: Town) -> None:
    with town.connect(store=False) as one, town.connect(store=False, lite=False) as other:
        one.execute("CREATE TABLE t USING memory CLUSTERED BY (k) AS SELECT id AS k FROM range(100)")
        os.kill(town.process_of(1), signal.SIGKILL)
        path = town.keeper.removeprefix("unix:")
        with socket.socket(socket.AF_UNIX) as taken:  # as if the former keeper's machine were another one
            os.unlink(path)
            taken.bind(path)
            taken.listen()
            until(lambda: town.epoch() == 2)
            one.execute("INSERT INTO t SELECT 100")
            other.execute("INSERT INTO t SELECT 101")
            assert one.execute("SELECT count(*), sum(k) FROM t").fetchall() == [(102, 5151)]
