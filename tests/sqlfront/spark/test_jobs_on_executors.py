"""Durable jobs whose tasks run on members on Spark's executors."""

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import sqlfront
from sqlfront.jobs.job_status import JobPhase
from sqlfront_engine.durable.event_store.events import TaskFinished
from sqlfront_engine.spool.places import member_of
from tests.connectors.spark import executors

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900)]

QUERY = "SELECT k, count(*) AS n, sum(id) AS s FROM src GROUP BY k ORDER BY k"
IDS = [range(k, 200_000, 7) for k in range(7)]
RIGHT = [(k, len(ids), sum(ids)) for k, ids in enumerate(IDS)]
SLOW = "SELECT count(*) AS n FROM (SELECT a.k FROM src a JOIN src b ON a.k = b.k AND a.id % 97 = b.id % 97)"


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    with executors.session(tmp_path_factory.mktemp("spark")) as session:
        yield session


@pytest.fixture
def connection(spark: SparkSession, tmp_path: Path) -> Iterator[sqlfront.Connection]:
    """A session with three members on executors, and a table of 200,000 rows in files."""
    with sqlfront.connect(
        spark=spark,
        launcher="spark",
        job_store=str(tmp_path / "store"),
        workers=1,
        memory_limit=1 << 28,
        collect_rows=100,
        silence_limit=3.0,
    ) as connection:
        source = "SELECT id, id % 7 AS k FROM range(200000)"
        connection.execute(f"CREATE TABLE src USING parquet LOCATION '{tmp_path}/src' AS {source}")
        yield connection


def test_executors_run_the_tasks(connection: sqlfront.Connection, tmp_path: Path) -> None:
    job = connection.session.submit_job(QUERY, options={"parallelism": "6"})

    assert job.result().collect() == RIGHT
    ran = connection.execute(
        "SELECT count(DISTINCT member) FROM sys.job_tasks WHERE member LIKE 'process-%'"
    ).fetchall()
    assert ran == [(0,)]
    assert len(os.listdir(tmp_path / "store" / "spool" / job.id)) == 1


def test_rows_between_stages_are_on_the_executors(connection: sqlfront.Connection, tmp_path: Path) -> None:
    options = {"parallelism": "6", "task-size": "1", "outputs": "members"}
    job = connection.session.submit_job(QUERY, options=options)

    assert job.result().collect() == RIGHT
    events = connection.session.context.jobs.log(job.id).records  # type: ignore[union-attr]
    ends = [event for event in (record.event() for record in events) if isinstance(event, TaskFinished)]
    places = {member_of(file.path) for end in ends if end.task.stage == 0 for file in end.output.files}
    assert places == {f"executor-{number}" for number in range(3)}
    assert len(os.listdir(tmp_path / "store" / "spool" / job.id)) == 1


def test_jobs_read_and_fill_tables_on_executors(connection: sqlfront.Connection) -> None:
    connection.execute("CREATE TABLE held USING memory CLUSTERED BY (id) AS SELECT id, k FROM src")
    read = QUERY.replace("src", "held")
    for way in ("CREATE TABLE made USING memory CLUSTERED BY (k) AS", "INSERT INTO made"):
        job = connection.session.submit_job(f"{way} {read}", options={"parallelism": "6"})

        assert job.wait(120).phase is JobPhase.FINISHED
    assert connection.execute("SELECT k, n, s FROM made ORDER BY k").fetchall() == [
        row for row in RIGHT for _ in range(2)
    ]


@pytest.mark.parametrize("outputs", ["store", "members"])
def test_tasks_of_a_killed_executor_run_on_others(connection: sqlfront.Connection, outputs: str) -> None:
    """All members go with it; with their outputs on their own disks all needed ones are made again."""
    job = connection.session.submit_job(SLOW, options={"parallelism": "6", "outputs": outputs})
    victim = next(iter(executors.executors().values()))
    killer = threading.Timer(0.3, os.kill, (victim, signal.SIGKILL))
    killer.start()

    status = job.wait(120)

    killer.join()
    assert status.phase is JobPhase.FINISHED, status
    pairs = sum((len(range(k, 200_000, 679))) ** 2 for k in range(679))
    assert job.result().collect() == [(pairs,)]
