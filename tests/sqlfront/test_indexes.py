"""CREATE INDEX, DROP INDEX and SHOW INDEXES, on one member and spread over three."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import sqlfront
from tests.sqlfront.test_modification import ask, in_parallel


@pytest.fixture(params=[1, 3], ids=["one member", "three members"])
def connection(request: pytest.FixtureRequest) -> Iterator[sqlfront.Connection]:
    with sqlfront.connect(members=request.param, workers=3) as connection:
        connection.execute("CREATE TABLE t (k INT, s STRING, d DECIMAL(5,2)) USING memory CLUSTERED BY (k)")
        connection.execute("INSERT INTO t SELECT id, concat('s', id % 10), id % 7 FROM range(300)")
        yield connection


def indexes(connection: sqlfront.Connection, table: str = "t") -> list[tuple[object, ...]]:
    return ask(connection, f"SHOW INDEXES ON {table}")


def scan(connection: sqlfront.Connection, condition: str) -> str:
    """How the rows are read."""
    [(text,)] = ask(connection, f"EXPLAIN SELECT k FROM t WHERE {condition}")
    return str(text)


def test_queries_find_rows_by_an_index(connection: sqlfront.Connection) -> None:
    before = ask(connection, "SELECT * FROM t WHERE s = 's3' ORDER BY k")
    assert "t by s" not in scan(connection, "s = 's3'")
    connection.execute("CREATE INDEX i ON t (s)")

    assert ("Index i", "[s]", "") in ask(connection, "DESCRIBE EXTENDED t")
    assert "t by s" in scan(connection, "s = 's3'")
    assert "t by s" in scan(connection, "s IN ('s3', 's4') AND d > 1")
    assert ask(connection, "SELECT * FROM t WHERE s = 's3' ORDER BY k") == before
    assert ask(connection, "SELECT count(*) FROM t WHERE s = ?", ["s3"]) == [(30,)]
    assert ask(connection, "SELECT count(*) FROM t WHERE s IN ('s1', 's2') AND d = 1") == [
        (sum(k % 10 in (1, 2) and k % 7 == 1 for k in range(300)),)
    ]
    assert ask(connection, "SELECT count(*) FROM t WHERE s IS NULL") == [(0,)]


def test_an_index_follows_changes(connection: sqlfront.Connection) -> None:
    connection.execute("CREATE INDEX i ON TABLE t USING HASH (d, s)")
    connection.execute("UPDATE t SET s = 's3' WHERE s = 's4' AND d = 2")
    connection.execute("DELETE FROM t WHERE k % 3 = 0")
    connection.execute("INSERT INTO t VALUES (1000, 's3', 2), (1001, NULL, 2)")
    model = [(k, f"s{k % 10}", k % 7) for k in range(300)]
    model = [(k, "s3" if (s, d) == ("s4", 2) else s, d) for k, s, d in model if k % 3]
    wanted = sorted([(k,) for k, s, d in model if (s, d) == ("s3", 2)] + [(1000,)])

    assert "t by (d, s)" in scan(connection, "s = 's3' AND d = 2")
    assert ask(connection, "SELECT k FROM t WHERE s = 's3' AND d = 2 ORDER BY k") == wanted
    assert ask(connection, "SELECT k FROM t WHERE s IS NULL AND d = 2") == [(1001,)]
    connection.execute("INSERT OVERWRITE t SELECT id, 'x', 1 FROM range(5)")
    assert ask(connection, "SELECT count(*) FROM t WHERE s = 'x' AND d = 1") == [(5,)]
    assert indexes(connection) == [("i", "d, s", "hash")]


def test_an_index_serves_until_it_is_dropped(connection: sqlfront.Connection) -> None:
    connection.execute("CREATE INDEX i ON t (s)")
    connection.execute("CREATE INDEX IF NOT EXISTS I ON t (d)")
    connection.execute("CREATE INDEX j ON t (d)")
    assert indexes(connection) == [("i", "s", "hash"), ("j", "d", "hash")]
    connection.execute("DROP INDEX I ON TABLE t")
    connection.execute("DROP INDEX IF EXISTS i ON t")

    assert indexes(connection) == [("j", "d", "hash")]
    assert "t by s" not in scan(connection, "s = 's3'")
    assert ask(connection, "SELECT count(*) FROM t WHERE s = 's3'") == [(30,)]


def test_a_table_that_takes_anothers_place_has_none(connection: sqlfront.Connection) -> None:
    connection.execute("CREATE INDEX i ON t (s)")
    connection.execute("CREATE OR REPLACE TABLE t USING memory AS SELECT 1 AS k, 'a' AS s")

    assert indexes(connection) == []
    assert ask(connection, "SELECT k FROM t WHERE s = 'a'") == [(1,)]


def test_a_table_without_clustering_columns_or_rows(connection: sqlfront.Connection) -> None:
    connection.execute("CREATE TABLE u (k INT, s STRING) USING memory")
    connection.execute("CREATE INDEX i ON u (s)")
    assert ask(connection, "SELECT * FROM u WHERE s = 'a'") == []
    connection.execute("INSERT INTO u SELECT id, concat('s', id % 5) FROM range(100)")
    connection.execute("UPDATE u SET s = 'a' WHERE s = 's1'")

    assert ask(connection, "SELECT count(*), sum(k) FROM u WHERE s = 'a'") == [(20, sum(range(1, 100, 5)))]
    assert ask(connection, "SELECT count(*) FROM u WHERE s IN ('s1', 's2')") == [(20,)]


@pytest.mark.parametrize(
    "sql, condition",
    [
        ("CREATE INDEX i ON nope (s)", "TABLE_OR_VIEW_NOT_FOUND"),
        ("CREATE INDEX i ON t (nope)", "UNRESOLVED_COLUMN.WITH_SUGGESTION"),
        ("CREATE INDEX i ON t (s, S)", "COLUMN_ALREADY_EXISTS"),
        ("CREATE INDEX there ON t (s)", "INDEX_ALREADY_EXISTS"),
        ("CREATE INDEX i ON t USING btree (s)", None),
        ("CREATE INDEX i ON t", "INVALID_STATEMENT_OR_CLAUSE"),
        ("CREATE INDEX ON t (s)", "INVALID_STATEMENT_OR_CLAUSE"),
        ("CREATE INDEX i ON f (a)", "UNSUPPORTED_FEATURE.TABLE_OPERATION"),
        ("CREATE INDEX i ON v (a)", "UNSUPPORTED_FEATURE.TABLE_OPERATION"),
        ("CREATE INDEX i ON n (a)", None),
        ("DROP INDEX i ON nope", "TABLE_OR_VIEW_NOT_FOUND"),
        ("DROP INDEX i ON t", "INDEX_NOT_FOUND"),
        ("DROP INDEX i ON f", "UNSUPPORTED_FEATURE.TABLE_OPERATION"),
        ("DROP INDEX i", "INVALID_STATEMENT_OR_CLAUSE"),
        ("SHOW INDEXES ON nope", "TABLE_OR_VIEW_NOT_FOUND"),
        ("SHOW INDEXES ON v", "UNSUPPORTED_FEATURE.TABLE_OPERATION"),
    ],
)
def test_what_is_wrong_is_refused(connection: sqlfront.Connection, sql: str, condition: str | None) -> None:
    connection.execute("CREATE TABLE f USING parquet AS SELECT 1 AS a")
    connection.execute("CREATE TABLE n USING memory AS SELECT array(1) AS a")
    connection.execute("CREATE TEMPORARY VIEW v AS SELECT 1 AS a")
    connection.execute("CREATE INDEX there ON t (d)")
    with pytest.raises(sqlfront.Error) as caught:
        connection.execute(sql)

    assert caught.value.condition == condition
    if condition is None or condition.startswith("UNSUPPORTED"):
        assert isinstance(caught.value, sqlfront.NotSupportedError)
    assert indexes(connection) == [("there", "d", "hash")]


def test_the_copy_of_a_file_table_is_indexed(connection: sqlfront.Connection, tmp_path: Path) -> None:
    connection.execute(f"CREATE TABLE f (k BIGINT, s STRING) USING parquet LOCATION '{tmp_path}/f'")
    connection.execute("INSERT INTO f SELECT id, concat('s', id % 10) FROM range(100)")
    connection.execute("CACHE TABLE f CLUSTERED BY (k)")
    connection.execute("CREATE INDEX i ON f (s)")
    connection.execute("INSERT INTO f VALUES (100, 's3')")
    assert ask(connection, "SELECT count(*) FROM f WHERE s = 's3'") == [(11,)]
    connection.execute("REFRESH TABLE f")
    assert indexes(connection, "f") == [("i", "s", "hash")]
    assert ask(connection, "SELECT count(*) FROM f WHERE s = 's3'") == [(11,)]
    connection.execute("UNCACHE TABLE f")
    with pytest.raises(sqlfront.NotSupportedError):
        connection.execute("SHOW INDEXES ON f")


def test_the_copy_of_a_memory_table_has_its_indexes(connection: sqlfront.Connection) -> None:
    connection.execute("CREATE INDEX i ON t (s)")
    connection.execute("CACHE TABLE t")
    connection.execute("CREATE INDEX j ON t (d)")
    assert indexes(connection) == [("i", "s", "hash"), ("j", "d", "hash")]
    connection.execute("DROP INDEX i ON t")
    connection.execute("UNCACHE TABLE t")

    assert indexes(connection) == [("j", "d", "hash")]


def test_eight_readers_while_indexes_come_and_go(connection: sqlfront.Connection) -> None:
    def read() -> None:
        for _ in range(10):
            assert ask(connection, "SELECT count(*), sum(d) >= 0 FROM t WHERE s = 's3'") == [(30, True)]

    def reindex() -> None:
        for number in range(5):
            connection.execute("CREATE INDEX i ON t (s)")
            connection.execute(f"UPDATE t SET d = {number} WHERE s = 's3'")
            connection.execute("DROP INDEX i ON t")

    turns = iter([reindex, *[read] * 8])

    def take_part() -> None:
        next(turns)()

    in_parallel(take_part, 9)


def test_other_sessions_of_a_cluster_know_the_indexes(tmp_path: Path) -> None:
    with sqlfront.connect(members=2, launcher="local", workers=1) as one:
        one.execute("CREATE TABLE t (k INT, s STRING) USING memory CLUSTERED BY (k)")
        one.execute("INSERT INTO t SELECT id, concat('s', id % 10) FROM range(100)")
        one.execute("CREATE INDEX i ON t (s)")
        one.execute("UPDATE t SET s = 'new' WHERE s = 's3'")

        assert indexes(one) == [("i", "s", "hash")]
        assert "t by s" in scan(one, "s = 'new'")
        assert ask(one, "SELECT count(*) FROM t WHERE s = 'new'") == [(10,)]
        assert ask(one, "SELECT count(*) FROM t WHERE s = 's3'") == [(0,)]


def test_a_few_rows_by_an_index_need_no_job() -> None:
    with sqlfront.connect() as connection:
        connection.execute("CREATE TABLE t USING memory AS SELECT id AS k, id % 100 AS c FROM range(5000)")
        connection.execute("CREATE INDEX i ON t (c)")

        assert connection.session.execute("SELECT k FROM t WHERE c = 7").stats.lane == "direct"
        assert ask(connection, "SELECT count(*) FROM t WHERE c = 7") == [(50,)]
