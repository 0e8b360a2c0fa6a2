"""Loads under faults, with real executors: tasks that fail, or are killed with their executor.

What runs in tasks are functions inside of functions, without ``assert``: executors have neither these tests
nor pytest. Spark runs no second attempt on the host of the first, so that attempts at the same time are in
``tests/sqlfront/test_loads.py``.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from sqlfront.cluster.processes import SERVICE, ProcessMembers
from sqlfront_connectors.base import Partitioning
from sqlfront_connectors.memory.spread import SpreadTable
from sqlfront_connectors.spark.loading import SpreadFrame, load
from sqlfront_engine.launchers.local import LocalCluster
from sqlfront_engine.types import BIGINT, STRING
from tests.connectors.spark import executors
from tests.connectors.spark.executors import until

ROWS = 200_000
SCHEMA = pa.schema([("k", BIGINT), ("s", STRING)])
Batches = Iterable[pa.RecordBatch]

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    with executors.session(tmp_path_factory.mktemp("spark")) as session:
        yield session


@pytest.fixture(scope="module")
def members() -> Iterator[ProcessMembers]:
    """Two members that are no executors."""
    with LocalCluster(2, workers=1, service=SERVICE, tcp=True) as cluster:
        members = ProcessMembers(cluster.client())
        yield members
        members.close()


def numbers(spark: SparkSession, through: Callable[[Batches], Batches], rows: int = ROWS) -> DataFrame:
    """Four partitions of numbers and texts, which go through a function in each task."""
    frame = spark.range(0, rows, 1, 4).selectExpr("id AS k", "concat('text ', id % 10) AS s")
    return frame.mapInArrow(through, frame.schema)  # type: ignore[arg-type]


def table_of(members: ProcessMembers) -> SpreadTable:
    return members.table("t", SCHEMA, Partitioning((0,), 271))


def check(spark: SparkSession, members: ProcessMembers, table: SpreadTable, rows: int = ROWS) -> None:
    """The table has each number once, and its text."""
    assert table.snapshot().statistics.rows == rows
    with SpreadFrame(spark, table.snapshot(), members.door) as frame:
        facts = frame.data.selectExpr(
            "count(*)", "count(DISTINCT k)", "sum(k)", "count_if(s = concat('text ', k % 10))"
        )
        assert tuple(facts.collect()[0]) == (rows, rows, rows * (rows - 1) // 2, rows)


def attempts(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_tasks_that_fail_after_half_of_their_batches(
    spark: SparkSession, members: ProcessMembers, tmp_path: Path
) -> None:
    folder = str(tmp_path)

    def failing(batches: Batches) -> Batches:
        from pyspark import TaskContext

        context: TaskContext = TaskContext.get()  # type: ignore[assignment]
        mark = f"{folder}/{context.partitionId()}.{context.attemptNumber()}"
        for number, batch in enumerate(batches):
            if number == 3 and context.attemptNumber() == 0 and context.partitionId() % 2:
                with open(mark, "w"):
                    raise ValueError("half-way")
            yield batch

    table = table_of(members)
    assert load(numbers(spark, failing), table, members.door) == ROWS
    assert attempts(tmp_path) == ["1.0", "3.0"]
    check(spark, members, table)


def test_an_executor_is_killed_during_a_load(
    spark: SparkSession, members: ProcessMembers, tmp_path: Path
) -> None:
    table = table_of(members)
    kill = _killing(tmp_path)
    assert load(numbers(spark, _waiting(tmp_path)), table, members.door) == ROWS
    kill.join()
    assert len(attempts(tmp_path)) > 4
    check(spark, members, table)
    until(lambda: len(executors.executors()) == 3)


def _waiting(folder: Path) -> Callable[[Batches], Batches]:
    """Tasks that wait half-way, once, until an executor has been killed."""
    place = str(folder)

    def waiting(batches: Batches) -> Batches:
        import os
        import time

        from pyspark import TaskContext

        context: TaskContext = TaskContext.get()  # type: ignore[assignment]
        with open(f"{place}/{context.partitionId()}.{context.taskAttemptId()}", "w"):
            pass
        for number, batch in enumerate(batches):
            while number == 3 and not os.path.exists(f"{place}.killed"):
                time.sleep(0.01)
            yield batch

    return waiting


def _killing(folder: Path) -> threading.Thread:
    """Kills an executor when four tasks run."""

    def kill() -> None:
        until(lambda: len(attempts(folder)) >= 4)
        os.kill(next(iter(executors.executors().values())), signal.SIGKILL)
        folder.with_name(f"{folder.name}.killed").touch()

    thread = threading.Thread(target=kill)
    thread.start()
    return thread
