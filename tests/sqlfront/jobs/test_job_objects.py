"""Durable jobs as objects: they wait as light jobs do, and refuse what makes no sense for them by name."""

import asyncio
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import sqlfront
from sqlfront import Config, Session
from sqlfront.jobs.durable_job import DurableJob
from sqlfront.jobs.job_status import as_error
from sqlfront_engine.durable.event_store.events import JobError


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with Session(Config(job_store=str(tmp_path / "store"), workers=1)) as opened:
        yield opened


async def awaited(job: DurableJob) -> None:
    await job


def test_a_durable_job_is_waited_for_as_a_light_job_is(session: Session) -> None:
    job, done = session.submit_job("SELECT id FROM range(3)"), threading.Event()
    job.add_done_callback(lambda future: done.set())
    asyncio.run(awaited(job))
    assert job.join(0)
    assert job.future.result(30) is None
    assert done.wait(30)
    assert not job.is_light
    assert str(job.progress) == "1 of 1 stages, 1 of 1 tasks"
    submitted = job.submission_time
    assert submitted is not None
    assert abs(datetime.now(UTC) - submitted) < timedelta(seconds=60)
    assert not job.resume()
    assert not job.cancel()


def test_the_error_of_a_durable_job_is_raised_by_join_and_future(session: Session) -> None:
    job = session.submit_job("SELECT 1 / (id - id) FROM range(3)")
    with pytest.raises(sqlfront.Error, match="DIVIDE_BY_ZERO"):
        job.join(60)
    with pytest.raises(sqlfront.Error, match="DIVIDE_BY_ZERO"):
        job.future.result(60)
    assert job.wait().has_ended


@pytest.mark.parametrize("kind", ["DataError", "SpoolDamaged", "spark_error", "Final", "nonsense"])
def test_an_error_of_a_log_is_an_error_of_a_class_of_errors(kind: str) -> None:
    error = as_error(JobError(kind, "text", "A_CONDITION", "12345", "hint"))

    assert type(error) is (sqlfront.DataError if kind == "DataError" else sqlfront.OperationalError)
    assert (error.message, error.condition, error.sqlstate, error.hint) == (
        "text",
        "A_CONDITION",
        "12345",
        "hint",
    )


def test_a_cancelled_durable_job_raises_the_cancellation(session: Session) -> None:
    job = session.submit_job("SELECT count(*) FROM range(3000) a, range(3000) b, range(3000) c")
    assert job.cancel()
    with pytest.raises(sqlfront.OperationalError, match="was cancelled") as caught:
        job.join(60)
    assert caught.value.condition == "OPERATION_CANCELED"


@pytest.mark.parametrize(
    ("call", "arguments"),
    [
        ("suspend", ()),
        ("restart", ()),
        ("export_snapshot", ("s",)),
        ("cancel_and_export_snapshot", ("s",)),
        ("suspension_cause", ()),
        ("update_config", (None,)),
    ],
)
def test_a_durable_job_refuses_calls_by_name(
    session: Session, call: str, arguments: tuple[object, ...]
) -> None:
    job = session.submit_job("SELECT 1")
    with pytest.raises(sqlfront.NotSupportedError, match=rf"a durable job doesn't support {call}\(\)"):
        getattr(job, call)(*arguments)
