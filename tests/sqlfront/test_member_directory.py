"""`sqlfront member --directory`: members of one directory are one cluster, which outlives its keeper."""

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from sqlfront.shell.cluster import main
from tests.sqlfront.test_cluster_command import COMMAND, ENVIRONMENT
from tests.sqlfront.test_cluster_command import sqlfront as command
from tests.sqlfront.test_keeper_takeover import Accounts, await_epoch, connected, keeper

SUM = "SELECT count(*), sum(v) FROM account"


class Town:
    """Members by hand in a directory."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.processes: list[subprocess.Popen[str]] = []

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start one more member."""
        process = subprocess.Popen(
            [*COMMAND, "member", "--directory", str(self.folder), *arguments],
            env=ENVIRONMENT,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.processes.append(process)
        return process

    def told(self) -> list[str]:
        """What each member says when it is ready: the verb of its line."""
        lines = []
        for process in self.processes:
            assert process.stdout is not None
            lines.append(process.stdout.readline())
        return sorted(line.split()[2] for line in lines)

    def close(self) -> None:
        for process in self.processes:
            process.kill()
            process.communicate()


@pytest.fixture
def town(tmp_path: Path) -> Iterator[Town]:
    town = Town(tmp_path / "run")
    try:
        yield town
    finally:
        town.close()


@pytest.mark.cluster
def test_members_of_one_directory_are_a_cluster_that_outlives_its_keepers(town: Town) -> None:
    for _ in range(3):
        town.start()
    assert town.told() == ["has", "has", "keeps"]
    with connected(town.folder) as connection:
        connection.execute(
            "CREATE TABLE account USING memory CLUSTERED BY (k) OPTIONS (backups 1)"
            " AS SELECT id AS k, 0 AS v FROM range(4)"
        )
        client = Accounts(town.folder, 2)
        client.start()
        for number, epoch in ((signal.SIGKILL, 2), (signal.SIGTERM, 3)):
            town.start()  # it joins while the keeper ends
            os.kill(keeper(town.folder)["pid"], number)
            await_epoch(town.folder, epoch)
        refused = command("cluster", "start", "--directory", str(town.folder))
        assert refused.returncode == 1 and "runs already" in refused.stderr
        client.stop.set()
        client.join(60)
        assert not client.is_alive() and not client.wrong
        found = connection.execute(SUM).fetchall()[0]
        assert client.confirmed > 0 and not client.unknown and tuple(found) == (4, client.confirmed)
        client.connection.close()
    stopped = command("cluster", "stop", "--directory", str(town.folder))
    assert (stopped.returncode, stopped.stdout) == (0, "the cluster has ended\n"), stopped
    codes = [process.wait(10) for process in town.processes]
    assert -signal.SIGKILL in codes
    assert [path.name for path in town.folder.iterdir()] == ["lock"]


@pytest.mark.cluster
def test_the_last_member_ends_the_cluster_and_the_next_one_begins_another(town: Town) -> None:
    for _ in range(2):
        first = town.start()
        assert first.stdout is not None and "keeps a new cluster" in first.stdout.readline()
        first.send_signal(signal.SIGTERM)
        assert first.wait(30) == 0


@pytest.mark.cluster
def test_a_member_with_another_secret_is_refused_by_name(town: Town) -> None:
    town.start()
    assert town.told() == ["keeps"]
    (town.folder / "other").write_text("a guess")
    tried = command("member", "--directory", str(town.folder), "--secret-file", str(town.folder / "other"))
    assert tried.returncode == 1 and "different secrets" in tried.stderr, tried


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--directory", "somewhere", "--join", "127.0.0.1:1"), "by --join or by --directory, not by both"),
        (("--join", "127.0.0.1:1"), "needs an address, --bind, or a cluster's directory"),
        (("--directory", "/proc/self/run"), "can't be used"),
        (
            ("--bind", "127.0.0.1:0", "--job-store", "/proc/store"),
            "which decides on the keeper, can't be used",
        ),
    ],
)
def test_a_member_that_is_started_wrongly_is_told_why(
    arguments: tuple[str, ...], said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SQLFRONT_SECRET", "x")
    assert main(["member", *arguments]) == 1
    assert said in capsys.readouterr().err
