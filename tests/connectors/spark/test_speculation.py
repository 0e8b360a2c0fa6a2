"""A load while Spark runs tasks twice: speculation starts a second attempt of a slow task on another host, so
that it takes a Spark with two of them.

What runs in tasks is a function inside of a function: executors have neither these tests nor pytest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from sqlfront.cluster.processes import ProcessMembers
from sqlfront_connectors.spark.transfer.loading import load
from tests.connectors.spark import executors
from tests.connectors.spark.loads import ROWS, Batches, attempts, check, local_members, numbers, table_of

SPECULATION = {
    "spark.speculation": "true",
    "spark.speculation.quantile": "0.5",
    "spark.speculation.multiplier": "1.1",
    "spark.speculation.minTaskRuntime": "100ms",
    "spark.speculation.efficiency.enabled": "false",
}

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    folder = tmp_path_factory.mktemp("spark")
    with (
        executors.standalone(folder, ("127.0.0.1", "127.0.0.2")) as master,
        executors.session(folder, master, **SPECULATION) as session,
    ):
        yield session


@pytest.fixture(scope="module")
def members() -> Iterator[ProcessMembers]:
    with local_members() as members:
        yield members


def test_the_second_attempt_wins(spark: SparkSession, members: ProcessMembers, tmp_path: Path) -> None:
    table = table_of(members)
    slow = _slow(tmp_path, until="never")
    assert load(numbers(spark, slow), table, members.door) == ROWS
    assert attempts(tmp_path) == ["0.0", "0.1", "0.1-done", "0.1-half"]
    check(spark, members, table)


def test_both_attempts_bring_rows_to_the_end(
    spark: SparkSession, members: ProcessMembers, tmp_path: Path
) -> None:
    table = table_of(members)
    slow = _slow(tmp_path, until="0.1-half")
    assert load(numbers(spark, slow), table, members.door) == ROWS
    assert {"0.0", "0.1", "0.1-half"} <= {*attempts(tmp_path)}
    check(spark, members, table)


def _slow(folder: Path, until: str) -> Callable[[Batches], Batches]:
    """The first task's first attempt waits half-way until there is a file; what its attempts come to is
    marked by files, too."""
    place = str(folder)

    def slow(batches: Batches) -> Batches:
        import os
        import time

        from pyspark import TaskContext

        context: TaskContext = TaskContext.get()  # type: ignore[assignment]
        name = f"{context.partitionId()}.{context.attemptNumber()}"

        def mark(what: str) -> None:
            if context.partitionId() == 0:
                with open(f"{place}/{name}{what}", "w"):
                    pass

        mark("")
        for number, batch in enumerate(batches):
            if number == 6:
                if context.attemptNumber() == 1:
                    mark("-half")
                while name == "0.0" and not os.path.exists(f"{place}/{until}"):
                    time.sleep(0.01)
            yield batch
        mark("-done")

    return slow
