"""Tables with backups on members in processes: members are killed, and no row is lost."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

import sqlfront
from sqlfront.cluster.cluster_settings import ClusterSettings, begin_with, settings_of
from sqlfront_cluster.launchers.local import LocalCluster
from tests.sqlfront.test_cluster import SECRET, address, ask, cluster_of, kill, started, unless_lost, until

# One worker starts the members.
pytestmark = pytest.mark.xdist_group("cluster sessions")

ROWS = 60
TOTAL = 100 * ROWS


@pytest.fixture
def cluster() -> Iterator[LocalCluster]:
    with started() as cluster:
        yield cluster


class Transfers:
    """A client that moves amounts between rows and reads their sum until it is stopped. ``wrong``: what it
    has read that can't be."""

    def __init__(self, cluster: LocalCluster, number: int) -> None:
        self.done = self.failed = 0
        self.wrong: list[object] = []
        self._cluster, self._number = cluster, number
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        with sqlfront.connect(address(self._cluster), secret=SECRET, workers=1) as connection:
            turn = self._number
            while not self._stop.is_set():
                turn += 7
                try:
                    self._step(connection, turn % ROWS, (turn * 3 + 1) % ROWS)
                    self.done += 1
                except sqlfront.OperationalError as error:
                    self.failed += 1
                    if "were lost with" in str(error):
                        self.wrong.append(str(error))

    def _step(self, connection: sqlfront.Connection, source: int, target: int) -> None:
        if source != target:
            connection.execute(
                "UPDATE t SET v = v + CASE WHEN k = ? THEN -1 ELSE 1 END WHERE k IN (?, ?)",
                [source, source, target],
                timeout=30,
            )
        found = ask(connection, "SELECT count(*), sum(v) FROM t")
        if found != [(ROWS, TOTAL)]:
            self.wrong.append(found)
        one = ask(connection, f"SELECT k FROM t WHERE k = {source}")
        if one != [(source,)]:
            self.wrong.append(one)

    def end(self) -> None:
        self._stop.set()
        self._thread.join(60)
        assert not self._thread.is_alive()


def is_backed(connection: sqlfront.Connection, owners: int) -> bool:
    """Whether the table's rows are in place, with a backup of each of the owners' shares."""
    table = connection.session.context.catalog.lookup(("t",)).table  # type: ignore[union-attr]
    return bool(table.in_place) and len(table.snapshot().held.backups) == owners  # type: ignore[union-attr]


def test_killed_members_lose_no_row_and_clients_go_on(cluster: LocalCluster) -> None:
    with sqlfront.connect(address(cluster), secret=SECRET, workers=1) as connection:
        connection.execute(
            "CREATE TABLE t USING memory CLUSTERED BY (k) OPTIONS (backups 1)"
            f" AS SELECT id AS k, 100L AS v FROM range({ROWS})"
        )
        assert is_backed(connection, 3)
        clients = [Transfers(cluster, number) for number in range(2)]
        try:
            until(lambda: all(client.done > 1 for client in clients))
            kill(cluster, "local-2")
            until(lambda: is_backed(connection, 2))  # the missing backups are made anew
            before = [client.done for client in clients]
            until(lambda: all(client.done > done for client, done in zip(clients, before, strict=True)))
            kill(cluster, "local-1")
            until(lambda: "local-1" not in cluster.members)
            before = [client.done for client in clients]
            until(lambda: all(client.done > done for client, done in zip(clients, before, strict=True)))
        finally:
            for client in clients:
                client.end()
        assert [client.wrong for client in clients] == [[], []]
        assert ask(connection, "SELECT count(*), sum(v) FROM t") == [(ROWS, TOTAL)]


def test_the_first_right_answer_follows_the_removal_at_once(cluster: LocalCluster) -> None:
    with sqlfront.connect(address(cluster), secret=SECRET, workers=1) as connection:
        connection.execute(
            "CREATE TABLE t USING memory CLUSTERED BY (k) OPTIONS (backups 1)"
            f" AS SELECT id AS k, 100L AS v FROM range({ROWS})"
        )
        kill(cluster, "local-2")
        began = time.monotonic()
        found: list[tuple[object, ...]] = []
        while not found:
            found = unless_lost(connection, "SELECT count(*), sum(v) FROM t")
        assert found == [(ROWS, TOTAL)]
        took = time.monotonic() - began
        print(f"{took:.3f} s from SIGKILL to the first right answer")
        assert took < 3.0 + 0.1  # the silence limit of these members, and 100 ms


@pytest.mark.parametrize("value", ["3", "-1", "many"])
def test_other_numbers_of_backups_are_refused(value: str) -> None:
    with sqlfront.connect() as connection:
        with pytest.raises(sqlfront.ProgrammingError, match="backups must be 0, 1 or 2"):
            connection.execute(f"CREATE TABLE t (k BIGINT) USING memory OPTIONS (backups '{value}')")
        with pytest.raises(sqlfront.ProgrammingError, match="takes no option copies"):
            connection.execute("CREATE TABLE t (k BIGINT) USING memory OPTIONS (copies 1)")
        connection.execute("CREATE TABLE t (k BIGINT) USING memory OPTIONS (backups 2)")


# ---- how many


def backups_of(connection: sqlfront.Connection, table: str) -> set[int]:
    found = ask(connection, f"SELECT DISTINCT size(backups) FROM sys.shares WHERE table_name = '{table}'")
    return {int(str(count)) for (count,) in found}


def test_every_session_takes_over_the_backups_that_the_cluster_was_begun_with(cluster: LocalCluster) -> None:
    with cluster.client() as client:
        begin_with(client, ClusterSettings(backups=2))
        begin_with(client, ClusterSettings(backups=0))  # too late: it has some
    with (
        sqlfront.connect(address(cluster), secret=SECRET, workers=1) as one,
        sqlfront.connect(address(cluster), secret=SECRET, workers=1, lite=False) as other,
        sqlfront.connect(address(cluster), secret=SECRET, workers=1, backups=0) as without,
    ):
        rows = "USING memory CLUSTERED BY (k) AS SELECT id AS k FROM range(1000)"
        one.execute(f"CREATE TABLE t {rows}")
        other.execute(f"CREATE TABLE u {rows}")
        one.execute("CREATE TABLE v USING memory OPTIONS (backups 1) AS SELECT id AS k FROM range(1000)")
        without.execute(f"CREATE TABLE w {rows}")
        assert [backups_of(one, table) for table in "tuvw"] == [{2}, {2}, {1}, {0}]


def test_a_member_that_joins_before_any_table_gets_its_share_of_partitions(cluster: LocalCluster) -> None:
    with cluster.client() as client:
        begin_with(client, ClusterSettings(backups=2))
    (newcomer,) = cluster.add(1)
    until(lambda: cluster.members.owners.count(newcomer) == 271 // 4)


def test_a_session_with_members_of_its_own_begins_their_cluster_with_its_backups() -> None:
    with sqlfront.connect(launcher="local", members=3, workers=1, backups=2) as connection:
        documents = cluster_of(connection).documents
        assert settings_of(documents) == ClusterSettings(backups=2)
