"""Durable jobs whose tasks run on members in processes of their own."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import sqlfront
from sqlfront.jobs.job_status import JobPhase
from tests.sqlfront.jobs.handles import job_of
from tests.sqlfront.jobs.waiting import wait_until

# One worker starts the members.
pytestmark = pytest.mark.xdist_group("members of durable jobs")

QUERY = "SELECT k, count(*) AS n, sum(id) AS s FROM src GROUP BY k ORDER BY k"
IDS = [range(k, 200_000, 7) for k in range(7)]
SLOW = "SELECT count(*) AS n FROM (SELECT a.k FROM src a JOIN src b ON a.k = b.k AND a.id % 97 = b.id % 97)"
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
    job = connection.session.submit_job(SLOW, options={"parallelism": "6"})
    cluster = connection.session.cluster
    victim = next(iter(cluster._launcher.processes.values()))  # type: ignore[union-attr]
    killer = threading.Timer(0.3, os.kill, (victim.pid, signal.SIGKILL))
    killer.start()

    status = job.wait(120)

    killer.join()
    assert status.phase is JobPhase.FINISHED, status
    assert job.result().collect() == connection.execute(SLOW).fetchall()
    assert len(os.listdir(tmp_path / "store" / "spool" / job.id)) == 1


PROGRAM = """
import sys, sqlfront
folder, query = sys.argv[1:]
with sqlfront.connect(
    job_store=f"{folder}/store", members=3, launcher="local", workers=1, collect_rows=100
) as connection:
    connection.execute(f"CREATE TABLE src USING parquet LOCATION '{folder}/src'")
    job = connection.session.submit_job(query, name="daily", options={"parallelism": "6"})
    print(*(process.pid for process in connection.session.cluster._launcher.processes.values()), flush=True)
    job.wait()
"""


@pytest.mark.cluster
def test_coordinator_and_member_die(tmp_path: Path) -> None:
    """Both are killed in the middle of the job; its files are in the store, so that no finished task runs
    again, and the successor needs none of the former members."""
    with sqlfront.connect(job_store=str(tmp_path / "store"), workers=1) as connection:
        source = "SELECT id, id % 7 AS k FROM range(200000)"
        connection.execute(f"CREATE TABLE src USING parquet LOCATION '{tmp_path}/src' AS {source}")
        done = "SELECT 1 FROM sys.jobs WHERE tasks_done >= 6"
        with subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(tmp_path), SLOW],
            env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            stdout=subprocess.PIPE,
            text=True,
        ) as program:
            assert program.stdout is not None
            member = int(program.stdout.readline().split()[0])
            wait_until(lambda: bool(connection.execute(done).fetchall()))
            os.kill(member, signal.SIGKILL)
            program.kill()
        job = job_of(connection)
        assert job.status().phase is JobPhase.RECOVERING

        connection.execute("RESUME JOB daily")
        status = job.wait(120)

        assert (status.phase, status.epoch, status.rerun) == (JobPhase.FINISHED, 2, 0)
        assert 6 <= status.restored < status.tasks
        assert job.result().collect() == connection.execute(SLOW).fetchall()
        assert len(os.listdir(tmp_path / "store" / "spool" / job.id)) == 1
