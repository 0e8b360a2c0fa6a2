"""A repeated MERGE of a few rows: its plan, a row program, is cached, and makes the changes of a job."""

from __future__ import annotations

import random
from collections.abc import Iterator
from decimal import Decimal

import pytest

import sqlfront
from sqlfront.state.plans import MergePlan

UPSERT = """MERGE INTO t USING (SELECT ? AS k, ? AS v) AS s ON t.k = s.k
WHEN MATCHED AND s.v < 0 THEN DELETE
WHEN MATCHED THEN UPDATE SET v = t.v + s.v
WHEN NOT MATCHED AND s.v >= 0 THEN INSERT (k, v) VALUES (s.k, s.v)"""
PAIRS = """MERGE INTO t USING (SELECT * FROM VALUES (?, ?), (?, ?) AS u(k, v)) AS s ON t.k = s.k
WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT *"""


@pytest.fixture
def connection() -> Iterator[sqlfront.Connection]:
    with sqlfront.connect() as connection:
        connection.execute("CREATE TABLE t (k BIGINT, v INT) USING memory CLUSTERED BY (k)")
        connection.execute("INSERT INTO t SELECT id, id FROM range(100000)")
        yield connection


def plans(connection: sqlfront.Connection) -> list[MergePlan]:
    cached = (entry.plan for entry in connection.session.context.plans.entries())
    return [plan for plan in cached if isinstance(plan, MergePlan)]


def value(connection: sqlfront.Connection, key: int | None) -> list[tuple[object, ...]]:
    return connection.execute("SELECT v FROM t WHERE k <=> ?", [key]).fetchall()


@pytest.mark.parametrize("seed", range(3))
def test_repeated_merges_leave_what_a_model_says(connection: sqlfront.Connection, seed: int) -> None:
    chosen = random.Random(seed)
    model = {key: key for key in range(100000)}
    for _ in range(60):
        key, change = chosen.choice([5, 77, 99_999, 100_000, 100_001]), chosen.randrange(-3, 10)
        written = connection.execute(UPSERT, [key, change]).rowcount
        assert written == (1 if key in model or change >= 0 else 0)
        if change < 0:
            model.pop(key, None)
        else:
            model[key] = model.get(key, 0) + change

    (plan,) = plans(connection)
    assert plan.reason == "a few rows of 1 table, on the caller's thread"
    assert connection.execute("SELECT count(*), sum(v) FROM t").fetchall() == [
        (len(model), sum(model.values()))
    ]
    for key in (5, 77, 99_999, 100_000, 100_001):
        assert value(connection, key) == ([(model[key],)] if key in model else [])


def test_other_types_have_another_plan(connection: sqlfront.Connection) -> None:
    for key in (1, Decimal(2), 3.0, None):
        connection.execute(UPSERT, [key, 1000])
    assert [value(connection, key) for key in (1, 2, 3, None)] == [[(1001,)], [(1002,)], [(1003,)], [(1000,)]]


def test_a_row_that_is_found_twice_is_an_error_that_changes_nothing(connection: sqlfront.Connection) -> None:
    connection.execute(PAIRS, [1, 10, 2, 20])
    assert len(plans(connection)) == 1
    with pytest.raises(sqlfront.Error) as raised:
        connection.execute(PAIRS, [3, 10, 3, 20])
    assert raised.value.condition == "MERGE_CARDINALITY_VIOLATION"
    connection.execute(PAIRS, [-1, 10, -1, 20])  # both are inserted
    assert [value(connection, key) for key in (1, 2, 3)] == [[(10,)], [(20,)], [(3,)]]
    assert sorted(value(connection, -1)) == [(10,), (20,)]


def test_errors_of_a_repeated_merge_are_those_of_the_first(connection: sqlfront.Connection) -> None:
    connection.execute(UPSERT, [1, 2**31 - 2])
    for _ in range(2):
        with pytest.raises(sqlfront.DataError) as raised:
            connection.execute(UPSERT, [1, 5])
        assert raised.value.condition == "ARITHMETIC_OVERFLOW"
    assert value(connection, 1) == [(2**31 - 1,)]

    connection.execute("CREATE TABLE strict (k INT NOT NULL, v INT) USING memory CLUSTERED BY (k)")
    sql = """MERGE INTO strict USING (SELECT ? AS k) AS s ON strict.k = s.k
    WHEN NOT MATCHED THEN INSERT (k) VALUES (s.k)"""
    connection.execute(sql, [1])
    with pytest.raises(sqlfront.Error) as violated:
        connection.execute(sql.replace("VALUES (s.k)", "VALUES (nullif(s.k, 2))"), [2])
    assert violated.value.condition == "NOT_NULL_ASSERT_VIOLATION"
    assert connection.execute("SELECT * FROM strict").fetchall() == [(1, None)]


def test_a_plan_follows_the_table_of_its_name(connection: sqlfront.Connection) -> None:
    connection.execute(UPSERT, [1, 1])
    connection.execute("CREATE OR REPLACE TABLE t (k BIGINT, v INT) USING memory CLUSTERED BY (k)")
    assert connection.execute(UPSERT, [1, 7]).rowcount == 1
    connection.execute("ALTER TABLE t ADD COLUMN w STRING")
    connection.execute(UPSERT, [1, 1])
    connection.execute(UPSERT, [2, 2])
    assert connection.execute("SELECT * FROM t ORDER BY k").fetchall() == [(1, 8, None), (2, 2, None)]


def test_many_rows_for_a_key_take_a_job(connection: sqlfront.Connection) -> None:
    connection.execute(
        "CREATE TABLE skewed USING memory CLUSTERED BY (k) AS SELECT id % 2 AS k, id AS v FROM range(40000)"
    )
    sql = "MERGE INTO skewed AS t USING (SELECT ? AS k) AS s ON t.k = s.k WHEN MATCHED THEN DELETE"
    assert connection.execute(sql, [7]).rowcount == 0
    assert connection.execute(sql, [1]).rowcount == 20000
    assert connection.execute("SELECT count(*), max(k) FROM skewed").fetchall() == [(20000, 0)]
