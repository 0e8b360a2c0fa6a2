"""What travels to executors, and a member in the shortest kind of Spark: one on the driver."""

import subprocess
from pathlib import Path

import cloudpickle
import pytest

from sqlfront_cluster.launchers.running import MemberOptions
from sqlfront_cluster.network.tls.security import Security
from sqlfront_connectors.spark.executors import bootstrap
from sqlfront_connectors.spark.executors.cluster import ExecutorCluster
from sqlfront_connectors.spark.executors.job import reason_of
from sqlfront_connectors.spark.executors.member import ExecutorOrders
from sqlfront_connectors.spark.executors.packages import on_executors
from sqlfront_values.errors import OperationalError
from tests.connectors.spark.executors import PACKAGES, python_with, until
from tests.connectors.spark.test_executors import ROWS, active_jobs, count, exchanged
from tests.oracle.spark import SparkOracle

#: What a Python without our sources does with what it gets.
FAR = """
import pickle, sys
task = pickle.load(open(sys.argv[1], "rb"))
print(task([{"executor": "the same", "host": "h"}] * 2))
import sqlfront_cluster.durable_tasks.task_service, sqlfront_engine.durable.tasks
print([name for name in sys.modules if name.partition(".")[0] in ("sqlglot", "lark", "pyspark", "sqlfront")])
"""


def test_our_code_runs_where_there_are_four_packages_only(tmp_path: Path) -> None:
    orders = ExecutorOrders(MemberOptions("", "127.0.0.1:1"), ("a", "b"), Security(b"secret"), ())
    task = on_executors("sqlfront_connectors.spark.executors.member:serve", orders, 0)
    cloudpickle.register_pickle_by_value(bootstrap)  # as Spark's own cloudpickle, which isn't there
    (tmp_path / "task").write_bytes(cloudpickle.dumps(task))
    python = python_with(PACKAGES, tmp_path / "python")
    answer = subprocess.run(
        [python, "-c", FAR, tmp_path / "task"],
        env={"SPARK_LOCAL_DIRS": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert answer.stdout.splitlines() == ["Spark put 2 members on 1 executors", "[]"]


@pytest.mark.cluster
@pytest.mark.spark
def test_a_member_of_a_session_without_executors_is_on_the_driver(spark: SparkOracle) -> None:
    session = spark.new_session()
    with ExecutorCluster(session, workers=1, memory_limit=1 << 28) as cluster, cluster.client() as client:
        assert len(active_jobs()) == cluster.size == 1
        assert count(client.member.submit(exchanged())) == ROWS
        assert session.range(10).count() == 10
    until(lambda: not active_jobs())  # Spark's status comes after the job's end


@pytest.mark.spark
def test_too_few_slots_are_an_error_that_says_how_many_are_needed(spark: SparkOracle) -> None:
    with pytest.raises(
        OperationalError, match=r"2 members need 2 executors with 3 slots .* there are 1 with 2"
    ):
        ExecutorCluster(spark.new_session(), 2)


def test_the_reason_of_a_lost_executor() -> None:
    text = """Job aborted due to stage failure: Could not recover from a failed barrier ResultStage.
ExecutorLostFailure (executor 7 exited caused by one of the running tasks) Reason: exit code 137
\tat org.apache.spark.scheduler.DAGScheduler"""
    assert reason_of(Exception(text)) == "executor 7 was lost: exit code 137"
