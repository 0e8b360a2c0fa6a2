"""Answers beside a live Spark that holds the tables, where these are made, written, dropped and copied."""

import pytest

import sqlfront
from tests.oracle import slt
from tests.oracle.beside import BesideSpark
from tests.oracle.complete import SLT_FOLDER
from tests.oracle.slt import Record
from tests.oracle.spark import SparkOracle

pytestmark = [pytest.mark.spark, pytest.mark.cluster]


def test_answers_are_those_of_the_session(spark: SparkOracle) -> None:
    with BesideSpark(spark.begin_file(), sqlfront.Config(members=3, workers=1, collect_rows=0)) as beside:
        tally = beside.run(sample(slt.read(SLT_FOLDER / "tables.slt")))

    assert not tally.differences, "\n\n".join(tally.differences)
    assert {"light", "errors of Spark's"} <= set(tally.lanes)


def sample(records: list[Record]) -> list[Record]:
    """All statements, and every third query."""
    queries = [record for record in records if record.is_query][::3]
    return [record for record in records if not record.is_query or record in queries]
