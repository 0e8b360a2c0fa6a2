"""Random queries over the clauses, live: sqlfront's answers are Spark's."""

import pytest

from tests.oracle.random_clauses import differences, statements
from tests.oracle.spark import SparkOracle


@pytest.mark.spark
def test_random_clauses_are_answered_as_by_spark(spark: SparkOracle) -> None:
    spark.begin_file()

    assert differences(spark, statements(25, seed=11)) == []


@pytest.mark.spark
@pytest.mark.cluster
def test_many_random_clauses_are_answered_as_by_spark(spark: SparkOracle) -> None:
    spark.begin_file()

    assert differences(spark, statements(600, seed=12)) == []
