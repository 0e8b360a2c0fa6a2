"""Runs of WITH RECURSIVE: a job for each level, which ends with the query."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import sqlfront
from sqlfront.config import Config
from sqlfront.session import Session
from sqlfront_values.errors import NotSupportedError, OperationalError, ProgrammingError

NUMBERS = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r{}) SELECT {} FROM r"
ENDLESS = (
    "WITH RECURSIVE r(n) MAX RECURSION LEVEL 2000000000 AS "
    "(SELECT 1L UNION ALL SELECT (n + 1) % 1000 FROM r) SELECT count(*) FROM r WHERE n < 0"
)


@pytest.fixture(scope="module", params=[1, 4])
def session(request: pytest.FixtureRequest) -> Iterator[Session]:
    with Session(Config(workers=request.param)) as made:
        yield made


def rows(session: Session, sql: str, *arguments: object) -> list[tuple[object, ...]]:
    return [tuple(row) for row in session.execute(sql, list(arguments)).collect()]


def explained(session: Session, sql: str) -> str:
    return str(session.execute(f"EXPLAIN {sql}").collect()[0][0])


def unlimited(session: Session) -> None:
    session.execute("SET spark.sql.cteRecursionRowLimit = -1")


def test_a_timeout_ends_the_levels() -> None:
    with Session() as session:
        unlimited(session)
        with pytest.raises(OperationalError, match=r"timeout of 0\.3 s"):
            session.execute(ENDLESS, timeout=0.3).collect()


def test_a_cancellation_ends_the_levels() -> None:
    with Session() as session:
        unlimited(session)
        query = session.begin(ENDLESS)
        timer = threading.Timer(0.2, query.cancel)
        timer.start()
        began = time.perf_counter()
        with pytest.raises(OperationalError, match="cancelled"):
            session.execute(ENDLESS, query=query).collect()
        assert time.perf_counter() - began < 10


def test_the_rows_of_all_levels_count_for_the_querys_memory() -> None:
    with Session(Config(query_memory_limit=1 << 20)) as session:
        unlimited(session)
        sql = (
            "WITH RECURSIVE r(n) AS (SELECT id FROM range(10000) UNION ALL SELECT n + 1 FROM r) "
            "SELECT count(*) FROM r"
        )
        with pytest.raises(OperationalError, match="shared rows r, each further level needs"):
            session.execute(sql).collect()
        gc.collect()  # the error's traceback keeps the last level
        assert session.engine.statistics().memory.used == 0


def test_memory_is_given_back_with_the_result() -> None:
    with Session() as session:
        assert rows(session, NUMBERS.format(" WHERE n < 50", "count(*)")) == [(50,)]
        assert session.engine.statistics().memory.used == 0


def test_arguments_reach_both_parts(session: Session) -> None:
    sql = "WITH RECURSIVE r(n) AS (SELECT ? UNION ALL SELECT n + ? FROM r WHERE n < ?) SELECT n FROM r"

    assert rows(session, sql, 1, 2, 5) == [(1,), (3,), (5,)]
    assert rows(session, sql, 2, 1, 4) == [(2,), (3,), (4,)]


def test_a_limit_of_the_query_ends_the_levels(session: Session) -> None:
    sql = NUMBERS.replace("r(n)", "r(n) MAX RECURSION LEVEL 9").format("", "n")

    for limit in (2, 7, 9):
        assert rows(session, f"{sql} LIMIT ?", limit) == [(n,) for n in range(1, limit + 1)]
    with pytest.raises(ProgrammingError, match="RECURSION_LEVEL_LIMIT_EXCEEDED"):
        rows(session, f"{sql} LIMIT ?", 10)


def test_levels_of_many_rows(session: Session) -> None:
    sql = (
        "WITH RECURSIVE r(k, d) AS (SELECT id, 0 FROM range(100000) UNION ALL "
        "SELECT k, d + 1 FROM r WHERE d < 4 AND k % 2 = d % 2) SELECT d, count(*), sum(k) FROM r GROUP BY d"
    )

    assert sorted(rows(session, sql))[:2] == [
        (0, 100000, sum(range(100000))),
        (1, 50000, sum(range(0, 100000, 2))),
    ]


def test_static_parts_of_the_step_run_once(session: Session) -> None:
    sql = (
        "WITH RECURSIVE r(n) AS (SELECT 1L UNION ALL SELECT n + m FROM r JOIN "
        "(SELECT max(id) AS m FROM range(3)) WHERE n < 9) SELECT n FROM r"
    )
    text = explained(session, sql)

    assert rows(session, sql) == [(1,), (3,), (5,), (7,), (9,)]
    assert "Shared rows static rows of r:" in text
    assert text.count("Range: 3 numbers") == 1


def test_static_parts_that_fail_fail_only_when_a_step_runs(session: Session) -> None:
    sql = (
        "WITH RECURSIVE r(n) AS (SELECT id FROM range({}) UNION ALL SELECT n + m FROM r JOIN "
        "(SELECT max(1 DIV (id - 1)) AS m FROM range(3)) WHERE n < 9) SELECT n FROM r"
    )

    assert rows(session, sql.format(0)) == []
    with pytest.raises(sqlfront.DataError, match="DIVIDE_BY_ZERO"):
        rows(session, sql.format(1))


def test_explain_shows_both_parts(session: Session) -> None:
    lines = explained(session, NUMBERS.format(" WHERE n < 5", "n")).splitlines()

    assert "    HeldRows: r" in lines or "  HeldRows: r" in lines
    assert lines[lines.index("Shared rows r, each further level:") :] == [
        "Shared rows r, each further level:",
        "  Result",
        "    Limit: 1000000",
        "      Filter: n#0 < 5; Project: n#0 + 1",
        "        HeldRows: level of r",
    ]


def test_explain_analyze_counts_all_levels(session: Session) -> None:
    text = explained(session, "ANALYZE " + NUMBERS.format(" WHERE n < 5", "n"))

    assert "HeldRows: level of r  [rows 5, batches 5" in text


def test_a_recursion_inside_of_a_step_runs_for_each_level(session: Session) -> None:
    sql = (
        "WITH RECURSIVE a(n) AS (SELECT 1 UNION ALL (WITH RECURSIVE b(m) AS (SELECT n FROM a UNION ALL "
        "SELECT m + 1 FROM b WHERE m < 3) SELECT m + 1 FROM b WHERE m < 4)) SELECT n FROM a"
    )

    assert sorted(rows(session, sql)) == [(1,), (2,), (3,), (3,), (4,), (4,), (4,), (4,)]


def test_durable_jobs_refuse_recursions(tmp_path: Path) -> None:
    with sqlfront.connect(job_store=str(tmp_path)) as connection:
        with pytest.raises(NotSupportedError, match="WITH RECURSIVE in a durable job"):
            connection.session.submit_job(NUMBERS.format(" WHERE n < 5", "n"))


def test_a_created_table_and_an_insert(session: Session) -> None:
    session.execute("CREATE TABLE levels AS " + NUMBERS.format(" WHERE n < 3", "n"))
    session.execute("INSERT INTO levels " + NUMBERS.format(" WHERE n < 3", "n + 10"))

    assert sorted(rows(session, "SELECT * FROM levels")) == [(1,), (2,), (3,), (11,), (12,), (13,)]
    session.execute("DROP TABLE levels")


def test_members_run_the_step() -> None:
    with sqlfront.connect(members=2) as connection:
        session = connection.session
        session.execute("CREATE TABLE edges (s BIGINT, t BIGINT) CLUSTERED BY (s) INTO 8 BUCKETS")
        session.execute("INSERT INTO edges SELECT id, id * 2 % 5000 FROM range(50000)")
        sql = (
            "WITH RECURSIVE p(n, d) AS (SELECT 1L, 0 UNION ALL SELECT e.t, d + 1 FROM p JOIN edges e "
            "ON p.n = e.s WHERE d < 8) SELECT d, n FROM p"
        )

        assert sorted(rows(session, sql)) == [(d, 2**d) for d in range(9)]
