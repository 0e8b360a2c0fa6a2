"""Random LATERAL and correlated subqueries: sqlfront and Spark give the same answers."""

import pytest

from tests.oracle.answers import Failure, difference
from tests.oracle.random_correlations import SETUP, Correlations
from tests.oracle.spark import SparkOracle
from tests.oracle.subject import Subject
from tests.sampling import sampled

#: Queries of a test.
BATCH = 20
#: Spark fails to make code of its own plans for some conditions of joins.
SPARKS_FAULT = "INTERNAL_ERROR"


@pytest.mark.spark
@pytest.mark.parametrize("first", sampled(range(0, 400, BATCH), 7))
def test_correlated_rows_are_sparks(spark: SparkOracle, first: int) -> None:
    spark.begin_file()
    with Subject() as subject:
        for statement in SETUP:
            assert not isinstance(outcome := spark.answer(statement), Failure), outcome
            assert not isinstance(outcome := subject.answer(statement), Failure), outcome
        for seed in range(first, first + BATCH):
            query = Correlations(seed).query()
            expected, got = spark.answer(query), subject.answer(query)
            if isinstance(expected, Failure) and expected.condition == SPARKS_FAULT:
                continue
            assert difference(expected, got) is None, f"{seed}: {query}\n{difference(expected, got)}"
