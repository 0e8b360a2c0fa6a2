"""Processes killed by SIGKILL while they run a durable job: another process goes on, and the target has each
row once."""

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

import sqlfront
from sqlfront.connection import Connection
from sqlfront.jobs.job_status import DurableJobStatus, JobPhase
from sqlfront_engine.durable.event_store.events import Manifest, TaskId
from sqlfront_engine.durable.job_state import JobState
from sqlfront_engine.durable.tasks import TaskRun
from sqlfront_engine.durable.thread_runner import ThreadRunner
from tests.small_disks import small_disk
from tests.sqlfront.jobs.handles import ended, job_or_none
from tests.sqlfront.jobs.killed import LONG, NAME, STORE, open_session, run_killed

QUERY = "SELECT k, count(*) AS n FROM src GROUP BY k ORDER BY k"
#: A scan, a join, an aggregation and an order.
JOIN = "SELECT a.k, count(*) AS n FROM src a JOIN src b ON a.id = b.id GROUP BY a.k ORDER BY a.k"
RIGHT = [(k, 1429 if k < 4 else 1428) for k in range(7)]
#: The statements, and the query that reads their targets.
TARGETS = {
    "directory": ("INSERT OVERWRITE DIRECTORY '{}/out' USING parquet " + QUERY, "parquet.`{}/out`"),
    "insert": ("INSERT INTO sink " + QUERY, "sink"),
    "overwrite": ("INSERT OVERWRITE sink " + QUERY, "sink"),
    "table": ("CREATE TABLE made USING parquet LOCATION '{}/made' AS " + QUERY, "made"),
    "join": ("INSERT OVERWRITE DIRECTORY '{}/out' USING parquet " + JOIN, "parquet.`{}/out`"),
    "query": (QUERY, "job.`daily`"),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the tables ``src`` (10,000 rows) and ``sink`` (one row)."""
    with sqlfront.connect(workers=2) as connection:
        source = f"USING parquet LOCATION '{tmp_path}/src' AS SELECT id, id % 7 AS k FROM range(10000)"
        connection.execute(f"CREATE TABLE src {source}")
        sink = f"USING parquet LOCATION '{tmp_path}/sink' AS SELECT -1L AS k, 0L AS n"
        connection.execute(f"CREATE TABLE sink {sink}")
    return tmp_path


def state_of(connection: Connection) -> JobState | None:
    """The state of the job by its log; None if the job was not accepted."""
    service = connection.session.context.jobs
    assert service is not None
    return next((job.state for job in service.stored()), None)


def go_on(
    folder: Path, kind: str, at_end: Callable[[Connection], None] = lambda connection: None
) -> DurableJobStatus:
    """Resume the job in this process, or create it if it was not accepted; check the target's rows, and that
    nothing else is left. ``at_end`` is called before the job is dropped."""
    statement, target = (text.format(folder) for text in TARGETS[kind])
    with open_session(folder) as connection:
        if job_or_none(connection) is None:
            connection.execute(f"CREATE JOB {NAME} AS {statement}")
        else:
            connection.execute(f"RESUME JOB {NAME}")
        status = ended(connection)

        if kind == "table" and not connection.execute("SHOW TABLES LIKE 'made'").fetchall():
            connection.execute(f"CREATE TABLE made USING parquet LOCATION '{folder}/made'")
        found = connection.execute(f"SELECT k, n FROM {target} ORDER BY k").fetchall()
        assert found == ([(-1, 0)] if kind == "insert" else []) + RIGHT
        assert status.rows == len(RIGHT)
        at_end(connection)
        connection.execute(f"DROP JOB {NAME}")
        assert connection.execute("SHOW JOBS").fetchall() == []
    if STORE not in os.environ:
        assert os.listdir(folder / "store" / "spool") == []
        assert os.listdir(folder / "store" / "jobs") == []
    hidden = [path for path in folder.rglob("*") if path.name.startswith((".", "_")) and path.is_dir()]
    assert hidden == []
    return status


#: The fsyncs of an undisturbed run, roughly.
SYNCS = 30
NUMBERS = [
    pytest.param(number, marks=() if number in (6, 11, 17) else pytest.mark.soak)
    for number in range(1, SYNCS)
]


@pytest.mark.parametrize("step", ["sync", "synced"])
@pytest.mark.parametrize("number", NUMBERS)
def test_kill_at_every_fsync(folder: Path, number: int, step: str) -> None:
    run_killed(folder, TARGETS["directory"][0].format(folder), step, number)

    go_on(folder, "directory")


#: The fsyncs of an undisturbed run of the join, roughly.
JOIN_SYNCS = 50
JOIN_NUMBERS = [
    pytest.param(number, marks=() if number == 21 else pytest.mark.soak) for number in range(1, JOIN_SYNCS)
]


@pytest.mark.parametrize("step", ["sync", pytest.param("synced", marks=pytest.mark.soak)])
@pytest.mark.parametrize("number", JOIN_NUMBERS)
def test_kill_at_every_record_of_a_join(
    folder: Path, number: int, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The successor runs exactly the tasks that have no record, and each of them once."""
    ran: list[TaskId] = []
    run_task = ThreadRunner._output

    def noted(runner: ThreadRunner, run: TaskRun) -> Manifest:
        ran.append(run.id)
        return run_task(runner, run)

    run_killed(folder, TARGETS["join"][0].format(folder), step, number)
    with open_session(folder) as connection:
        before = state_of(connection)
    monkeypatch.setattr(ThreadRunner, "_output", noted)
    after: list[JobState | None] = []
    go_on(folder, "join", lambda connection: after.append(state_of(connection)))

    [state] = after
    assert state is not None
    if before is not None and before.ended is not None:
        assert ran == []
    else:
        finished = set() if before is None else set(before.finished)
        assert len(ran) == len(set(ran))
        assert set(ran) == set(state.finished) - finished


STEPS = ["put", "commit", "written", "committed"]
FEW = {("insert", "written"), ("directory", "commit"), ("table", "written")}


@pytest.mark.parametrize(
    ("kind", "step"),
    [
        pytest.param(kind, step, marks=() if (kind, step) in FEW else pytest.mark.soak)
        for kind in ("directory", "insert", "overwrite", "table")
        for step in STEPS
    ],
)
def test_sink_crash_points(folder: Path, kind: str, step: str) -> None:
    assert run_killed(folder, TARGETS[kind][0].format(folder), step) == -signal.SIGKILL

    status = go_on(folder, kind)

    assert (status.epoch, status.rerun) == (2, 0)
    assert status.restored == status.tasks


def test_kill_of_a_query_whose_rows_stay_with_the_job(folder: Path) -> None:
    assert run_killed(folder, QUERY, "synced", 9) == -signal.SIGKILL

    status = go_on(folder, "query")

    assert status.epoch == 2
    assert 0 < status.restored < status.tasks


def test_cancel_then_crash(folder: Path) -> None:
    """The process dies when the request to cancel is durable, and nothing was done about it."""
    assert run_killed(folder, LONG, "cancelled") == -signal.SIGKILL

    with open_session(folder) as connection:
        connection.execute(f"RESUME JOB {NAME}")
        ended(connection, phase=JobPhase.CANCELLED)
        connection.execute(f"DROP JOB {NAME}")
    assert not list((folder / "store").glob("spool/*"))


#: Room for the job's log and for few of its rows.
DISK = "300k"


def test_disk_full_of_the_store(tmp_path: Path) -> None:
    """The job fails and says why; after it the store takes other jobs."""
    with small_disk(tmp_path / "disk", DISK) as disk:
        with sqlfront.connect(job_store=str(disk / "store"), workers=2, collect_rows=100) as connection:
            job = connection.session.submit_job("SELECT id, uuid() AS u FROM range(50000)")
            with pytest.raises(sqlfront.OperationalError, match="No space left on device"):
                job.result()
            assert job.status().phase is JobPhase.FAILED
            assert not [path for path in (disk / "store" / "spool").rglob("*") if path.is_file()]
            assert connection.session.submit_job("SELECT 1 AS a").result().collect() == [(1,)]


def test_disk_full_of_the_target(folder: Path) -> None:
    """The target keeps its former rows, and no other file."""
    with small_disk(folder / "disk", DISK) as disk, open_session(folder) as connection:
        target = f"INSERT OVERWRITE DIRECTORY '{disk}/out' USING parquet "
        connection.execute(target + "SELECT 1 AS a")
        before = sorted(path.name for path in disk.rglob("*"))
        job = connection.session.submit_job(f"{target} SELECT id, uuid() AS u FROM range(50000)")

        with pytest.raises(sqlfront.OperationalError, match="No space left on device"):
            job.result()

        assert job.status().phase is JobPhase.FAILED
        assert connection.execute(f"SELECT * FROM parquet.`{disk}/out`").fetchall() == [(1,)]
        assert sorted(path.name for path in disk.rglob("*")) == before
