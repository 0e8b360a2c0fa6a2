"""Threads and time."""

import threading
import time
from collections import deque
from queue import SimpleQueue
from types import SimpleNamespace
from typing import Any, cast

import pytest

from sqlfront_engine.dag import DAG, Edge
from sqlfront_engine.engine import Engine, JobConfig
from sqlfront_engine.processor import Processor, ProcessorContext, Steps
from sqlfront_engine.processors.sink import ResultSink
from sqlfront_engine.scheduler import CooperativeWorkers, DedicatedThreads, SystemClock, available_cores
from sqlfront_engine.testing import FakeClock
from sqlfront_values.errors import OperationalError
from tests.engine.jobs import Forward, Numbers, chain, read, values


class Meets(Processor, frozen=True):
    """A cooperative source each of whose two instances waits for the other: ends only if two threads run
    them."""

    def run(self, context: ProcessorContext) -> Steps:
        cast(threading.Barrier, context.resources["barrier"]).wait(60)
        yield from ()


class OwnThread(Forward, frozen=True):
    cooperative = False


def test_two_workers_run_two_instances_at_the_same_time() -> None:
    with Engine(workers=2) as engine:
        job = engine.run(
            chain(Meets(), parallelism=2), JobConfig(resources={"barrier": threading.Barrier(2)})
        )

        assert read(job) == []


def test_an_engine_has_a_worker_per_core_by_default() -> None:
    with Engine() as engine:
        assert engine.workers == available_cores()


def test_a_finalizer_may_call_while_the_workers_are_being_started(monkeypatch: pytest.MonkeyPatch) -> None:
    workers, called = CooperativeWorkers(2), threading.Semaphore(0)
    start = threading.Thread.start

    def interrupted(thread: threading.Thread) -> None:
        if thread.name.startswith("sqlfront-worker") and not workers.threads:
            monkeypatch.undo()
            workers.start()
            workers.call(called.release)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", interrupted)
    starting = threading.Thread(target=workers.start, daemon=True)
    start(starting)
    starting.join(10)

    assert not starting.is_alive()
    assert called.acquire(timeout=10)
    workers.close()


@pytest.mark.parametrize("began", [False, True])
def test_a_closed_engine_still_calls_and_keeps_no_thread(began: bool) -> None:
    engine, called = Engine(workers=2), threading.Semaphore(0)
    before = set(threading.enumerate())
    if began:
        engine.call(called.release)
        assert called.acquire(timeout=10)
    engine.close()
    for _ in range(5):
        engine.call(called.release)

    assert all(called.acquire(timeout=10) for _ in range(5))
    for thread in set(threading.enumerate()) - before:
        thread.join(10)
        assert not thread.is_alive()


class Taken(deque[Any]):
    """Where somebody takes the last one just when there seems to be one."""

    def __bool__(self) -> bool:
        there = len(self) > 0
        self.clear()
        return there


def test_an_idle_thread_that_ends_just_when_the_engine_does_disturbs_nobody() -> None:
    dedicated = DedicatedThreads()
    dedicated.idle = Taken([SimpleNamespace(inbox=SimpleQueue())])
    dedicated.close()


def shuffled(rounds: int) -> DAG:
    """Cooperative and dedicated vertices, all routings, tiny queues: many chances to lose a wake-up."""
    dag = DAG()
    source = dag.vertex("source", Numbers(rounds, size=3), 2)
    own = dag.vertex("own", OwnThread(), 2)
    pooled = dag.vertex("pooled", Forward(), 3)
    joined = dag.vertex("joined", OwnThread(), 1)
    dag.edge(Edge.between(source, own).partitioned((0,)).queue_size(1))
    dag.edge(Edge.between(own, pooled).unicast().queue_size(1))
    dag.edge(Edge.between(pooled, joined).queue_size(2))
    return dag.edge(Edge.between(joined, dag.vertex("result", ResultSink())).queue_size(1))


@pytest.mark.parametrize("attempt", range(5))
def test_no_wake_up_is_lost_under_load(attempt: int) -> None:
    with Engine(workers=3) as engine:
        jobs = [engine.run(shuffled(300), JobConfig()) for _ in range(8)]
        results: list[list[int]] = [[] for _ in jobs]

        def collect(index: int) -> None:
            results[index] = values(list(jobs[index].batches()))

        readers = [threading.Thread(target=collect, args=(index,)) for index in range(len(jobs))]
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join(60)

        assert [sorted(result) for result in results] == [list(range(300))] * len(jobs)


@pytest.mark.parametrize("delay", range(0, 20, 2))
def test_cancelling_at_any_time_ends_the_job_and_frees_everything(delay: int) -> None:
    with Engine(workers=2) as engine:
        job = engine.run(shuffled(100_000), JobConfig())
        canceller = threading.Timer(delay / 1000, job.cancel)
        canceller.start()
        with pytest.raises(OperationalError, match="OPERATION_CANCELED"):
            read(job)
        canceller.join()

        assert engine.statistics().running == ()
        assert engine.statistics().memory.used == 0


# ---- clocks


def test_the_system_clock_calls_in_order_of_the_deadlines() -> None:
    clock = SystemClock()
    called: list[str] = []
    done = threading.Event()
    start = clock.now()
    clock.call_at(start + 0.03, done.set)
    clock.call_at(start + 0.02, lambda: called.append("late"))
    clock.call_at(start + 0.01, lambda: called.append("early"))

    assert done.wait(60)
    assert called == ["early", "late"]
    assert clock.now() >= start + 0.02


def test_the_system_clock_forgets() -> None:
    clock = SystemClock()
    called: list[str] = []
    done = threading.Event()
    start = clock.now()
    forget = clock.call_at(start + 0.01, lambda: called.append("forgotten"))
    clock.call_at(start + 0.02, done.set)
    forget()
    forget()

    assert done.wait(60)
    assert called == []


def test_a_failing_timer_does_not_stop_the_clock(caplog: pytest.LogCaptureFixture) -> None:
    clock = SystemClock()
    done = threading.Event()

    def fail() -> None:
        raise KeyError("broken")

    clock.call_at(clock.now(), fail)
    clock.call_at(clock.now() + 0.001, done.set)

    assert done.wait(60)
    assert "a timer failed" in caplog.text


def test_the_fake_clock_stands_still_until_it_is_moved() -> None:
    clock = FakeClock()
    called: list[float] = []
    clock.call_at(3, lambda: called.append(3))
    clock.call_at(2, lambda: called.append(2))
    forget = clock.call_at(1, lambda: called.append(1))
    forget()
    clock.advance(2.5)
    assert called == [2]
    clock.advance(1)

    assert called == [2, 3]
    assert clock.now() == 3.5


def test_a_real_timeout() -> None:
    with Engine(workers=1) as engine:
        started = time.monotonic()
        job = engine.run(chain(Numbers(None)), JobConfig(timeout=0.05))
        with pytest.raises(OperationalError, match=r"timeout of 0\.05 s"):
            read(job)

        assert time.monotonic() - started < 30
