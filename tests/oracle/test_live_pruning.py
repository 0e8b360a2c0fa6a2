"""Random conditions on clustering keys, live: the rows that sqlfront finds by key are those for which Spark
finds the condition true."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import sqlfront
from tests.oracle.answers import Failure
from tests.oracle.spark import SparkOracle
from tests.planner.pruning.cases import SCHEMA
from tests.sqlfront.pruning.predicates import predicates
from tests.sqlfront.pruning.tables import create, table_of
from tests.sqlfront.pruning.trials import random_rows

KEYS = ("i", "h, i", "d", "dec", "s", "i, j", "g", "bo, d", "l", "ts", "b")
EXAMPLES = 70


def conditions() -> list[tuple[str, str]]:
    """Clustering keys and conditions on them, the same in every run."""
    found: dict[tuple[str, str], None] = {}

    @settings(
        max_examples=EXAMPLES,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(data=st.data())
    def collect(data: st.DataObject) -> None:
        keys = data.draw(st.sampled_from(KEYS))
        found[keys, data.draw(predicates(tuple(keys.split(", ")))).literally()] = None

    collect()
    return list(found)


@pytest.mark.spark
def test_keys_find_the_rows_that_spark_finds(spark: SparkOracle, tmp_path: Path) -> None:
    rows = random_rows(SCHEMA, 150, seed=3)
    schema = pa.schema([*SCHEMA, ("id", pa.int32())])
    rows = pa.table([*rows.columns, pa.array(range(150), pa.int32())], schema=schema)
    pq.write_table(rows, tmp_path / "rows.parquet")
    cases = conditions()
    spark.begin_file()
    spark.answer(f"CREATE OR REPLACE TEMPORARY VIEW t AS SELECT * FROM parquet.`{tmp_path}/rows.parquet`")
    signatures = (f"sort_array(collect_list(IF({text}, id, NULL)))" for _, text in cases)
    expected = spark.answer(f"SELECT {', '.join(signatures)} FROM t")
    assert not isinstance(expected, Failure), expected

    with sqlfront.connect(members=3, workers=1) as connection:
        create(connection, rows, KEYS)
        found = {
            (keys, text): connection.execute(
                f"SELECT sort_array(collect_list(id)) FROM {table_of(keys)} WHERE {text}"
            ).fetchone()
            for keys, text in cases
        }
    differences = [
        f"{case}: sqlfront {found[case]}, Spark {wanted}"
        for case, wanted in zip(cases, expected.rows[0], strict=True)
        if str((found[case] or ("",))[0]) != wanted
    ]
    assert not differences, "\n".join(differences)
