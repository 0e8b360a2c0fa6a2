"""Random groupings by windows of time: sqlfront and a live Spark give the same columns, rows and errors."""

from random import Random

import pytest

from tests.oracle.answers import Failure, difference
from tests.oracle.random_time_windows import ZONES, events, window_query
from tests.oracle.spark import SparkOracle
from tests.oracle.subject import Subject


def differences(oracle: SparkOracle, seed: int, count: int) -> list[str]:
    """The queries of a seed that the two answer differently, with the difference."""
    asked, random, told = oracle.begin_file(), Random(seed), []
    setup = (
        f"SET TIME ZONE '{random.choice(ZONES)}'",
        f"CREATE OR REPLACE TEMPORARY VIEW e AS {events(random)}",
    )
    with Subject() as subject:
        for statement in setup:
            asked.answer(statement)
            assert not isinstance(outcome := subject.answer(statement), Failure), outcome
        for _ in range(count):
            sql = window_query(random, "e")
            found = difference(asked.answer(sql), subject.answer(sql), approximate=True)
            if found is not None:
                told.append(f"{sql}\n{found}")
    return told


@pytest.mark.spark
def test_windows_are_sparks(spark: SparkOracle) -> None:
    assert not differences(spark, 2, 8)


@pytest.mark.cluster
@pytest.mark.spark
@pytest.mark.parametrize("seed", range(100, 140))
def test_many_windows_are_sparks(spark: SparkOracle, seed: int) -> None:
    assert not differences(spark, seed, 12)
