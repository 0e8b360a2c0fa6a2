"""What an attached session raises is caught by programs written for PySpark, and is an error of PEP 249."""

from collections.abc import Iterator
from typing import cast

import pytest
from pyspark.errors import AnalysisException, PySparkException
from pyspark.errors.exceptions import base
from pyspark.sql import SparkSession

import sqlfront
from sqlfront.spark.attached import AttachedSession
from sqlfront_connectors.spark.exceptions import of_both
from tests.sampling import sampled
from tests.sqlfront.spark.conftest import Sessions

FAILING = (
    "SELECT nme FROM events",
    "SELECT * FROM nowhere",
    "SELECT nothing(1)",
    "SELECT 1 +",
    "SELEC 1",
    "",
    "SELECT `a`.`",
    "SELECT sum(id), kind FROM events",
    "SELECT 1 + ARRAY(1)",
    "SELECT 1 / 0",
    "SELECT 1 % 0",
    "SELECT 2147483647 + 1",
    "SELECT 9223372036854775807L + id FROM events WHERE id = 1",
    "SELECT cast(300000000000L AS INT)",
    "SELECT cast('x' AS INT)",
    "SELECT cast('x' AS DECIMAL(3, 1))",
    "SELECT cast('x' AS DOUBLE)",
    "SELECT cast('x' AS DATE)",
    "SELECT cast('x' AS TIMESTAMP)",
    "SELECT cast('x' AS BOOLEAN)",
    "SELECT cast(12345.6BD AS DECIMAL(3, 1))",
    "SELECT ARRAY(1, 2)[7]",
    "SELECT element_at(ARRAY(1, 2), 7)",
    "SELECT element_at(ARRAY(1, 2), 0)",
    "SELECT make_date(2024, 13, 1)",
    "SELECT to_date('x', 'yyyy-MM-dd')",
    "SELECT to_timestamp('2024', 'yyyy-MM')",
    "SELECT raise_error('no')",
    "SELECT assert_true(id > 3) FROM events",
    "SELECT map(1, 2, 1, 3)",
    "SELECT cast(1e30 AS BIGINT)",
    "SELECT INTERVAL 1 YEAR / 0",
    "SELECT make_timestamp(2024, 1, 1, 25, 0, 0)",
    "SELECT to_number('x', '99')",
    "DROP TABLE nowhere",
    "USE nowhere",
)


@pytest.fixture(scope="module")
def beside(request: pytest.FixtureRequest) -> SparkSession:
    """A Spark session with one view, ``events``."""
    spark: Sessions = request.getfixturevalue("spark")
    session = spark.new_session()
    session.range(9).selectExpr("id", "id % 7 AS kind").createOrReplaceTempView("events")
    return session


@pytest.fixture
def session(beside: SparkSession) -> Iterator[AttachedSession]:
    with AttachedSession(beside) as session:
        yield session


def raised(session: SparkSession, text: str) -> PySparkException:
    with pytest.raises(PySparkException) as failure:
        session.sql(text).collect()
    return failure.value


def class_of(error: PySparkException) -> str:
    """The most special of PySpark's public classes that catches an error."""
    return next(kind.__name__ for kind in type(error).__mro__ if kind.__module__ == base.__name__)


@pytest.mark.spark
@pytest.mark.parametrize("text", sampled(FAILING, 4))
def test_an_error_is_of_sparks_class_and_condition(
    session: AttachedSession, beside: SparkSession, text: str
) -> None:
    theirs, ours = raised(beside, text), raised(cast("SparkSession", session), text)

    assert (class_of(ours), ours.getCondition(), ours.getSqlState()) == (
        class_of(theirs),
        theirs.getCondition(),
        theirs.getSqlState(),
    )
    assert isinstance(ours, sqlfront.DatabaseError)


@pytest.mark.spark
def test_a_format_that_neither_engine_has_is_sparks_error(session: AttachedSession) -> None:
    with pytest.raises(sqlfront.Error, match="Failed to find the data source: nonsense") as failure:
        session.sql("CREATE TABLE new (x INT) USING nonsense")
    assert failure.value.condition == "DATA_SOURCE_NOT_FOUND"


@pytest.mark.spark
def test_an_unknown_table_fails_at_once_and_names_itself(session: AttachedSession) -> None:
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_NOT_FOUND") as failure:
        session.sql("SELECT * FROM nowhere")
    assert isinstance(failure.value, sqlfront.ProgrammingError)
    assert failure.value.getMessage().startswith("[TABLE_OR_VIEW_NOT_FOUND] ")
    with pytest.raises(AnalysisException):
        session.table("nowhere")
    with pytest.raises(AnalysisException):
        session.catalog.refreshTable("nowhere")


@pytest.mark.spark
@pytest.mark.parametrize("at", [5, 299_999])
@pytest.mark.parametrize("way", ["batches", "__iter__", "toLocalIterator", "toArrow", "collect"])
def test_every_way_to_read_raises_it(session: AttachedSession, way: str, at: int) -> None:
    with pytest.raises(PySparkException) as failure:
        list(getattr(session.sql(f"SELECT 1 / (id - {at}) FROM range(300000)"), way)())
    assert failure.value.getCondition() == "DIVIDE_BY_ZERO"


def test_a_session_alone_raises_its_own() -> None:
    with sqlfront.Session() as session, pytest.raises(sqlfront.DataError) as failure:
        session.sql("SELECT 1 / 0").collect()
    assert not isinstance(failure.value, PySparkException)


def test_an_error_keeps_its_facts() -> None:
    error = sqlfront.ProgrammingError(
        "no `x`", condition="UNRESOLVED_COLUMN.WITHOUT_SUGGESTION", position=(7, 8)
    )
    error.locate("SELECT x")
    both = of_both(error)

    assert str(both) == str(error)
    assert (type(both).__name__, both.position, both.sqlstate) == ("ProgrammingError", (7, 8), "42703")
    assert of_both(both) is both
    assert of_both(plain := sqlfront.InterfaceError("closed")) is plain
