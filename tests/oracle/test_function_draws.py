"""Random calls of functions, live: sqlfront gives what Spark gives."""

import os

import pytest

from tests.oracle.answers import difference
from tests.oracle.function_draws import DRAWS, draws
from tests.oracle.spark import SparkOracle
from tests.oracle.subject import Subject
from tests.sampling import sampled

SEED = os.environ.get("SQLFRONT_ORACLE_SEED", "0")
PER_FUNCTION = int(os.environ.get("SQLFRONT_ORACLE_CALLS", "3"))


@pytest.mark.spark
@pytest.mark.parametrize("function", sampled(list(DRAWS), 4))
def test_sqlfront_gives_what_spark_gives(spark: SparkOracle, function: str) -> None:
    differ = []
    with Subject() as subject:
        for name, sql in draws(SEED, PER_FUNCTION):
            if name == function:
                differs = difference(spark.answer(sql), subject.answer(sql))
                if differs is not None:
                    differ.append(f"{sql}\n{differs}")

    assert not differ, f"seed {SEED}\n" + "\n".join(differ)
