"""Random DDL beside a live Spark: both answer alike. ``python -m tests.oracle.ddl.run`` runs more of it."""

import pytest

from tests.oracle.ddl.run import Report, compare, empty
from tests.oracle.ddl.statements import PROVIDERS, Author
from tests.oracle.spark import SparkOracle


@pytest.mark.spark
@pytest.mark.cluster
@pytest.mark.parametrize("number", range(8))
def test_both_answer_alike(spark: SparkOracle, number: int) -> None:
    report = Report()
    try:
        compare(spark, Author(f"test {number}", PROVIDERS[number % 2]).sequence(25), report)
    finally:
        empty(spark.new_session())
    assert not report.differences, "\n\n".join(report.differences)


def test_a_seed_fixes_the_statements() -> None:
    first = [*Author("a seed", "memory").sequence(30)]
    assert first == [*Author("a seed", "memory").sequence(30)]
    assert first != [*Author("another", "memory").sequence(30)]
