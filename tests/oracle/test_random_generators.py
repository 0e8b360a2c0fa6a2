"""Random queries over exploded rows: sqlfront and Spark give the same answers."""

import pytest

from tests.oracle.answers import Failure, difference
from tests.oracle.random_generators import Case
from tests.oracle.spark import SparkOracle
from tests.oracle.subject import Subject
from tests.sampling import sampled


@pytest.mark.spark
@pytest.mark.parametrize("seed", sampled(range(60), 15))
def test_exploded_rows_are_sparks(spark: SparkOracle, seed: int) -> None:
    case = Case(seed)
    spark.begin_file()
    with Subject() as subject:
        for statement in case.setup:
            assert not isinstance(outcome := spark.answer(statement), Failure), outcome
            assert not isinstance(outcome := subject.answer(statement), Failure), outcome
        for query in case.queries:
            expected, got = spark.answer(query), subject.answer(query)
            assert difference(expected, got) is None, f"{query}\n{difference(expected, got)}"
