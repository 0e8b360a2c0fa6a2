"""Durable jobs on a server of S3's protocol, through s3fs: real requests, real processes, and leases of ten
seconds."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path

import fsspec
import pytest

import sqlfront
from sqlfront.jobs.job_status import JobPhase
from sqlfront_engine.durable.event_store.job_store import JobStore
from sqlfront_engine.durable.event_store.ownership import Owner
from sqlfront_engine.scheduler import SystemClock
from sqlfront_engine.storage.addresses import open_folder
from sqlfront_values.errors import OperationalError
from tests.engine.storage.s3_server import S3Server, s3_server
from tests.sqlfront.jobs.killed import STORE, run_killed
from tests.sqlfront.jobs.test_killed_jobs import QUERY, TARGETS, folder, go_on
from tests.sqlfront.jobs.waiting import wait_until

__all__ = ["folder"]

# One worker runs the server.
pytestmark = [pytest.mark.doors, pytest.mark.xdist_group("s3")]

_numbers = count(1)


@pytest.fixture(scope="module")
def server() -> Iterator[S3Server]:
    with s3_server() as server, pytest.MonkeyPatch.context() as patch:
        for name, value in server.environment.items():
            patch.setenv(name, value)
        yield server


@pytest.fixture
def store(server: S3Server, monkeypatch: pytest.MonkeyPatch) -> str:
    """The URL of a store in a new bucket."""
    url = f"s3://bucket-{next(_numbers)}/below/jobs"
    fsspec.filesystem("s3").mkdir(url.split("/")[2])
    monkeypatch.setenv(STORE, url)
    return url


def left(store: str) -> list[str]:
    """The objects of the store without those of its lease."""
    found = fsspec.filesystem("s3").find(store.removeprefix("s3://"))
    return [path for path in found if "/jobs/owner." not in path]


@pytest.mark.parametrize("number", [5, 11, 16])
def test_kill_at_requests(folder: Path, store: str, number: int) -> None:
    run_killed(folder, TARGETS["directory"][0].format(folder), "requested", number)

    assert go_on(folder, "directory").rerun == 0
    assert left(store) == []


def test_kill_before_the_target_is_known_to_have_the_rows(folder: Path, store: str) -> None:
    assert run_killed(folder, TARGETS["insert"][0].format(folder), "written") == -signal.SIGKILL

    status = go_on(folder, "insert")

    assert (status.epoch, status.rerun) == (2, 0)
    assert left(store) == []


def test_another_session_takes_over(folder: Path, store: str) -> None:
    assert run_killed(folder, QUERY, "stage", 1) == -signal.SIGKILL
    with sqlfront.connect(job_store=store, job_recovery=True, workers=2) as connection:
        states = "SELECT state, epoch, tasks_rerun FROM sys.jobs"
        assert connection.execute(states).fetchall() == [("running", 1, 0)]
        wait_until(lambda: connection.execute(states).fetchall() == [("finished", 2, 0)])


def command(*arguments: str) -> str:
    return subprocess.run(
        [sys.executable, "-m", "sqlfront", *arguments],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        check=True,
        capture_output=True,
        text=True,
        timeout=120,
    ).stdout


def test_the_command_looks_after_the_jobs_of_a_url(folder: Path, store: str) -> None:
    run_killed(folder, QUERY, "stage", 1)

    assert "daily" in command("job", "list", "--store", store)
    command("job", "resume", "daily", "--store", store)
    rows = command("--job-store", store, "--format", "csv", "-c", "SELECT * FROM job.daily ORDER BY k")
    assert rows.splitlines()[:3] == ["k,n", "0,1429", "1,1429"]
    assert "job_ended" in command("job", "log", "daily", "--store", store)
    command("job", "drop", "daily", "--store", store)
    assert left(store) == []


#: Ends without closing its session, while a job runs.
ENDING = """
import sys, sqlfront
from tests.sqlfront.jobs.killed import LONG
connection = sqlfront.connect(job_store=sys.argv[1], workers=2)
connection.session.submit_job("SELECT 1 AS a", name="short").result()
connection.session.submit_job(LONG, name="long")
"""


def test_the_end_of_a_program_gives_the_store_up(store: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ENDING, store],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stderr == ""
    with sqlfront.connect(job_store=store) as connection:
        states = connection.execute("SELECT name, state FROM sys.jobs ORDER BY name").fetchall()
        assert states == [("long", "recovering"), ("short", "finished")]


def test_files_of_several_parts(store: str) -> None:
    """Rows that don't compress: an upload of parts of 8 MiB."""
    with sqlfront.connect(job_store=store, workers=2) as connection:
        job = connection.session.submit_job("SELECT id, uuid() AS u, uuid() AS v FROM range(600000)")
        assert job.wait().phase is JobPhase.FINISHED
        counts = f"SELECT count(*), count(DISTINCT u) FROM job.`{job.id}`"
        assert connection.execute(counts).fetchall() == [(600_000, 600_000)]
        (spooled,) = [path for path in left(store) if "/spool/" in path]
        assert fsspec.filesystem("s3").size(spooled) > 3 * 8 * 2**20
        connection.execute(f"DROP JOB `{job.id}`")
    assert left(store) == []


def test_members_read_and_write_objects(store: str, tmp_path: Path) -> None:
    """Also when one of them is killed."""
    query = "SELECT count(*) AS n FROM src a JOIN src b ON a.k = b.k AND a.id % 97 = b.id % 97"
    with sqlfront.connect(
        job_store=store, members=3, launcher="local", workers=1, collect_rows=100
    ) as connection:
        source = "SELECT id, id % 7 AS k FROM range(100000)"
        connection.execute(f"CREATE TABLE src USING parquet LOCATION '{tmp_path}/src' AS {source}")
        job = connection.session.submit_job(query, options={"parallelism": "6"})
        victim = next(iter(connection.session.cluster._launcher.processes.values()))  # type: ignore[union-attr]
        killer = threading.Timer(0.5, os.kill, (victim.pid, signal.SIGKILL))
        killer.start()

        assert job.wait(120).phase is JobPhase.FINISHED
        killer.join()
        assert job.result().collect() == connection.execute(query).fetchall()
        assert len([path for path in left(store) if "/spool/" in path]) == 1


def test_of_many_creations_of_an_object_one_succeeds(store: str) -> None:
    folder = open_folder(store)

    def created(number: int) -> bool:
        try:
            folder.create("epoch.000001", str(number).encode())
        except FileExistsError:
            return False
        return True

    with ThreadPoolExecutor(16) as threads:
        assert sum(threads.map(created, range(32))) == 1
    assert folder.names() == ["epoch.000001"]


def test_a_store_of_a_living_owner_is_refused(store: str) -> None:
    clock = SystemClock()
    ownership = JobStore.open(store, clock=clock).own(Owner("c1", "m1"))
    with pytest.raises(OperationalError, match=rf"the job store {store} belongs to cluster c1 \(member m1\)"):
        JobStore.open(store, clock=clock).own(Owner("c2", "m2"))
    ownership.release()
    JobStore.open(store, clock=clock).own(Owner("c2", "m2")).release()


def test_a_missing_bucket_is_named(server: S3Server) -> None:
    with sqlfront.connect(job_store="s3://none/jobs") as connection:
        for sql in ("SHOW JOBS", "CREATE JOB j AS SELECT 1"):
            with pytest.raises(sqlfront.OperationalError, match=r"s3://none/jobs .*there is no bucket none"):
                connection.execute(sql)


def test_a_server_that_cannot_be_reached_is_named(tmp_path: Path) -> None:
    program = """
import sqlfront
with sqlfront.connect(job_store="s3://bucket/jobs") as connection:
    try:
        connection.execute("SHOW JOBS")
    except sqlfront.OperationalError as error:
        print(error.message)
"""
    environment = S3Server(1).environment | {"AWS_MAX_ATTEMPTS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | environment | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        check=True,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout.startswith("the job store s3://bucket/jobs can't be used: "), done.stderr
    assert "127.0.0.1:1" in done.stdout
