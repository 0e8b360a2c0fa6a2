"""SQL over several members in one process."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from msgspec.structs import replace

import sqlfront
from sqlfront import session as sessions
from sqlfront.cluster.embedded import EmbeddedMembers
from sqlfront.lanes import jobs
from sqlfront.lanes.jobs import plan_job
from sqlfront.lanes.light import run_plan
from sqlfront.pipeline import Pipeline, table
from sqlfront.state.context import Context
from sqlfront_connectors.memory.spread.store import partitions_moved
from sqlfront_connectors.memory.spread.table import SpreadTable
from sqlfront_connectors.memory.spread.version import TableVersion
from sqlfront_planner.binder import Arguments
from sqlfront_planner.plan import Template
from sqlfront_planner.statements.query_parser import parse_query
from tests.cluster.launchers.test_local import until

Rows = list[tuple[object, ...]]


@pytest.fixture
def connection() -> Iterator[sqlfront.Connection]:
    with sqlfront.connect(members=3, workers=3) as connection:
        yield connection


@pytest.fixture
def numbers(connection: sqlfront.Connection) -> sqlfront.Connection:
    """With a clustered table ``t(k, v)`` of 50,000 rows."""
    connection.execute(
        "CREATE TABLE t USING memory CLUSTERED BY (k) AS SELECT id AS k, id % 100 AS v FROM range(50000)"
    )
    return connection


def ask(connection: sqlfront.Connection, sql: str) -> Rows:
    return connection.execute(sql).fetchall()


def explained(connection: sqlfront.Connection, sql: str) -> str:
    return "\n".join(str(line) for (line,) in ask(connection, f"EXPLAIN {sql}"))


def cluster(connection: sqlfront.Connection) -> EmbeddedMembers:
    found = connection.session.cluster
    assert isinstance(found, EmbeddedMembers)
    return found


def await_shares(connection: sqlfront.Connection, *expected: int) -> None:
    """Wait until the members hold so many shares: their threads may still hold what has ended."""

    def held() -> list[int]:
        gc.collect()
        return [len(store.keys_held) for store in cluster(connection)._stores.values()]

    until(lambda: held() == [*expected])


def test_explain_shows_members_and_distributed_edges(numbers: sqlfront.Connection) -> None:
    text = explained(numbers, "SELECT v, count(*) FROM t GROUP BY v")

    assert "MemoryScan: t on all members" in text
    assert "-> to one, on the coordinator" in text
    assert "broadcast, over all members" in explained(numbers, "SELECT * FROM t x JOIN t y ON x.v = y.v")
    assert "over all members" not in explained(numbers, "SELECT * FROM t x JOIN t y ON x.k = y.k")


def test_a_query_without_spread_tables_runs_on_one_member(connection: sqlfront.Connection) -> None:
    connection.register("frame", pa.table({"a": list(range(100))}))

    assert ask(connection, "SELECT sum(a) FROM frame") == [(4950,)]
    assert "members" not in explained(connection, "SELECT sum(a) FROM frame")


def test_rows_of_the_session_meet_those_of_the_members(numbers: sqlfront.Connection) -> None:
    numbers.register("frame", pa.table({"a": [1, 2, 70_000]}))

    assert ask(numbers, "SELECT a, v FROM frame LEFT JOIN t ON a = k ORDER BY a") == [
        (1, 1),
        (2, 2),
        (70_000, None),
    ]
    assert ask(numbers, "SELECT count(*) FROM (SELECT k FROM t UNION ALL SELECT a FROM frame)") == [(50_003,)]


def test_what_a_query_shares_is_computed_once(numbers: sqlfront.Connection) -> None:
    both = "SELECT count(*) FROM r a JOIN r b ON a.k = b.k AND a.x = b.x"

    assert ask(numbers, f"WITH r AS (SELECT k, rand() AS x FROM t) {both}") == [(50_000,)]


def test_a_lookup_finds_its_row(numbers: sqlfront.Connection) -> None:
    assert numbers.execute("SELECT v FROM t WHERE k = ?", [4321]).fetchall() == [(21,)]
    plan = numbers.execute("EXPLAIN SELECT v FROM t WHERE k = 4321").fetchall()
    assert "lane: direct (t by key, no job)" in str(plan)


def as_job(connection: sqlfront.Connection, text: str) -> list[tuple[object, ...]]:
    """The answer of a light job, where a quicker way would be taken."""
    session = connection.session
    plan = plan_job(session.context, parse_query(text), Arguments.of(None, "UTC"))
    return [tuple(row) for row in run_plan(session.context, plan)]


@pytest.mark.parametrize(
    "kind, key",
    [
        ("BIGINT", "4321"),
        ("INT", "-7"),
        ("STRING", "'abc'"),
        ("DECIMAL(10,2)", "1.50"),
        ("DECIMAL(30,2)", "1.50"),
        ("DATE", "DATE'2020-02-29'"),
        ("TIMESTAMP", "TIMESTAMP'2020-02-29 12:00:00'"),
        ("BOOLEAN", "true"),
        ("BINARY", "X'0102'"),
        ("BIGINT", "NULL"),
    ],
)
def test_a_lookup_is_no_job_and_as_one_runs_where_its_key_is(
    connection: sqlfront.Connection, kind: str, key: str
) -> None:
    connection.execute(f"CREATE TABLE one (k {kind}, v INT) USING memory CLUSTERED BY (k)")
    connection.execute(f"INSERT INTO one VALUES ({key}, 1)")
    condition = "k IS NULL" if key == "NULL" else f"k = {key}"
    before = [member.engine.statistics().submitted for member in cluster(connection)._members.members]

    lookup = f"SELECT v FROM one WHERE {condition}"
    join = f"SELECT a.v FROM one a JOIN one b ON a.k <=> b.k WHERE a.{condition}"
    for text in (lookup, join):
        assert ask(connection, text) == [(1,)]
    after = [member.engine.statistics().submitted for member in cluster(connection)._members.members]
    assert after == before

    for text in (lookup, join):
        assert as_job(connection, text) == [(1,)]

    after = [member.engine.statistics().submitted for member in cluster(connection)._members.members]
    assert after[0] - before[0] == 2
    assert [left - right for left, right in zip(after[1:], before[1:], strict=True)].count(1) <= 2


def test_a_limit_stops_the_scans_on_all_members(connection: sqlfront.Connection) -> None:
    connection.execute("CREATE TABLE big USING memory AS SELECT id FROM range(3000000)")

    result = connection.session.sql("SELECT id FROM big LIMIT 10")
    assert len(result.collect()) == 10
    text = "\n".join(str(line) for (line,) in ask(connection, "EXPLAIN ANALYZE SELECT id FROM big LIMIT 10"))
    assert "MemoryScan: big on all members  [rows 30," in text  # of three members


def test_inserts_are_spread_and_old_versions_freed(connection: sqlfront.Connection) -> None:
    connection.execute("CREATE TABLE t (k BIGINT, s STRING) USING memory CLUSTERED BY (k)")
    assert ask(connection, "SELECT * FROM t") == []

    connection.execute("INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    connection.execute("INSERT INTO t SELECT k + 10, s FROM t")
    assert connection.execute("INSERT INTO t (k) VALUES (7)").rowcount == 1
    assert ask(connection, "SELECT count(*), sum(k), count(s) FROM t") == [(7, 49, 6)]
    await_shares(connection, 1, 1, 1)

    connection.execute("INSERT OVERWRITE t SELECT k, s FROM t WHERE k > 10")
    assert ask(connection, "SELECT k FROM t ORDER BY k") == [(11,), (12,), (13,)]
    connection.execute("DROP TABLE t")
    await_shares(connection, 0, 0, 0)


def test_a_failed_insert_changes_nothing_and_leaves_nothing(numbers: sqlfront.Connection) -> None:
    with pytest.raises(sqlfront.DataError, match="DIVIDE_BY_ZERO"):
        numbers.execute("INSERT INTO t SELECT id, 1 / (id - 99) FROM range(100)")

    assert ask(numbers, "SELECT count(*) FROM t") == [(50_000,)]
    await_shares(numbers, 1, 1, 1)


def test_a_cached_file_table_is_spread_and_follows_inserts(connection: sqlfront.Connection) -> None:
    connection.execute("CREATE TABLE f USING parquet AS SELECT id AS k FROM range(30000)")
    connection.execute("CACHE TABLE f CLUSTERED BY (k)")
    connection.execute("INSERT INTO f VALUES (30000)")

    assert ask(connection, "SELECT count(*), max(k) FROM f") == [(30_001, 30_000)]
    assert "MemoryScan: f on all members" in explained(connection, "SELECT * FROM f")
    connection.execute("UNCACHE TABLE f")
    assert ask(connection, "SELECT count(*), max(k) FROM f") == [(30_001, 30_000)]
    await_shares(connection, 0, 0, 0)


def test_large_files_are_read_by_all_members(connection: sqlfront.Connection) -> None:
    connection.execute("CREATE TABLE f USING parquet AS SELECT id AS k FROM range(30000)")

    assert "FileScan: f on all members" in explained(connection, "SELECT sum(k) FROM f")
    assert ask(connection, "SELECT sum(k) FROM f") == [(449_985_000,)]


def test_an_error_on_a_member_is_the_querys(numbers: sqlfront.Connection) -> None:
    with pytest.raises(sqlfront.DataError, match="DIVIDE_BY_ZERO"):
        ask(numbers, "SELECT 1 / (k - 77) FROM t")


def test_nothing_is_left_on_any_member(numbers: sqlfront.Connection) -> None:
    for _ in range(20):
        ask(numbers, "SELECT v, count(*) FROM t GROUP BY v")
        result = numbers.session.sql("SELECT * FROM t x JOIN t y ON x.v = y.v")
        del result
    gc.collect()

    members = cluster(numbers)._members.members
    for member in members:
        deadline = threading.Event()
        for _ in range(500):
            if member.statistics().idle and member.engine.memory.used == member.engine.tables.used:
                break
            deadline.wait(0.01)
        assert member.statistics().idle
        assert member.engine.memory.used == member.engine.tables.used


def test_no_thread_outlives_the_connection() -> None:
    before = set(threading.enumerate())
    connection = sqlfront.connect(members=4, workers=2)
    connection.execute("CREATE TABLE t USING memory AS SELECT id FROM range(100000)")
    assert ask(connection, "SELECT count(distinct id) FROM t") == [(100_000,)]
    connection.close()

    for thread in set(threading.enumerate()) - before:
        thread.join(30)
        assert not thread.is_alive(), thread


@pytest.mark.parametrize("members", [1, 3])
def test_a_session_that_cannot_open_leaves_no_thread(monkeypatch: pytest.MonkeyPatch, members: int) -> None:
    before = set(threading.enumerate())

    def fail(*_: object) -> Context:
        raise sqlfront.OperationalError("no context")

    monkeypatch.setattr(sessions, "Context", fail)
    with pytest.raises(sqlfront.OperationalError, match="no context"):
        sqlfront.Session(sqlfront.Config(members=members, workers=2))

    for thread in set(threading.enumerate()) - before:
        thread.join(30)
        assert not thread.is_alive(), thread


def test_the_number_of_members_is_checked() -> None:
    with pytest.raises(sqlfront.ProgrammingError, match="members must be at least 1"):
        sqlfront.connect(members=0)


def test_a_plan_for_rows_that_have_moved_since_is_refused(numbers: sqlfront.Connection) -> None:
    session = numbers.session
    (query, arguments) = (parse_query("SELECT k, count(*) FROM t WHERE v > ? GROUP BY k"), Arguments.of([1]))
    plan = plan_job(session.context, query, arguments)
    for member in cluster(numbers)._members.members:
        member.members = replace(member.members, version=2, dealt=2, owners=member.members.owners[::-1])

    with pytest.raises(sqlfront.OperationalError, match="rows of `t` have moved") as caught:
        run_plan(session.context, plan, arguments.values)
    assert caught.value.sqlstate == "40001"


@pytest.mark.parametrize("verb", ["", "EXPLAIN ANALYZE "])
def test_a_statement_that_reads_is_planned_again_if_partitions_moved_behind_its_plan(
    numbers: sqlfront.Connection, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    submit, waits = jobs.runner_of, list[float]()

    def submit_behind_a_move(context: Context, template: Template) -> Any:
        if not waits:
            raise partitions_moved("t")
        return submit(context, template)

    monkeypatch.setattr(jobs, "runner_of", submit_behind_a_move)
    monkeypatch.setattr(numbers.session.cluster, "await_change", waits.append)
    rows = ask(numbers, verb + "SELECT k, count(*) FROM t WHERE v > 1 GROUP BY k")

    assert len(waits) == 1
    assert "rows 49,000" in str(rows) if verb else len(rows) == 49_000


def test_required_partitions_need_a_table_that_lies_by_them(numbers: sqlfront.Connection) -> None:
    numbers.execute("CREATE TABLE heap USING memory AS SELECT id FROM range(100)")
    session = numbers.session
    everything = {*range(271)}

    rows = Pipeline().read(table(session, "t")).collect()
    assert len(session.run_pipeline(rows, required_partitions=everything).collect()) == 50_000
    with pytest.raises(sqlfront.ProgrammingError, match="`heap` has no CLUSTERED BY"):
        session.run_pipeline(
            Pipeline().read(table(session, "heap")).collect(), required_partitions=everything
        )


def test_an_interrupt_right_after_rows_were_published_leaves_them(
    numbers: sqlfront.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish = EmbeddedMembers.publish

    def interrupted(members: EmbeddedMembers, table: SpreadTable, version: TableVersion, dealt: int) -> None:
        publish(members, table, version, dealt)
        raise KeyboardInterrupt

    monkeypatch.setattr(EmbeddedMembers, "publish", interrupted)
    with pytest.raises(KeyboardInterrupt):
        numbers.execute("INSERT INTO t VALUES (50000, 7)")
    monkeypatch.undo()

    assert ask(numbers, "SELECT v FROM t WHERE k = 50000") == [(7,)]
    assert ask(numbers, "SELECT count(*) FROM t") == [(50001,)]
    numbers.execute("DELETE FROM t WHERE k = 50000")
    await_shares(numbers, 1, 1, 1)
