"""Queries that run as durable jobs: SET sqlfront.lane = durable."""

import os
import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import sqlfront
from sqlfront.connection import Connection
from sqlfront.results.result import Result
from sqlfront.results.row import Row
from tests.sqlfront.jobs.killed import open_session
from tests.sqlfront.jobs.waiting import wait_until

_LONG = (
    "SELECT sum(a.id * b.id % 7) AS s FROM range(300000) a JOIN range(300000) b ON a.id % 1000 <> b.id % 999"
)
_HINT = "SET sqlfront.lane = auto runs the query without a durable job"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the table ``src`` of 10,000 rows."""
    with sqlfront.connect() as connection:
        source = f"USING parquet LOCATION '{tmp_path}/src' AS SELECT id, id % 7 AS k FROM range(10000)"
        connection.execute(f"CREATE TABLE src {source}")
    return tmp_path


@pytest.fixture
def connection(folder: Path) -> Iterator[Connection]:
    """A session whose queries are durable jobs, with the table of the folder."""
    with open_session(folder) as opened:
        opened.execute("SET sqlfront.lane = durable")
        yield opened


def jobs(connection: Connection) -> list[tuple[object, ...]]:
    """The rows of SHOW JOBS."""
    return connection.execute("SHOW JOBS").fetchall()


def left(folder: Path) -> list[str]:
    """The remains of jobs below the store of the folder."""
    return [name for _, _, files in os.walk(folder / "store") for name in files if name.endswith(".arrow")]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT k, count(*) AS n, sum(id) AS s FROM src GROUP BY k ORDER BY k DESC",
        "SELECT id FROM src ORDER BY id DESC LIMIT 5",
        "SELECT a.id, b.k FROM src a JOIN src b ON a.id = b.id + 1 WHERE a.k = 3 ORDER BY 1",
        "WITH w AS (SELECT k, max(id) m FROM src GROUP BY k) SELECT a.m FROM w a JOIN w USING (k) ORDER BY 1",
        "VALUES (1, 'a', date'2020-01-01'), (2, NULL, NULL)",
        "SELECT 1 AS a, 2 AS a, timestamp'2020-01-01 12:00:00' AS t, interval '3' month AS i, array(1) AS x",
        "SELECT named_struct('a', 1, 'b', map('x', 1.5BD)) AS v, x'00ff' AS b, cast(NULL AS string) AS n",
        "SELECT id, row_number() OVER (PARTITION BY k ORDER BY id) AS r FROM src WHERE id < 100 ORDER BY id",
        "SELECT * FROM src WHERE id < 0",
        "SELECT k FROM src UNION SELECT 9 ORDER BY 1",
        "SELECT count(*) FROM src WHERE id > (SELECT avg(id) FROM src)",
    ],
)
def test_the_answer_is_that_of_the_light_job(connection: Connection, folder: Path, sql: str) -> None:
    durable = connection.session.execute(sql)
    found, schema, lane = durable.collect(), durable.schema, durable.stats.lane
    connection.execute("SET sqlfront.lane = light")
    light = connection.session.execute(sql)

    assert (found, schema) == (light.collect(), light.schema)
    assert lane == "durable"
    assert jobs(connection) == []
    assert left(folder) == []


@pytest.mark.parametrize("parameters", [[3, "x"], [5, "y"]])
def test_parameters_have_their_values(connection: Connection, parameters: list[object]) -> None:
    sql = "SELECT ? + 1 AS a, count(*) AS n, ? AS t FROM src WHERE k = ?"
    rows = connection.execute(sql, [*parameters, parameters[0]]).fetchall()

    (first, text) = parameters
    assert isinstance(first, int)
    assert rows == [(first + 1, sum(number % 7 == first for number in range(10000)), text)]
    prepared = connection.prepare("SELECT :n * 2 AS m")
    assert [prepared.execute({"n": n}).collect() for n in (1, 2)] == [[(2,)], [(4,)]]


def test_explain_tells_the_lane(connection: Connection) -> None:
    for mode in ("", "EXTENDED "):
        [(text,)] = connection.execute(f"EXPLAIN {mode}SELECT count(*) FROM src").fetchall()
        assert str(text).splitlines()[0] == "lane: durable (sqlfront.lane is durable)"
    with pytest.raises(sqlfront.NotSupportedError, match=_HINT):
        connection.execute("EXPLAIN ANALYZE SELECT 1")
    assert jobs(connection) == []


def test_auto_ends_the_lane(connection: Connection) -> None:
    assert connection.session.execute("SELECT 1").stats.lane == "durable"
    connection.execute("SET sqlfront.lane = auto")
    assert connection.session.execute("SELECT 1").stats.lane == "direct"


def test_commands_are_no_jobs(connection: Connection) -> None:
    connection.execute("CREATE TABLE t USING memory AS SELECT 1 AS n")
    connection.execute("INSERT INTO t SELECT 2")
    connection.execute("CREATE VIEW v AS SELECT max(n) AS m FROM t")
    assert connection.session.execute("DESCRIBE t").stats.lane == "command"
    assert connection.execute("SELECT m FROM v").fetchall() == [(2,)]


def _half_read(connection: Connection) -> Result:
    result = connection.session.execute("SELECT id FROM src")
    assert [str(row[1])[:7] for row in jobs(connection)] == ["select-"]
    return result


def test_a_closed_or_dropped_result_removes_the_job(connection: Connection, folder: Path) -> None:
    result = _half_read(connection)
    result.take(1)
    result.close()
    assert jobs(connection) == []

    del result
    result = _half_read(connection)
    del result
    assert jobs(connection) == []
    assert left(folder) == []


def test_a_closed_session_removes_the_job(folder: Path) -> None:
    with open_session(folder) as connection:
        connection.execute("SET sqlfront.lane = durable")
        result = _half_read(connection)
    with open_session(folder) as connection:
        assert jobs(connection) == []
    assert left(folder) == []
    result.close()


def test_the_error_of_the_job_is_the_error_of_the_query(connection: Connection) -> None:
    with pytest.raises(sqlfront.DataError, match="DIVIDE_BY_ZERO"):
        connection.execute("SELECT 1 / (id - 5) FROM src")
    assert jobs(connection) == []


def test_a_timeout_cancels_the_job(connection: Connection, folder: Path) -> None:
    with pytest.raises(sqlfront.OperationalError, match="longer than its timeout"):
        connection.session.execute(_LONG, timeout=0.5)
    assert jobs(connection) == []
    assert left(folder) == []


def test_a_cancelled_query_cancels_the_job(connection: Connection) -> None:
    query = connection.session.begin(_LONG)
    seen: list[object] = []

    def cancel() -> None:
        wait_until(lambda: query.progress() is not None)
        seen.append(query.progress())
        query.cancel()

    thread = threading.Thread(target=cancel)
    thread.start()
    began = time.monotonic()
    with pytest.raises(sqlfront.OperationalError, match="cancelled"):
        connection.session.execute(_LONG, query=query)
    thread.join()
    assert time.monotonic() - began < 20
    assert seen
    assert jobs(connection) == []


def test_refused_queries_name_the_other_lane(connection: Connection) -> None:
    connection.session.register("frame", pa.table({"a": [1]}))
    for sql in ("SELECT * FROM frame", "SELECT name FROM sys.jobs"):
        with pytest.raises(sqlfront.NotSupportedError) as caught:
            connection.execute(sql)
        assert _HINT in str(caught.value)
    assert jobs(connection) == []


def test_a_session_without_a_store_says_how_to_get_one() -> None:
    with sqlfront.connect() as connection:
        connection.execute("SET sqlfront.lane = durable")
        with pytest.raises(sqlfront.NotSupportedError) as caught:
            connection.execute("SELECT 1")
        assert caught.value.message == "durable jobs need a store: connect(job_store=...), --job-store"
        assert caught.value.hint == _HINT


@pytest.mark.parametrize("stores", [True, False])
def test_a_lack_of_memory_hints_at_the_lane_if_there_is_a_store(tmp_path: Path, stores: bool) -> None:
    store = str(tmp_path / "store") if stores else None
    with sqlfront.connect(job_store=store, query_memory_limit=1 << 20) as connection:
        connection.execute("SET sqlfront.lane = light")
        with pytest.raises(sqlfront.OperationalError) as caught:
            connection.execute("SELECT id, count(*) FROM range(1000000) GROUP BY id").fetchall()
        assert ("SET sqlfront.lane = durable" in str(caught.value)) is stores


_LARGE = "SELECT count(*) AS n FROM (SELECT id, count(*) FROM big GROUP BY id)"
_WIDE = "SELECT count(*) AS n FROM big a JOIN big b USING (id)"


@pytest.fixture
def small_memory(tmp_path: Path) -> Iterator[Connection]:
    """A session with a store, 20 MiB of memory and the table ``big`` of 3,000,000 numbers, or 24 MB."""
    source = f"USING parquet LOCATION '{tmp_path}/big' AS SELECT id * 7919 AS id FROM range(3000000)"
    with sqlfront.connect() as connection:
        connection.execute(f"CREATE TABLE big {source}")
    with sqlfront.connect(job_store=str(tmp_path / "store"), memory_limit=20 << 20, workers=2) as connection:
        connection.execute(f"CREATE TABLE big USING parquet LOCATION '{tmp_path}/big'")
        yield connection


@pytest.mark.parametrize("sql", [_LARGE, _WIDE])
def test_a_query_that_holds_more_than_the_memory_is_a_durable_job(small_memory: Connection, sql: str) -> None:
    for _ in range(2):  # no plan for light jobs is cached
        result = small_memory.session.execute(sql)
        assert (result.collect(), result.stats.lane) == ([(3_000_000,)], "durable")
    assert jobs(small_memory) == []
    [(text,)] = small_memory.execute(f"EXPLAIN {sql}").fetchall()
    assert re.match(
        r"lane: durable \(the query holds about 22\.9 MiB; the memory limit is 20 MiB\)", str(text)
    )


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT sum(id) AS n FROM big",
        "SELECT count(*) FROM (SELECT id FROM big ORDER BY id DESC LIMIT 5)",
        "SELECT id % 10, count(*) FROM big GROUP BY 1",
        "SELECT count(*) FROM (SELECT id FROM big UNION ALL SELECT id FROM big)",
        "SELECT count(*) FROM big JOIN (VALUES (1), (2)) AS s (id) USING (id)",
    ],
)
def test_a_query_over_whose_rows_only_pass_is_a_light_job(small_memory: Connection, sql: str) -> None:
    assert small_memory.session.execute(sql).stats.lane == "light"


def test_a_union_deals_rows_that_one_branch_holds(small_memory: Connection) -> None:
    """Else a task would hold these rows beside those that the scan of another branch holds."""
    sql = f"SELECT n FROM ({_LARGE}) UNION ALL SELECT id FROM big WHERE id < 0"
    grouped = "SELECT id FROM (SELECT id, count(*) FROM big GROUP BY id)"
    for branch, deals in ((f"SELECT sum(id) FROM ({grouped})", 1), (grouped, 1), ("SELECT id FROM big", 0)):
        text = str(small_memory.execute(f"EXPLAIN {branch} UNION ALL {grouped}").fetchall()[0][0])
        assert text.startswith("lane: durable")
        assert text.count("dealt out") == 1 + deals
    assert small_memory.session.execute(sql).collect() == [(3_000_000,)]


def test_a_large_query_stays_light_where_no_job_can_run_it(small_memory: Connection, tmp_path: Path) -> None:
    light = "lane: light"

    def lane(connection: Connection, sql: str = _LARGE) -> str:
        return str(connection.execute(f"EXPLAIN {sql}").fetchall()[0][0])[:11]

    small_memory.session.register("frame", pa.table({"id": range(3)}))
    assert lane(small_memory, f"SELECT * FROM ({_LARGE}), frame") == light
    small_memory.execute("SET sqlfront.lane = light")
    assert lane(small_memory) == light
    small_memory.execute("SET sqlfront.lane = auto")
    assert lane(small_memory) != light
    with open_session(tmp_path) as owner:
        owner.execute("CREATE JOB other AS SELECT 1")
        assert lane(small_memory) == light


#: A light job of it lacks memory, which the planner can't foresee: 20 bytes are assumed for a text.
_TEXTS = "SELECT k, count(*) AS n, max(p) AS p FROM wide GROUP BY k"
#: A light job of it, which runs on the reader's thread, gives rows before it lacks memory.
_ROWS_FIRST = f"SELECT k, 1 AS n, p FROM wide WHERE k < 1000 UNION ALL {_TEXTS}"
_FILES = 8


@pytest.fixture
def wide(tmp_path: Path) -> Iterator[Connection]:
    """A session with a store, 8 MiB of memory and the table ``wide`` of 4,000 texts, or 16 MB."""
    with sqlfront.connect() as connection:
        connection.execute(f"CREATE TABLE wide (k BIGINT, p STRING) USING parquet LOCATION '{tmp_path}/wide'")
        for file in range(_FILES):
            rows = f"SELECT id, repeat(lpad(id, 4, '0'), 1000) FROM range(4000) WHERE id % {_FILES} = {file}"
            connection.execute(f"INSERT INTO wide {rows}")
    with sqlfront.connect(job_store=str(tmp_path / "store"), memory_limit=8 << 20, workers=2) as connection:
        connection.execute(f"CREATE TABLE wide USING parquet LOCATION '{tmp_path}/wide'")
        yield connection


_LACKED = r"a light job ended with a lack of memory: aggregate needs .* of its limit of 8 MiB"


def _right(rows: list[Row], twice: int = 0) -> bool:
    return sorted(rows) == sorted((k, 1, f"{k:04}" * 1000) for k in (*range(twice), *range(4000)))


def test_a_light_job_that_lacks_memory_is_a_durable_job(
    wide: Connection, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert str(wide.execute(f"EXPLAIN {_TEXTS}").fetchall()[0][0]).startswith("lane: light")
    for _ in range(2):
        result = wide.session.execute(_TEXTS)
        assert _right(result.collect())
        assert result.stats.lane == "durable"
        assert re.fullmatch(_LACKED, result.stats.reason)
    result.explain()
    assert re.fullmatch(rf"lane: durable \({_LACKED}\)\n", capsys.readouterr().out)
    assert (jobs(wide), left(tmp_path)) == ([], [])
    assert wide.session.execute("SELECT sum(k) FROM wide").stats.lane == "light"


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT k, 1 AS n, p FROM wide ORDER BY p",
        pytest.param("SELECT k, 1 AS n, p FROM wide ORDER BY p LIMIT 4000 OFFSET 0", marks=pytest.mark.soak),
        pytest.param("SELECT k, count(*) OVER (PARTITION BY p) AS n, p FROM wide", marks=pytest.mark.soak),
        "SELECT k, 1 AS n, p FROM wide UNION SELECT k, 1, p FROM wide WHERE k < 10",
        pytest.param("SELECT a.k, 1 AS n, a.p FROM wide a JOIN wide b ON a.p = b.p", marks=pytest.mark.soak),
        "SELECT m.k, 1 AS n, max(m.t) AS p FROM m GROUP BY m.k",
    ],
    ids=["sort", "top", "window", "union", "join", "memory table"],
)
def test_rows_that_must_be_held_are_divided(wide: Connection, sql: str) -> None:
    if "FROM m " in sql:  # 5 MB, of which the groups would take as much again
        wide.execute("CREATE TABLE m USING memory AS SELECT k, p AS t FROM wide WHERE k < 1200")
    result = wide.session.execute(sql)
    rows = result.collect()
    assert result.stats.lane == "durable"
    if "FROM m " in sql:
        assert sorted(rows) == [(k, 1, f"{k:04}" * 1000) for k in range(1200)]
        return
    assert _right(rows)
    if "ORDER BY p" in sql:
        assert [row.k for row in rows] == [*range(4000)]


@pytest.mark.parametrize(
    ("sql", "hint"),
    [
        ("SELECT k, row_number() OVER (ORDER BY p) AS r, p FROM wide", "one task has to hold these rows;"),
        ("SELECT k, count(*) OVER (PARTITION BY k < 0) AS n, p FROM wide", "unless the rows share one key"),
    ],
)
def test_rows_that_nobody_can_divide_are_an_error_that_says_so(
    wide: Connection, tmp_path: Path, sql: str, hint: str
) -> None:
    with pytest.raises(sqlfront.OperationalError) as caught:
        wide.session.execute(sql).collect()
    assert re.fullmatch(
        r"window needs .* more memory, but the (query|member) already uses .* of its limit of 8 MiB\.",
        caught.value.message,
    )
    assert caught.value.sqlstate == "53200"
    assert hint in str(caught.value.hint)
    assert (jobs(wide), left(tmp_path)) == ([], [])
    assert _right(wide.session.execute(_TEXTS).collect())


def test_a_prepared_query_that_lacks_memory_is_a_durable_job(wide: Connection) -> None:
    prepared = wide.prepare(f"{_TEXTS} HAVING k >= ?")
    assert [len(prepared.execute([k]).collect()) for k in (0, 3990)] == [4000, 10]


def test_rows_that_were_computed_but_not_read_are_computed_again(wide: Connection, tmp_path: Path) -> None:
    result = wide.session.execute(_ROWS_FIRST)
    assert result.stats.lane == "light"
    rows = result.collect()
    assert result.stats.lane == "durable"
    assert _right(rows, twice=1000)
    assert (jobs(wide), left(tmp_path)) == ([], [])


def test_once_rows_were_read_the_lack_of_memory_is_the_end(wide: Connection) -> None:
    read: list[object] = []
    with pytest.raises(sqlfront.OperationalError, match="UNABLE_TO_ACQUIRE_MEMORY"):
        read.extend(row.k for row in wide.session.execute(_ROWS_FIRST))
    assert read
    assert len(read) == len(set(read))

    result = wide.session.execute(_ROWS_FIRST)
    assert len(result.take(1)) == 1
    with pytest.raises(sqlfront.OperationalError, match="UNABLE_TO_ACQUIRE_MEMORY"):
        result.collect()
    assert jobs(wide) == []


def test_texts_that_are_longer_than_estimated_are_divided_into_small_parts(tmp_path: Path) -> None:
    """With 32 parts a task would lack memory."""
    rows = "SELECT repeat(cast(id AS string), 100) AS k FROM range(20000)"
    with sqlfront.connect() as connection:
        connection.execute(f"CREATE TABLE texts USING parquet LOCATION '{tmp_path}/texts' AS {rows}")
    with sqlfront.connect(job_store=str(tmp_path / "store"), memory_limit=2 << 20, workers=1) as connection:
        connection.execute(f"CREATE TABLE texts USING parquet LOCATION '{tmp_path}/texts'")
        result = connection.session.execute("SELECT k FROM texts UNION SELECT k FROM texts")

        assert len(set(result.collect())) == 20_000
        assert result.stats.lane == "durable"


@pytest.mark.parametrize("lane", ["auto", "durable"])
def test_a_job_holds_what_one_statement_may_hold(wide: Connection, tmp_path: Path, lane: str) -> None:
    """The members have more memory, and the tasks of the job share the limit of the statement."""
    limit = 6 << 20
    with sqlfront.connect(
        job_store=str(tmp_path / "other"), memory_limit=1 << 30, query_memory_limit=limit, workers=2
    ) as connection:
        connection.execute(f"CREATE TABLE wide USING parquet LOCATION '{tmp_path}/wide'")
        connection.execute(f"SET sqlfront.lane = {lane}")
        result = connection.session.execute(_TEXTS)

        assert _right(result.collect())
        assert result.stats.lane == "durable"
        memory = connection.session.context.engine.memory
        assert (memory.peak <= limit, memory.used) == (True, 0)


@pytest.mark.parametrize("collected", [20_000, 0])
def test_a_job_divides_few_large_rows_in_a_session_that_collects_none(
    wide: Connection, tmp_path: Path, collected: int
) -> None:
    with sqlfront.connect(
        job_store=str(tmp_path / "other"), memory_limit=8 << 20, workers=2, collect_rows=collected
    ) as connection:
        connection.execute(f"CREATE TABLE wide USING parquet LOCATION '{tmp_path}/wide'")
        status = connection.session.submit_job(_TEXTS, name="texts").wait()

        assert (status.error is None) is (collected == 0)


def test_the_limit_of_a_statement_decides_about_the_lane(tmp_path: Path) -> None:
    sql = "SELECT id, count(*) AS n FROM range(1000000) GROUP BY id"
    for limit, lane in ((4 << 20, "durable"), (1 << 30, "light")):
        with sqlfront.connect(job_store=str(tmp_path / "store"), query_memory_limit=limit) as connection:
            assert str(connection.execute(f"EXPLAIN {sql}").fetchall()[0][0]).startswith(f"lane: {lane}")


def _lacks_memory(connection: Connection, sql: str = _TEXTS) -> bool:
    with pytest.raises(sqlfront.OperationalError) as caught:
        connection.session.execute(sql).collect()
    assert "aggregate needs" in caught.value.message
    assert jobs(connection) == []
    return caught.value.sqlstate == "53200"


def test_a_lack_of_memory_stays_where_no_durable_job_may_help(wide: Connection, tmp_path: Path) -> None:
    wide.session.register("frame", pa.table({"id": range(3)}))
    assert _lacks_memory(wide, f"SELECT * FROM ({_TEXTS}), frame")
    assert _lacks_memory(wide, f"EXPLAIN ANALYZE {_TEXTS}")
    assert _lacks_memory(wide, f"CREATE TABLE t USING parquet LOCATION '{tmp_path}/t' AS {_TEXTS}")
    assert not (tmp_path / "t").exists()
    wide.execute("SET sqlfront.lane = light")
    assert _lacks_memory(wide)
    wide.execute("SET sqlfront.lane = auto")
    with open_session(tmp_path) as owner:
        owner.execute("CREATE JOB other AS SELECT 1")
        with pytest.raises(sqlfront.OperationalError, match="aggregate needs"):
            wide.session.execute(_TEXTS)


def test_a_durable_job_after_a_lack_of_memory_keeps_the_timeout(wide: Connection, tmp_path: Path) -> None:
    pairs = "JOIN wide y ON x.k % 1000 <> y.k % 999 JOIN range(100) r ON r.id <> x.n"
    slow = f"SELECT x.n, count(*) FROM ({_TEXTS}) x {pairs} GROUP BY x.n"
    with pytest.raises(sqlfront.OperationalError, match="longer than its timeout"):
        wide.session.execute(slow, timeout=3)
    assert (jobs(wide), left(tmp_path)) == ([], [])
