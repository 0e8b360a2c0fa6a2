"""INSERT OVERWRITE DIRECTORY beside a Spark session: who writes."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from sqlfront.spark.attached import AttachedSession
from tests.sqlfront.spark.conftest import Sessions

pytestmark = pytest.mark.spark


@pytest.fixture
def beside(spark: Sessions) -> SparkSession:
    """The Spark session beside which the session is."""
    return spark.new_session()


@pytest.fixture
def session(beside: SparkSession) -> Iterator[AttachedSession]:
    """The session, which has a table `directory` of its own."""
    with AttachedSession(beside) as made:
        made.execute("CREATE TABLE directory USING memory AS SELECT 7 AS a")
        yield made


@pytest.mark.parametrize(
    ("using", "query", "lane"),
    [
        ("parquet", "TABLE directory", "command"),
        ("csv OPTIONS (header true)", "SELECT 7 AS a", "command"),
        ("orc", "SELECT 7 AS a", "spark"),
        ("json OPTIONS (ignoreNullFields false)", "SELECT 7 AS a", "spark"),
        ("parquet", "SELECT * FROM theirs", "spark"),
        ("json", "SELECT directory.a FROM directory JOIN theirs USING (a)", "spark"),
        ("parquet", "SELECT a FROM directory TABLESAMPLE (100 PERCENT) REPEATABLE (1)", "spark"),
    ],
)
def test_what_is_not_built_here_is_written_by_spark(
    session: AttachedSession, beside: SparkSession, tmp_path: Path, using: str, query: str, lane: str
) -> None:
    beside.sql("SELECT 7 AS a").createOrReplaceTempView("theirs")
    for text in (f"'{tmp_path}/out' USING {using}", f"/* a */ '{tmp_path}/out' -- b\n USING {using}"):
        result = session.execute(f"INSERT OVERWRITE DIRECTORY {text} {query}")

        assert (result.collect(), result.columns, result.stats.lane) == ([], [], lane)
        read = beside.read.format(using.split(maxsplit=1)[0]).options(header="true").load(f"{tmp_path}/out")
        assert [int(row[0]) for row in read.collect()] == [7]


def test_a_table_of_the_name_is_still_the_sessions(session: AttachedSession) -> None:
    session.execute("INSERT OVERWRITE directory SELECT 8")

    assert session.execute("TABLE directory").collect() == [(8,)]
