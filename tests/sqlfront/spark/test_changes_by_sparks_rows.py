"""MERGE, UPDATE and DELETE of an own table by rows of Spark's: the table ends as by the same statement when
all rows are the session's own."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import sqlfront
from sqlfront.results.row import Row
from sqlfront.session import Session
from sqlfront.spark.attached import AttachedSession
from sqlfront_values.errors import DataError, NotSupportedError
from tests.sampling import sampled
from tests.sqlfront.spark.conftest import Sessions

pytestmark = pytest.mark.spark

EVENTS = "SELECT id, id % 7 AS kind, concat('e', id) AS name FROM range(100)"
STATEMENTS = [
    """MERGE INTO kinds USING (SELECT * FROM events WHERE id BETWEEN 3 AND 9) AS e ON kinds.kind = e.id
    WHEN MATCHED AND e.id = 4 THEN DELETE
    WHEN MATCHED THEN UPDATE SET name = concat(kinds.name, e.name)
    WHEN NOT MATCHED THEN INSERT (kind, name) VALUES (e.id, e.name)
    WHEN NOT MATCHED BY SOURCE AND kinds.kind = 1 THEN UPDATE SET name = 'alone'""",
    """MERGE INTO kinds USING (SELECT kind, count(*) AS n FROM events WHERE id < 40 GROUP BY kind) AS e
    ON kinds.kind = e.kind AND e.n > 5 WHEN MATCHED THEN UPDATE SET kinds.name = concat('n', e.n)""",
    """MERGE INTO kinds USING events ON false WHEN NOT MATCHED AND events.id > 97 THEN
    INSERT (kind, name) VALUES (events.id, events.name)""",
    "DELETE FROM kinds WHERE kind IN (SELECT kind FROM events WHERE id = ?)",
    "DELETE FROM kinds WHERE EXISTS (SELECT 1 FROM events WHERE events.id = kinds.kind AND events.id > 2)",
    "UPDATE kinds SET name = 'seen' WHERE kind IN (SELECT id FROM events WHERE name LIKE 'e3%')",
    "UPDATE kinds SET name = concat(name, '!') WHERE kind < (SELECT min(id) + 3 FROM events)",
    "UPDATE kinds SET kind = kind + 100 WHERE kind NOT IN (SELECT id FROM events WHERE id > 4)",
]


@pytest.fixture
def beside(spark: Sessions) -> SparkSession:
    session = spark.new_session()
    session.sql(EVENTS).createOrReplaceTempView("events")
    return session


@pytest.fixture(params=[1, pytest.param(3, marks=pytest.mark.cluster)])
def session(beside: SparkSession, request: pytest.FixtureRequest) -> Iterator[AttachedSession]:
    with AttachedSession(beside, sqlfront.Config(members=request.param)) as session:
        yield session


def kinds(session: Session, table: str) -> None:
    session.execute(
        f"CREATE OR REPLACE TABLE kinds {table} AS SELECT id AS kind, concat('k', id) AS name FROM range(7)"
    )


def after(session: Session, statement: str, table: str) -> tuple[int | None, list[Row]]:
    kinds(session, table)
    arguments = [4] if "?" in statement else None
    written = session.execute(statement, arguments).affected
    return written, session.execute("SELECT * FROM kinds ORDER BY kind, name").collect()


@pytest.mark.parametrize("statement", sampled(STATEMENTS, 3))
def test_rows_of_sparks_change_a_memory_table(session: AttachedSession, statement: str) -> None:
    table = "USING memory CLUSTERED BY (kind) INTO 8 BUCKETS"
    with Session() as alone:
        alone.execute(f"CREATE TEMP VIEW events AS {EVENTS}")
        expected = after(alone, statement, table)
    assert after(session, statement, table) == expected


@pytest.mark.parametrize("statement", sampled(STATEMENTS[:3], 3))
def test_rows_of_sparks_merge_into_files(beside: SparkSession, statement: str, tmp_path: Path) -> None:
    with Session() as alone:
        alone.execute(f"CREATE TEMP VIEW events AS {EVENTS}")
        expected = after(alone, statement, "USING memory")
    with AttachedSession(beside, sqlfront.Config(warehouse=str(tmp_path))) as session:
        assert after(session, statement, "USING parquet") == expected


def test_a_plan_does_not_keep_rows_of_sparks(session: AttachedSession, beside: SparkSession) -> None:
    kinds(session, "USING memory")
    statement = "DELETE FROM kinds WHERE kind IN (SELECT id FROM moving)"
    for key in (3, 5):
        beside.range(key, key + 1).createOrReplaceTempView("moving")
        assert session.execute(statement).affected == 1
    assert session.execute("SELECT count(*) FROM kinds WHERE kind IN (3, 5)").collect() == [(0,)]


def test_a_failure_in_spark_changes_nothing(session: AttachedSession) -> None:
    kinds(session, "USING memory")
    with pytest.raises(DataError):
        session.execute("UPDATE kinds SET name = 'x' WHERE kind IN (SELECT id / (id - 50) FROM events)")
    with pytest.raises(NotSupportedError, match="reflect"):
        session.execute(
            "DELETE FROM kinds WHERE reflect('java.lang.Math', 'abs', kind) IN (SELECT name FROM events)"
        )
    assert session.execute("SELECT count(*), max(name) FROM kinds").collect() == [(7, "k6")]
