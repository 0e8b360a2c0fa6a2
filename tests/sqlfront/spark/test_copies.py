"""Copies in members of what a live Spark has."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import sqlfront
from sqlfront.config import Launcher
from sqlfront.spark.attached import AttachedSession
from sqlfront_values.errors import OperationalError, ProgrammingError
from tests.connectors.spark.conftest import jvm_context
from tests.sqlfront.spark.conftest import Sessions

pytestmark = pytest.mark.spark

LOOKUP = "SELECT id, kind, note FROM events WHERE id = 7"


@pytest.fixture
def beside(spark: Sessions) -> SparkSession:
    """A Spark session with a view, ``events``, of 1,000 rows."""
    session = spark.new_session()
    put(session, "n")
    return session


def put(session: SparkSession, note: str) -> None:
    frame = session.range(1000).selectExpr("id", "id % 7 AS kind", f"concat('{note}', id) AS note")
    frame.createOrReplaceTempView("events")


@pytest.fixture(params=["one member", "three members", pytest.param("processes", marks=pytest.mark.cluster)])
def session(request: pytest.FixtureRequest, beside: SparkSession) -> Iterator[AttachedSession]:
    """A session beside it in which ``events`` is cached."""
    config = {
        "one member": sqlfront.Config(),
        "three members": sqlfront.Config(members=3, workers=1),
        "processes": sqlfront.Config(members=2, workers=1, launcher=Launcher.LOCAL),
    }[request.param]
    with AttachedSession(beside, config) as session:
        session.execute("CACHE TABLE events CLUSTERED BY (id) INTO 8 BUCKETS")
        yield session


def test_a_copy_is_read_here_and_follows_what_spark_has(
    session: AttachedSession, beside: SparkSession
) -> None:
    found = session.execute(LOOKUP)
    assert (found.collect(), found.stats.lane) == ([(7, 0, "n7")], "direct")
    text = "SELECT kind, count(*), max(note) FROM events GROUP BY kind ORDER BY kind"
    found = session.execute(text)
    assert found.collect() == [tuple(row) for row in beside.sql(text).collect()]
    assert found.stats.lane == "light"

    put(beside, "new")  # the copy is Spark's view of before
    found = session.execute(LOOKUP)
    assert (found.collect(), found.stats.lane) == ([(7, 0, "new7")], "spark")
    session.execute("CACHE TABLE events CLUSTERED BY (id)")
    found = session.execute(LOOKUP)
    assert (found.collect(), found.stats.lane) == ([(7, 0, "new7")], "direct")

    session.execute("UNCACHE TABLE events")
    assert session.execute(LOOKUP).stats.lane == "spark"
    assert session.execute("SELECT count(*) FROM events").collect() == [(1000,)]


@pytest.fixture
def alone(beside: SparkSession) -> Iterator[AttachedSession]:
    with AttachedSession(beside) as session:
        yield session


def test_a_query_of_sparks_can_be_copied(alone: AttachedSession) -> None:
    alone.execute("CREATE TABLE names USING memory AS SELECT 1L AS kind, 'one' AS name")
    alone.execute(
        "CACHE TABLE named CLUSTERED BY (id) AS SELECT id, name FROM events JOIN names USING (kind)"
    )
    found = alone.execute("SELECT name FROM named WHERE id = 8")
    assert (found.collect(), found.stats.lane) == ([("one",)], "direct")


def test_a_table_that_spark_writes_to_is_read_anew(alone: AttachedSession, beside: SparkSession) -> None:
    beside.range(3).write.saveAsTable("copied_numbers")
    try:
        alone.execute("CACHE TABLE copied_numbers CLUSTERED BY (id)")
        assert alone.execute("SELECT count(*) FROM copied_numbers").stats.lane == "light"
        alone.execute("INSERT INTO copied_numbers VALUES (7)")
        found = alone.execute("SELECT max(id) FROM copied_numbers")
        assert (found.collect(), found.stats.lane) == ([(7,)], "spark")
        alone.execute("CACHE TABLE copied_numbers CLUSTERED BY (id)")
        assert alone.execute("SELECT id FROM copied_numbers WHERE id = 7").stats.lane == "direct"
        alone.execute("-- one more\nINSERT INTO /* once */ copied_numbers VALUES (8)")
        assert alone.execute("SELECT max(id) FROM copied_numbers").collect() == [(8,)]
        alone.execute("CACHE TABLE copied_numbers CLUSTERED BY (id)")
    finally:
        alone.execute("/* done */ DROP TABLE copied_numbers")
    assert not beside.catalog.tableExists("copied_numbers")
    with pytest.raises(ProgrammingError) as found_error:
        alone.execute("SELECT * FROM copied_numbers")
    assert found_error.value.condition == "TABLE_OR_VIEW_NOT_FOUND"


def test_what_others_have_written_is_read_after_refresh(
    alone: AttachedSession, beside: SparkSession, tmp_path: Path
) -> None:
    pq.write_table(pa.table({"id": [1, 2]}), tmp_path / "a.parquet")
    beside.sql(f"CREATE TABLE files (id BIGINT) USING parquet LOCATION '{tmp_path}'")
    try:
        alone.execute("CACHE TABLE files CLUSTERED BY (id)")
        pq.write_table(pa.table({"id": [3]}), tmp_path / "b.parquet")
        assert alone.execute("SELECT count(*) FROM files").collect() == [(2,)]
        alone.execute("REFRESH TABLE files")
        found = alone.execute("SELECT id FROM files WHERE id = 3")
        assert (found.collect(), found.stats.lane) == ([(3,)], "direct")
    finally:
        beside.sql("DROP TABLE files")


@pytest.mark.cluster
def test_a_copy_of_what_tells_no_files_goes_with_any_change(
    alone: AttachedSession, beside: SparkSession
) -> None:
    beside.range(3).write.saveAsTable("looked_up")
    beside.sql("CREATE TEMP VIEW most AS SELECT (SELECT max(id) FROM looked_up) AS most")
    beside.sql("CACHE TABLE looked_up")  # Spark's own
    try:
        for name in ("most", "looked_up"):
            alone.execute(f"CACHE TABLE {name}")
            assert alone.execute(f"SELECT * FROM {name}").stats.lane == "light"
        beside.range(7, 8).write.insertInto("looked_up")
        assert alone.execute("SELECT most FROM most").collect() == [(7,)]
        assert alone.execute("SELECT count(*) FROM looked_up").collect() == [(4,)]
    finally:
        beside.sql("DROP TABLE looked_up")


@pytest.mark.cluster
def test_what_stops_a_copy_stops_sparks_jobs(alone: AttachedSession, beside: SparkSession) -> None:
    beside.range(1 << 40).where("sin(id) > 2").createOrReplaceTempView("endless")
    with pytest.raises(OperationalError, match="timeout of 1 s"):
        alone.execute("CACHE TABLE endless", timeout=1)
    assert not jvm_context().statusTracker().getActiveJobsIds()
    assert alone.context.catalog.entries() == ()


@pytest.mark.cluster
def test_a_copy_of_nothing(alone: AttachedSession) -> None:
    with pytest.raises(ProgrammingError) as found:
        alone.execute("CACHE TABLE nowhere CLUSTERED BY (id)")
    assert found.value.condition == "TABLE_OR_VIEW_NOT_FOUND"
    with pytest.raises(ProgrammingError, match="no_such"):
        alone.execute("CACHE TABLE events CLUSTERED BY (no_such)")
    assert alone.execute("SELECT count(*) FROM events").stats.lane == "spark"


def test_a_copys_name_is_taken(alone: AttachedSession, beside: SparkSession) -> None:
    beside.range(3).write.saveAsTable("taken")
    try:
        for text in ("CREATE TABLE taken (x INT) USING parquet", "CREATE VIEW taken AS SELECT 1"):
            alone.execute("CACHE TABLE taken")
            with pytest.raises(ProgrammingError) as found:
                alone.execute(text)
            assert found.value.condition == "TABLE_OR_VIEW_ALREADY_EXISTS"
        alone.execute("CREATE TABLE IF NOT EXISTS taken (x INT)")
        assert alone.execute("SELECT count(*) FROM taken").collect() == [(3,)]
        alone.execute("CREATE TEMPORARY VIEW taken AS SELECT 1 AS one")  # hides it, in both
        assert alone.execute("SELECT * FROM taken").collect() == [(1,)]
        assert beside.table("taken").columns == ["one"]
    finally:
        beside.sql("DROP TABLE default.taken")


@pytest.mark.cluster
def test_a_copy_of_another_database_goes_by_its_whole_name(
    alone: AttachedSession, beside: SparkSession
) -> None:
    beside.sql("CREATE DATABASE far")
    try:
        beside.sql("CREATE TABLE far.events USING parquet AS SELECT 1L AS id")
        alone.execute("CACHE TABLE far.events CLUSTERED BY (id)")
        found = alone.execute("SELECT far.events.id, events.id FROM far.events WHERE id = 1")
        assert (found.collect(), found.stats.lane) == ([(1, 1)], "direct")
        found = alone.execute("SELECT count(*) FROM events")
        assert (found.collect(), found.stats.lane) == ([(1000,)], "spark")
        assert alone.execute("SHOW TABLES IN far").collect() == [
            ("far", "events", False),
            ("", "events", True),
        ]

        alone.execute("INSERT INTO far.events VALUES (2)")
        found = alone.execute("SELECT count(*) FROM far.events")
        assert (found.collect(), found.stats.lane) == ([(2,)], "spark")
        alone.execute("CACHE TABLE far.events")
        alone.execute("UNCACHE TABLE far.events")
        assert alone.execute("SELECT max(id) FROM far.events").stats.lane == "spark"
    finally:
        beside.sql("DROP DATABASE far CASCADE")


def test_a_frame_takes_the_place_of_a_view_and_its_copy(alone: AttachedSession, beside: SparkSession) -> None:
    alone.execute("CACHE TABLE events CLUSTERED BY (id)")
    alone.sql("SELECT 7 AS x").createOrReplaceTempView("events")
    assert alone.execute("SELECT * FROM events").collect() == [(7,)]
    assert not beside.catalog.listTables(pattern="events")
    alone.unregister("events")
    with pytest.raises(ProgrammingError, match="events"):
        alone.execute("SELECT * FROM events")


@pytest.mark.cluster
def test_a_view_over_a_copy_is_sparks(alone: AttachedSession, beside: SparkSession) -> None:
    beside.range(3).write.saveAsTable("viewed")
    try:
        alone.execute("CACHE TABLE viewed")
        alone.execute("CREATE VIEW lasting AS SELECT max(id) AS most FROM viewed")
        assert [tuple(row) for row in beside.sql("SELECT * FROM lasting").collect()] == [(2,)]
        assert alone.execute("SELECT most FROM lasting").collect() == [(2,)]
    finally:
        beside.sql("DROP VIEW IF EXISTS lasting")
        beside.sql("DROP TABLE viewed")


def test_spark_reads_the_copy_of_a_query(alone: AttachedSession) -> None:
    alone.execute("CACHE TABLE few AS SELECT id FROM events WHERE id < 3")
    assert alone.execute("SELECT count(*) FROM few").stats.lane == "light"
    found = alone.execute("SELECT id, reflect('java.lang.Math', 'abs', -1) AS x FROM few WHERE id = 2")
    assert (found.collect(), found.stats.lane) == ([(2, "1")], "spark")
