"""Durable jobs whose tasks run on members in processes of their own."""

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import sqlfront
from sqlfront.jobs.job_status import JobPhase

# One worker starts the members.
pytestmark = pytest.mark.xdist_group("members of durable jobs")

QUERY = "SELECT k, count(*) AS n, sum(id) AS s FROM src GROUP BY k ORDER BY k"
IDS = [range(k, 200_000, 7) for k in range(7)]
RIGHT = [(k, len(ids), sum(ids)) for k, ids in enumerate(IDS)]


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[sqlfront.Connection]:
    """A session with three members in processes, and a table of 200,000 rows in files."""
    with sqlfront.connect(
        job_store=str(tmp_path / "store"), members=3, launcher="local", workers=1, collect_rows=100
    ) as connection:
        source = "SELECT id, id % 7 AS k FROM range(200000)"
        connection.execute(f"CREATE TABLE src USING parquet LOCATION '{tmp_path}/src' AS {source}")
        yield connection


def test_all_members_run_tasks(connection: sqlfront.Connection, tmp_path: Path) -> None:
    job = connection.session.submit_job(QUERY, options={"parallelism": "6"})

    assert job.result().collect() == RIGHT
    assert job.status().rerun == 0
    assert len(os.listdir(tmp_path / "store" / "spool" / job.id)) == 1


def test_an_error_of_a_task_ends_the_job(connection: sqlfront.Connection) -> None:
    job = connection.session.submit_job("SELECT 1 / (id - 150000) AS x FROM src")

    status = job.wait(60)
    assert status.phase is JobPhase.FAILED
    with pytest.raises(sqlfront.DataError, match="DIVIDE_BY_ZERO"):
        job.result()


def test_tasks_of_a_killed_member_run_on_others(connection: sqlfront.Connection, tmp_path: Path) -> None:
    slow = (
        "SELECT count(*) AS n FROM (SELECT a.k FROM src a JOIN src b ON a.k = b.k AND a.id % 97 = b.id % 97)"
    )
    job = connection.session.submit_job(slow, options={"parallelism": "6"})
    cluster = connection.session.cluster
    victim = next(iter(cluster._launcher.processes.values()))  # type: ignore[union-attr]
    killer = threading.Timer(0.3, os.kill, (victim.pid, signal.SIGKILL))
    killer.start()

    status = job.wait(120)

    killer.join()
    assert status.phase is JobPhase.FINISHED, status
    assert job.result().collect() == connection.execute(slow).fetchall()
    assert len(os.listdir(tmp_path / "store" / "spool" / job.id)) == 1
