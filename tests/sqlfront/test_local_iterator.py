"""Rows of a result one by one."""

from collections.abc import Iterator

import pyarrow as pa

import sqlfront
from sqlfront.results.result import Result, Statistics


def test_rows_come_one_by_one_and_are_kept() -> None:
    schema = pa.schema([("n", pa.int64())])
    made = []

    def batches() -> Iterator[pa.RecordBatch]:
        for numbers in ([1, 2], [], [3], [4, 5]):
            made.append(numbers)
            yield pa.record_batch([pa.array(numbers, pa.int64())], schema=schema)

    result = Result(schema, batches(), Statistics("light", "", 0.0))
    rows = result.toLocalIterator()
    assert [next(rows), next(rows)] == [(1,), (2,)]
    assert made == [[1, 2]]

    assert result.take(3) == [(1,), (2,), (3,)]
    assert list(rows) == [(3,), (4,), (5,)]
    assert list(result.toLocalIterator()) == result.collect() == [(1,), (2,), (3,), (4,), (5,)]


def test_rows_of_a_lookup_come_so_too() -> None:
    result = sqlfront.sql("SELECT 1 AS a, 'x' AS b")

    assert list(result.toLocalIterator()) == [(1, "x")] == result.collect()
