"""Second attempts at slow tasks, on members in processes of their own."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

import sqlfront
from sqlfront.cluster.processes import SERVICE
from sqlfront.jobs.durable_job import DurableJob
from sqlfront.jobs.job_status import JobPhase
from sqlfront_cluster.launchers.local import LocalCluster
from sqlfront_engine.durable import speculation
from sqlfront_engine.durable.event_store.events import Attempt, TaskFinished, TaskId
from sqlfront_engine.durable.event_store.job_store import JobStore
from sqlfront_engine.scheduler import SystemClock
from tests.sqlfront.jobs.slow_attempts import LEDGER, SLOW, gate
from tests.sqlfront.jobs.waiting import wait_until

# One worker starts the members.
pytestmark = pytest.mark.xdist_group("second attempts of durable jobs")

SECRET: Final = "the secret of the members"
IDS = [range(k, 400_000, 7) for k in range(7)]
RIGHT = [(k, len(ids), sum(ids)) for k, ids in enumerate(IDS)]
QUERY = "SELECT id % 7 AS k, count(*) AS n, sum(id) AS s FROM range(400000) GROUP BY id % 7 ORDER BY k"
SLOW_TASK = TaskId(0, 0)


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    """Two members in processes, on which the attempts at one task wait."""
    preload = ("tests.sqlfront.jobs.slow_attempts",)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(SLOW, "1")
        with LocalCluster(2, workers=1, service=SERVICE, secret=SECRET.encode(), preload=preload) as cluster:
            yield cluster


@pytest.fixture
def connection(
    tmp_path: Path, cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch
) -> Iterator[sqlfront.Connection]:
    """A session that coordinates jobs; an attempt is slow after half a second."""
    monkeypatch.setattr(speculation, "LEAST", 0.5)
    with sqlfront.connect(
        f"sqlfront://{cluster.address.removeprefix('unix:')}",
        secret=SECRET,
        job_store=str(tmp_path / "store"),
        workers=1,
        collect_rows=100,
    ) as connection:
        yield connection


def begin(connection: sqlfront.Connection, speculates: str = "true") -> DurableJob:
    options = {"parallelism": "3", "speculation": speculates}
    return connection.session.submit_job(QUERY, name="slow", options=options)


def begun(folder: Path) -> list[tuple[int, int]]:
    """The attempts at the slow task that have begun, each with its process."""
    ledger = folder / LEDGER
    lines = ledger.read_text().splitlines() if ledger.exists() else []
    return [(int(attempt), int(process)) for attempt, process in map(str.split, lines)]


def finishes(folder: Path, job: DurableJob) -> list[Attempt]:
    """The attempts at the slow task that the log has as finished."""
    events = [
        record.event()
        for record in JobStore.open(str(folder / "store"), clock=SystemClock()).read(job.id).records
    ]
    return [event.attempt for event in events if isinstance(event, TaskFinished) and event.task == SLOW_TASK]


def check_end(folder: Path, job: DurableJob) -> None:
    """Check that the job ends with the right answer, and with the files of its result alone."""
    status = job.wait(60)
    assert (status.phase, status.rerun) == (JobPhase.FINISHED, 0), status
    assert job.result().collect() == RIGHT
    wait_until(lambda: len([*(folder / "store" / "spool").glob("*/*")]) == 1)


def test_a_second_attempt_runs_on_another_member(connection: sqlfront.Connection, tmp_path: Path) -> None:
    """The first attempt never ends by itself."""
    (tmp_path / gate(2)).touch()

    job = begin(connection)

    check_end(tmp_path, job)
    first, second = begun(tmp_path)
    assert (first[0], second[0]) == (1, 2)
    assert first[1] != second[1]
    assert finishes(tmp_path, job) == [Attempt(1, 2)]


def test_speculative_finish(connection: sqlfront.Connection, tmp_path: Path) -> None:
    """Both attempts end at about the same time: one counts."""
    job = begin(connection)
    wait_until(lambda: len(begun(tmp_path)) == 2)
    for attempt in (2, 1):
        (tmp_path / gate(attempt)).touch()

    check_end(tmp_path, job)
    assert finishes(tmp_path, job) in ([Attempt(1, 1)], [Attempt(1, 2)])
    assert len(begun(tmp_path)) == 2


def test_the_first_attempt_may_be_the_sooner_one(connection: sqlfront.Connection, tmp_path: Path) -> None:
    job = begin(connection)
    wait_until(lambda: len(begun(tmp_path)) == 2)
    (tmp_path / gate(1)).touch()

    check_end(tmp_path, job)
    assert finishes(tmp_path, job) == [Attempt(1, 1)]


def test_without_the_option_there_is_one_attempt(connection: sqlfront.Connection, tmp_path: Path) -> None:
    job = begin(connection, speculates="false")
    assert job.wait(3).phase is JobPhase.RUNNING
    assert [attempt for attempt, _ in begun(tmp_path)] == [1]
    (tmp_path / gate(1)).touch()

    check_end(tmp_path, job)
    assert finishes(tmp_path, job) == [Attempt(1, 1)]
