"""A query of several jobs: listed under one id, and cancelled as a whole."""

import sys
import threading
from collections.abc import Iterator

import pyarrow as pa
import pytest

from sqlfront_engine.engine import Engine, JobConfig
from sqlfront_engine.job_statistics import JobStatus
from sqlfront_engine.jobs.query_run import DESCRIPTION_LENGTH, Progress, QueryRun
from sqlfront_engine.testing import FakeClock
from sqlfront_values.errors import OperationalError
from tests.engine.jobs import Numbers, chain


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def engine(clock: FakeClock) -> Iterator[Engine]:
    with Engine(workers=2, clock=clock, memory_limit=1 << 20) as made:
        yield made


@pytest.fixture(params=["inline", "threads"])
def inline(request: pytest.FixtureRequest) -> bool:
    return bool(request.param == "inline")


def begin(engine: Engine, config: JobConfig) -> Iterator[pa.RecordBatch]:
    """An endless job, read once."""
    batches = engine.run(chain(Numbers(None)), config).batches()
    next(batches)
    return batches


def test_a_running_job_is_listed(engine: Engine, clock: FakeClock, inline: bool) -> None:
    batches = begin(engine, JobConfig(inline=inline, description="  select 1 "))
    clock.advance(5)
    (listed,) = engine.jobs()

    assert (listed.coordinator, listed.participants) == ("embedded", ("embedded",))
    assert (listed.status, listed.seconds, listed.description) == (JobStatus.RUNNING, 5.0, "select 1")
    assert engine.cancel(listed.id)
    with pytest.raises(OperationalError, match="HY008"):
        list(batches)
    assert engine.jobs() == ()
    assert not engine.cancel(listed.id)


def test_a_long_text_is_cut(engine: Engine) -> None:
    batches = begin(engine, JobConfig(inline=True, description="x" * 1000))
    (listed,) = engine.jobs()

    assert len(listed.description) == DESCRIPTION_LENGTH
    assert listed.description.endswith("xx…")
    del batches


def test_jobs_of_one_query_have_its_id_and_end_with_it(engine: Engine, inline: bool) -> None:
    query = engine.begin_query(text="with c as (...)")
    config = JobConfig(inline=inline, query=query)
    engine.hold("c", chain(Numbers(10)), config)
    batches = begin(engine, config)
    (listed,) = engine.jobs()
    assert (listed.id, listed.description) == (query.id, "with c as (...)")

    assert engine.cancel(query.id, "a wish")
    with pytest.raises(OperationalError, match="the query was cancelled by a wish"):
        list(batches)


class Elsewhere:
    """A job of a query that runs elsewhere."""

    def __init__(self, query: QueryRun) -> None:
        self.query = query
        self.stopped = False

    def stop(self, status: JobStatus) -> None:
        self.stopped = True

    def progress(self) -> Progress:
        return Progress(stages=1)


def test_jobs_elsewhere_come_and_go_on_several_threads(engine: Engine) -> None:
    query, done = engine.begin_query(), threading.Event()

    def others() -> None:
        while not done.is_set():
            other = Elsewhere(query)
            query.add(other)
            query.remove(other)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    threads = [threading.Thread(target=others) for _ in range(2)]
    for thread in threads:
        thread.start()
    jobs = []
    for _ in range(300):
        jobs.append(Elsewhere(query))
        query.add(jobs[-1])
    done.set()
    for thread in threads:
        thread.join()
    sys.setswitchinterval(interval)
    query.cancel()
    assert all(job.stopped for job in jobs)
    assert query.progress() == Progress(stages=1)


def test_a_query_is_cancelled_between_two_jobs(engine: Engine, inline: bool) -> None:
    query = engine.begin_query()
    config = JobConfig(inline=inline, query=query)
    held = engine.hold("c", chain(Numbers(10)), config)

    assert engine.jobs() == ()
    assert engine.cancel(query.id, "a wish")
    job = engine.run(chain(Numbers(None)), config)
    with pytest.raises(OperationalError, match="the query was cancelled by a wish"):
        job.join()

    assert job.status is JobStatus.CANCELLED
    assert engine.jobs() == ()
    del held
    assert engine.memory.used == 0


def test_a_job_that_is_stopped_before_its_tasklets_start_ends(engine: Engine, inline: bool) -> None:
    config = JobConfig(inline=inline)
    execution = engine.execution(7, config)
    plan = engine.plan(chain(Numbers(None)), execution, config)
    execution.fail(OperationalError("a member was lost"))
    engine.start(execution, plan, config)

    with pytest.raises(OperationalError, match="a member was lost"):
        execution.wait()
    assert engine.executions() == []


def test_cancelling_from_another_thread_while_the_rows_to_share_are_computed(engine: Engine) -> None:
    query = engine.begin_query()
    errors: list[OperationalError] = []

    def hold() -> None:
        try:
            engine.hold("c", chain(Numbers(None)), JobConfig(query=query))
        except OperationalError as error:
            errors.append(error)

    thread = threading.Thread(target=hold)
    thread.start()
    while not engine.jobs():
        pass
    query.cancel()
    thread.join()

    assert [(error.condition, error.sqlstate) for error in errors] == [("OPERATION_CANCELED", "HY008")]
