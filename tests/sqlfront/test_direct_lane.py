"""Lookups by key on members in processes of their own: what they cost, and what becomes of them when the
cluster changes meanwhile."""

from __future__ import annotations

import gc
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

import sqlfront
from sqlfront.cluster.processes import Client
from sqlfront_cluster.launchers.local import LocalCluster
from sqlfront_connectors.base import MOST_FOUND, RowPath, TooManyRows
from sqlfront_connectors.memory.spread.table import SpreadTable
from sqlfront_values.errors import OperationalError
from sqlfront_values.partitioning.partitions import key_hasher
from sqlfront_values.types import BIGINT
from tests.cluster.launchers.stopping import stop
from tests.cluster.members.probe import resident
from tests.sqlfront.quick_service import SERVICE
from tests.sqlfront.test_cluster import SECRET, address, kill, until

# One worker starts the members.
pytestmark = pytest.mark.xdist_group("direct lane")

ROWS = 3000
MIB = 1 << 20
#: Whether the path to the rows is known already; `make cluster` has both.
WARM = [pytest.param(False, marks=pytest.mark.cluster), True]
#: What belongs to the membership, and comes by the clock.
MEMBERSHIP = ("Heartbeat", "HeartbeatAnswer", "ListAdopted", "DocumentsSeen")


class Lookups:
    """A session of the cluster, and the way to the rows of its table."""

    def __init__(self, cluster: LocalCluster) -> None:
        self.connection = sqlfront.connect(address(cluster), secret=SECRET, workers=1)
        self.connection.execute(
            "CREATE OR REPLACE TABLE t USING memory CLUSTERED BY (k) INTO 271 BUCKETS "
            f"AS SELECT id AS k, id * 2 AS v FROM range({ROWS})"
        )
        session = self.connection.session
        assert isinstance(session.cluster, Client)
        self.client = session.cluster
        entry = session.context.catalog.entries()[0]
        self.table: SpreadTable = entry.table  # type: ignore[union-attr, assignment]
        self.path = self.path_now()

    def path_now(self) -> RowPath:
        path = self.table.snapshot().row_path((0,), (0, 1))
        assert path is not None
        return path

    def owner_of(self, key: int) -> str:
        owners = self.client.member_list.owners
        return owners[key_hasher([BIGINT])((key,)) % len(owners)]

    def keys_of(self, owner: str, count: int) -> list[int]:
        return [key for key in range(ROWS) if self.owner_of(key) == owner][:count]

    def messages(self) -> Counter[str]:
        """Those of the session so far, in both directions."""
        statistics = self.client.coordinator._transport.statistics()
        counted = Counter[str]()
        for kinds in (statistics.sent, statistics.received):
            counted.update(
                {kind: traffic.messages for kind, traffic in kinds.items() if kind not in MEMBERSHIP}
            )
        return counted

    def close(self) -> None:
        self.connection.close()


@pytest.fixture(scope="module")
def quiet() -> Iterator[LocalCluster]:
    """For tests that change nothing of it."""
    with LocalCluster(3, workers=1, service=SERVICE, secret=SECRET.encode(), tcp=True) as cluster:
        yield cluster


@pytest.fixture
def lookups(quiet: LocalCluster) -> Iterator[Lookups]:
    lookups = Lookups(quiet)
    yield lookups
    lookups.close()


def test_a_lookup_costs_one_request_and_one_answer(lookups: Lookups) -> None:
    before = lookups.messages()
    for key in range(50):
        assert lookups.path.find([(key,)]) == [[(key, 2 * key)]]

    assert lookups.messages() - before == {"Request": 50, "Answer": 50}


def test_many_keys_cost_one_request_for_each_member(lookups: Lookups) -> None:
    before = lookups.messages()
    found = lookups.path.find([(key,) for key in range(ROWS + 5)])

    assert found == [[(key, 2 * key)] for key in range(ROWS)] + [[]] * 5
    assert lookups.messages() - before == {"Request": 3, "Answer": 3}


def test_the_thread_that_waits_takes_the_answer_itself(lookups: Lookups) -> None:
    member = lookups.client.coordinator
    received, threads = member.received, Counter[str]()

    def note(*message: object) -> None:
        threads[threading.current_thread().name] += 1
        received(*message)  # type: ignore[arg-type]

    member.received = note  # type: ignore[method-assign, assignment]
    for key in range(100):
        lookups.path.find([(key,)])

    # The first answer of each connection shows that somebody wants to.
    assert threads[threading.current_thread().name] >= 100 - 2 * 3


def test_a_long_answer_arrives(quiet: LocalCluster) -> None:
    lookups = Lookups(quiet)
    lookups.connection.execute(f"INSERT INTO t SELECT 1, id FROM range({MOST_FOUND - 1})")
    path = lookups.path_now()

    (rows,) = path.find([(1,)])
    assert sum(row[1] for row in rows) == 2 + sum(range(MOST_FOUND - 1))  # type: ignore[misc]
    with pytest.raises(TooManyRows):
        path.find([(1,), *((key,) for key in lookups.keys_of(lookups.owner_of(1), 5))])
    lookups.close()


def test_threads_look_up_beside_jobs(lookups: Lookups) -> None:
    errors: list[BaseException] = []

    def look_up(first: int) -> None:
        try:
            for key in range(first, first + 300):
                assert lookups.path.find([(key,)]) == [[(key, 2 * key)]]
        except BaseException as error:  # noqa: BLE001 - shown by the assertion
            errors.append(error)

    threads = [threading.Thread(target=look_up, args=(number * 500,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(5):
        assert lookups.connection.execute("SELECT sum(v) FROM t").fetchall() == [(ROWS * (ROWS - 1),)]
    for thread in threads:
        thread.join()

    assert errors == []


@pytest.mark.parametrize("count", [1000, pytest.param(10_000, marks=pytest.mark.cluster)])
def test_nothing_is_left_of_many_lookups(lookups: Lookups, quiet: LocalCluster, count: int) -> None:
    member = lookups.client.coordinator

    def look_up(times: int) -> None:
        for number in range(times):
            lookups.path.find([(number % ROWS,)] if number % 3 else [(number,), (-number,), (None,)])

    def state() -> tuple[int, int, int]:
        gc.collect()
        return len(gc.get_objects()), threading.active_count(), len(os.listdir("/proc/self/fd"))

    look_up(500)
    processes = [process.pid for process in quiet.processes.values()]
    before, sizes = state(), [resident(process) for process in (os.getpid(), *processes)]
    look_up(count)
    after = state()

    assert after[0] <= before[0] + 100
    assert after[1:] <= before[1:]
    for was, process in zip(sizes, (os.getpid(), *processes), strict=True):
        assert resident(process) <= was + 16 * MIB
    assert member.statistics().idle
    assert len(member.requests) == 0


# ---- UPDATE and DELETE by key


def test_a_change_by_key_needs_no_job(quiet: LocalCluster) -> None:
    lookups = Lookups(quiet)
    connection = lookups.connection
    statements = ["UPDATE t SET v = v + 1 WHERE k = {}", "DELETE FROM t WHERE k = {}"]
    for number, statement in enumerate(statements):
        connection.execute(statement.format(number))
    before = lookups.messages()
    for number, statement in enumerate(statements * 5):
        connection.execute(statement.format(number + 2))

    # A question to the owner if the new values depend on the row, one to the owner and to the holder of the
    # backup; one change of documents.
    assert lookups.messages() - before == {
        "Request": 5 * (1 + 2) + 5 * 2,
        "Answer": 5 * (1 + 2) + 5 * 2,
        "PutDocument": 10,
        "DocumentChanged": 10,
        "DocumentAnswer": 10,
    }
    assert connection.execute("SELECT k, v FROM t WHERE k < 13 ORDER BY k").fetchall() == [
        (0, 1),
        (2, 5),
        (4, 9),
        (6, 13),
        (8, 17),
        (10, 21),
        (12, 24),
    ]
    before = lookups.messages()
    assert connection.execute("DELETE FROM t WHERE k = 1").rowcount == 0
    assert lookups.messages() - before == {"Request": 2, "Answer": 2}
    lookups.close()


def test_sessions_change_the_same_rows_one_after_the_other(quiet: LocalCluster) -> None:
    lookups = Lookups(quiet)
    sessions = [sqlfront.connect(address(quiet), secret=SECRET, workers=1) for _ in range(3)]
    errors: list[BaseException] = []

    def count(session: sqlfront.Connection) -> None:
        try:
            for number in range(20):
                session.execute(f"UPDATE t SET v = v + 1 WHERE k IN (7, {10 + number})")
        except BaseException as error:  # noqa: BLE001 - shown by the assertion
            errors.append(error)

    threads = [threading.Thread(target=count, args=(session,)) for session in sessions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert errors == []
    for session in sessions:
        found = session.execute("SELECT k, v FROM t WHERE k IN (7, 10, 29) ORDER BY k").fetchall()
        assert found == [(7, 14 + 60), (10, 20 + 3), (29, 58 + 3)]
        session.close()
    lookups.close()


# ---- what changes meanwhile


def outcome(path: RowPath, key: int) -> object:
    """The rows of a key, or the SQLSTATE of the error."""
    try:
        return path.find([(key,)])
    except OperationalError as error:
        return error.sqlstate


@pytest.fixture
def shaken() -> Iterator[LocalCluster]:
    """For a test that changes it."""
    with LocalCluster(3, workers=1, service=SERVICE, secret=SECRET.encode(), silence_limit=3.0) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def resumed() -> Iterator[LocalCluster]:
    """For tests that stop a member for less than its lease at most: all three are there afterwards."""
    with LocalCluster(3, workers=1, service=SERVICE, secret=SECRET.encode(), silence_limit=10.0) as cluster:
        yield cluster


def test_a_member_that_is_killed_during_a_lookup_fails_it(shaken: LocalCluster) -> None:
    lookups = Lookups(shaken)
    victim = "local-1"
    (key, other), process = lookups.keys_of(victim, 2), shaken.processes[victim]
    assert lookups.path.find([(key,)])[0]
    stop(process.pid)
    threading.Timer(0.3, os.kill, (process.pid, signal.SIGKILL)).start()

    with pytest.raises(OperationalError, match=f"member {victim} was lost") as caught:
        lookups.path.find([(other,), (lookups.keys_of("local-2", 1)[0],)])

    assert caught.value.sqlstate == "08006"
    survivor = lookups.keys_of("local-2", 1)[0]
    until(lambda: victim not in lookups.client.member_list)
    until(lambda: lookups.table.snapshot().row_path((0,), (0,)) is None)
    with pytest.raises(OperationalError, match="have moved") as caught:
        lookups.path.find([(survivor,)])
    assert caught.value.sqlstate == "40001"
    assert lookups.client.coordinator.statistics().idle
    lookups.close()


@pytest.mark.parametrize("sql", ["SELECT v FROM t WHERE k = ?", "SELECT v FROM t WHERE k IN (?, 1, 2, 3)"])
def test_a_lookup_whose_member_is_killed_is_asked_again_by_the_session(
    shaken: LocalCluster, sql: str
) -> None:
    lookups = Lookups(shaken)
    (key,), process = lookups.keys_of("local-1", 1), shaken.processes["local-1"]
    expected = lookups.connection.execute(sql, [key]).fetchall()
    stop(process.pid)
    threading.Timer(0.3, os.kill, (process.pid, signal.SIGKILL)).start()

    assert sorted(lookups.connection.execute(sql, [key]).fetchall()) == sorted(expected)
    assert "local-1" not in lookups.client.member_list
    lookups.close()


def test_a_hung_member_is_not_waited_for_longer_than_its_lease(shaken: LocalCluster) -> None:
    lookups = Lookups(shaken)
    (key,) = lookups.keys_of("local-1", 1)
    stop(shaken.processes["local-1"].pid)
    try:
        with pytest.raises(OperationalError, match="member local-1 was lost") as caught:
            lookups.path.find([(key,)])
        assert caught.value.sqlstate == "08006"
    finally:
        kill(shaken, "local-1")
        lookups.close()


def test_an_interrupted_lookup_leaves_nothing(resumed: LocalCluster) -> None:
    lookups = Lookups(resumed)
    (key,), process = lookups.keys_of("local-1", 1), resumed.processes["local-1"]
    for _ in range(20):
        lookups.path.find([(key,)])
    stop(process.pid)
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        lookups.path.find([(key,)])
    os.kill(process.pid, signal.SIGCONT)

    assert len(lookups.client.coordinator.requests) == 0
    assert lookups.path.find([(key,)]) == [[(key, 2 * key)]]
    lookups.close()


@contextmanager
def one_stopped(lookups: Lookups, cluster: LocalCluster, *, warm: bool) -> Iterator[int]:
    """While it lasts, a member doesn't answer; gives a key of it. ``warm``: who asks reads the connection."""
    (key,), process = lookups.keys_of("local-1", 1), cluster.processes["local-1"]
    for other in range(50 if warm else 0):
        lookups.path.find([(other,)])
    stop(process.pid)
    try:
        yield key
    finally:
        os.kill(process.pid, signal.SIGCONT)


def ends_soon(
    cursor: sqlfront.Cursor, sql: object, key: int, timeout: float | None = None
) -> OperationalError:
    """The error of a lookup that has to end long before its member is given up."""
    began = time.monotonic()
    with pytest.raises(OperationalError) as caught:
        cursor.execute(sql, [key], timeout=timeout)  # type: ignore[arg-type]
    assert time.monotonic() - began < 4.0
    return caught.value


SQL = "SELECT v FROM t WHERE k = ?"


@pytest.mark.parametrize("warm", WARM)
def test_a_timeout_reaches_a_lookup_that_waits(resumed: LocalCluster, warm: bool) -> None:
    lookups = Lookups(resumed)
    connection, cursor = lookups.connection, lookups.connection.cursor()
    prepared = connection.prepare(SQL)
    for statement in (SQL, prepared):
        assert cursor.execute(statement, [5]).fetchall() == [(10,)]
    with one_stopped(lookups, resumed, warm=warm) as key:
        for statement in (SQL, prepared):
            error = ends_soon(cursor, statement, key, 0.2)
            assert (error.sqlstate, error.message) == (
                "57014",
                "the query ran longer than its timeout of 0.2 s",
            )
        connection.execute("SET sqlfront.timeout = 0.1")
        assert ends_soon(cursor, SQL, key).sqlstate == "57014"

    connection.execute("SET sqlfront.timeout = 0")
    assert len(lookups.client.coordinator.requests) == 0
    assert cursor.execute(SQL, [key]).fetchall() == [(2 * key,)]
    lookups.close()


@pytest.mark.parametrize("warm", WARM)
def test_a_lookup_that_waits_can_be_cancelled(resumed: LocalCluster, warm: bool) -> None:
    lookups = Lookups(resumed)
    cursor = lookups.connection.cursor()
    assert cursor.execute(SQL, [5]).fetchall() == [(10,)]
    with one_stopped(lookups, resumed, warm=warm) as key:
        for statement in (SQL, "SELECT a.v FROM t a JOIN t b ON b.k = a.k WHERE a.k IN (?, 1, 2, 3)"):
            threading.Timer(0.2, cursor.cancel).start()
            error = ends_soon(cursor, statement, key)
            assert (error.sqlstate, error.message) == ("HY008", "the query was cancelled")

    assert len(lookups.client.coordinator.requests) == 0
    assert cursor.execute(SQL, [key]).fetchall() == [(2 * key,)]
    lookups.close()


def test_a_change_that_waits_can_be_stopped(resumed: LocalCluster) -> None:
    lookups = Lookups(resumed)
    cursor = lookups.connection.cursor()
    holds = "SELECT member FROM sys.shares WHERE table_name = 't' AND array_contains(backups, 'local-1')"
    [(other,)] = lookups.connection.execute(holds).fetchall()
    (there,) = lookups.keys_of(str(other), 1)
    for sql in ("UPDATE t SET v = 0 WHERE k = ?", "DELETE FROM t WHERE k = ?"):
        cursor.execute(sql, [ROWS])
    owner = sqlfront.connect(address(resumed), secret=SECRET, workers=1)
    (key,) = lookups.keys_of("local-1", 1)
    # The turn is taken and given back when all members have heard of it.
    with lookups.table.turn(), one_stopped(lookups, resumed, warm=True):
        for sql in ("UPDATE t SET v = 0 WHERE k = ?", "DELETE FROM t WHERE k = ?"):
            for each in (key, there):  # where its rows are, or where a backup of the new version is made
                assert ends_soon(cursor, sql, each, 0.2).sqlstate == "57014"
    expected = [(each, 2 * each) for each in sorted((key, there))]
    sql = f"SELECT k, v FROM t WHERE k IN ({key}, {there}) ORDER BY k"
    assert cursor.execute(sql).fetchall() == owner.execute(sql).fetchall() == expected
    cursor.execute("UPDATE t SET v = 0 WHERE k = ?", [key])
    assert owner.execute("SELECT v FROM t WHERE k = ?", [key]).fetchall() == [(0,)]
    owner.close()
    lookups.close()


def test_a_session_that_is_closed_cancels_its_lookups(resumed: LocalCluster) -> None:
    lookups = Lookups(resumed)
    cursor = lookups.connection.cursor()
    with one_stopped(lookups, resumed, warm=True) as key:
        closing = threading.Timer(0.2, lookups.close)
        closing.start()
        assert ends_soon(cursor, SQL, key).sqlstate == "HY008"
    closing.join()


def test_a_version_that_was_replaced_is_gone_after_its_time(resumed: LocalCluster) -> None:
    lookups = Lookups(resumed)
    lookups.connection.execute("UPDATE t SET v = -1")
    assert lookups.path_now().find([(1,)]) == [[(1, -1)]]

    until(lambda: outcome(lookups.path, 1) != [[(1, 2)]])  # as long as it can be read it is the old one
    assert outcome(lookups.path, 1) == "40001"
    lookups.close()


def test_partitions_that_are_dealt_anew_are_found_again(shaken: LocalCluster) -> None:
    lookups = Lookups(shaken)
    shaken.add(1)
    until(lambda: len(lookups.client.member_list.data_members) == 4)
    until(lambda: "local-3" in lookups.client.member_list.owners)

    def placed_anew() -> bool:
        path = lookups.table.snapshot().row_path((0,), (0, 1))
        return path is not None and outcome(path, 5) == [[(5, 10)]]

    until(placed_anew)
    # The former version is read where its rows are, as long as it can be read.
    assert outcome(lookups.path, 5) in ([[(5, 10)]], "40001")
    lookups.close()
