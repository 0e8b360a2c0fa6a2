"""What may stand before a column where tables of Spark's or copies of them are read: as Spark has it."""

from collections.abc import Callable, Iterator
from typing import Final

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from sqlfront.results.result import Result
from sqlfront.spark.attached import AttachedSession
from sqlfront_values.errors import DatabaseError
from tests.sqlfront.spark.conftest import Sessions

pytestmark = pytest.mark.spark

#: What comes out: rows, or the condition of an error.
Outcome = list[tuple[object, ...]] | str | None

QUERIES: Final = [
    "SELECT {0}.a FROM {1}",
    "SELECT {0}.* FROM {1}",
    "SELECT {0}.s.x FROM {1}",
    "SELECT max({0}.a) AS most FROM {1} GROUP BY {0}.a",
    "SELECT a FROM {1} ORDER BY {0}.a",
    "SELECT {0}.a FROM {1} AS other_name",
]
NAMES: Final = [
    ("plain", "plain"),
    ("default.plain", "plain"),
    ("SPARK_CATALOG.Default.Plain", "plain"),
    ("spark_catalog.plain", "plain"),
    ("far.plain", "plain"),
    ("default.plain", "spark_catalog.default.plain"),
    ("plain", "default.plain"),
    ("far.plain", "far.plain"),
    ("spark_catalog.far.plain", "far.plain"),
    ("default.lasting", "lasting"),
    ("spark_catalog.default.lasting", "default.lasting"),
    ("passing", "passing"),
    ("default.passing", "passing"),
    ("everywhere", "global_temp.everywhere"),
    ("global_temp.everywhere", "global_temp.everywhere"),
    ("default.everywhere", "global_temp.everywhere"),
]
RELATIONS: Final = ("plain", "far.plain", "lasting", "passing", "global_temp.everywhere")
#: The condition of a column that is none.
UNKNOWN: Final = "UNRESOLVED_COLUMN.WITH_SUGGESTION"
ROW: Final = "SELECT {0} AS a, named_struct('x', {0} + 1) AS s"


@pytest.fixture
def beside(spark: Sessions) -> Iterator[SparkSession]:
    """A Spark session with a relation of each kind."""
    session = spark.new_session()
    session.sql("CREATE DATABASE far")
    session.sql(f"CREATE TABLE plain USING parquet AS {ROW.format(1)}")
    session.sql(f"CREATE TABLE far.plain USING parquet AS {ROW.format(2)}")
    session.sql(f"CREATE VIEW lasting AS {ROW.format(3)}")
    session.sql(f"CREATE TEMP VIEW passing AS {ROW.format(4)}")
    session.sql(f"CREATE GLOBAL TEMP VIEW everywhere AS {ROW.format(5)}")
    yield session
    session.sql("DROP DATABASE far CASCADE")
    for dropped in ("TABLE default.plain", "VIEW default.lasting", "VIEW global_temp.everywhere"):
        session.sql(f"DROP {dropped}")


@pytest.fixture
def session(beside: SparkSession) -> Iterator[AttachedSession]:
    """A session beside it with a table of its own, ``own``."""
    with AttachedSession(beside) as session:
        session.execute("CREATE TABLE own USING memory AS SELECT 1 AS b")
        yield session


def outcome(run: Callable[[str], Result | DataFrame], text: str) -> Outcome:
    try:
        return [tuple(row) for row in run(text).collect()]
    except DatabaseError as error:
        return error.condition
    except PySparkException as error:
        return error.getCondition()


@pytest.mark.cluster
def test_columns_of_copies(session: AttachedSession, beside: SparkSession) -> None:
    texts = [query.format(*names) for names in NAMES for query in QUERIES]
    theirs = [outcome(beside.sql, text) for text in texts]
    for name in RELATIONS:
        session.execute(f"CACHE TABLE {name} CLUSTERED BY (a)")

    session.execute("SET sqlfront.lane = light")
    assert [outcome(session.execute, text) for text in texts] == theirs


@pytest.mark.cluster
def test_columns_beside_a_table_of_this_session(session: AttachedSession, beside: SparkSession) -> None:
    texts = [f"{QUERIES[0].format(*names)} JOIN own ON a <> b + 10" for names in NAMES]
    found = [outcome(session.execute, text) for text in texts]
    beside.range(1).toDF("b").createOrReplaceTempView("own")
    theirs = [outcome(beside.sql, text) for text in texts]
    beside.catalog.dropTempView("own")

    assert found == theirs
    right = [text for text, rows in zip(texts, theirs, strict=True) if rows != UNKNOWN]
    assert {session.execute(text).stats.lane for text in right} == {"mixed"}


def test_a_copy_goes_by_any_of_its_names(session: AttachedSession, beside: SparkSession) -> None:
    session.execute("CACHE TABLE default.plain CLUSTERED BY (a)")
    for name in ("plain", "default.plain", "spark_catalog.default.plain"):
        found = session.execute(f"SELECT a FROM {name} WHERE a = 1")
        assert (found.collect(), found.stats.lane) == ([(1,)], "direct")
    session.execute("INSERT INTO default.plain SELECT 7, named_struct('x', 8)")
    found = session.execute("SELECT max(a) FROM plain")
    assert (found.collect(), found.stats.lane) == ([(7,)], "spark")
    session.execute("CACHE TABLE plain CLUSTERED BY (a)")
    session.execute("UNCACHE TABLE spark_catalog.default.plain")
    assert session.execute("SELECT max(a) FROM plain").stats.lane == "spark"


@pytest.mark.cluster
def test_another_database_is_the_current_one(session: AttachedSession, beside: SparkSession) -> None:
    session.execute("CACHE TABLE plain CLUSTERED BY (a)")
    text = "SELECT plain.a, current_database() FROM plain"
    found = session.execute(text)
    assert (found.collect(), found.stats.lane) == ([(1, "default")], "light")

    session.execute("USE far")
    assert session.execute(text).collect() == [(2, "far")]
    found = session.execute("SELECT default.plain.a FROM default.plain WHERE a = 1")
    assert (found.collect(), found.stats.lane) == ([(1,)], "direct")
    session.execute("CACHE TABLE plain CLUSTERED BY (a)")
    found = session.execute("SELECT far.plain.a FROM plain WHERE a = 2")
    assert (found.collect(), found.stats.lane) == ([(2,)], "direct")

    session.execute("-- and back\nUSE default")
    assert session.execute(text).collect() == [(1, "default")]
    assert beside.catalog.currentDatabase() == "default"


@pytest.mark.cluster
def test_a_temporary_view_hides_the_copy_of_a_table(session: AttachedSession, beside: SparkSession) -> None:
    session.execute("CACHE TABLE plain CLUSTERED BY (a)")
    beside.range(9, 10).toDF("a").createOrReplaceTempView("plain")
    assert session.execute("SELECT plain.a FROM plain").collect() == [(9,)]
    assert outcome(session.execute, "SELECT default.plain.a FROM plain") == UNKNOWN
    found = session.execute("SELECT default.plain.a FROM default.plain WHERE a = 1")
    assert (found.collect(), found.stats.lane) == ([(1,)], "direct")
