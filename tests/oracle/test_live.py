"""A seeded sample of the records, live: Spark still gives the stored answers, and sqlfront gives them too.

`SQLFRONT_ORACLE_SEED` chooses another sample. `make oracle` asks Spark for all of them.
"""

import os
import random

import pytest

from tests.oracle import slt
from tests.oracle.complete import SLT_FOLDER, differs_from, files
from tests.oracle.gaps import key, known_gaps
from tests.oracle.slt import Record
from tests.oracle.spark import SparkOracle
from tests.oracle.subject import Subject
from tests.sampling import sampled

SEED = os.environ.get("SQLFRONT_ORACLE_SEED", "0")
SAMPLE_OF_A_FILE = 2
RECORDS = {path.name: slt.read(path) for path in files([SLT_FOLDER])}


def _sample(file: str) -> list[Record]:
    """The sampled queries and all statements, in their order. Before a query of `tables.slt` go only
    statements that succeed, so leaving queries out changes nothing."""
    queries = [record for record in RECORDS[file] if record.is_query]
    chosen = random.Random(f"{SEED} {file}").sample(queries, min(SAMPLE_OF_A_FILE, len(queries)))
    return [record for record in RECORDS[file] if not record.is_query or record in chosen]


@pytest.mark.spark
@pytest.mark.parametrize("file", sampled(RECORDS, 3))
def test_spark_and_sqlfront_give_the_stored_answers(spark: SparkOracle, file: str) -> None:
    gaps = known_gaps()
    differences = []
    spark.begin_file()
    with Subject() as subject:
        for record in _sample(file):
            subjects: dict[str, SparkOracle | Subject] = {"Spark": spark}
            if key(record) not in gaps:
                subjects["sqlfront"] = subject
            for name, answering in subjects.items():
                differs = differs_from(record, answering.answer(record.sql))
                if differs is not None:
                    differences.append(f"{name} at {record.place} (seed {SEED})\n{record.sql}\n{differs}")

    assert not differences, "\n\n".join(differences)
