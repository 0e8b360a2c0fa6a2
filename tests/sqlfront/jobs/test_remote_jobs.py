"""Durable jobs whose store is an object storage: log, rows and ownership, across SIGKILL."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import sqlfront
from sqlfront.jobs.job_status import DurableJobStatus, JobPhase
from sqlfront.jobs.stand_by import StandBy
from sqlfront_engine.durable.event_store import ownership
from tests.engine.storage.buckets import BucketStorage, buckets, objects
from tests.sqlfront.jobs import test_replaced_jobs
from tests.sqlfront.jobs.handles import ended, job_of
from tests.sqlfront.jobs.killed import NAME, STORE, open_session, run_killed
from tests.sqlfront.jobs.soak import soak
from tests.sqlfront.jobs.test_killed_jobs import QUERY, RIGHT, TARGETS, folder, go_on
from tests.sqlfront.jobs.waiting import wait_until

__all__ = ["folder"]

URL = "s3://bucket/below/jobs"


@pytest.fixture
def bucket(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An object storage that holds the store; a successor waits half a second for a lease, instead of ten."""
    monkeypatch.setattr(ownership, "LEASE", 0.5)
    monkeypatch.setenv(STORE, URL)
    with buckets(folder) as place:
        yield place


def left(bucket: Path) -> list[str]:
    """The objects of the storage without those of the lease."""
    return [name for name in objects(bucket) if not name.startswith("below/jobs/owner.")]


def spooled(bucket: Path) -> list[str]:
    """The objects with rows of jobs."""
    return [name for name in objects(bucket) if "/spool/" in name]


#: The objects that an undisturbed run creates, roughly.
REQUESTS = 24
NUMBERS = [
    pytest.param(number, step, marks=() if (number, step) == (9, "requested") else pytest.mark.soak)
    for number in range(1, REQUESTS)
    for step in ("request", "requested")
]


@pytest.mark.parametrize(("number", "step"), NUMBERS)
def test_kill_at_every_request(folder: Path, bucket: Path, number: int, step: str) -> None:
    run_killed(folder, TARGETS["directory"][0].format(folder), step, number)

    status = go_on(folder, "directory")

    assert status.rerun == 0
    assert left(bucket) == []


#: The objects until a new job runs, roughly.
REPLACING = [
    pytest.param(number, step, marks=() if (number, step) == (3, "requested") else pytest.mark.soak)
    for number in range(1, 9)
    for step in ("request", "requested")
]


@pytest.mark.parametrize(("number", "step"), REPLACING)
def test_kill_at_every_request_of_a_replacement(folder: Path, bucket: Path, number: int, step: str) -> None:
    run_killed(folder, test_replaced_jobs.NEW, step, number, program=test_replaced_jobs.PROGRAM)

    test_replaced_jobs.go_on(folder)

    assert left(bucket) == []


STEPS = ["put", "commit", "written", "committed"]


@pytest.mark.soak
@pytest.mark.parametrize("kind", ["directory", "insert", "overwrite", "table"])
@pytest.mark.parametrize("step", STEPS)
def test_sink_crash_points(folder: Path, bucket: Path, kind: str, step: str) -> None:
    assert run_killed(folder, TARGETS[kind][0].format(folder), step) == -signal.SIGKILL

    status = go_on(folder, kind)

    assert (status.epoch, status.rerun) == (2, 0)
    assert status.restored == status.tasks
    assert left(bucket) == []


def test_another_process_sees_a_killed_owner_and_takes_its_job_over(folder: Path, bucket: Path) -> None:
    assert run_killed(folder, QUERY, "stage", 1) == -signal.SIGKILL
    states: list[object] = []

    def ended() -> bool:
        states.extend(state for (state,) in connection.execute("SELECT state FROM sys.jobs").fetchall())
        return states[-1] == "finished"

    with sqlfront.connect(job_store=URL, job_recovery=True, workers=2) as connection:
        wait_until(ended)
        assert connection.execute(f"SELECT * FROM job.`{NAME}`").fetchall() == RIGHT
        (facts,) = connection.execute(
            "SELECT epoch, tasks_restored > 0, tasks_rerun FROM sys.jobs"
        ).fetchall()

    assert states[0] == "running"  # until the lease has ended
    assert facts == (2, True, 0)
    assert len(spooled(bucket)) == 1


def test_a_second_session_reads_and_does_not_write(
    folder: Path, bucket: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ownership, "LEASE", 3.0)  # the first session renews it in time
    with open_session(folder) as first, open_session(folder) as second:
        first.execute(f"CREATE JOB {NAME} AS {QUERY}")
        with pytest.raises(sqlfront.OperationalError, match=rf"the job store {URL} belongs to cluster \w+"):
            second.execute("CREATE JOB other AS SELECT 1")
        assert job_of(second).result().collect() == RIGHT
        first.close()
        second.execute("CREATE JOB other AS SELECT 1")  # at once: the lease was released


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_soak(tmp_path: Path, bucket: Path) -> None:
    """Jobs in processes that are killed at random moments: no wrong row, no stuck job, no object left."""
    folder = tmp_path / "soak"
    folder.mkdir()

    assert soak(folder, 100, seed=1)["jobs"] == 100

    assert left(bucket) == []


@pytest.mark.soak
def test_the_watch_outlives_a_storage_that_does_not_answer(
    folder: Path, bucket: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_killed(folder, QUERY, "stage", 1)
    failures, ls = [1, 2, 3], BucketStorage.ls

    def failing(self: BucketStorage, path: str, detail: bool) -> object:
        if failures:
            raise TimeoutError(f"no answer {failures.pop() > 1}")
        return ls(self, path, detail)

    told: list[str] = []
    ends: list[DurableJobStatus] = []

    def end(status: DurableJobStatus) -> None:
        ends.append(status)
        stand_by.stop()

    with open_session(folder) as connection:
        service = connection.session.context.jobs
        assert service is not None
        monkeypatch.setattr(BucketStorage, "ls", failing)
        stand_by = StandBy(service, begins=lambda: None, ended=end, failed=told.append)
        stand_by.run()

    assert told == [f"the job store {URL} can't be used: no answer {word}" for word in (True, False)]
    assert [(status.name, status.phase) for status in ends] == [(NAME, JobPhase.FINISHED)]


#: Begins a job, and says so; goes on when it is told to.
STOPPED = """
import sys
from pathlib import Path
from sqlfront_engine.durable.job_state import JobState
from tests.sqlfront.jobs.soak import soak
from tests.sqlfront.jobs.killed import open_session
apply = JobState.apply
def stopping(self, event):
    apply(self, event)
    if self.is_complete(0) and not self.is_complete(1):
        print("begun", flush=True)
        sys.stdin.readline()
with open_session(Path(sys.argv[1])) as connection:
    JobState.apply = stopping
    connection.session.submit_job(sys.argv[2], name="daily").result()
"""


@pytest.mark.soak
def test_zombie_coordinator(folder: Path, bucket: Path) -> None:
    """The lease of a stopped process ends; when the process goes on, it changes nothing."""
    program = subprocess.Popen(
        [sys.executable, "-c", STOPPED, str(folder), QUERY],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with program:
        assert program.stdout is not None
        assert program.stdout.readline() == "begun\n"
        program.send_signal(signal.SIGSTOP)
        with open_session(folder) as connection:
            connection.execute(f"RESUME JOB {NAME}")
            ended(connection)
            before = spooled(bucket)
            program.send_signal(signal.SIGCONT)
            _, error = program.communicate("go on\n", timeout=60)

            assert program.returncode != 0
            assert "another coordinator has claimed epoch 2" in error
            assert spooled(bucket) == before
            assert job_of(connection).result().collect() == RIGHT


# ---- what is refused


def refused(url: str, sql: str) -> str:
    with pytest.raises(sqlfront.OperationalError) as caught, sqlfront.connect(job_store=url) as connection:
        connection.execute(sql)
    return str(caught.value.message)


def test_unknown_protocols_are_refused_by_name() -> None:
    assert refused("hdfs://host/jobs", "SELECT 1").startswith(
        "a job store can't be at hdfs://host/jobs: with hdfs:// two coordinators may write the same object"
    )


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gcsfs", None)
    assert refused("gs://bucket/jobs", "SELECT 1").startswith(
        "a job store at gs://bucket/jobs needs another library: pip install gcsfs"
    )


@pytest.mark.parametrize("sql", ["SHOW JOBS", "CREATE JOB j AS SELECT 1", "SELECT * FROM sys.jobs"])
def test_a_missing_bucket_is_named(bucket: Path, sql: str) -> None:
    text = refused("s3://none/jobs", sql)
    assert text.startswith("the job store s3://none/jobs can't be used: ")
    assert "bucket" in text.removeprefix("the job store s3://none/jobs")


def test_a_lack_of_permission_is_named(bucket: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(*_: object, **__: object) -> None:
        raise PermissionError("Access Denied")

    monkeypatch.setattr(BucketStorage, "pipe_file", denied)
    assert refused(URL, "CREATE JOB j AS SELECT 1") == f"the job store {URL} can't be used: Access Denied"
    monkeypatch.setattr(BucketStorage, "ls", denied)
    assert refused(URL, "SHOW JOBS") == f"the job store {URL} can't be used: Access Denied"


def test_a_storage_without_exclusive_creation_is_refused(
    bucket: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def replacing(self: BucketStorage, path: str, value: bytes, mode: str = "overwrite") -> None:
        self._writable(path).write_bytes(value)

    monkeypatch.setattr(BucketStorage, "pipe_file", replacing)
    text = refused(URL, "CREATE JOB j AS SELECT 1")
    assert "replaces an object that was to be created only if absent" in text
    assert left(bucket) == []
