"""Temporary views over files beside a Spark session: which of both has them."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from sqlfront.spark.attached import AttachedSession
from sqlfront_values.errors import ProgrammingError
from tests.sqlfront.spark.conftest import Sessions, views

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
def using(tmp_path: Path) -> str:
    """A file of one row."""
    (tmp_path / "a.csv").write_text("1\n")
    return f"USING csv OPTIONS (path '{tmp_path}')"


def test_a_temporary_view_over_files_is_read_here(
    session: AttachedSession, beside: SparkSession, using: str
) -> None:
    session.execute(f"CREATE TEMPORARY VIEW v {using}")

    result = session.execute("SELECT * FROM v")

    assert (result.collect(), result.stats.lane) == ([("1",)], "light")
    assert views(beside) == []


def test_a_view_of_spark_s_keeps_its_name_until_it_is_replaced(
    session: AttachedSession, beside: SparkSession, using: str
) -> None:
    beside.sql("CREATE TEMP VIEW v AS SELECT 2")

    with pytest.raises(ProgrammingError, match="TEMP_TABLE_OR_VIEW_ALREADY_EXISTS"):
        session.execute(f"CREATE TEMPORARY VIEW v {using}")
    assert session.execute("SELECT * FROM v").collect() == [(2,)]

    session.execute(f"CREATE OR REPLACE TEMPORARY VIEW v {using}")
    assert session.execute("SELECT * FROM v").collect() == [("1",)]
    assert views(beside) == []


def test_a_global_temporary_view_is_spark_s(
    session: AttachedSession, beside: SparkSession, using: str
) -> None:
    try:
        session.execute(f"CREATE GLOBAL TEMPORARY VIEW wide {using}")
        session.execute("CREATE GLOBAL TEMPORARY VIEW whole AS SELECT 3 AS a")

        assert [tuple(row) for row in beside.sql("SELECT * FROM global_temp.wide").collect()] == [("1",)]
        assert session.execute("SELECT a FROM global_temp.whole").collect() == [(3,)]
    finally:
        for name in ("wide", "whole"):
            beside.sql(f"DROP VIEW IF EXISTS global_temp.{name}")
