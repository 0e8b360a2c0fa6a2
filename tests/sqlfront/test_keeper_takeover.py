"""A member of a started cluster becomes the keeper when the keeper's process is killed or stopped."""

import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import sqlfront
from sqlfront_cluster.launchers.keeper_office import KeeperOffice
from tests.cluster.launchers.test_local import until
from tests.sqlfront.test_cluster_command import sqlfront as command

pytestmark = pytest.mark.cluster

#: Seconds to wait for a new keeper: longer than a takeover takes on a busy machine, since the limit only ends
#: the wait for a keeper that doesn't come. Members give up after five seconds without a keeper.
TAKEOVER = 30.0
#: Seconds after which the cluster gives up a member that is silent but may live.
SILENCE_LIMIT = 5.0


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """The folder of a cluster of three members."""
    place = tmp_path / "run"
    try:
        started = command("cluster", "start", "-n", "3", "--directory", str(place))
        assert started.returncode == 0, started
        yield place
    finally:
        stopped = command("cluster", "stop", "--directory", str(place))
    assert (stopped.returncode, stopped.stdout) == (0, "the cluster has ended\n"), stopped
    assert sorted(path.name for path in place.iterdir()) == ["launcher.log", "lock"]


def keeper(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "cluster.json").read_text())
    return found


def await_epoch(folder: Path, epoch: int) -> None:
    deadline = time.monotonic() + TAKEOVER
    while keeper(folder)["epoch"] < epoch:
        assert time.monotonic() < deadline, "nobody has become the keeper"
        time.sleep(0.02)


def connected(folder: Path, *, lite: bool = True) -> sqlfront.Connection:
    return sqlfront.connect(cluster="sqlfront://", credentials=str(folder / "credentials.json"), lite=lite)


class Accounts(threading.Thread):
    """A client that reads all accounts and adds one to its own, again and again. Without ``lite`` it has no
    place in the member list."""

    def __init__(self, folder: Path, number: int, *, lite: bool = True) -> None:
        super().__init__(daemon=True)
        self.number = number
        self.connection = connected(folder, lite=lite)
        self.stop = threading.Event()
        self.confirmed = self.unknown = 0
        self.errors: list[sqlfront.Error] = []
        self.wrong: list[object] = []
        self.longest = 0.0

    def run(self) -> None:
        while not self.stop.is_set():
            began = time.monotonic()
            try:
                self._turn()
            except sqlfront.OperationalError as error:
                self.errors.append(error)
                if error.sqlstate == "08007":
                    self.unknown += 1
            self.longest = max(self.longest, time.monotonic() - began)

    def _turn(self) -> None:
        rows = self.connection.execute("SELECT count(*), count(DISTINCT k) FROM account").fetchall()
        if [tuple(row) for row in rows] != [(4, 4)]:
            self.wrong.append(rows)
        self.connection.execute("UPDATE account SET v = v + 1 WHERE k = ?", [self.number])
        self.confirmed += 1


def test_reads_and_writes_go_on_while_keepers_are_killed(folder: Path) -> None:
    with connected(folder) as connection:
        connection.execute(
            "CREATE TABLE account USING memory CLUSTERED BY (k) INTO 271 BUCKETS"
            " AS SELECT id AS k, 0 AS v FROM range(4)"
        )
        clients = [Accounts(folder, number, lite=number < 2) for number in range(4)]
        for client in clients:
            client.start()
        time.sleep(1)
        os.kill(keeper(folder)["pid"], signal.SIGKILL)
        await_epoch(folder, 2)
        before = [client.confirmed for client in clients]
        until(lambda: all(client.confirmed > done + 1 for client, done in zip(clients, before, strict=True)))
        for client in clients:
            client.stop.set()
        for client in clients:
            client.join(60)
            assert not client.is_alive()

        values = {row[0]: row[1] for row in connection.execute("SELECT k, v FROM account").fetchall()}
        for client in clients:
            assert not client.wrong
            assert not client.errors, client.errors
            assert client.longest < 5
            assert values[client.number] == client.confirmed
            client.connection.close()


def test_a_killed_member_is_missed_at_once_also_by_a_member_that_is_the_keeper(folder: Path) -> None:
    former = keeper(folder)["pid"]
    members = Path(f"/proc/{former}/task/{former}/children").read_text().split()
    with connected(folder) as connection:
        connection.execute("CREATE TABLE t USING memory CLUSTERED BY (k) AS SELECT id AS k FROM range(1000)")
        os.kill(former, signal.SIGKILL)
        await_epoch(folder, 2)
        connection.execute("INSERT INTO t SELECT 1000")
        until(lambda: connection.execute("SELECT count(*) FROM sys.members").fetchall() == [(4,)])
        os.kill(next(pid for pid in map(int, members) if pid != keeper(folder)["pid"]), signal.SIGKILL)
        killed = time.monotonic()
        until(lambda: connection.execute("SELECT count(*) FROM sys.members").fetchall() == [(3,)])

        assert time.monotonic() - killed < 0.8 * SILENCE_LIMIT
        assert connection.execute("SELECT count(*), sum(k) FROM t").fetchall() == [(1001, 500500)]


def test_a_keeper_that_was_stopped_is_followed_and_then_refused(folder: Path) -> None:
    former = keeper(folder)
    with connected(folder) as connection:
        connection.execute("CREATE TABLE t USING memory AS SELECT id FROM range(100)")
        os.kill(former["pid"], signal.SIGSTOP)
        await_epoch(folder, 2)
        connection.execute("INSERT INTO t SELECT 100")
        os.kill(former["pid"], signal.SIGCONT)
        deadline = time.monotonic() + 5
        while Path(f"/proc/{former['pid']}").exists():
            assert time.monotonic() < deadline, "the former keeper goes on"
            time.sleep(0.05)

        connection.execute("INSERT INTO t SELECT 101")
        assert connection.execute("SELECT count(*) FROM t").fetchall() == [(102,)]
        assert connection.execute("SELECT count(*) FROM sys.members").fetchall() == [(4,)]
        assert "another process is the keeper now" in (folder / "launcher.log").read_text()
        with connected(folder) as other:
            assert other.execute("SELECT count(*) FROM t").fetchall() == [(102,)]


def test_the_second_keeper_of_a_folder_is_refused_also_after_a_takeover(folder: Path) -> None:
    os.kill(keeper(folder)["pid"], signal.SIGKILL)
    await_epoch(folder, 2)
    refused = command("cluster", "start", "--directory", str(folder))
    assert refused.returncode == 1 and "runs already" in refused.stderr
    assert KeeperOffice(str(folder)).take(after=2, silent=False) is None


def test_a_member_that_is_the_keeper_hands_its_rows_and_then_the_office_over(folder: Path) -> None:
    with connected(folder) as connection:
        connection.execute("CREATE TABLE t USING memory CLUSTERED BY (k) AS SELECT id AS k FROM range(1000)")
        os.kill(keeper(folder)["pid"], signal.SIGKILL)
        await_epoch(folder, 2)
        connection.execute("INSERT INTO t SELECT 1000")
        os.kill(keeper(folder)["pid"], signal.SIGTERM)
        await_epoch(folder, 3)

        rows = "SELECT count(*), sum(k) FROM t"
        assert connection.execute(rows).fetchall() == [(1001, 500500)]
        connection.execute("INSERT INTO t SELECT 1001")
        assert connection.execute(rows).fetchall() == [(1002, 501501)]
    status = command("cluster", "status", "--directory", str(folder))
    assert status.returncode == 0 and status.stdout.count("  member  ") == 2, status


def test_writers_end_at_their_timeout_while_the_keeper_is_stopped(folder: Path) -> None:
    """They waited for the keeper for up to a minute. What can't be known is said."""
    with connected(folder) as connection:
        connection.execute("CREATE TABLE t (k INT, v INT) USING memory CLUSTERED BY (k)")
        connection.execute("INSERT INTO t VALUES (1, 1)")
        stopped = keeper(folder)["pid"]
        os.kill(stopped, signal.SIGSTOP)
        try:
            for statement, sqlstate in (
                ("INSERT INTO t VALUES (2, 2)", "08007"),  # the new version may have reached the keeper
                ("INSERT INTO t SELECT id, id FROM range(10, 5000)", "57014"),  # only a turn was asked for
            ):
                began = time.monotonic()
                with pytest.raises(sqlfront.OperationalError) as error:
                    connection.execute(statement, timeout=0.5)
                assert (error.value.sqlstate, time.monotonic() - began < 2.0) == (sqlstate, True)
        finally:
            os.kill(stopped, signal.SIGCONT)
        connection.execute("INSERT INTO t VALUES (3, 3)")
        found = connection.execute("SELECT k FROM t WHERE k >= 3").fetchall()
        assert found == [(3,)]


#: Statements, the SQLSTATE at their timeout while the keeper is stopped, and the tables once it goes on.
DDL = (
    ("CREATE TABLE n (k INT) USING memory CLUSTERED BY (k)", "57014", {"t", "u"}),
    ("CREATE TABLE n USING memory AS SELECT 1 AS k", "57014", {"t", "u"}),
    ("CREATE VIEW n AS SELECT 1 AS k", "08007", {"n", "t", "u"}),
    ("ALTER TABLE t RENAME TO r", "08007", {"n", "r", "t", "u"}),
    ("COMMENT ON TABLE u IS 'it'", "08007", {"n", "r", "t", "u"}),
    ("DROP TABLE u", "08007", {"n", "r", "t"}),
)


def test_ddl_ends_at_its_timeout_while_the_keeper_is_stopped(folder: Path) -> None:
    """It waited for up to a minute. What nobody refers to yet is given up; of all else the error says that it
    may have been made."""
    with connected(folder) as connection:
        for name in ("t", "u"):
            connection.execute(f"CREATE TABLE {name} (k INT) USING memory CLUSTERED BY (k)")
            connection.execute(f"INSERT INTO {name} VALUES (1), (2)")
        for statement, sqlstate, tables in DDL:
            stopped = keeper(folder)["pid"]
            os.kill(stopped, signal.SIGSTOP)
            try:
                began = time.monotonic()
                with pytest.raises(sqlfront.OperationalError) as error:
                    connection.execute(statement, timeout=1)
                assert (error.value.sqlstate, time.monotonic() - began < 4.0) == (sqlstate, True), statement
            finally:
                os.kill(stopped, signal.SIGCONT)
            connection.execute("COMMENT ON SCHEMA default IS 'now'")  # behind whatever was sent
            found = {name for _, name, *_ in connection.execute("SHOW TABLES").fetchall()}
            assert found == tables, statement
        connection.execute("CREATE TABLE fresh (k INT) USING memory")
        assert connection.execute("SELECT count(*) FROM t JOIN r USING (k) JOIN n USING (k)").fetchall() == [
            (1,)
        ]
