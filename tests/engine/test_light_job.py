"""Light jobs: results, errors, cancellation, time-outs, and that nothing stays behind. Inline and on threads
alike."""

import gc
import logging
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import ClassVar, cast

import pyarrow as pa
import pytest

from sqlfront_engine.dag import DAG, Edge
from sqlfront_engine.engine import Engine, JobConfig
from sqlfront_engine.job_statistics import JobStatus
from sqlfront_engine.jobs import execution
from sqlfront_engine.jobs.light_job import LightJob
from sqlfront_engine.processor import Processor, ProcessorContext, Steps, Take
from sqlfront_engine.processors import registry
from sqlfront_engine.processors.sink import ResultSink
from sqlfront_engine.testing import FakeClock
from sqlfront_values.errors import DataError, InterfaceError, InternalError, OperationalError
from tests.engine.jobs import (
    Blocks,
    Collect,
    Fails,
    First,
    Forward,
    Holds,
    Numbers,
    chain,
    numbers,
    read,
    values,
)


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


class Column:
    """Something that an operator holds."""

    def __init__(self, batch: pa.RecordBatch) -> None:
        self.batch = batch


def ended(job: LightJob) -> JobStatus:
    """How the job ended; fails if it doesn't."""
    try:
        assert job.join(60)
    except OperationalError:
        pass
    return job.status


# ---- results


def test_the_result_is_what_the_dag_computes(engine: Engine, inline: bool) -> None:
    job = engine.run(chain(Numbers(95), Forward()), JobConfig(inline=inline))

    assert read(job) == list(range(95))
    assert job.status is JobStatus.COMPLETED
    assert job.join()


def test_an_empty_result(engine: Engine, inline: bool) -> None:
    assert read(engine.run(chain(Numbers(0)), JobConfig(inline=inline))) == []


def test_parallel_instances_share_the_work(engine: Engine, inline: bool) -> None:
    config = JobConfig(inline=inline, parallelism=3)
    job = engine.run(chain(Numbers(1000), Forward(), parallelism=None), config)

    assert sorted(read(job)) == list(range(1000))
    assert [vertex.instances for vertex in job.statistics().vertices()] == [3, 3, 1]


def test_one_batch_is_divided_among_instances_that_wait(engine: Engine, inline: bool) -> None:
    dag = DAG()
    source, copies = dag.vertex("numbers", Numbers(20, 20), 1), dag.vertex("copies", Forward(), 4)
    dag.edge(Edge.between(source, copies))
    dag.edge(Edge.between(copies, dag.vertex("result", ResultSink(), 1)))
    job = engine.run(dag, JobConfig(inline=inline))

    assert sorted(read(job)) == list(range(20))
    taken = [each.rows_in for each in job.statistics().tasklets if each.vertex == "copies"]
    assert taken == [5, 5, 5, 5]


def test_a_result_is_read_once(engine: Engine) -> None:
    job = engine.run(chain(Numbers(5)), JobConfig(inline=True))
    read(job)

    with pytest.raises(InterfaceError, match="only once"):
        job.batches()


def test_an_exhausted_reader_stays_exhausted(engine: Engine, inline: bool) -> None:
    batches = engine.run(chain(Numbers(5)), JobConfig(inline=inline)).batches()

    assert [values([batch]) for batch in batches] == [list(range(5))]
    assert list(batches) == []


def test_a_job_without_a_result_is_joined(engine: Engine, inline: bool) -> None:
    log: list[object] = []
    dag = DAG()
    source = dag.vertex("source", Numbers(95), 1)
    dag.edge(Edge.between(source, dag.vertex("sink", Collect(), 1)))
    job = engine.run(dag, JobConfig(inline=inline, resources={"log": log}))

    assert job.join()
    assert (job.status, log) == (JobStatus.COMPLETED, ["freed"])
    with pytest.raises(InterfaceError, match="no result"):
        next(job.batches())


def test_an_unread_result_keeps_an_inline_job_from_being_joined(engine: Engine) -> None:
    job = engine.run(chain(Numbers(None)), JobConfig(inline=True))

    with pytest.raises(InterfaceError, match="read before"):
        job.join()
    assert len(next(job.batches())) == 10


def test_a_small_result_can_be_read_after_the_job_has_ended(engine: Engine, inline: bool) -> None:
    job = engine.run(chain(Numbers(5)), JobConfig(inline=inline))
    job.join()

    assert job.status is JobStatus.COMPLETED
    assert read(job) == list(range(5))


def test_several_edges_of_a_vertex_get_every_batch(engine: Engine, inline: bool) -> None:
    dag = DAG()
    source, left = dag.vertex("source", Numbers(30), 1), dag.vertex("left", Forward(), 1)
    both, result = dag.vertex("both", Forward(), 1), dag.vertex("result", ResultSink())
    dag.edge(Edge.from_(source, 0).to(left)).edge(Edge.from_(source, 1).to(both, 1))
    dag.edge(Edge.from_(left).to(both, 0)).edge(Edge.between(both, result))

    assert sorted(read(engine.run(dag, JobConfig(inline=inline)))) == sorted([*range(30), *range(30)])


def test_ids_count_up(engine: Engine) -> None:
    first, second = (engine.run(chain(Numbers(1)), JobConfig(inline=True)) for _ in range(2))

    assert second.id == first.id + 1


# ---- stopping early


def test_a_consumer_that_has_enough_stops_an_endless_source(engine: Engine, inline: bool) -> None:
    job = engine.run(chain(Numbers(None), Forward(), First(3)), JobConfig(inline=inline))

    assert read(job) == list(range(30))
    assert job.status is JobStatus.COMPLETED
    source = job.statistics().vertices()[0]
    assert source.rows_out < 1_000_000


def test_closing_reaches_a_processor_that_waits_for_its_input(engine: Engine, inline: bool) -> None:
    log: list[object] = []
    dag = DAG()
    endless = dag.vertex("endless", Numbers(None), 1)
    held = dag.vertex("held", Collect(), 1)
    other = dag.vertex("other", Numbers(30), 1)
    first, result = dag.vertex("first", First(1), 1), dag.vertex("result", ResultSink())
    union = dag.vertex("union", Forward(), 1)
    dag.edge(Edge.between(endless, held)).edge(Edge.from_(held).to(union, 0))
    dag.edge(Edge.from_(other).to(union, 1)).edge(Edge.between(union, first))
    dag.edge(Edge.between(first, result))
    config = JobConfig(inline=inline, memory_limit=1 << 40, resources={"log": log})
    with Engine(workers=2, memory_limit=1 << 40) as roomy:
        assert len(read(roomy.run(dag, config))) == 10
        assert roomy.statistics().memory.used == 0
    assert log == ["freed"]


# ---- errors


def test_the_first_error_reaches_the_reader_with_its_class_and_place(engine: Engine, inline: bool) -> None:
    job = engine.run(chain(Numbers(None), Fails(2), Forward()), JobConfig(inline=inline))

    with pytest.raises(DataError, match="DIVIDE_BY_ZERO") as caught:
        read(job)

    assert (caught.value.vertex, caught.value.member) == ("fails", "embedded")
    assert caught.value.sqlstate == "22012"
    assert job.status is JobStatus.FAILED
    with pytest.raises(DataError):
        job.join()


def test_an_exception_in_a_users_own_processor_is_a_data_error(engine: Engine, inline: bool) -> None:
    class FailsToo(Fails, frozen=True):
        """Not registered, unlike its parent in tests of members."""

    with pytest.raises(DataError, match="FailsToo: KeyError: 'a bug'") as caught:
        read(engine.run(chain(Numbers(10), FailsToo(bug=True)), JobConfig(inline=inline)))

    assert isinstance(caught.value.__cause__, KeyError)


def test_a_bug_becomes_an_internal_error(
    engine: Engine, inline: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(registry._PLACES, "Fails", "tests.engine.jobs:Fails")
    with pytest.raises(InternalError, match="KeyError in 'fails': 'a bug'") as caught:
        read(engine.run(chain(Numbers(10), Fails(bug=True)), JobConfig(inline=inline)))

    assert isinstance(caught.value.__cause__, KeyError)


def test_a_failure_frees_what_the_others_hold(engine: Engine, inline: bool) -> None:
    log: list[object] = []
    job = engine.run(
        chain(Numbers(200), Collect(), Fails(1)), JobConfig(inline=inline, resources={"log": log})
    )

    with pytest.raises(DataError):
        read(job)

    assert log == ["freed"]
    assert engine.statistics().memory.used == 0
    assert job.statistics().memory.peak > 0
    assert engine.statistics().running == ()


def test_a_failure_that_is_kept_keeps_no_values(engine: Engine, inline: bool) -> None:
    class Breaks(Forward, frozen=True):
        def run(self, context: ProcessorContext) -> Steps:
            batch = yield Take(0)
            assert batch is not None
            column = Column(batch)
            log.append(weakref.ref(column))
            raise DataError("a failure")

    log: list[weakref.ref[Column]] = []
    with pytest.raises(DataError) as caught:
        read(engine.run(chain(Numbers(10), Breaks()), JobConfig(inline=inline)))

    assert caught.value.__traceback__ is not None
    assert [held() for held in log] == [None]


def test_above_the_memory_limit_the_query_fails_and_the_next_one_works(engine: Engine, inline: bool) -> None:
    config = JobConfig(inline=inline, memory_limit=10_000)
    with pytest.raises(OperationalError, match=r"collect needs 80 bytes more memory.*limit of 9\.8 KiB"):
        read(engine.run(chain(Numbers(None), Collect()), config))

    assert engine.statistics().memory.used == 0
    assert len(read(engine.run(chain(Numbers(1000), Collect()), config))) == 1000


def test_a_processor_that_yields_something_else_is_a_bug(engine: Engine) -> None:
    class Confused(Forward, frozen=True):
        def run(self, context: ProcessorContext) -> Steps:
            yield None

    with pytest.raises(InternalError, match="'confused' yielded neither"):
        read(engine.run(chain(Confused()), JobConfig(inline=True)))


def diamond(*, result: bool) -> DAG:
    """One whose first branch must end before the second is touched, over queues that are too small for
    that."""
    dag = DAG()
    source, both = dag.vertex("source", Numbers(None), 1), dag.vertex("both", Forward(), 1)
    dag.edge(Edge.from_(source, 0).to(both, 0).queue_size(1).priority(0))
    dag.edge(Edge.from_(source, 1).to(both, 1).queue_size(1).priority(1))
    if result:
        dag.edge(Edge.between(both, dag.vertex("result", ResultSink())))
    return dag


def test_each_waiting_for_another_is_an_error(
    engine: Engine, inline: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(execution, "STUCK_CHECK", 0.01)
    job = engine.run(diamond(result=True), JobConfig(inline=inline))

    with pytest.raises(InternalError, match="each of 'source', 'both', 'result' waits for another of them"):
        list(job.batches())
    assert job.status is JobStatus.FAILED


def test_an_inline_job_is_stuck_once_no_other_member_can_move_it(engine: Engine) -> None:
    config = JobConfig(inline=True)
    held = engine.execution(engine.next_number(), config)
    held.hold()
    engine.start(held, engine.plan(diamond(result=True), held, config), config)
    threading.Timer(0.1, held.release).start()

    with pytest.raises(InternalError, match="each of 'source', 'both', 'result' waits for another of them"):
        list(LightJob(held).batches())


class Paused:
    """A lock behind whose release its holder does nothing for a while, but others are woken."""

    def __init__(self, lock: AbstractContextManager[object], wake: Callable[[], None]) -> None:
        self._lock, self._wake = lock, wake

    def __enter__(self) -> None:
        self._lock.__enter__()

    def __exit__(self, *raised: object) -> None:
        self._lock.__exit__(*raised)  # type: ignore[arg-type]
        self._wake()
        time.sleep(0.05)


def test_a_job_whose_last_news_is_just_being_handled_is_not_stuck(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = JobConfig(inline=True)
    held = engine.execution(engine.next_number(), config)
    held.hold()
    engine.start(held, engine.plan(chain(Numbers(5)), held, config), config)
    monkeypatch.setattr(held, "_lock", Paused(held._lock, held.wake))
    threading.Timer(0.1, held.release).start()

    job = LightJob(held)
    assert read(job) == list(range(5))
    assert job.status is JobStatus.COMPLETED


class Late(Processor, frozen=True):
    """A source without end that begins when the job's `gate` is open."""

    cooperative = False

    def run(self, context: ProcessorContext) -> Steps:
        assert cast(threading.Event, context.resources["gate"]).wait(60)
        while True:
            yield numbers(1)


def test_rows_that_come_while_a_job_is_looked_at_show_that_it_is_not_stuck(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = threading.Event()
    look = execution.Execution._calls_while_blocked

    def slow_look(of: execution.Execution) -> list[int]:
        gate.set()
        while not (found := look(of)):
            time.sleep(0.001)
        return found

    monkeypatch.setattr(execution, "STUCK_CHECK", 0.01)
    monkeypatch.setattr(execution.Execution, "_calls_while_blocked", slow_look)
    with engine.run(chain(Late()), JobConfig(resources={"gate": gate})).batches() as batches:
        assert len(next(batches)) == 1


def test_a_stuck_job_without_a_result_is_an_error_too(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(execution, "STUCK_CHECK", 0.01)

    with pytest.raises(InternalError, match="each of 'source', 'both' waits for another of them"):
        engine.run(diamond(result=False)).join()


def test_a_job_that_waits_for_its_reader_is_not_stuck(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(execution, "STUCK_CHECK", 0.01)
    job = engine.run(chain(Numbers(None)))
    batches = job.batches()
    next(batches)

    assert not job.join(0.1)
    assert job.status is JobStatus.RUNNING
    batches.close()


# ---- cancellation


def test_cancel_ends_the_job_and_frees_everything(engine: Engine, inline: bool) -> None:
    log: list[object] = []
    config = JobConfig(inline=inline, resources={"log": log})
    job = engine.run(chain(Holds(), Forward()), config)
    batches = job.batches()
    next(batches)
    assert engine.statistics().memory.used == 1000
    job.cancel()
    job.cancel()

    with pytest.raises(OperationalError, match="OPERATION_CANCELED") as caught:
        list(batches)

    assert caught.value.sqlstate == "HY008"
    assert job.status is JobStatus.CANCELLED
    assert log == ["freed"]
    assert engine.statistics().memory.used == 0


def test_an_inline_job_is_cancelled_by_another_thread_while_nobody_reads(engine: Engine) -> None:
    log: list[object] = []
    job = engine.run(chain(Holds()), JobConfig(inline=True, resources={"log": log}))
    next(job.batches())
    thread = threading.Thread(target=job.cancel)
    thread.start()
    thread.join()

    assert (job.status, log) == (JobStatus.CANCELLED, ["freed"])


class Lingers(Processor, frozen=True):
    """A source whose end takes as long as the job's `gate` is closed."""

    def run(self, context: ProcessorContext) -> Steps:
        try:
            while True:
                yield numbers(1)
        finally:
            cast(threading.Event, context.resources["started"]).set()
            assert cast(threading.Event, context.resources["gate"]).wait(60)


def test_who_reads_an_inline_job_while_another_thread_ends_it_hears_of_the_cancellation(
    engine: Engine,
) -> None:
    started, gate = threading.Event(), threading.Event()
    config = JobConfig(inline=True, resources={"started": started, "gate": gate})
    job = engine.run(chain(Lingers()), config)
    batches = job.batches()
    next(batches)
    errors: list[BaseException] = []

    def read_on() -> None:
        try:
            next(batches)
        except OperationalError as error:
            errors.append(error)

    canceller = threading.Thread(target=job.cancel)
    canceller.start()
    assert started.wait(60)
    reader = threading.Thread(target=read_on)
    reader.start()
    reader.join(0.05)
    gate.set()
    reader.join(60)
    canceller.join(60)

    assert [str(error) for error in errors] == [
        "[OPERATION_CANCELED] the query was cancelled SQLSTATE: HY008"
    ]


def test_who_begins_to_read_an_inline_job_just_when_it_is_cancelled_hears_of_that(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    started, gate = threading.Event(), threading.Event()
    job = engine.run(chain(Lingers()), JobConfig(inline=True, resources={"started": started, "gate": gate}))
    batches = job.batches()
    next(batches)
    reader, canceller = threading.current_thread(), threading.Thread(target=job.cancel)

    def slow_look(of: execution.Execution) -> bool:
        stopping = of.stopped_as is not None
        if threading.current_thread() is reader and not canceller.is_alive() and not stopping:
            canceller.start()
            started.wait(0.2)
            threading.Timer(0.1, gate.set).start()
        return stopping

    monkeypatch.setattr(execution.Execution, "_stopping", property(slow_look))
    with pytest.raises(OperationalError, match="OPERATION_CANCELED"):
        next(batches)
    canceller.join(60)


@pytest.mark.parametrize("looks", range(14))
def test_an_interrupt_between_two_steps_ends_an_inline_job_wherever_it_comes(
    engine: Engine, clock: FakeClock, monkeypatch: pytest.MonkeyPatch, looks: int
) -> None:
    """The clock is looked at where a job begins, and before and after each call of a tasklet."""
    log: list[object] = []
    left = iter(range(looks))

    def now() -> float:
        if next(left, None) is None:
            monkeypatch.undo()
            raise KeyboardInterrupt
        return 0.0

    monkeypatch.setattr(clock, "now", now)
    with pytest.raises(KeyboardInterrupt):
        read(engine.run(chain(Holds(), Forward()), JobConfig(inline=True, resources={"log": log})))

    assert engine.statistics().running == ()
    assert engine.statistics().memory.used == 0
    assert log in (["freed"], [])


def test_an_interrupt_while_it_is_told_that_an_inline_job_has_ended(engine: Engine) -> None:
    config, told = JobConfig(inline=True), list[JobStatus]()
    run = engine.execution(engine.next_number(), config)

    def on_end(of: execution.Execution) -> None:
        told.append(of.status)
        if len(told) == 1:
            raise KeyboardInterrupt

    engine.start(run, engine.plan(chain(Numbers(5)), run, config), config, on_end)
    with pytest.raises(KeyboardInterrupt):
        read(LightJob(run))

    assert told == [JobStatus.COMPLETED, JobStatus.COMPLETED]
    assert LightJob(run).join(30)


def test_an_interrupt_while_a_job_is_being_started_ends_it(
    engine: Engine, inline: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(execution.Execution, "_started_all", interrupted)
    with pytest.raises(KeyboardInterrupt):
        engine.run(chain(Holds(), Forward()), JobConfig(inline=inline, resources={"log": []}))

    assert engine.statistics().running == ()
    until = time.monotonic() + 60
    while engine.statistics().memory.used:
        assert time.monotonic() < until
        time.sleep(0.001)


@pytest.mark.parametrize("how", ["failed", "cancelled"])
def test_a_job_that_was_stopped_before_its_start_ends(engine: Engine, inline: bool, how: str) -> None:
    config = JobConfig(inline=inline, resources={"log": []})
    run = engine.execution(1, config)
    run.hold()  # as for the answer of another member
    plan = engine.plan(chain(Holds(), Forward()), run, config)
    if how == "failed":
        run.fail(DataError("elsewhere"))
    else:
        run.stop(JobStatus.CANCELLED)

    engine.start(run, plan, config)

    with pytest.raises((DataError, OperationalError), match=r"elsewhere|cancelled"):
        LightJob(run).join(10)


def test_cancelling_a_job_that_has_ended_changes_nothing(engine: Engine, inline: bool) -> None:
    job = engine.run(chain(Numbers(5)), JobConfig(inline=inline))
    read(job)
    job.cancel()

    assert job.status is JobStatus.COMPLETED
    assert job.join()


def test_closing_the_reader_cancels(engine: Engine, inline: bool) -> None:
    log: list[object] = []
    job = engine.run(chain(Holds()), JobConfig(inline=inline, resources={"log": log}))
    with job.batches() as batches:
        next(batches)

    assert ended(job) is JobStatus.CANCELLED
    assert log == ["freed"]
    assert list(batches) == []


def test_dropping_the_job_with_its_result_half_read_cancels(engine: Engine, inline: bool) -> None:
    batches = engine.run(chain(Numbers(None)), JobConfig(inline=inline)).batches()
    next(batches)
    execution = next(iter(engine._running.values()))
    del batches
    gc.collect()

    with pytest.raises(OperationalError):
        execution.wait(60)
    assert execution.status is JobStatus.CANCELLED


def test_an_ended_job_keeps_nothing_alive(engine: Engine, inline: bool) -> None:
    class Resource:
        pass

    resource = Resource()
    watched = weakref.ref(resource)
    job = engine.run(chain(Numbers(50), Collect()), JobConfig(inline=inline, resources={"table": resource}))
    del resource
    read(job)
    job.join()

    assert watched() is None
    assert job.statistics().status is JobStatus.COMPLETED


def test_an_interrupt_cancels_an_inline_job(engine: Engine) -> None:
    class Interrupted(Forward, frozen=True):
        def run(self, context: ProcessorContext) -> Steps:
            yield numbers(1)
            raise KeyboardInterrupt

    log: list[object] = []
    job = engine.run(chain(Interrupted(), Collect()), JobConfig(inline=True, resources={"log": log}))

    with pytest.raises(KeyboardInterrupt):
        read(job)
    assert job.status is JobStatus.CANCELLED


def test_a_blocked_processor_ends_before_the_job_does(engine: Engine) -> None:
    gate, started = threading.Event(), threading.Event()
    job = engine.run(chain(Blocks()), JobConfig(resources={"gate": gate, "started": started}))
    assert started.wait(60)
    job.cancel()
    assert not job.join(0.01)
    assert job.status is JobStatus.RUNNING
    gate.set()

    assert ended(job) is JobStatus.CANCELLED


# ---- time-outs


def test_a_timeout_is_told_apart_from_a_cancellation(engine: Engine, clock: FakeClock, inline: bool) -> None:
    job = engine.run(chain(Numbers(None)), JobConfig(inline=inline, timeout=30))
    batches = job.batches()
    next(batches)
    clock.advance(31)

    with pytest.raises(OperationalError, match="longer than its timeout of 30 s") as caught:
        list(batches)

    assert caught.value.sqlstate == "57014"
    assert job.status is JobStatus.TIMED_OUT


def test_a_timeout_ends_a_job_that_nobody_reads(engine: Engine, clock: FakeClock) -> None:
    job = engine.run(chain(Numbers(None)), JobConfig(timeout=30))
    clock.advance(31)

    assert ended(job) is JobStatus.TIMED_OUT


def test_a_job_that_ends_in_time_leaves_no_timer(engine: Engine, clock: FakeClock) -> None:
    job = engine.run(chain(Numbers(5)), JobConfig(timeout=30))
    read(job)
    clock.advance(31)

    assert job.status is JobStatus.COMPLETED
    assert not clock._timers


# ---- threads


def test_a_blocking_processor_does_not_hold_up_others(engine: Engine) -> None:
    gate = threading.Event()
    log: list[object] = []
    config = JobConfig(resources={"gate": gate, "started": threading.Event(), "log": log})
    blocked = [engine.run(chain(Blocks()), config) for _ in range(5)]

    assert read(engine.run(chain(Numbers(50)))) == list(range(50))
    gate.set()
    assert [read(job) for job in blocked] == [[1]] * 5
    assert len(log) == 5
    assert all("dedicated" in str(name) for name in log)


class Slow(Processor, frozen=True):
    """One row, after a call that takes a quarter of a second by the clock."""

    cooperative: ClassVar[bool] = True

    def run(self, context: ProcessorContext) -> Steps:
        cast(FakeClock, context.resources["clock"]).advance(0.25)
        yield numbers(1)


class SlowByItself(Slow, frozen=True):
    """The same, on a thread of its own."""

    cooperative: ClassVar[bool] = False


@pytest.mark.parametrize(
    ("processor", "logged"), [(Slow(), ["a call of slow took 250 ms"]), (SlowByItself(), [])]
)
def test_a_call_that_holds_up_the_others_of_its_worker_is_logged(
    engine: Engine,
    clock: FakeClock,
    caplog: pytest.LogCaptureFixture,
    processor: Processor,
    logged: list[str],
) -> None:
    with caplog.at_level(logging.DEBUG, "sqlfront_engine.tasklet"):
        assert read(engine.run(chain(processor), JobConfig(resources={"clock": clock}))) == [1]

    assert [record.getMessage() for record in caplog.records] == logged


def test_threads_of_ended_tasklets_are_used_again(engine: Engine) -> None:
    gate = threading.Event()
    gate.set()
    log: list[object] = []
    config = JobConfig(resources={"gate": gate, "started": threading.Event(), "log": log})
    for _ in range(20):
        read(engine.run(chain(Blocks()), config))

    assert len(set(log)) < 20


def test_inline_jobs_use_no_other_thread(engine: Engine) -> None:
    gate = threading.Event()
    gate.set()
    log: list[object] = []
    before = threading.active_count()
    resources = {"gate": gate, "started": threading.Event(), "log": log}
    read(engine.run(chain(Blocks(), Forward()), JobConfig(inline=True, resources=resources)))

    assert threading.active_count() <= before  # one of another test may end
    assert log == [threading.current_thread().name]
    assert engine.statistics().worker_threads == 0


# ---- the engine


def test_statistics_count_batches_and_rows(engine: Engine, inline: bool) -> None:
    job = engine.run(chain(Numbers(95), Forward()), JobConfig(inline=inline))
    read(job)
    source, forward, result = job.statistics().vertices()

    assert (source.name, source.batches_out, source.rows_out) == ("numbers", 10, 95)
    assert (forward.batches_in, forward.rows_in, forward.rows_out) == (10, 95, 95)
    assert (result.rows_in, result.instances) == (95, 1)
    assert engine.statistics().submitted == job.id
    assert source.bytes_out is None


def test_bytes_are_counted_where_they_are_asked_for(engine: Engine, inline: bool) -> None:
    job = engine.run(chain(Numbers(95), Forward()), JobConfig(inline=inline, statistics=True))
    size = sum(batch.nbytes for batch in job.batches())

    assert [vertex.bytes_out for vertex in job.statistics().vertices()] == [size, size, size]


def test_running_jobs_are_listed_until_they_end(engine: Engine, inline: bool) -> None:
    job = engine.run(chain(Numbers(None)), JobConfig(inline=inline))
    batches = job.batches()
    next(batches)
    assert [each.id for each in engine.statistics().running] == [job.id]
    batches.close()
    ended(job)

    assert engine.statistics().running == ()


class Busy(Processor, frozen=True):
    """A source without end of empty batches, whose first step takes as long as the job's `gate` is closed."""

    def run(self, context: ProcessorContext) -> Steps:
        cast(threading.Event, context.resources["started"]).set()
        assert cast(threading.Event, context.resources["gate"]).wait(60)
        while True:
            yield numbers()


def test_closing_an_engine_ends_what_is_running(clock: FakeClock) -> None:
    """A tasklet that runs meanwhile is made runnable again behind the marks that end the workers."""
    engine = Engine(workers=2, clock=clock)
    started, gate = threading.Event(), threading.Event()
    dag = DAG()
    dag.vertex("busy", Busy(), 1)
    job = engine.run(dag, JobConfig(resources={"started": started, "gate": gate}))
    assert started.wait(60)
    engine.close()
    gate.set()

    with pytest.raises(OperationalError, match="OPERATION_CANCELED"):
        assert job.join(60)
    assert job.status is JobStatus.CANCELLED


def test_a_closed_engine_cancels_its_jobs_and_takes_no_more(clock: FakeClock, inline: bool) -> None:
    engine = Engine(workers=2, clock=clock)
    job = engine.run(chain(Numbers(None)), JobConfig(inline=inline))
    next(job.batches())
    engine.close()
    engine.close()

    assert ended(job) is JobStatus.CANCELLED
    with pytest.raises(InterfaceError, match="closed"):
        engine.run(chain(Numbers(1)))
