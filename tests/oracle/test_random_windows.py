"""Random windows and frames: sqlfront and a live Spark give the same columns, rows and errors."""

from random import Random

import pytest

from tests.oracle.answers import Failure, difference
from tests.oracle.random_windows import SETUP, window_query
from tests.oracle.spark import SparkOracle
from tests.oracle.subject import Subject


def differences(oracle: SparkOracle, seed: int, count: int) -> list[str]:
    """The queries of a seed that the two answer differently, with the difference."""
    asked = oracle.begin_file()
    random, told = Random(seed), []
    with Subject() as subject:
        for statement in SETUP:
            asked.answer(statement)
            assert not isinstance(outcome := subject.answer(statement), Failure), outcome
        for _ in range(count):
            sql = window_query(random)
            found = difference(asked.answer(sql), subject.answer(sql), ordered=False, approximate=True)
            if found is not None:
                told.append(f"{sql}\n{found}")
    return told


@pytest.mark.spark
def test_frames_are_sparks(spark: SparkOracle) -> None:
    assert not differences(spark, 11, 8)


@pytest.mark.cluster
@pytest.mark.spark
@pytest.mark.parametrize("seed", range(1, 6))
def test_many_frames_are_sparks(spark: SparkOracle, seed: int) -> None:
    assert not differences(spark, seed, 200)
