"""Random MERGE statements, live: the table has the rows of Spark's equivalent SELECT."""

import pytest

import sqlfront
from tests.oracle.random_merges import cases, differences
from tests.oracle.spark import SparkOracle


@pytest.mark.spark
@pytest.mark.parametrize("members", [1, 3])
def test_random_merges_give_the_rows_of_sparks_select(spark: SparkOracle, members: int) -> None:
    config = sqlfront.Config(members=members)

    assert differences(spark.begin_file(), cases(15, seed=20 + members), config) == []


@pytest.mark.spark
@pytest.mark.cluster
@pytest.mark.parametrize("members", [1, 3])
def test_many_random_merges_give_the_rows_of_sparks_select(spark: SparkOracle, members: int) -> None:
    config = sqlfront.Config(members=members)

    assert differences(spark.begin_file(), cases(300, seed=40 + members), config) == []
