"""Expressions and aggregates over random values, live: sqlfront gives what Spark gives for the same Parquet
file."""

import os
import random
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.oracle import random_values
from tests.oracle.answers import Failure, difference
from tests.oracle.spark import SparkOracle
from tests.oracle.subject import Subject
from tests.sampling import sampled

SEED = os.environ.get("SQLFRONT_ORACLE_SEED", "0")
ROWS = 300
SAMPLE = 12
GROUPED = "grouped"


def _queries() -> Iterator[tuple[str, str]]:
    """Name and SQL of a query for each line of the file; one for each key in the part about aggregates."""
    area = ""
    lines = (Path(__file__).parent / "value_expressions.txt").read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines, 1):
        if line.startswith("["):
            area = line.strip("[]")
        elif line and not line.startswith("#") and area == GROUPED:
            for key in ("b", "id % 20", "d", "s"):
                yield f"{area}:{number}:{key}", f"SELECT {key}, {line} FROM v GROUP BY {key}"
        elif line and not line.startswith("#"):
            yield f"{area}:{number}", f"SELECT id, {line} FROM v"


QUERIES = dict(_queries())


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("values") / "values.parquet"
    pq.write_table(random_values.table(ROWS, SEED), path)
    return path


@pytest.mark.spark
@pytest.mark.parametrize("name", sampled(random.Random(SEED).sample(list(QUERIES), SAMPLE), 3))
def test_sqlfront_gives_what_spark_gives(spark: SparkOracle, path: Path, name: str) -> None:
    view = f"CREATE OR REPLACE TEMPORARY VIEW v AS SELECT * FROM parquet.`{path}`"
    with Subject() as subject:
        assert not isinstance(made := spark.answer(view), Failure), made
        assert not isinstance(made := subject.answer(view), Failure), made
        expected = spark.answer(QUERIES[name])
        assert not isinstance(expected, Failure), expected
        differs = difference(expected, subject.answer(QUERIES[name]), approximate=name.startswith(GROUPED))

    assert differs is None, f"seed {SEED}\n{QUERIES[name]}\n{differs}"
