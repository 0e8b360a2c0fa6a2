"""Light jobs as objects: :meth:`sqlfront.Session.submit`, and jobs that are found by their ids."""

import asyncio
import logging
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest

import sqlfront
from sqlfront import Config, Session
from sqlfront.light_jobs.job import Job
from sqlfront.pipeline import Pipeline, sink, source
from sqlfront_engine.dag import DAG, Edge
from sqlfront_engine.engine import JobConfig
from sqlfront_engine.job_statistics import JobStatus
from sqlfront_engine.processor import ProcessorContext
from sqlfront_engine.processors.sink import ResultSink
from sqlfront_engine.processors.sources.range import Range
from sqlfront_values.errors import (
    InterfaceError,
    NotSupportedError,
    OperationalError,
    ProgrammingError,
)

NUMBERS = pa.schema([("n", pa.int64())])


@pytest.fixture(scope="module", params=[None, 3], ids=["one member", "three members"])
def session(request: pytest.FixtureRequest) -> Iterator[Session]:
    with Session(Config(members=request.param, workers=1)) as opened:
        yield opened


class Gate:
    """What the waiting job of a test waits for; the job says when it waits."""

    def __init__(self) -> None:
        self.began, self.opened = threading.Event(), threading.Event()
        self.error: Exception | None = None


#: The gate of the present test: a pipeline's functions travel by name.
_present: list[Gate] = []


@pytest.fixture
def gate() -> Iterator[Gate]:
    made = Gate()
    _present.append(made)
    yield made
    made.opened.set()
    _present.remove(made)


def at_gate(context: ProcessorContext) -> Iterator[pa.RecordBatch]:
    gate = _present[-1]
    gate.began.set()
    while not gate.opened.wait(0.005):
        yield pa.RecordBatch.from_pydict({"n": []}, schema=NUMBERS)
    if gate.error is not None:
        raise gate.error


def ignored(context: ProcessorContext) -> Callable[[pa.RecordBatch], None]:
    return lambda batch: None


def numbers(count: int = 3) -> DAG:
    """Emits the numbers below ``count`` as the job's result."""
    dag = DAG()
    vertex = dag.vertex("numbers", Range(0, 1, count), 1)
    dag.edge(Edge.between(vertex, dag.vertex("result", ResultSink())).to_one().distribute_to())
    return dag


def waiting() -> Pipeline:
    """A pipeline without a result, which ends when the gate of the test opens."""
    pipeline = Pipeline()
    pipeline.read(source(at_gate, NUMBERS)).write(sink(ignored))
    return pipeline


def started(session: Session, gate: Gate, config: JobConfig | None = None) -> Job:
    job = session.submit(waiting(), config)
    assert gate.began.wait(30)
    return job


def values(job: Job) -> set[object]:
    return {value for batch in job.batches() for value in batch.column(0).to_pylist()}


# ---- a job's course


def test_a_dag_runs_as_a_job_whose_result_is_read(session: Session) -> None:
    job = session.submit(numbers())
    assert values(job) == {0, 1, 2}
    assert job.join()
    assert job.status is JobStatus.COMPLETED
    assert job.is_light
    assert job.name is None
    assert not job.is_user_cancelled
    assert job.statistics().status is JobStatus.COMPLETED


def test_a_pipeline_runs_as_a_job_whose_result_has_logical_types(session: Session) -> None:
    pipeline = Pipeline().read(source(three, NUMBERS)).collect()
    assert 2 in values(session.submit(pipeline))


def three(context: ProcessorContext) -> Iterator[pa.RecordBatch]:
    yield pa.RecordBatch.from_pydict({"n": [0, 1, 2]}, schema=NUMBERS)


def test_a_job_is_running_until_its_end(session: Session, gate: Gate) -> None:
    before = datetime.now(UTC)
    job = started(session, gate)
    assert job.status.value == "running"
    assert not job.future.done()
    assert before - timedelta(seconds=1) <= job.submission_time <= datetime.now(UTC)
    assert not job.join(0)
    assert not job.join(-1)
    assert not job.join(0.01)
    gate.opened.set()
    assert job.join()
    assert job.join()
    assert job.join(0)
    assert job.join(-1)
    assert job.future.result(30) is None
    assert job.status is JobStatus.COMPLETED


def test_the_error_of_a_job_is_that_of_join_future_and_result(session: Session, gate: Gate) -> None:
    job = started(session, gate)
    gate.error = ValueError("a user's mistake")
    gate.opened.set()
    for wait in (job.join, job.join, lambda: job.future.result(30), lambda: asyncio.run(awaited(job))):
        with pytest.raises(sqlfront.DataError, match="a user's mistake"):
            wait()
    assert job.status is JobStatus.FAILED
    assert not job.is_user_cancelled


async def awaited(job: Job) -> None:
    await job


# ---- cancellation and timeouts


def test_a_cancelled_job_raises_the_cancellation(session: Session, gate: Gate) -> None:
    job = started(session, gate)
    job.cancel()
    job.cancel()
    for _ in range(2):
        with pytest.raises(OperationalError, match="cancelled") as caught:
            job.join(30)
        assert caught.value.condition == "OPERATION_CANCELED"
    assert isinstance(job.future.exception(30), OperationalError)
    assert job.status is JobStatus.CANCELLED
    assert job.is_user_cancelled
    job.cancel()


def test_many_threads_cancel_one_job(session: Session, gate: Gate) -> None:
    job = started(session, gate)
    threads = [threading.Thread(target=job.cancel) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with pytest.raises(OperationalError, match="cancelled"):
        job.join(30)


def test_the_cancellation_of_a_completed_job_changes_nothing(session: Session) -> None:
    job = session.submit(numbers())
    values(job)
    job.join()
    job.cancel()
    assert job.join()
    assert job.status is JobStatus.COMPLETED
    assert not job.is_user_cancelled


def test_a_job_that_is_cancelled_before_its_submission_ends_at_once(session: Session) -> None:
    query = session.begin("cancelled")
    query.cancel()
    job = session.submit(numbers(), JobConfig(query=query))
    with pytest.raises(OperationalError, match="cancelled"):
        job.join(30)
    assert job.is_user_cancelled


def test_a_jobs_timeout_is_no_cancellation_by_a_user(session: Session, gate: Gate) -> None:
    job = session.submit(waiting(), JobConfig(timeout=0.05))
    with pytest.raises(OperationalError, match=r"timeout of 0\.05 s") as caught:
        job.join(30)
    assert caught.value.sqlstate == "57014"
    assert job.status is JobStatus.TIMED_OUT
    assert not job.is_user_cancelled


def test_the_sessions_timeout_is_that_of_a_job_without_one(gate: Gate) -> None:
    with Session(Config(timeout=0.05)) as session:
        job = session.submit(waiting())
        with pytest.raises(OperationalError, match=r"timeout of 0\.05 s"):
            job.join(30)


@pytest.mark.parametrize("timeout", [0, -1, float("inf"), float("nan")])
def test_a_timeout_of_a_job_is_positive(session: Session, timeout: float) -> None:
    with pytest.raises(ProgrammingError, match="timeout must be a positive number"):
        session.submit(numbers(), JobConfig(timeout=timeout))


@pytest.mark.parametrize("timeout", [float("inf"), 10**400], ids=["infinite", "huge"])
def test_a_wait_of_any_length_ends_with_the_job(session: Session, gate: Gate, timeout: float) -> None:
    job = started(session, gate)
    opening = threading.Timer(0.05, gate.opened.set)
    opening.start()
    assert session.job(job.id).join(timeout)
    assert job.join(timeout)
    assert job.join(-timeout)


@pytest.mark.parametrize("timeout", ["1", float("nan"), True])
def test_a_wait_needs_a_number(session: Session, timeout: object) -> None:
    job = session.submit(numbers())
    with pytest.raises(InterfaceError, match="a timeout is a number"):
        job.join(timeout)  # type: ignore[arg-type]


def test_a_result_that_nobody_reads_does_not_block_join_for_ever(session: Session) -> None:
    job = session.submit(numbers(3_000_000))
    with pytest.raises(InterfaceError, match="read batches"):
        job.join()
    assert len(values(job)) == 3_000_000
    assert job.join()


def test_the_result_of_a_job_without_one_is_refused(session: Session, gate: Gate) -> None:
    with pytest.raises(InterfaceError, match="no result"):
        started(session, gate).batches()


def test_the_result_is_read_once(session: Session) -> None:
    job = session.submit(numbers())
    values(job)
    with pytest.raises(InterfaceError, match="only once"):
        job.batches()


# ---- futures, callbacks, tasks


def test_callbacks_are_called_although_one_raises(
    session: Session, gate: Gate, caplog: pytest.LogCaptureFixture
) -> None:
    job, called, done = started(session, gate), list[bool](), threading.Event()

    def fails(future: "Future[None]") -> None:
        raise ValueError("in the callback")

    def works(future: "Future[None]") -> None:
        called.append(future.done())
        session.submit(numbers()).batches()
        called.append(session.sql("SELECT 1").collect()[0][0] == 1)
        done.set()

    job.add_done_callback(fails)
    job.add_done_callback(works)
    with caplog.at_level(logging.ERROR, logger="concurrent.futures"):
        gate.opened.set()
        assert done.wait(30)
    assert called == [True, True]
    assert "exception calling callback" in caplog.text
    late: list[bool] = []
    job.add_done_callback(lambda future: late.append(True))
    assert late == [True]


def test_two_tasks_wait_and_the_end_of_one_leaves_the_job(session: Session, gate: Gate) -> None:
    job = started(session, gate)

    async def main() -> None:
        first, second = (asyncio.ensure_future(awaited(job)) for _ in range(2))
        await asyncio.sleep(0)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.wrap_future(job.future), 0.01)
        assert job.status is JobStatus.RUNNING
        gate.opened.set()
        await second

    asyncio.run(main())
    assert job.status is JobStatus.COMPLETED


def test_the_future_cannot_be_cancelled(session: Session, gate: Gate) -> None:
    job = started(session, gate)
    assert not job.future.cancel()
    assert job.status is JobStatus.RUNNING


def test_a_job_goes_on_without_its_object_unless_it_has_a_result(session: Session, gate: Gate) -> None:
    future = started(session, gate).future
    unread = session.submit(numbers(3_000_000)).future
    assert isinstance(unread.exception(30), OperationalError)
    assert not future.done()
    gate.opened.set()
    assert future.result(30) is None


# ---- what is refused


REFUSED = {
    "suspend": (),
    "resume": (),
    "restart": (),
    "export_snapshot": ("s",),
    "cancel_and_export_snapshot": ("s",),
    "suspension_cause": (),
    "update_config": (None,),
}


@pytest.mark.parametrize("call", REFUSED)
def test_a_light_job_refuses_what_durable_jobs_offer(session: Session, call: str) -> None:
    job = session.submit(numbers())
    with pytest.raises(NotSupportedError, match=rf"a light job doesn't support {call}\(\)"):
        getattr(job, call)(*REFUSED[call])
    values(job)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("name", "n"),
        ("processing_guarantee", "exactly_once"),
        ("snapshot_interval", 1),
        ("initial_snapshot_name", "s"),
        ("attachments", ["f"]),
        ("user_code_namespace", "u"),
    ],
)
def test_a_light_job_refuses_the_options_of_durable_jobs(
    session: Session, option: str, value: object
) -> None:
    with pytest.raises(NotSupportedError, match=f"a light job takes no option '{option}'"):
        session.submit(numbers(), **{option: value})  # type: ignore[arg-type]


def test_options_without_a_meaning_for_light_jobs_are_ignored(session: Session) -> None:
    job = session.submit(
        numbers(), processing_guarantee="none", name=None, auto_scaling=True, suspend_on_failure=True
    )
    assert values(job) == {0, 1, 2}


def test_an_unknown_option_is_a_type_error(session: Session) -> None:
    with pytest.raises(TypeError, match="'nmae'"):
        session.submit(numbers(), nmae="n")


def test_a_job_has_a_dag_or_a_pipeline(session: Session) -> None:
    for work in (None, "SELECT 1", DAG, 3):
        with pytest.raises(InterfaceError, match="submit takes a DAG or a Pipeline"):
            session.submit(work)  # type: ignore[arg-type]
    with pytest.raises(InterfaceError, match="the DAG has no vertices"):
        session.submit(DAG())
    with pytest.raises(InterfaceError, match="JobConfig"):
        session.submit(numbers(), {"timeout": 1})  # type: ignore[arg-type]
    with pytest.raises(InterfaceError, match="inline"):
        session.submit(numbers(), JobConfig(inline=True))


def test_a_submitted_dag_cannot_be_changed_and_runs_again(session: Session) -> None:
    dag = numbers()
    assert values(session.submit(dag)) == values(session.submit(dag))
    with pytest.raises(InterfaceError, match="can't be changed any more"):
        dag.vertex("more", ResultSink())


def test_a_closed_session_takes_and_finds_no_job(gate: Gate) -> None:
    with Session(Config(members=3, workers=1)) as session:
        job = started(session, gate)
        number = job.id
    with pytest.raises(OperationalError, match="cancelled"):
        job.join(30)
    assert not job.is_user_cancelled
    with pytest.raises(InterfaceError, match="the session is closed"):
        session.submit(numbers())
    with pytest.raises(InterfaceError, match="the session is closed"):
        session.job(number)


# ---- jobs found by their ids


def listed(session: Session) -> set[object]:
    return {row[0] for row in session.sql("SELECT id FROM sys.light_jobs").collect()}


def test_a_job_is_found_by_the_id_in_the_listing(session: Session, gate: Gate) -> None:
    job = started(session, gate, JobConfig(description="a job of a test"))
    assert job.id in listed(session)
    found = session.job(job.id)
    assert (found.id, found.status) == (job.id, JobStatus.RUNNING)
    assert abs(found.submission_time - job.submission_time) < timedelta(seconds=5)
    assert not found.join(0)
    assert not found.future.done()
    with pytest.raises(InterfaceError, match="only the object that submit"):
        found.batches()
    with pytest.raises(NotSupportedError, match="suspend"):
        found.suspend()
    gate.opened.set()
    assert found.join(30)
    assert found.future.result(30) is None
    assert found.status is JobStatus.COMPLETED
    assert job.id not in listed(session)
    with pytest.raises(ProgrammingError, match="does not exist or has ended") as caught:
        session.job(job.id)
    assert caught.value.sqlstate == "42704"


def test_a_found_job_is_cancelled(session: Session, gate: Gate) -> None:
    job = started(session, gate)
    found = session.job(job.id)
    found.cancel()
    for each in (found, job):
        with pytest.raises(OperationalError, match="cancelled"):
            each.join(30)
        assert each.is_user_cancelled
    found.cancel()


def test_kill_query_cancels_a_job(session: Session, gate: Gate) -> None:
    job = started(session, gate)
    session.sql(f"KILL QUERY {job.id}")
    with pytest.raises(OperationalError, match="cancelled by KILL QUERY"):
        job.join(30)
    assert job.is_user_cancelled


def test_the_job_of_another_session_without_members_is_not_found(session: Session, gate: Gate) -> None:
    with Session() as other:
        job = started(other, gate)
        with pytest.raises(ProgrammingError, match=f"light job {job.id} does not exist"):
            session.job(job.id)


@pytest.mark.parametrize("number", ["1", None, True, 1.0])
def test_the_id_of_a_light_job_is_an_integer(session: Session, number: object) -> None:
    with pytest.raises(InterfaceError, match="the id of a light job is an integer"):
        session.job(number)  # type: ignore[arg-type]
