"""Rows of Spark's as they come: in which order they are handed on, and what happens if they are too many."""

from collections.abc import Iterator

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqlfront_connectors.spark.rows import behind
from sqlfront_connectors.spark.sessions.arriving_rows import in_order
from sqlfront_values.errors import OperationalError
from tests.programs import printed


def numbers(*values: int) -> pa.RecordBatch:
    """Rows in physical form."""
    return pa.record_batch([pa.array(values, pa.int64())], ["n"])


@given(st.permutations(range(6)), st.lists(st.integers(0, 3), min_size=6, max_size=6))
def test_batches_come_in_the_order_of_their_partitions(order: list[int], counts: list[int]) -> None:
    coming = [(each, numbers(each, k)) for each in order for k in range(counts[each])]

    rows = [batch.column(0).to_pylist() for batch in in_order(coming)]

    assert rows == [[each, k] for each in range(6) for k in range(counts[each])]


def test_a_batch_waits_only_for_the_partitions_before_it() -> None:
    taken = []

    def coming() -> Iterator[tuple[int, pa.RecordBatch]]:
        for partition in 1, 0, 3, 2:
            taken.append(partition)
            yield partition, numbers(partition)

    seen = [(rows.column(0)[0].as_py(), list(taken)) for rows in in_order(coming())]

    assert seen == [(0, [1, 0]), (1, [1, 0, 3]), (2, [1, 0, 3, 2]), (3, [1, 0, 3, 2])]


@pytest.mark.parametrize(
    "again",
    [
        [(1, 2, 3, 4, 5)],
        [(1,), (2, 3), (4,), (5,)],
        [(1, 2), (3,), (), (4, 5)],
    ],
)
def test_what_came_before_is_left_out_of_the_rows_that_come_again(again: list[tuple[int, ...]]) -> None:
    rest = behind([numbers(1, 2), numbers(3)], (numbers(*values) for values in again))

    assert [number for rows in rest for number in rows.column(0).to_pylist()] == [4, 5]


@pytest.mark.parametrize("again", [[(1, 3, 2, 4)], [(1,)], []])
def test_other_rows_the_second_time_are_an_error(again: list[tuple[int, ...]]) -> None:
    rest = behind([numbers(1, 2)], (numbers(*values) for values in again))

    with pytest.raises(OperationalError, match=r"larger than spark\.driver\.maxResultSize"):
        list(rest)


PROGRAM = """
import os, sys
os.environ["PYSPARK_PYTHON"] = sys.executable
from pyspark.sql import SparkSession
from sqlfront_connectors.spark.link import SparkLink

builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
builder = builder.config("spark.ui.showConsoleProgress", "false").config("spark.driver.maxResultSize", "2m")
spark = builder.getOrCreate()
spark.sparkContext.setLogLevel("OFF")
spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "5000")
link = SparkLink(spark)

def files():
    return os.listdir(os.path.dirname(link._rows.exchange.place()))

run = link.run("SELECT id FROM range(0, 1000000, 1, 100)")
batches = [batch.column(0).to_pylist() for batch in run.batches()]
assert [number for batch in batches for number in batch] == list(range(1_000_000))
sizes = [len(batch) for batch in batches]
assert sizes[0] == 5_000 and sizes[-1] == 10_000, sizes  # as tasks ended, then from files
assert files() == []
link.close()
print("all came")
"""


@pytest.mark.cluster
def test_the_rest_of_an_answer_that_is_too_large_for_the_driver_comes_as_files() -> None:
    assert printed(PROGRAM) == ["all came"]
