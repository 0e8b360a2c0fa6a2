"""DuckDB as the second witness: the stored answers are Spark's, and DuckDB, which shares no code with it,
agrees.

Where DuckDB computes a DOUBLE and Spark a DECIMAL, DuckDB's value, rounded to Spark's scale, may differ by
one unit of the last place.
"""

from collections.abc import Iterator
from decimal import ROUND_HALF_UP, Decimal

import duckdb
import pyarrow as pa
import pytest

from tests.oracle.answers import Answer, Row
from tests.oracle.values import rows_of
from tests.tpch.answers import NAMES, expected, is_ordered, query
from tests.tpch.data import TABLES, tpch_folder


@pytest.fixture(scope="module")
def witness() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        for table in TABLES:
            connection.execute(f"CREATE VIEW {table} AS SELECT * FROM '{tpch_folder() / table}.parquet'")
        yield connection


@pytest.mark.parametrize("name", NAMES)
def test_duckdb_gives_the_stored_answer(witness: duckdb.DuckDBPyConnection, name: str) -> None:
    table = pa.table(witness.sql(query(name)))
    answer = expected(name)
    rows = tuple(rows_of(table))

    assert table.column_names == [column.name for column in answer.columns]
    assert len(rows) == len(answer.rows)
    if not is_ordered(name):
        rows = tuple(sorted(rows))
        answer = Answer(answer.columns, tuple(sorted(answer.rows)))
    differing = [
        (ours, theirs)
        for ours, theirs in zip(answer.rows, rows, strict=True)
        if not _agree(answer, ours, theirs)
    ]
    assert not differing


def _agree(answer: Answer, stored: Row, witnessed: Row) -> bool:
    return all(
        _same_number(left, right) if column.type.startswith(("decimal", "double")) else left == right
        for column, left, right in zip(answer.columns, stored, witnessed, strict=True)
    )


def _same_number(stored: str, witnessed: str) -> bool:
    if "NULL" in (stored, witnessed):
        return stored == witnessed
    left, right = Decimal(stored), Decimal(witnessed)
    last_place = Decimal(1).scaleb(-len(stored.partition(".")[2]))
    return abs(left - right.quantize(last_place, ROUND_HALF_UP)) <= last_place
