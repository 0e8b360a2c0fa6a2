"""Sessions of a cluster whose members are processes: what they have in common, what outlives lost members."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import pytest

import sqlfront
from sqlfront.cluster import documents
from sqlfront.cluster.catalog import ClusterCatalog
from sqlfront.cluster.processes import ProcessMembers
from sqlfront.commands import copies
from sqlfront_cluster.launchers.local import LocalCluster
from sqlfront_cluster.members.membership.document_copies import PutOutcome
from sqlfront_cluster.members.membership.membership import Membership
from sqlfront_cluster.members.protocol.document import ConditionalChange
from sqlfront_connectors.base import Table
from sqlfront_connectors.memory.spread.documents import TURN
from sqlfront_connectors.memory.spread.table import SpreadTable
from sqlfront_engine.dag import DAG, Edge
from sqlfront_engine.engine import JobConfig
from sqlfront_engine.job_statistics import JobStatus
from sqlfront_engine.processors.filter import Filter
from sqlfront_engine.processors.sources.range import Range
from sqlfront_planner.catalog import TableEntry
from sqlfront_values.expressions import Literal
from sqlfront_values.types import BOOLEAN
from tests.sqlfront.held_shares import shares
from tests.sqlfront.quick_service import SERVICE

# One worker starts the members.
pytestmark = pytest.mark.xdist_group("cluster sessions")

SECRET = "a secret"
Rows = list[tuple[object, ...]]


def started() -> LocalCluster:
    return LocalCluster(3, workers=1, service=SERVICE, secret=SECRET.encode(), silence_limit=3.0)


@pytest.fixture(scope="module")
def lasting() -> Iterator[LocalCluster]:
    """For tests that leave the members as they are."""
    with started() as cluster:
        yield cluster


@pytest.fixture
def emptied(lasting: LocalCluster) -> Iterator[LocalCluster]:
    """The lasting cluster; the test's tables and views end with the test."""
    yield lasting
    with sqlfront.connect(address(lasting), secret=SECRET, workers=1) as connection:
        views = {name for _, name, _ in ask(connection, "SHOW VIEWS")}
        for _, name, _ in ask(connection, "SHOW TABLES"):
            connection.execute(f"DROP {'VIEW' if name in views else 'TABLE'} {name}")


@pytest.fixture
def cluster() -> Iterator[LocalCluster]:
    """One of the test's own, which may lose members."""
    with started() as cluster:
        yield cluster


def address(cluster: LocalCluster) -> str:
    return f"sqlfront://{cluster.address.removeprefix('unix:')}"


@pytest.fixture
def connect(request: pytest.FixtureRequest) -> Iterator[Callable[[], sqlfront.Connection]]:
    """Makes sessions, which end with the test: of the test's own cluster if it asks for one, else of the
    lasting one."""
    made: list[sqlfront.Connection] = []
    cluster = request.getfixturevalue("cluster" if "cluster" in request.fixturenames else "emptied")

    def connect() -> sqlfront.Connection:
        made.append(sqlfront.connect(address(cluster), secret=SECRET, workers=1))
        return made[-1]

    yield connect
    for connection in made:
        connection.close()


def ask(connection: sqlfront.Connection, sql: str) -> Rows:
    return connection.execute(sql).fetchall()


def unless_lost(connection: sqlfront.Connection, sql: str) -> Rows:
    """The answer; none if a member was lost meanwhile or the query is to be run again."""
    try:
        return ask(connection, sql)
    except sqlfront.OperationalError as error:
        if error.sqlstate not in ("40001", "08006"):
            raise
        return []


def cluster_of(connection: sqlfront.Connection) -> ProcessMembers:
    cluster = connection.session.context.cluster
    assert isinstance(cluster, ProcessMembers)
    return cluster


def until(fact: Callable[[], bool]) -> None:
    """Wait until it is so."""
    deadline = time.monotonic() + 30
    pause = threading.Event()
    while not fact():
        assert time.monotonic() < deadline, "it never came true"
        pause.wait(0.02)


def kill(cluster: LocalCluster, name: str) -> None:
    os.kill(cluster.processes[name].pid, signal.SIGKILL)
    until(lambda: name not in cluster.members)


Connect = Callable[[], sqlfront.Connection]


def test_sessions_have_tables_and_views_in_common(connect: Connect) -> None:
    one, other = connect(), connect()

    one.execute(
        "CREATE TABLE t USING memory CLUSTERED BY (k) AS SELECT id AS k, id % 7 AS v FROM range(1000)"
    )
    other.execute("CREATE VIEW sums AS SELECT v, sum(k) AS s FROM t GROUP BY v")
    assert ask(other, "SELECT count(*), sum(k) FROM t") == [(1000, 499_500)]
    assert ask(one, "SELECT sum(s) FROM sums") == [(499_500,)]

    other.execute("INSERT INTO t VALUES (5000, 1)")
    assert ask(one, "SELECT v FROM t WHERE k = 5000") == [(1,)]
    one.execute("UPDATE t SET v = -1 WHERE k < 10")
    assert ask(other, "SELECT count(*) FROM t WHERE v = -1") == [(10,)]
    assert ask(other, "SHOW TABLES") == [("default", "sums", False), ("default", "t", False)]

    with pytest.raises(sqlfront.ProgrammingError, match="TABLE_OR_VIEW_ALREADY_EXISTS"):
        other.execute("CREATE TABLE T (a INT)")
    one.execute("DROP TABLE t")
    with pytest.raises(sqlfront.ProgrammingError, match="TABLE_OR_VIEW_NOT_FOUND"):
        ask(other, "SELECT * FROM t")


def test_a_function_of_one_session_is_known_to_the_others(connect: Callable[[], sqlfront.Connection]) -> None:
    one, other = connect(), connect()
    one.session.sql("CREATE FUNCTION twice(x INT) RETURN x * 2")
    assert ask(other, "SELECT twice(4)") == [(8,)]
    other.session.sql("CREATE OR REPLACE FUNCTION twice(x INT) RETURN x + x + 1")
    assert ask(one, "SELECT twice(4)") == [(9,)]
    one.session.sql("DROP FUNCTION twice")
    with pytest.raises(sqlfront.ProgrammingError, match="UNRESOLVED_ROUTINE"):
        ask(other, "SELECT twice(4)")


def test_tables_outlive_the_session_that_made_them(connect: Connect) -> None:
    with connect() as one:
        one.execute("CREATE TABLE t USING memory AS SELECT id FROM range(100)")

    assert ask(connect(), "SELECT count(*) FROM t") == [(100,)]


def test_file_tables_are_the_same_for_all(connect: Connect, tmp_path: Path) -> None:
    one, other = connect(), connect()
    one.execute(f"CREATE TABLE f (a BIGINT, b STRING) USING parquet LOCATION '{tmp_path}/f'")

    one.execute("INSERT INTO f VALUES (1, 'x')")
    other.execute("INSERT INTO f VALUES (2, 'y'), (3, NULL)")
    assert ask(one, "SELECT a, b FROM f ORDER BY a") == [(1, "x"), (2, "y"), (3, None)]
    one.execute("CACHE TABLE f CLUSTERED BY (a)")
    other.execute("INSERT INTO f SELECT a + 10, b FROM f")
    assert ask(one, "SELECT count(*), sum(a) FROM f") == [(6, 42)]
    other.execute("UNCACHE TABLE f")
    assert ask(one, "SELECT count(*), sum(a) FROM f") == [(6, 42)]

    with pytest.raises(sqlfront.ProgrammingError, match="LOCATION"):
        one.execute("CREATE TABLE g USING parquet AS SELECT 1 AS a")


def test_temporary_tables_are_the_sessions_own(connect: Connect) -> None:
    one, other = connect(), connect()
    one.execute("CREATE TEMP VIEW v AS SELECT 1 AS a")
    one.execute("CACHE TABLE mine AS SELECT id FROM range(500)")

    assert ask(one, "SELECT count(*) FROM mine JOIN v") == [(500,)]
    assert ask(other, "SHOW TABLES") == []


def test_temporary_copies_follow_what_other_sessions_do(connect: Connect) -> None:
    one, other = connect(), connect()
    one.execute("CREATE TABLE t USING memory AS SELECT id FROM range(3)")
    other.execute("CACHE TABLE mine AS SELECT count(*) AS n FROM t")
    other.execute("CACHE TABLE twice AS SELECT 2 * n AS n FROM mine")

    one.execute("INSERT INTO t VALUES (3)")
    assert ask(other, "SELECT n FROM twice") == [(8,)]
    one.execute("CREATE OR REPLACE TABLE t USING memory AS SELECT id FROM range(7)")
    assert ask(other, "SELECT n FROM twice") == [(14,)]
    one.execute("DROP TABLE t")
    with pytest.raises(sqlfront.ProgrammingError, match="TABLE_OR_VIEW_NOT_FOUND"):
        ask(other, "SELECT n FROM twice")
    assert ask(other, "SELECT 1") == [(1,)]


def test_writers_take_turns(connect: Connect) -> None:
    sessions = [connect() for _ in range(3)]
    sessions[0].execute("CREATE TABLE t (k INT, n INT) USING memory CLUSTERED BY (k)")
    sessions[0].execute("INSERT INTO t VALUES (1, 0)")

    def write(connection: sqlfront.Connection) -> None:
        for _ in range(10):
            connection.execute("UPDATE t SET n = n + 1")

    threads = [threading.Thread(target=write, args=(each,)) for each in sessions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [ask(each, "SELECT n FROM t") for each in sessions] == [[(30,)]] * 3


def test_an_insert_that_waits_for_another_sessions_alter_table_is_never_lost(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = connect(), connect()
    one.execute("CREATE TABLE t (n INT) USING memory")
    outcomes = list[str]()

    def insert() -> None:
        try:
            other.execute("INSERT INTO t (n) VALUES (1)")
            outcomes.append("confirmed")
        except sqlfront.OperationalError as error:
            outcomes.append(error.sqlstate or "")

    altering, inserting = cluster_of(one), cluster_of(other)
    present = one.session.context.catalog.lookup(("t",))
    altered = present.table if isinstance(present, TableEntry) else None
    waiting, writer = threading.Event(), threading.Thread(target=insert)
    begin, end, wait = altering.begin_turn, altering.end_turn, inserting.begin_turn

    def begin_before_the_insert(table: SpreadTable) -> str:
        token = begin(table)
        if not waiting.is_set():
            writer.start()
            assert waiting.wait(30)
        return token

    def end_and_let_insert(table: SpreadTable) -> None:
        end(table)
        if table is altered:
            writer.join(30)

    def begin_after_the_alter_table(table: SpreadTable) -> str:
        waiting.set()
        return wait(table)

    monkeypatch.setattr(altering, "begin_turn", begin_before_the_insert)
    monkeypatch.setattr(altering, "end_turn", end_and_let_insert)
    monkeypatch.setattr(inserting, "begin_turn", begin_after_the_alter_table)
    one.execute("ALTER TABLE t ADD COLUMN (m INT)")
    monkeypatch.undo()

    assert outcomes == ["40001"]
    other.execute("INSERT INTO t (n) VALUES (2)")
    assert [ask(each, "SELECT n, m FROM t") for each in (one, other)] == [[(2, None)]] * 2


def test_a_copy_of_a_view_never_shows_a_table_that_another_session_has_renamed(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = connect(), connect()
    one.execute("CREATE TABLE t (n INT) USING memory")
    one.execute("CREATE VIEW v AS SELECT n FROM t")
    enter, shown = copies.enter, list[Rows]()

    def rename_and_enter(*arguments: Any, **how: Any) -> bool:
        if not shown:
            other.execute("ALTER TABLE t RENAME TO u")
            other.execute("CREATE TABLE t USING memory AS SELECT 7 AS n")
        entered = enter(*arguments, **how)
        shown.append(ask(other, "SELECT n FROM v"))
        return entered

    monkeypatch.setattr(copies, "enter", rename_and_enter)
    one.execute("CACHE TABLE v")

    assert shown == [[(7,)]] * 2
    one.execute("INSERT INTO t VALUES (8)")
    assert sorted(ask(other, "SELECT n FROM v")) == [(7,), (8,)]


def test_a_killed_writers_turn_is_over(lasting: LocalCluster, connect: Connect) -> None:
    connection = connect()
    connection.execute("CREATE TABLE t (n INT) USING memory")
    program = (
        f"import sqlfront; c = sqlfront.connect({address(lasting)!r}, secret={SECRET!r});"
        "t = c.session.context.catalog.lookup(('t',)).table.turn(); t.__enter__();"
        "print('mine', flush=True); input()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    assert process.stdin is not None
    assert process.stdout is not None
    with process.stdin, process.stdout:
        assert process.stdout.readline() == b"mine\n"
        process.kill()
        process.wait()

        connection.execute("INSERT INTO t VALUES (1)")
    assert ask(connection, "SELECT * FROM t") == [(1,)]


def test_a_lost_tables_rows_come_from_its_source_again(
    cluster: LocalCluster, connect: Connect, tmp_path: Path
) -> None:
    connection = connect()
    connection.execute(f"CREATE TABLE f USING parquet LOCATION '{tmp_path}/f' AS SELECT id FROM range(9000)")
    connection.execute("CACHE TABLE f CLUSTERED BY (id)")
    connection.execute("CACHE TABLE mine AS SELECT id * 2 AS x FROM f")
    assert ask(connection, "SELECT sum(x) FROM mine") == [(80_991_000,)]

    kill(cluster, "local-1")

    until(lambda: unless_lost(connection, "SELECT count(*), sum(id) FROM f") == [(9000, 40_495_500)])
    until(lambda: unless_lost(connection, "SELECT sum(x) FROM mine") == [(80_991_000,)])
    assert ask(connection, "SELECT id FROM f WHERE id = 4711") == [(4711,)]


def test_the_last_member_left_has_lost_tables_again(
    cluster: LocalCluster, connect: Connect, tmp_path: Path
) -> None:
    connection = connect()
    connection.execute(f"CREATE TABLE f USING parquet LOCATION '{tmp_path}/f' AS SELECT id FROM range(9000)")
    connection.execute("CACHE TABLE f CLUSTERED BY (id)")

    kill(cluster, "local-0")
    kill(cluster, "local-1")
    until(lambda: unless_lost(connection, "SELECT count(*), sum(id) FROM f") == [(9000, 40_495_500)])


def test_without_members_nothing_is_answered_and_nothing_written(
    cluster: LocalCluster, connect: Connect
) -> None:
    connection = connect()
    connection.execute("CREATE TABLE t USING memory CLUSTERED BY (id) AS SELECT id FROM range(10)")
    connection.execute("CREATE TABLE empty (id BIGINT) USING memory")
    for name in ("local-0", "local-1", "local-2"):
        kill(cluster, name)
    until(lambda: not connection.session.cluster.member_list.data_members)  # type: ignore[union-attr]

    for sql in (
        "SELECT id FROM t",
        "INSERT INTO empty SELECT id FROM range(10)",
        "INSERT INTO empty VALUES (1)",
    ):
        with pytest.raises(sqlfront.OperationalError):
            connection.execute(sql, timeout=20).fetchall()
    assert ask(connection, "SELECT count(*) FROM empty") == [(0,)]


def test_a_table_without_a_source_says_what_is_gone(cluster: LocalCluster, connect: Connect) -> None:
    connection = connect()
    connection.execute(
        "CREATE TABLE t USING memory CLUSTERED BY (id) OPTIONS (backups 0) AS SELECT id FROM range(9000)"
    )
    connection.execute("CREATE TABLE other USING memory AS SELECT 1 AS a")

    kill(cluster, "local-2")
    until(lambda: "local-2" not in connection.session.cluster.member_list)  # type: ignore[union-attr]

    for sql in ("SELECT count(*) FROM t", "SELECT * FROM t WHERE id = 1", "INSERT INTO t VALUES (1)"):
        with pytest.raises(
            sqlfront.OperationalError, match=r"partitions .* of 271\) of `t` were lost with local-2"
        ):
            ask(connection, sql)
    connection.execute("INSERT OVERWRITE t SELECT id FROM range(10)")
    assert ask(connection, "SELECT count(*) FROM t") == [(10,)]
    connection.execute("DROP TABLE other")


def test_rows_follow_the_partitions(cluster: LocalCluster, connect: Connect) -> None:
    connection = connect()
    connection.execute("CREATE TABLE t USING memory CLUSTERED BY (id) AS SELECT id FROM range(9000)")
    before = cluster.members

    (new,) = cluster.add(1)
    until(lambda: new in cluster.members.owners)
    assert cluster.members.owners != before.owners

    def is_placed() -> bool:
        assert unless_lost(connection, "SELECT count(*), sum(id) FROM t") in ([], [(9000, 40_495_500)])
        assert unless_lost(connection, "SELECT * FROM t WHERE id = 77") in ([], [(77,)])
        entry = connection.session.context.catalog.lookup(("t",))
        return bool(entry.table.in_place)  # type: ignore[union-attr]

    until(is_placed)
    connection.execute("INSERT INTO t VALUES (9000)")
    assert ask(connection, "SELECT count(*) FROM t") == [(9001,)]


def test_nothing_is_kept_that_nobody_can_read(connect: Connect) -> None:
    connection = connect()
    with connect() as other:
        other.execute("CACHE TABLE mine AS SELECT id FROM range(100000)")
    connection.execute("CREATE TABLE t USING memory AS SELECT id FROM range(100000)")
    for _ in range(5):
        connection.execute("UPDATE t SET id = id + 1")
    with pytest.raises(sqlfront.DataError, match="DIVIDE_BY_ZERO"):
        connection.execute("INSERT INTO t SELECT 1 / (id - 5) FROM range(10)")

    # A share, and the backup of another member's.
    until(lambda: shares(connection) == [(name, 2) for name in ("local-0", "local-1", "local-2")])
    connection.execute("DROP TABLE t")
    until(lambda: not shares(connection))


def test_the_clusters_end_is_an_error(cluster: LocalCluster, connect: Connect) -> None:
    connection = connect()
    connection.execute("CREATE TABLE t USING memory AS SELECT id FROM range(10)")
    cluster.keeper.end("as told")
    until(connection.session.cluster._running.ended.is_set)  # type: ignore[union-attr]

    with pytest.raises(sqlfront.OperationalError, match="cluster has ended: as told"):
        ask(connection, "SELECT * FROM t")


@pytest.mark.parametrize(
    "where, secret, error",
    [
        ("http://x", "s", "use sqlfront: for a session"),
        ("sqlfront://127.0.0.1", "s", "is not an address"),
        ("sqlfront://127.0.0.1:4711", None, "needs a secret"),
    ],
)
def test_a_wrong_address_is_refused(
    monkeypatch: pytest.MonkeyPatch, where: str, secret: str | None, error: str
) -> None:
    monkeypatch.delenv("SQLFRONT_SECRET", raising=False)
    with pytest.raises(sqlfront.ProgrammingError, match=error):
        sqlfront.connect(where, secret=secret)


def test_a_session_can_bring_its_own_processes() -> None:
    with sqlfront.connect(launcher="local", members=2, workers=1) as connection:
        connection.execute("CREATE TABLE t USING memory AS SELECT id FROM range(1000)")
        connection.execute("CREATE TABLE f USING parquet AS SELECT id FROM t")
        assert ask(connection, "SELECT count(*) FROM t JOIN f USING (id)") == [(1000,)]
    with pytest.raises(sqlfront.ProgrammingError, match="silence_limit must be positive"):
        sqlfront.Config(silence_limit=0)
    for seconds in (-1.0, math.nan, math.inf):
        with pytest.raises(sqlfront.ProgrammingError, match="handover_timeout must be a number of seconds"):
            sqlfront.Config(handover_timeout=seconds)
    with pytest.raises(sqlfront.ProgrammingError, match="unknown launcher 'moon'"):
        sqlfront.connect(launcher="moon")


@pytest.mark.parametrize("end", [False, True], ids=["begins", "ends"])
def test_an_interrupt_while_a_turn_begins_or_ends_leaves_the_table_to_others(
    connect: Connect, monkeypatch: pytest.MonkeyPatch, end: bool
) -> None:
    one, other = connect(), connect()
    one.execute("CREATE TABLE t (k BIGINT) USING memory")
    put, interrupts = Membership.put, [KeyboardInterrupt()]

    def interrupted(at: Membership, change: ConditionalChange, done: Callable[[PutOutcome], None]) -> None:
        at_turn = change.key.startswith(TURN) and (change.content is None) == end and interrupts
        if not (at_turn and end):
            put(at, change, done)
        if at_turn:
            raise interrupts.pop()

    monkeypatch.setattr(Membership, "put", interrupted)
    with pytest.raises(KeyboardInterrupt):
        one.execute("INSERT INTO t VALUES (1)")
    monkeypatch.setattr(documents, "TURN_TIMEOUT", 10.0)
    other.execute("INSERT INTO t VALUES (2)")
    one.execute("INSERT INTO t VALUES (3)")

    assert ask(one, "SELECT k FROM t WHERE k > 1 ORDER BY k") == [(2,), (3,)]


@pytest.mark.parametrize("form", ["memory", "parquet"])
def test_an_interrupt_just_when_a_turn_was_taken_leaves_the_table_to_others(
    connect: Connect, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, form: str
) -> None:
    one, other = connect(), connect()
    location = f"LOCATION '{tmp_path}'" if form == "parquet" else ""
    one.execute(f"CREATE TABLE t (k BIGINT) USING {form} {location}")
    take = documents.Documents._take

    def interrupted(*arguments: Any) -> None:
        assert take(*arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(documents.Documents, "_take", interrupted)
    with pytest.raises(KeyboardInterrupt):
        one.execute("INSERT INTO t VALUES (1)")
    monkeypatch.undo()
    monkeypatch.setattr(documents, "TURN_TIMEOUT", 10.0)
    other.execute("INSERT INTO t VALUES (2)")
    one.execute("INSERT INTO t VALUES (3)")

    assert ask(one, "SELECT k FROM t ORDER BY k") == [(2,), (3,)]


@pytest.mark.parametrize("form", ["memory", "parquet"])
def test_a_statement_waits_for_its_turn_no_longer_than_its_timeout(
    connect: Connect, tmp_path: Path, form: str
) -> None:
    one, other = connect(), connect()
    location = f"LOCATION '{tmp_path}'" if form == "parquet" else ""
    one.execute(f"CREATE TABLE t (k BIGINT) USING {form} {location}")
    statements = ["INSERT INTO t VALUES (1)", "INSERT INTO t VALUES (2)", "INSERT INTO t SELECT 3"]
    statements += ["UPDATE t SET k = 0", "UPDATE t SET k = 4 WHERE k = 5"] * (form == "memory")
    for text in statements:  # so that plans are kept
        other.execute(text)
    catalog = one.session.context.catalog
    entry = catalog.lookup(("t",))
    assert isinstance(catalog, ClusterCatalog)
    assert isinstance(entry, TableEntry)
    with catalog.writing(entry.table, cluster_of(one).coordinator.name), _turn_of(entry.table):
        for text in statements:
            began = time.monotonic()
            with pytest.raises(sqlfront.OperationalError, match=r"longer than its timeout of 0\.3 s"):
                other.session.execute(text, timeout=0.3)
            assert time.monotonic() < began + 10, text
    for text in statements:
        other.session.execute(text, timeout=30)


def _turn_of(table: Table) -> AbstractContextManager[object]:
    return table.turn() if isinstance(table, SpreadTable) else nullcontext()


@pytest.mark.parametrize(("submits", "finds"), [(True, True), (True, False), (False, True), (False, False)])
def test_a_light_job_of_another_session_is_found_waited_for_and_cancelled(
    lasting: LocalCluster, *, submits: bool, finds: bool
) -> None:
    """``submits``, ``finds``: whether the sessions have a place in the member list."""
    with (
        sqlfront.connect(address(lasting), secret=SECRET, workers=1, lite=submits) as first,
        sqlfront.connect(address(lasting), secret=SECRET, workers=1, lite=finds) as second,
    ):
        job = first.session.submit(endless())
        until(lambda: (job.id,) in ask(second, "SELECT id FROM sys.light_jobs"))
        found, waiting = second.session.job(job.id), second.session.job(job.id)
        assert (found.id, found.status, found.is_user_cancelled) == (job.id, JobStatus.RUNNING, False)
        assert abs(found.submission_time - job.submission_time).total_seconds() < 5
        assert not found.join(0)
        with pytest.raises(sqlfront.InterfaceError, match="only the object that submit"):
            found.batches()
        with pytest.raises(sqlfront.NotSupportedError, match="doesn't support suspend"):
            found.suspend()
        found.cancel()
        for each in (job, found, waiting):
            with pytest.raises(sqlfront.OperationalError, match=r"cancelled by Job\.cancel at client-"):
                each.join(30)
            assert each.is_user_cancelled
            assert each.status is JobStatus.CANCELLED
        with pytest.raises(sqlfront.ProgrammingError, match="does not exist or has ended"):
            second.session.job(job.id)


@pytest.mark.parametrize("lite", [True, False])
def test_the_end_of_a_light_job_of_another_session_is_told(lasting: LocalCluster, *, lite: bool) -> None:
    with (
        sqlfront.connect(address(lasting), secret=SECRET, workers=1, lite=lite) as first,
        sqlfront.connect(address(lasting), secret=SECRET, workers=1, lite=lite) as second,
    ):
        job = first.session.submit(endless(), JobConfig(timeout=2.0))
        until(lambda: (job.id,) in ask(second, "SELECT id FROM sys.light_jobs"))
        found = second.session.job(job.id)
        for each in (job, found):
            with pytest.raises(sqlfront.OperationalError, match="longer than its timeout of 2 s"):
                each.join(30)
            assert each.status is JobStatus.TIMED_OUT
            assert not each.is_user_cancelled


@pytest.mark.parametrize("lite", [True, False])
def test_a_light_job_whose_session_is_closed_has_ended_for_all(lasting: LocalCluster, *, lite: bool) -> None:
    with sqlfront.connect(address(lasting), secret=SECRET, workers=1, lite=lite) as watching:
        with sqlfront.connect(address(lasting), secret=SECRET, workers=1, lite=lite) as first:
            job = first.session.submit(endless())
            until(lambda: (job.id,) in ask(watching, "SELECT id FROM sys.light_jobs"))
            found = watching.session.job(job.id)
            # The question how the job ends has arrived before this one.
            assert (job.id,) in ask(watching, "SELECT id FROM sys.light_jobs")
        with pytest.raises(sqlfront.OperationalError) as caught:
            found.join(30)
        assert caught.value.sqlstate in ("HY008", "08006")
        assert found.status in (JobStatus.CANCELLED, JobStatus.FAILED)
        assert not found.is_user_cancelled


def endless() -> DAG:
    """A DAG without a result whose numbers come to no end in the time of a test."""
    dag = DAG()
    numbers = dag.vertex("numbers", Range(0, 1, 1 << 50), 1)
    dag.edge(Edge.between(numbers, dag.vertex("none", Filter(Literal(BOOLEAN, False)))))
    return dag
