"""What tests of loads under faults have in common: rows whose number, sum and texts are known, and members
that are no executors.

What runs in tasks are functions inside of functions, without ``assert``: executors have neither these tests
nor pytest.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from sqlfront.cluster.processes import SERVICE, ProcessMembers
from sqlfront_cluster.launchers.local import LocalCluster
from sqlfront_connectors.base import Partitioning
from sqlfront_connectors.memory.spread.table import SpreadTable
from sqlfront_connectors.spark.transfer.loading import spread_frame
from sqlfront_values.types import BIGINT, STRING

ROWS = 200_000
SCHEMA = pa.schema([("k", BIGINT), ("s", STRING)])
Batches = Iterable[pa.RecordBatch]


@contextmanager
def local_members() -> Iterator[ProcessMembers]:
    """A client of two members."""
    with LocalCluster(2, workers=1, service=SERVICE, tcp=True) as cluster:
        members = ProcessMembers(cluster.client())
        try:
            yield members
        finally:
            members.close()


def numbers(spark: SparkSession, through: Callable[[Batches], Batches], rows: int = ROWS) -> DataFrame:
    """Four partitions of numbers and texts, which go through a function in each task."""
    frame = spark.range(0, rows, 1, 4).selectExpr("id AS k", "concat('text ', id % 10) AS s")
    return frame.mapInArrow(through, frame.schema)  # type: ignore[arg-type]


def table_of(members: ProcessMembers) -> SpreadTable:
    """A table for them."""
    return members.table("t", SCHEMA, Partitioning((0,), 271))


def check(spark: SparkSession, members: ProcessMembers, table: SpreadTable, rows: int = ROWS) -> None:
    """The table has each number once, and its text."""
    assert table.snapshot().statistics.rows == rows
    with spread_frame(spark, table.snapshot(), members.door) as frame:
        facts = frame.data.selectExpr(
            "count(*)", "count(DISTINCT k)", "sum(k)", "count_if(s = concat('text ', k % 10))"
        )
        assert tuple(facts.collect()[0]) == (rows, rows, rows * (rows - 1) // 2, rows)


def attempts(folder: Path) -> list[str]:
    """What tasks have left there, each under its name."""
    return sorted(path.name for path in folder.iterdir())
