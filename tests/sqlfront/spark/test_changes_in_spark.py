"""What changes in Spark, and what is left there: names, settings, what was handed over, hooks."""

import gc
import tempfile
import weakref
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from sqlfront.spark.attached import AttachedSession
from sqlfront.state.same_answers import OTHERS
from tests.oracle.spark import SparkOracle
from tests.programs import printed
from tests.sqlfront.test_cluster import until

pytestmark = pytest.mark.spark

STOPPED = """
import os, sys
os.environ["PYSPARK_PYTHON"] = sys.executable
from pyspark.sql import SparkSession
from sqlfront.spark.attached import AttachedSession
from sqlfront_values.errors import OperationalError

spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
spark.sparkContext.setLogLevel("OFF")
with AttachedSession(spark) as session:
    session.execute("CREATE TABLE own USING memory AS SELECT 1 AS a")
    statement = session.prepare("SELECT a FROM own")
    spark.range(3).createOrReplaceTempView("numbers")
    assert session.sql("SELECT count(*) FROM numbers").collect() == [(3,)]
    spark.stop()
    assert session.sql("SELECT a FROM own").collect() == statement.execute().collect() == [(1,)]
    for text in ("SELECT * FROM numbers", "SELECT schema_of_variant(parse_json('[1]'))"):
        try:
            session.sql(text)
        except OperationalError as error:
            print(error.sqlstate, error.message)
    assert session.sql("SELECT a + 1 FROM own").collect() == [(2,)]
"""

NEXT = """
import os, sys
os.environ["PYSPARK_PYTHON"] = sys.executable
from pyspark.sql import SparkSession
import sqlfront

first = sqlfront.connect(spark="local[1]")
pivot = "SELECT * FROM (SELECT array(1) AS a) PIVOT (count(*) FOR a IN (array(1)))"
assert first.execute(pivot).fetchall() == [(1,)]
SparkSession.active().stop()
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
first.close()
print(spark.range(3).count(), SparkSession.builder.getOrCreate() is spark)
"""


ENDING = """
import os, sys, time
os.environ["PYSPARK_PYTHON"] = sys.executable
from pyspark.sql import SparkSession
import sqlfront

spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
spark.sparkContext.setLogLevel("OFF")
connection = sqlfront.connect(spark=spark)
connection.execute("SET sqlfront.lane = spark")
connection.execute("SELECT sum(a.id) FROM range(1000000000) a JOIN range(100) b ON a.id % 7 = b.id % 11")
while not spark.sparkContext.statusTracker().getActiveJobsIds():
    time.sleep(0.01)
print("ends")
"""


@pytest.fixture
def beside(spark: SparkOracle) -> SparkSession:
    """A Spark session without views."""
    return spark.new_session()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary files are made."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def handed_over(folder: Path) -> list[Path]:
    """The files of tables that Spark was given."""
    return list(folder.glob("sqlfront-spark-*/*"))


def test_a_view_hides_the_table_of_a_prepared_statement(beside: SparkSession) -> None:
    with AttachedSession(beside) as session:
        session.execute("CREATE TABLE kinds USING memory AS SELECT id AS kind FROM range(7)")
        statement = session.prepare("SELECT count(*) FROM kinds WHERE kind < ?")
        assert statement.execute([5]).collect() == statement.execute([5]).collect() == [(5,)]
        beside.range(3).toDF("kind").createOrReplaceTempView("kinds")
        assert statement.execute([5]).collect() == [(3,)]
        beside.catalog.dropTempView("kinds")
        assert statement.execute([5]).collect() == [(5,)]
        session.execute("SET sqlfront.lane = spark")
        assert statement.execute([5]).stats.lane == "spark"


def test_a_time_zone_that_only_spark_has(beside: SparkSession) -> None:
    text = "SELECT hour(timestamp_micros(0)) AS h"
    with AttachedSession(beside) as session:
        beside.conf.set("spark.sql.session.timeZone", "SystemV/PST8")
        found = session.execute(text)
        assert (found.collect(), found.stats.lane) == ([tuple(beside.sql(text).collect()[0])], "spark")
        assert found.stats.reason == "spark.sql.session.timeZone is SystemV/PST8"
        beside.conf.set("spark.sql.session.timeZone", "Europe/Rome")
        found = session.execute(text)
        assert (found.collect(), found.stats.lane) == ([(1,)], "direct")


def test_our_answers_are_those_of_the_default_settings(beside: SparkSession) -> None:
    assert {key: beside.conf.get(key) or default for key, default in OTHERS.items()} == OTHERS


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        ("spark.sql.timestampType", "TIMESTAMP_NTZ", "SELECT typeof(TIMESTAMP'2020-01-01') AS t"),
        ("spark.sql.ansi.doubleQuotedIdentifiers", "true", 'SELECT "a" FROM VALUES (1) AS t(a)'),
        ("spark.sql.legacy.timeParserPolicy", "legacy", "SELECT date_format(DATE'2020-01-01', 'YYYY') AS y"),
    ],
)
def test_under_other_settings_spark_answers(beside: SparkSession, key: str, value: str, text: str) -> None:
    with AttachedSession(beside) as session:
        assert session.execute("SELECT 1").stats.lane == "direct"
        beside.conf.set(key, value)
        found = session.execute(text)
        assert (found.collect(), found.stats.reason) == (
            [tuple(row) for row in beside.sql(text).collect()],
            f"{key} is {value}",
        )
        beside.conf.unset(key)
        assert session.execute("SELECT 1").stats.lane == "direct"


def test_what_was_handed_to_spark_goes_with_the_table(beside: SparkSession, folder: Path) -> None:
    with AttachedSession(beside) as session:
        session.execute("CREATE TABLE own USING memory AS SELECT id FROM range(100)")
        for table in ("own", "own", "another"):
            if table == "another":
                session.execute("DROP TABLE own")
                session.execute("CREATE TABLE another USING memory AS SELECT 1 AS id")
            frame = session.sql(f"SELECT count(*) FROM {table} TABLESAMPLE (100 PERCENT) REPEATABLE (1)")
            assert frame.stats.lane == "spark"
            frame.collect()
            assert len(handed_over(folder)) >= 1
            session.execute(f"INSERT INTO {table} VALUES (1)")
        del frame
        gc.collect()
        until(lambda: not handed_over(folder))


def test_closing_leaves_nothing_in_spark(beside: SparkSession, folder: Path) -> None:
    session = AttachedSession(beside)
    lane = session.spark
    assert lane is not None
    session.execute("CREATE TABLE own USING memory AS SELECT 1 AS a")
    session.execute("SET sqlfront.lane = spark")
    assert session.sql("SELECT a FROM own").collect() == [(1,)]
    session.execute("SET sqlfront.lane = auto")
    assert lane.is_settled
    assert handed_over(folder)
    session.close()
    assert list(folder.iterdir()) == []
    assert beside.catalog.listTables() == []
    beside.range(3).createOrReplaceTempView("numbers")
    assert lane.is_settled  # nobody told it


def test_a_session_that_nobody_has_is_freed(beside: SparkSession, folder: Path) -> None:
    session = AttachedSession(beside)
    session.execute("CREATE TABLE own USING memory AS SELECT 1 AS a")
    session.execute("SET sqlfront.lane = spark")
    assert session.sql("SELECT a FROM own").collect() == [(1,)]
    assert list(folder.iterdir())
    del session
    gc.collect()
    assert list(folder.iterdir()) == []


def test_a_session_goes_once_the_last_row_of_its_job_is_read(beside: SparkSession) -> None:
    session = AttachedSession(beside)
    result = session.execute("SELECT id FROM range(300000)")
    known = weakref.ref(session.context)
    del session
    gc.collect()
    assert known() is not None
    assert result.stats.lane == "light"
    assert result.count() == 300_000
    gc.collect()
    assert known() is None


@pytest.mark.cluster
def test_own_tables_answer_when_spark_is_stopped() -> None:
    assert printed(STOPPED) == ["08003 the Spark session is stopped, or its JVM has died"] * 2


@pytest.mark.cluster
def test_the_next_session_stays_when_that_of_a_stopped_one_is_closed() -> None:
    assert printed(NEXT) == ["3 True"]


@pytest.mark.cluster
def test_a_process_ends_well_while_spark_runs_its_query() -> None:
    assert printed(ENDING) == ["ends"]
