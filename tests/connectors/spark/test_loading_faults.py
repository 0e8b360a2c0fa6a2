"""Loads under faults, with real executors: tasks that fail, and processes that are killed with tasks, with a
member, or with both."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from sqlfront.cluster.processes import SERVICE, ProcessMembers
from sqlfront_cluster.launchers.local import LocalCluster
from sqlfront_connectors.spark.executors.cluster import ExecutorCluster
from sqlfront_connectors.spark.transfer.loading import load
from sqlfront_values.errors import DatabaseError, OperationalError
from tests.connectors.spark import executors
from tests.connectors.spark.executors import until
from tests.connectors.spark.loads import ROWS, Batches, attempts, check, local_members, numbers, table_of

#: What is said of a member that isn't there, by who looks for it or by the others.
LOST = ("08001", "08006", "40001")

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    with executors.session(tmp_path_factory.mktemp("spark")) as session:
        yield session


@pytest.fixture(scope="module")
def members() -> Iterator[ProcessMembers]:
    with local_members() as members:
        yield members


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
    kill = _killing(tmp_path, _an_executor)
    assert load(numbers(spark, _waiting(tmp_path)), table, members.door) == ROWS
    kill.join()
    assert len(attempts(tmp_path)) > 4
    check(spark, members, table)
    until(lambda: len(executors.executors()) == 3)


def test_a_member_is_killed_during_a_load(spark: SparkSession, tmp_path: Path) -> None:
    with LocalCluster(2, workers=1, service=SERVICE, tcp=True, silence_limit=3.0) as cluster:
        members = ProcessMembers(cluster.client())
        table = table_of(members)
        assert load(numbers(spark, lambda batches: batches, 10), table, members.door) == 10
        before = table.snapshot().version
        kill = _killing(tmp_path, lambda: next(iter(cluster.processes.values())).pid)
        with pytest.raises(OperationalError) as error:
            load(numbers(spark, _waiting(tmp_path)), table, members.door)
        kill.join()
        assert error.value.sqlstate in LOST
        assert table.snapshot().version == before

        # The other member has all partitions now.
        until(lambda: {*members.member_list.owners} == {*members.member_list.data_members})
        assert load(numbers(spark, lambda batches: batches), table, members.door) == ROWS
        check(spark, members, table)
        members.close()


def test_an_executor_with_a_member_is_killed_during_a_load(spark: SparkSession, tmp_path: Path) -> None:
    with ExecutorCluster(spark, workers=1, memory_limit=1 << 28, silence_limit=3.0) as cluster:
        members = ProcessMembers(cluster.client())
        before = {*members.member_list.data_members}
        table = table_of(members)
        assert load(numbers(spark, lambda batches: batches, 10), table, members.door) == 10
        kill = _killing(tmp_path, _an_executor)
        with pytest.raises(DatabaseError) as error:
            load(numbers(spark, _waiting(tmp_path)), table, members.door)
        kill.join()
        assert error.value.sqlstate in LOST

        # There is a new member for it, and the rows are loaded again from their source.
        until(lambda: len({*members.member_list.data_members} - before) == 3)
        until(lambda: {*members.member_list.owners} == {*members.member_list.data_members})
        assert load(numbers(spark, lambda batches: batches), table, members.door) == ROWS
        check(spark, members, table)
        members.close()


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


def _an_executor() -> int:
    return next(iter(executors.executors().values()))


def _killing(folder: Path, find: Callable[[], int]) -> threading.Thread:
    """Kills a process when three tasks run: members on executors leave as many slots."""

    def kill() -> None:
        until(lambda: len(attempts(folder)) >= 3)
        os.kill(find(), signal.SIGKILL)
        folder.with_name(f"{folder.name}.killed").touch()

    thread = threading.Thread(target=kill)
    thread.start()
    return thread
