"""Random expressions with lambdas, live: sqlfront gives what Spark gives, value, type and error condition."""

import os

import pytest

from tests.oracle.answers import Failure, Outcome, difference
from tests.oracle.random_lambdas import Expressions
from tests.oracle.spark import SparkOracle
from tests.oracle.subject import Subject
from tests.sampling import shortened

SEED = os.environ.get("SQLFRONT_ORACLE_SEED", "0")
#: Views of random rows, and the queries of each; the test command asks those of the first view.
VIEWS = range(40)
QUERIES = 10
ROWS = 6
#: Errors of single values: where an expression may raise two of them, either may be the first.
_OF_VALUES = frozenset(
    {"ARITHMETIC_OVERFLOW", "DUPLICATED_MAP_KEY", "NULL_MAP_KEY"}
    | {"NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION"}
)


@pytest.mark.spark
@pytest.mark.parametrize("number", shortened(VIEWS, 0))
def test_sqlfront_gives_what_spark_gives(spark: SparkOracle, number: int) -> None:
    source = Expressions(f"{SEED} {number}", most=3 + number % 2)
    view = source.view("v", ROWS)
    with Subject() as subject:
        assert not isinstance(made := spark.answer(view), Failure), made
        assert not isinstance(made := subject.answer(view), Failure), made
        for sql in [source.query("v") for _ in range(QUERIES)]:
            expected, got = spark.answer(sql), subject.answer(sql)
            if _is_error_of_values(expected) and _is_error_of_values(got):
                continue
            differs = difference(expected, got)
            assert differs is None, f"seed {SEED}\n{view}\n{sql}\n{differs}"


def _is_error_of_values(outcome: Outcome) -> bool:
    return isinstance(outcome, Failure) and outcome.condition in _OF_VALUES
