"""Files that the readers here refuse or fail on, beside a Spark session: Spark reads them."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from sqlfront.check.checker import CheckedLane, Checker
from sqlfront.spark.attached import AttachedSession
from tests.sqlfront.spark.conftest import Sessions

pytestmark = pytest.mark.spark


@pytest.fixture
def beside(spark: Sessions) -> SparkSession:
    """The Spark session beside which the session is."""
    return spark.new_session()


@pytest.fixture
def session(beside: SparkSession) -> Iterator[AttachedSession]:
    """The session."""
    with AttachedSession(beside) as made:
        yield made


@pytest.fixture
def odd(tmp_path: Path) -> Path:
    """A file that only Spark reads: two of its columns differ by case alone, and a third is wanted."""
    pq.write_table(pa.table({"a": [1], "A": [2], "b": [3]}), tmp_path / "a.parquet")
    return tmp_path


def test_what_a_reader_refuses_as_it_runs_is_spark_s(session: AttachedSession, odd: Path) -> None:
    session.execute(f"CREATE TEMPORARY VIEW v (b BIGINT) USING parquet OPTIONS (path '{odd}')")

    result = session.execute("SELECT * FROM v")

    assert (result.collect(), result.stats.lane) == ([(3,)], "spark")


def test_what_a_reader_fails_on_after_the_first_rows_is_spark_s(
    session: AttachedSession, tmp_path: Path
) -> None:
    session.execute("SET sqlfront.lane = auto")
    pq.write_table(pa.table({"b": pa.array(range(200_000), pa.int64())}), tmp_path / "0.parquet")
    pq.write_table(pa.table({"b": [1], "B": [2], "c": [3]}), tmp_path / "1.parquet")
    session.execute(f"CREATE TEMPORARY VIEW v (c BIGINT) USING parquet OPTIONS (path '{tmp_path}')")

    result = session.execute("SELECT * FROM v")

    assert result.count() == 200_001
    assert result.stats.lane == "spark"


def test_explain_and_check_say_so_beforehand(
    session: AttachedSession, beside: SparkSession, odd: Path
) -> None:
    view = f"CREATE TEMPORARY VIEW v (b BIGINT) USING parquet OPTIONS (path '{odd}')"
    session.execute(view)

    (plan,) = session.execute("EXPLAIN SELECT * FROM v").collect()[0]
    with Checker(spark=beside) as checker:
        assert checker.check(view).way == CheckedLane.COMMAND
        verdict = checker.check("SELECT * FROM v")

    assert str(plan).startswith("lane: spark")
    assert verdict.way == CheckedLane.SPARK
    assert "two columns `a`" in verdict.reason
