"""Statements beside Spark: each is observed once, whichever side answers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import functions

import sqlfront
from sqlfront import Config
from sqlfront.spark.attached import AttachedSession
from tests.oracle.spark import SparkOracle

pytestmark = pytest.mark.spark


@pytest.fixture
def session(spark: SparkOracle) -> Iterator[AttachedSession]:
    """A session beside a Spark session with a view ``events``, and with a table of its own, ``kinds``."""
    beside = spark.new_session()
    beside.range(100).selectExpr("id", "id % 7 AS kind").createOrReplaceTempView("events")
    with AttachedSession(beside, Config(query_history=50)) as made:
        made.execute("CREATE TABLE kinds USING memory CLUSTERED BY (kind) AS SELECT id AS kind FROM range(7)")
        yield made


def listed(session: AttachedSession) -> list[tuple[object, ...]]:
    """State, lane, rows given and condition of this session's statements, without the first and the last."""
    columns = "state, lane, rows_given, condition"
    rows = session.execute(f"SELECT {columns} FROM sys.queries WHERE text NOT LIKE '%sys.queries%'").collect()
    return [tuple(row) for row in rows[1:]]


def test_each_lane_is_observed_once(session: AttachedSession) -> None:
    session.sql("SELECT kind FROM kinds WHERE kind = 3").collect()
    session.sql("SELECT * FROM events").collect()
    session.sql("SELECT count(*) FROM events e JOIN kinds k ON e.kind = k.kind WHERE e.id < 10").collect()
    with pytest.raises(sqlfront.Error):
        session.sql("SELECT nothing FROM events").collect()
    with pytest.raises(sqlfront.Error):
        session.sql("SELECT raise_error(string(id)) FROM events").collect()

    found = listed(session)
    assert found[0] == ("finished", "direct", 1, None)
    assert found[1] == ("finished", "spark", 100, None)
    assert (found[2][0], found[2][2]) == ("finished", 1)
    assert found[2][1] in ("mixed", "spark")
    assert [row[0] for row in found[3:]] == ["failed", "failed"]
    assert len(found) == 5


def test_parameters_that_only_spark_knows_make_one_statement(session: AttachedSession) -> None:
    array = functions.array(functions.lit(1))
    rows = session.sql("SELECT :x AS x FROM events LIMIT 2", {"x": array}).collect()

    assert len(rows) == 2
    assert [(row[0], row[1], row[2]) for row in listed(session)] == [("finished", "spark", 2)]


def test_results_that_become_frames_and_views_are_statements_once(
    session: AttachedSession,
) -> None:
    session.sql("SELECT upper(string(kind)) FROM kinds").toPandas()
    session.sql("SELECT kind FROM kinds").createOrReplaceTempView("again")

    states = [row[0] for row in listed(session)]
    assert states[0] == "finished"
    assert len(states) == 2
