"""Members on the executors of a Spark session: where they live, how they are lost and replaced."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import cloudpickle
import numpy
import pyarrow
import pytest
from pyspark.resource import ResourceProfileBuilder, TaskResourceRequests
from pyspark.sql import SparkSession

from sqlfront_cluster.launchers.running import RunningMember
from sqlfront_connectors.spark.executors.capacity import await_capacity
from sqlfront_connectors.spark.executors.cluster import ExecutorCluster
from sqlfront_engine.dag import DAG, Edge
from sqlfront_engine.jobs.light_job import LightJob
from sqlfront_engine.processors.forward import Forward
from sqlfront_engine.processors.sink import ResultSink
from sqlfront_engine.processors.sources.range import Range
from sqlfront_values.errors import NotSupportedError, OperationalError
from tests.connectors.spark import executors
from tests.connectors.spark.executors import until

ROWS = 300_000
LIMIT = 3.0

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900)]
#: What can't be said over Connect.
with_a_context = pytest.mark.skipif(executors.CONNECT, reason="Spark Connect has no context")


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    with executors.session(tmp_path_factory.mktemp("spark")) as session:
        yield session


@pytest.fixture(scope="module")
def cluster(spark: SparkSession) -> Iterator[ExecutorCluster]:
    with ExecutorCluster(spark, workers=1, memory_limit=1 << 28, silence_limit=LIMIT) as made:
        yield made


@pytest.fixture
def client(cluster: ExecutorCluster) -> Iterator[RunningMember]:
    """A client that sees three members."""
    with cluster.client() as running:
        until(lambda: len(running.member.members.data_members) == 3)
        yield running


def exchanged(rows: int = ROWS) -> DAG:
    """Numbers of all members go through a partitioned exchange to the coordinator."""
    dag = DAG()
    origin = dag.vertex("numbers", Range(0, 1, rows), 1)
    between = dag.vertex("between", Forward(), 1)
    dag.edge(Edge.between(origin, between).distributed().partitioned([0]))
    return dag.edge(Edge.between(between, dag.vertex("result", ResultSink())).to_one().distribute_to())


def count(job: LightJob) -> int:
    return sum(batch.num_rows for batch in job.batches())


def active_jobs() -> list[int]:
    return list(executors.context().statusTracker().getActiveJobsIds())


def test_there_is_one_member_on_each_executor(
    spark: SparkSession, cluster: ExecutorCluster, client: RunningMember
) -> None:
    assert len(client.member.members.data_members) == cluster.size == 3
    homes = [set(executors.below(process)) for process in executors.executors().values()]
    listening = _listeners()
    ports = [int(each.address.rpartition(":")[2]) for each in cluster.members.members if not each.lite]
    assert sorted(len(home & {listening[port] for port in ports}) for home in homes) == [1, 1, 1]
    assert count(client.member.submit(exchanged())) == ROWS


def test_spark_has_a_slot_for_its_own_work(spark: SparkSession, client: RunningMember) -> None:
    assert spark.range(1000).repartition(4).count() == 1000
    assert count(client.member.submit(exchanged())) == ROWS


@with_a_context
def test_who_cancels_their_own_jobs_does_not_mean_the_members(
    spark: SparkSession, client: RunningMember
) -> None:
    executors.context().setJobGroup("mine", "of the user")
    executors.context().cancelJobGroup("mine")
    assert count(client.member.submit(exchanged())) == ROWS


def test_an_executor_is_killed_during_a_query(spark: SparkSession, client: RunningMember) -> None:
    lost = set(client.member.members.data_members)
    reader = client.member.submit(exchanged(1 << 60)).batches()
    next(reader)
    os.kill(next(iter(executors.executors().values())), signal.SIGKILL)
    began = time.monotonic()
    with pytest.raises(OperationalError, match=r"executor-\d+ was (lost|removed)"):
        for _ in reader:
            pass
    assert time.monotonic() - began < LIMIT

    until(lambda: len(set(client.member.members.data_members) - lost) == 3)
    until(lambda: set(client.member.members.owners) == set(client.member.members.data_members))
    assert count(client.member.submit(exchanged())) == ROWS


def test_a_member_that_is_silent_for_too_long_is_replaced(
    spark: SparkSession, cluster: ExecutorCluster, client: RunningMember
) -> None:
    lost = set(client.member.members.data_members)
    port = int(cluster.members.members[0].address.rpartition(":")[2])
    os.kill(_listeners()[port], signal.SIGSTOP)
    until(lambda: len(set(client.member.members.data_members) - lost) == 3)
    assert count(client.member.submit(exchanged())) == ROWS


def test_too_few_executors_are_an_error_at_once(spark: SparkSession) -> None:
    began = time.monotonic()
    with pytest.raises(
        OperationalError, match=r"4 members need 4 executors with 5 slots .* there are 3 with 6"
    ):
        ExecutorCluster(spark, 4)
    assert time.monotonic() - began < 5


@with_a_context
def test_an_executor_without_pyarrow(spark: SparkSession, tmp_path: Path) -> None:
    usual = executors.context().pythonExec
    executors.context().pythonExec = executors.python_with((), tmp_path / "python")
    try:
        with pytest.raises(OperationalError, match=r"could not be started .* No module named 'pyarrow'"):
            ExecutorCluster(spark)
    finally:
        executors.context().pythonExec = usual


@with_a_context
def test_an_executor_without_msgspec(spark: SparkSession, tmp_path: Path) -> None:
    usual = executors.context().pythonExec
    packages = (pyarrow, numpy, cloudpickle)
    executors.context().pythonExec = executors.python_with(packages, tmp_path / "python")
    try:
        with pytest.raises(OperationalError, match=r"No module named 'msgspec' .*python"):
            ExecutorCluster(spark)
    finally:
        executors.context().pythonExec = usual


def test_closing_leaves_nothing(spark: SparkSession) -> None:
    jobs = set(active_jobs())
    with ExecutorCluster(spark, 2, workers=1) as cluster:
        assert len(set(active_jobs()) - jobs) == 1
        threads = {thread for thread in threading.enumerate() if thread.name == "sqlfront-supervisor"}
        with cluster.client() as client:
            assert count(client.member.submit(exchanged())) == ROWS
    until(lambda: set(active_jobs()) <= jobs)  # Spark's status comes after the job's end
    assert len([thread for thread in threads if thread.is_alive()]) == len(threads) - 1


@with_a_context
def test_members_may_have_a_resource_profile(spark: SparkSession) -> None:
    whole = ResourceProfileBuilder().require(TaskResourceRequests().cpus(2)).build
    with pytest.raises(
        OperationalError, match=r"3 members need 3 executors with 7 slots .* there are 3 with 6"
    ):
        ExecutorCluster(spark, 3, profile=whole)
    with pytest.raises(OperationalError, match="room for 3 members with their resource profile, not for 4"):
        ExecutorCluster(spark, 4, profile=whole)
    more = ResourceProfileBuilder().require(TaskResourceRequests().cpus(1)).build
    with ExecutorCluster(spark, 2, workers=1, profile=more) as cluster, cluster.client() as client:
        assert count(client.member.submit(exchanged())) == ROWS


@pytest.mark.parametrize("master", ["yarn", "local-cluster[3,2,1024]"])
def test_dynamic_allocation_is_refused(master: str) -> None:
    settings = {"spark.master": master, "spark.dynamicAllocation.enabled": "true"}
    context = SimpleNamespace(_jsc=object())  # not stopped
    session = SimpleNamespace(conf=SimpleNamespace(get=settings.get), sparkContext=context)
    with pytest.raises(NotSupportedError, match=r"spark\.dynamicAllocation\.enabled=false"):
        await_capacity(session, None, None)  # type: ignore[arg-type]


def _listeners() -> dict[int, int]:
    """The process that listens on each TCP port."""
    inodes = {}
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        words = line.split()
        if words[3] == "0A":
            inodes[f"socket:[{words[9]}]"] = int(words[1].rpartition(":")[2], 16)
    found = {}
    for place in Path("/proc").glob("[0-9]*/fd/*"):
        try:
            port = inodes.get(os.readlink(place))
        except OSError:  # it has ended
            continue
        if port is not None:
            found[port] = int(place.parts[2])
    return found


GONE = "the cluster has ended: the Spark session is stopped, or its JVM has died"


@pytest.mark.parametrize("how, heard", [("stopped", GONE), ("killed", GONE), ("interrupted", "None")])
def test_the_cluster_ends_with_its_session_and_not_by_ctrl_c(how: str, heard: str) -> None:
    answer = subprocess.run(
        [sys.executable, "-m", "tests.connectors.spark.ending", how],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    assert heard in answer.stdout
