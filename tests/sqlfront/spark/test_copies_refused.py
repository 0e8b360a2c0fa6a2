"""Copies of what can't be copied: one clear error each, and everything is as it was before."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import sqlfront
from sqlfront.config import Launcher
from sqlfront.spark.attached import AttachedSession
from sqlfront_values.errors import NotSupportedError, OperationalError, ProgrammingError
from tests.connectors.spark import executors
from tests.connectors.spark.executors import until
from tests.oracle.spark import SparkOracle

pytestmark = [pytest.mark.spark, pytest.mark.cluster]

Batches = Iterator[pa.RecordBatch]


@pytest.fixture(scope="module")
def beside(spark: SparkOracle) -> SparkSession:
    return spark.new_session()


@pytest.fixture(scope="module")
def session(beside: SparkSession) -> Iterator[AttachedSession]:
    """A session with members in processes of their own, to which Spark's tasks take rows."""
    with AttachedSession(beside, sqlfront.Config(members=2, workers=1, launcher=Launcher.LOCAL)) as session:
        session.execute("CREATE TABLE kept USING memory CLUSTERED BY (id) INTO 8 BUCKETS AS SELECT 7L AS id")
        yield session
        # Whatever was refused, the cluster goes on, and has nothing more than before.
        assert session.execute("SELECT id FROM kept WHERE id = 7").collect() == [(7,)]
        beside.range(9).createOrReplaceTempView("nine")
        session.execute("CACHE TABLE nine CLUSTERED BY (id)")
        found = session.execute("SELECT id FROM nine WHERE id = 5")
        assert (found.collect(), found.stats.lane) == ([(5,)], "direct")


def test_a_table_that_is_dropped_meanwhile(
    session: AttachedSession, beside: SparkSession, tmp_path: Path
) -> None:
    beside.range(0, 60_000, 1, 6).write.saveAsTable("dropped_meanwhile")
    beside.conf.set("spark.sql.files.minPartitionNum", "6")  # more tasks than run at once
    frame = beside.table("dropped_meanwhile")
    frame.mapInArrow(_waiting(tmp_path), frame.schema).createOrReplaceTempView("dropping")
    dropping = _dropping(beside, tmp_path, "dropped_meanwhile")
    with pytest.raises(OperationalError) as error:
        session.execute("CACHE TABLE dropping CLUSTERED BY (id)")
    dropping.join()

    # FILE_NOT_EXIST, or NO_HINT from a task that has just opened the file.
    assert str(error.value.condition).startswith("FAILED_READ_FILE.")
    assert "dropped_meanwhile" in error.value.message
    assert len(error.value.message) < 500
    assert session.execute("EXPLAIN SELECT * FROM dropping").collect()


def _waiting(folder: Path) -> Callable[[Batches], Batches]:
    """Tasks that wait until the table is dropped."""
    place = str(folder)

    def waiting(batches: Batches) -> Batches:
        import os
        import time

        for batch in batches:
            with open(f"{place}/begun", "w"):
                pass
            while not os.path.exists(f"{place}/dropped"):
                time.sleep(0.01)
            yield batch

    return waiting


def _dropping(spark: SparkSession, folder: Path, table: str) -> threading.Thread:
    def drop() -> None:
        until((folder / "begun").exists)
        spark.sql(f"DROP TABLE {table}")
        (folder / "dropped").touch()

    thread = threading.Thread(target=drop)
    thread.start()
    return thread


@pytest.mark.parametrize(
    ("column", "type_name"),
    [("parse_json('1')", "variant"), ("TIME '10:00:00'", "time(6)"), ("'a' COLLATE UTF8_LCASE", "collate")],
)
def test_a_type_that_is_spark_s_alone(
    session: AttachedSession, beside: SparkSession, column: str, type_name: str
) -> None:
    beside.sql(f"SELECT 1 AS id, {column} AS strange").createOrReplaceTempView("stranger")
    with pytest.raises(NotSupportedError, match="column `strange` has Spark's type") as error:
        session.execute("CACHE TABLE stranger CLUSTERED BY (id)")
    assert type_name in error.value.message
    assert session.execute("SELECT id FROM stranger").collect() == [(1,)]


def test_strings_of_a_fixed_length_are_compared_by_spark(
    session: AttachedSession, beside: SparkSession
) -> None:
    beside.sql("CREATE TABLE padded (id INT, code CHAR(5), name VARCHAR(5)) USING parquet")
    try:
        beside.sql("INSERT INTO padded VALUES (1, 'ab', 'ab')")
        with pytest.raises(NotSupportedError, match=r"column `code` has Spark's type char\(5\)"):
            session.execute("CACHE TABLE padded CLUSTERED BY (id)")
        assert session.execute("SELECT id, name FROM padded WHERE code = 'ab'").collect() == [(1, "ab")]
        session.execute("CACHE TABLE plain CLUSTERED BY (id) AS SELECT id, name FROM padded")
        found = session.execute("SELECT id FROM plain WHERE id = 1 AND name = 'ab'")
        assert (found.collect(), found.stats.lane) == ([(1,)], "direct")
    finally:
        beside.sql("DROP TABLE padded")


def test_what_is_cancelled(session: AttachedSession, beside: SparkSession) -> None:
    beside.range(1 << 40).where("sin(id) > 2").createOrReplaceTempView("endless")
    tracker, text = beside.sparkContext.statusTracker(), "CACHE TABLE endless CLUSTERED BY (id)"
    query = session.begin(text)

    def cancel() -> None:
        until(tracker.getActiveJobsIds)
        query.cancel("KILL")

    canceller = threading.Thread(target=cancel)
    canceller.start()
    with pytest.raises(OperationalError, match="cancelled by KILL"):
        session.execute(text, query=query)
    canceller.join()
    assert not tracker.getActiveJobsIds()


def test_an_executor_without_pyarrow(session: AttachedSession, beside: SparkSession, tmp_path: Path) -> None:
    beside.range(9).createOrReplaceTempView("numbers")
    context = beside.sparkContext
    usual, context.pythonExec = context.pythonExec, executors.python_with((), tmp_path / "python")
    try:
        with pytest.raises(OperationalError, match="No module named 'pyarrow'") as error:
            session.execute("CACHE TABLE numbers CLUSTERED BY (id)")
    finally:
        context.pythonExec = usual
    assert len(error.value.message) < 200
    assert session.execute("SELECT max(id) FROM numbers").collect() == [(8,)]


def test_columns_of_one_name(session: AttachedSession) -> None:
    with pytest.raises(ProgrammingError) as error:
        session.execute("CACHE TABLE twins CLUSTERED BY (id) AS SELECT 1 AS id, 2 AS same, 3 AS SAME")
    assert error.value.condition == "COLUMN_ALREADY_EXISTS"
    with pytest.raises(ProgrammingError) as error:
        session.execute(
            "CACHE TABLE twins CLUSTERED BY (id) AS SELECT id, 2 AS same, 3 AS same FROM range(3) "
            "WHERE java_method('java.lang.Math', 'abs', 1) = '1'"
        )
    assert error.value.condition == "COLUMN_ALREADY_EXISTS"
    with pytest.raises(ProgrammingError):
        session.execute("SELECT * FROM twins")
