"""Functions over JSON, CSV and XML texts, live: sqlfront reads and writes random texts as Spark does, or says
that it doesn't."""

import os
from collections.abc import Callable
from typing import Final

import pytest

from tests.oracle import structured_texts, xml_texts
from tests.oracle.answers import Failure, difference
from tests.oracle.spark import SparkOracle
from tests.oracle.subject import Subject
from tests.sampling import sampled

SEED = os.environ.get("SQLFRONT_ORACLE_SEED", "0")
QUERIES: Final[dict[str, Callable[[str], str]]] = {
    "from_json": structured_texts.from_json,
    "from_csv": structured_texts.from_csv,
    "to_csv": structured_texts.to_csv,
    "from_xml": xml_texts.from_xml,
    "schema_of_xml": xml_texts.schema_of_xml,
}
#: Queries of one function in one test.
_SOME: Final = 8
#: Tests of a function; the test command runs the first of each.
_TESTS: Final = 12


@pytest.mark.spark
@pytest.mark.parametrize(
    "name", sampled([f"{name} {place}" for name in QUERIES for place in range(_TESTS)], _TESTS)
)
def test_random_texts_mean_what_they_mean_to_spark(spark: SparkOracle, name: str) -> None:
    function, _, place = name.partition(" ")
    differences = []
    spark.begin_file()
    with Subject() as subject:
        for number in range(_SOME):
            sql = QUERIES[function](f"{SEED} {place} {number}")
            got = subject.answer(sql)
            if isinstance(got, Failure) and got.message.startswith("NotSupportedError"):
                continue
            differs = difference(spark.answer(sql), got)
            if differs is not None:
                differences.append(f"{sql}\n{differs}")

    assert not differences, "\n\n".join(differences)
