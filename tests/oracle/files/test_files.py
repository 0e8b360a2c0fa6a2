"""A sample of the file oracle, live: ``python -m tests.oracle.files.run`` has the long run."""

from pathlib import Path

import pytest

from tests.oracle.files.reading import Verdict
from tests.oracle.files.run import sample
from tests.oracle.spark import SparkOracle

#: Cases of each format, in some seconds; `make oracle` reads thousands.
CASES = {"csv": 6, "json": 7, "parquet": 5, "orc": 4, "text": 4}


@pytest.mark.spark
@pytest.mark.parametrize("name", CASES)
def test_odd_files_are_read_as_spark_reads_them(spark: SparkOracle, tmp_path: Path, name: str) -> None:
    results = sample([name], 0, CASES[name], spark, tmp_path)

    different = [one.described() for one in results if one.comparison.verdict.is_fault]
    assert not different, "\n\n".join(different)
    refused = sum(one.comparison.verdict is Verdict.REFUSED for one in results)
    assert refused <= 0.3 * CASES[name]
