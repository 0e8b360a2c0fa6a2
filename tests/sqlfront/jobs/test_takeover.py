"""Jobs that go on without RESUME JOB, and clients that wait for jobs of other processes."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import sqlfront
from sqlfront.jobs import service as job_service
from sqlfront.jobs import takeover_watch
from sqlfront.jobs.durable_job import DurableJob
from sqlfront.jobs.job_status import JobPhase
from sqlfront_values.errors import OperationalError
from tests.sqlfront.jobs.handles import job_of, job_or_none
from tests.sqlfront.jobs.killed import NAME, run_killed
from tests.sqlfront.jobs.waiting import wait_until

ROWS = [(k, 1429 if k < 4 else 1428) for k in range(7)]
QUERY = "SELECT k, count(*) AS n FROM src GROUP BY k ORDER BY k"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the tables ``src`` (10,000 rows) and ``sink`` (no rows)."""
    with sqlfront.connect(workers=2) as connection:
        source = f"USING parquet LOCATION '{tmp_path}/src' AS SELECT id, id % 7 AS k FROM range(10000)"
        connection.execute(f"CREATE TABLE src {source}")
        sink = f"USING parquet LOCATION '{tmp_path}/sink' AS SELECT -1L AS k, 0L AS n WHERE false"
        connection.execute(f"CREATE TABLE sink {sink}")
    return tmp_path


@pytest.fixture
def successor(folder: Path) -> Iterator[sqlfront.Connection]:
    """A session of this process that takes jobs over."""
    with sqlfront.connect(job_store=str(folder / "store"), job_recovery=True, workers=2) as connection:
        yield connection


def found(connection: sqlfront.Connection) -> DurableJob:
    """The job, as soon as the other process has created it."""
    wait_until(lambda: job_or_none(connection) is not None)
    return job_of(connection)


@pytest.fixture
def beside() -> Iterator[Callable[[Callable[[], object]], object]]:
    """Run a function on another thread."""
    with ThreadPoolExecutor(1) as threads:
        yield threads.submit


def test_client_survives(
    folder: Path, successor: sqlfront.Connection, beside: Callable[[Callable[[], object]], object]
) -> None:
    """A client that waits while the coordinator is killed and this process takes the job over."""
    beside(lambda: run_killed(folder, QUERY, "stage", 1))

    assert found(successor).result().collect() == ROWS

    status = found(successor).status()
    assert (status.phase, status.epoch) == (JobPhase.FINISHED, 2)
    assert status.restored > 0
    assert status.rerun == 0


def test_a_client_waits_for_a_job_of_another_process(
    folder: Path, beside: Callable[[Callable[[], object]], object]
) -> None:
    with sqlfront.connect(job_store=str(folder / "store"), workers=2) as connection:
        beside(lambda: run_killed(folder, QUERY, "sync", 10_000))  # an fsync that doesn't come

        assert found(connection).result().collect() == ROWS
        assert found(connection).status().epoch == 1


def test_a_limit_of_the_wait_holds_for_jobs_of_other_processes(folder: Path) -> None:
    run_killed(folder, QUERY, "stage", 1)
    with sqlfront.connect(job_store=str(folder / "store"), workers=2) as connection:
        assert found(connection).wait(0.2).phase is JobPhase.RECOVERING


def test_a_client_learns_that_nobody_runs_the_job(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_service, "PATIENCE", 0.3)
    run_killed(folder, QUERY, "stage", 1)
    with sqlfront.connect(job_store=str(folder / "store"), workers=2) as connection:
        text = f"no process runs the job `{NAME}` of {folder}/store; RESUME JOB goes on with it"
        with pytest.raises(sqlfront.OperationalError, match=text):
            found(connection).result()


def test_a_job_goes_on_when_the_session_knows_its_target(
    folder: Path, successor: sqlfront.Connection, caplog: pytest.LogCaptureFixture
) -> None:
    run_killed(folder, f"INSERT INTO sink {QUERY}", "stage", 1)
    wait_until(lambda: "can't be taken over" in caplog.text)
    assert found(successor).status().phase is JobPhase.RECOVERING

    successor.execute(f"CREATE TABLE sink (k BIGINT, n BIGINT) USING parquet LOCATION '{folder}/sink'")

    assert found(successor).wait(30).phase is JobPhase.FINISHED
    assert successor.execute("SELECT k, n FROM sink ORDER BY k").fetchall() == ROWS


def test_each_cause_that_keeps_a_job_from_a_takeover_is_logged_once(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run_killed(folder, f"INSERT INTO sink {QUERY}", "stage", 1)
    with sqlfront.connect(job_store=str(folder / "store"), workers=2) as connection:
        service = connection.session.context.jobs
        assert service is not None
        assert [service.take_over() for _ in range(3)] == [False] * 3
        assert caplog.text.count("can't be taken over") == 1

        connection.execute(f"CREATE TABLE sink (k BIGINT) USING parquet LOCATION '{folder}/other'")
        assert [service.take_over() for _ in range(3)] == [False] * 3
        assert caplog.text.count("can't be taken over") == 2


def test_a_watch_logs_each_error_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(takeover_watch, "INTERVAL", 0.0)
    outcomes, ended = iter(["a", "a", "b", "", "b"]), threading.Event()

    def take_over() -> bool:
        outcome = next(outcomes, None)
        if outcome is None:
            ended.set()
        elif outcome:
            raise OperationalError(outcome)
        return outcome is None

    takeover_watch.TakeoverWatch(take_over)
    assert ended.wait(60)
    assert [str(error) for record in caplog.records for error in record.args or ()] == ["a", "b", "b"]


def test_a_session_that_takes_jobs_over_leaves_a_store_without_such_jobs_to_others(
    folder: Path, successor: sqlfront.Connection
) -> None:
    with sqlfront.connect(job_store=str(folder / "store"), workers=2) as other:
        other.execute(f"CREATE JOB {NAME} AS SELECT 1")
        found(other).wait()
        other.execute(f"DROP JOB {NAME}")


def test_one_of_several_sessions_takes_a_job_over(folder: Path) -> None:
    run_killed(folder, QUERY, "stage", 1)
    sessions = [
        sqlfront.connect(job_store=str(folder / "store"), job_recovery=True, workers=1) for _ in range(4)
    ]
    try:
        assert [found(each).result().collect() for each in sessions] == [ROWS] * 4
        assert found(sessions[0]).status().epoch == 2
    finally:
        for each in sessions:
            each.close()


def test_a_store_may_be_opened_by_a_symbolic_link(folder: Path) -> None:
    run_killed(folder, QUERY, "stage", 1)
    (folder / "link").symlink_to(folder / "store")
    with sqlfront.connect(job_store=str(folder / "link"), job_recovery=True, workers=2) as connection:
        assert found(connection).result().collect() == ROWS
        assert found(connection).status().restored > 0
        assert found(connection).status().rerun == 0


def test_a_closed_session_ends_its_watch(folder: Path) -> None:
    sqlfront.connect(job_store=str(folder / "store"), job_recovery=True).close()

    wait_until(lambda: "sqlfront-job-takeover" not in {each.name for each in threading.enumerate()})
