"""Sessions of a cluster that have no place in the member list (``lite=False``), with members in processes."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

import sqlfront
from sqlfront_cluster.launchers.local import LocalCluster
from tests.cluster.members.probe import ask as probe
from tests.sqlfront.test_cluster import SECRET, Rows, address, ask, cluster_of, until

pytestmark = pytest.mark.xdist_group("cluster sessions")

TABLE = "CREATE TABLE t USING memory CLUSTERED BY (k) AS SELECT id AS k, id % 10 AS g FROM range(2000)"
#: A query of which no reader waits for the end.
LONG = "SELECT count(*) FROM t a JOIN t b ON a.g = b.g JOIN t c ON b.g = c.g JOIN t d ON c.g = d.g"


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    with LocalCluster(
        3,
        workers=1,
        service="tests.sqlfront.quick_service:service",
        secret=SECRET.encode(),
        silence_limit=5.0,
        preload=("tests.cluster.members.probe",),
    ) as cluster:
        with connect(cluster, lite=True) as connection:
            connection.execute(TABLE)
        yield cluster


def connect(cluster: LocalCluster, *, lite: bool = False) -> sqlfront.Connection:
    return sqlfront.connect(address(cluster), secret=SECRET, workers=1, lite=lite)


def versions(cluster: LocalCluster) -> tuple[int, tuple[str, ...]]:
    """The list's version and the owners, once the sessions that were closed before have left."""
    until(lambda: not any(member.leaving for member in cluster.members.members))
    return cluster.members.version, cluster.members.owners


def idle(cluster: LocalCluster, watcher: sqlfront.Connection) -> bool:
    """Whether no member runs or coordinates a job of anybody."""
    found = [each.statistics for each in probe(cluster_of(watcher).coordinator).values()]
    return len(found) == 3 and not any(each.participations or each.early for each in found)


@pytest.mark.parametrize("count", [5, pytest.param(100, marks=pytest.mark.cluster)])
def test_clients_come_and_go_without_a_new_version(cluster: LocalCluster, count: int) -> None:
    with connect(cluster, lite=True) as watcher:
        before = versions(cluster)
        for _ in range(count):
            with connect(cluster) as client:
                assert client.execute("SELECT g FROM t WHERE k = 17").fetchall() == [(7,)]
        with connect(cluster) as client:
            assert ask(client, "SELECT count(*), sum(g) FROM t") == [(2000, 9000)]
            names = {name for (name,) in ask(client, "SELECT name FROM sys.members")}
            assert cluster_of(client).coordinator.name not in names
            assert names == {"local-0", "local-1", "local-2", cluster_of(watcher).coordinator.name}
            own = cluster_of(client).coordinator.name
            clients = "SELECT name, listed, NOT here FROM sys.clients"
            until(lambda: (own, False, True) in ask(watcher, clients))
            assert ask(client, "SELECT name, listed FROM sys.clients WHERE here") == [(own, False)]
        assert versions(cluster) == before


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("SELECT g, count(*) FROM t GROUP BY g ORDER BY g LIMIT 2", [(0, 200), (1, 200)]),
        ("SELECT count(*) FROM t a JOIN t b ON a.k = b.k", [(2000,)]),
        ("SELECT k FROM t ORDER BY k DESC LIMIT 2", [(1999,), (1998,)]),
        ("SELECT count(*) FROM t JOIN (VALUES (1), (5)) x(k) ON x.k = t.k", [(2,)]),
        (
            "WITH x AS (SELECT g, count(*) c FROM t GROUP BY g) SELECT sum(a.c * b.c) FROM x a, x b",
            [(4_000_000,)],
        ),
        ("SELECT count(*) FROM t WHERE k > (SELECT avg(k) FROM t)", [(1000,)]),
    ],
)
def test_a_member_answers_for_a_client(cluster: LocalCluster, sql: str, rows: Rows) -> None:
    with connect(cluster) as client:
        assert ask(client, sql) == rows
        with pytest.raises(sqlfront.DataError, match="DIVIDE_BY_ZERO"):
            ask(client, "SELECT sum(1 / (k - 5)) FROM t")


def test_a_client_writes_like_a_member(cluster: LocalCluster) -> None:
    with connect(cluster) as one, connect(cluster) as other, connect(cluster, lite=True) as lite:
        before = versions(cluster)
        one.execute("CREATE TABLE w USING memory CLUSTERED BY (k) AS SELECT k, g FROM t WHERE k < 100")
        other.execute("INSERT INTO w VALUES (1000, 1)")
        lite.execute("UPDATE w SET g = 5 WHERE k = 1000")
        one.execute("UPDATE w SET g = g + 1")
        other.execute("DELETE FROM w WHERE k BETWEEN 0 AND 9")
        assert ask(lite, "SELECT count(*), sum(g) FROM w") == [(91, 9 * 45 + 90 + 6)]
        one.execute("DROP TABLE w")
        with pytest.raises(sqlfront.ProgrammingError, match="TABLE_OR_VIEW_NOT_FOUND"):
            ask(other, "SELECT * FROM w")
        assert versions(cluster) == before


def test_a_cancelled_query_ends_on_all_members(cluster: LocalCluster) -> None:
    with connect(cluster) as client, connect(cluster, lite=True) as watcher:
        with pytest.raises(sqlfront.OperationalError) as error:
            client.session.execute(LONG, timeout=0.5).collect()
        assert error.value.sqlstate == "57014"
        until(lambda: idle(cluster, watcher))


CLIENT = f"""
import sys, threading, sqlfront
connection = sqlfront.connect(sys.argv[1], secret={SECRET!r}, workers=1, lite=False)
connection.execute("CREATE TABLE mine USING memory CLUSTERED BY (k) AS SELECT k, g FROM t")
table = connection.session.context.catalog.lookup(("mine",)).table
connection.session.context.cluster.begin_turn(table)
threading.Thread(target=lambda: connection.execute({LONG!r}).fetchall(), daemon=True).start()
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.mark.cluster
def test_a_killed_client_frees_its_jobs_and_turns(cluster: LocalCluster) -> None:
    with connect(cluster, lite=True) as watcher:
        before = versions(cluster)
        process = subprocess.Popen(
            [sys.executable, "-c", CLIENT, address(cluster)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert process.stdout is not None and process.stdin is not None
        try:
            assert process.stdout.readline() == b"ready\n"
            until(lambda: not idle(cluster, watcher))
        finally:
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
            process.stdout.close()
            process.stdin.close()
        until(lambda: idle(cluster, watcher))
        watcher.execute("INSERT INTO mine VALUES (-1, 0)")  # waits until the turn is over
        assert ask(watcher, "SELECT count(*) FROM mine") == [(2001,)]
        watcher.execute("DROP TABLE mine")
        assert versions(cluster) == before


def test_what_needs_a_place_in_the_list_is_refused_by_name() -> None:
    with pytest.raises(sqlfront.ProgrammingError, match="lite=False is for the session of a cluster"):
        sqlfront.connect(lite=False)
    with pytest.raises(sqlfront.ProgrammingError, match="coordinates no durable jobs"):
        sqlfront.connect(cluster="sqlfront://x:1", secret="s", lite=False, job_store="jobs")
