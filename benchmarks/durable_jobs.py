"""The cost of a durable job's log, and of a takeover.

``python -m benchmarks.durable_jobs [--tasks 10000] [--rounds 3]`` runs a job of many short tasks with its log
and without one, in turn: milliseconds per finished task, and the share of the run time. Then the command
measures how long a successor needs until it hands out the first task of a job with so many finished tasks.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sqlfront_engine.dag import DAG, Edge
from sqlfront_engine.durable.coordinator import Coordinator
from sqlfront_engine.durable.division import JobOptions
from sqlfront_engine.durable.event_store.event_log import EventLog, Told
from sqlfront_engine.durable.event_store.events import Event, JobEnded, JobSubmitted
from sqlfront_engine.durable.event_store.job_store import JobStore
from sqlfront_engine.durable.event_store.ownership import Owner
from sqlfront_engine.durable.event_store.settings import LogSettings
from sqlfront_engine.durable.job_state import JobState
from sqlfront_engine.durable.stages import StagePlan, cut
from sqlfront_engine.durable.takeover import submit, take_over
from sqlfront_engine.durable.thread_runner import ThreadRunner
from sqlfront_engine.engine import Engine, JobConfig
from sqlfront_engine.processors.sink import ResultSink
from sqlfront_engine.processors.sources.range import Range
from sqlfront_engine.scheduler import SystemClock

JOB, CLUSTER = "job", "cluster"
SUBMITTED = JobSubmitted(JOB, "job", "", "", 0, 0, b"", "", "", "")


class NoLog(EventLog):
    """A log that keeps nothing, and calls each record durable."""

    def append(self, event: Event, told: Told | None = None) -> int:
        """Tell at once."""
        if told is not None:
            told(None)
        return 0

    def append_durably(self, event: Event) -> int:
        """Return at once."""
        return 0


def plan() -> StagePlan:
    """A job that reads a few numbers in many tasks, and collects them in one."""
    dag = DAG()
    scan = dag.vertex("scan", Range(0, 1, 1000), 1)
    dag.edge(Edge.between(scan, dag.vertex("result", ResultSink(), 1)).to_one().distribute_to())
    return cut(dag)


@contextmanager
def _coordinator(folder: Path, tasks: int, *, logged: bool = True) -> Iterator[Coordinator]:
    clock, stages = SystemClock(), plan()
    store = JobStore.open(str(folder / "store"), clock=clock)
    ownership = store.own(Owner(CLUSTER, "m"))
    claim = store.take_epoch(JOB, cluster=CLUSTER, member="m")
    spool, settings = str(folder / "spool"), LogSettings()
    if claim.epoch == 1:
        log, state = submit(claim, SUBMITTED, incarnation="i", settings=settings)
    else:
        log, state = take_over(claim, stages, spool, incarnation="i", settings=settings)
    if not logged:
        log.close()
        log = NoLog(claim._folder, epoch=1, first=1, clock=clock)
    options = JobOptions(parallelism=tasks)
    with (
        Engine(workers=1) as engine,
        ThreadRunner(engine, stages, JobConfig(), threads=2, member="m", incarnation="i") as runner,
        log,
    ):
        yield Coordinator(stages, state, log, runner, spool, options)
    ownership.release()


def run(tasks: int, *, logged: bool) -> float:
    """The seconds of a job of so many tasks."""
    with tempfile.TemporaryDirectory() as folder, _coordinator(Path(folder), tasks, logged=logged) as job:
        began = time.perf_counter()
        ended = job.run()
        seconds = time.perf_counter() - began
        assert ended.rows == 1000, ended
        return seconds


class _Stopped(Exception):
    """The moment at which a coordinator has handed out a task of the second stage."""


class _UntilStageTwo(Coordinator):
    """A coordinator that dies when the first stage is complete."""

    def _next(self):  # type: ignore[no-untyped-def]
        if self.state.is_complete(0):
            raise _Stopped
        return super()._next()

    def run(self) -> JobEnded:
        """Run the stages, and nothing behind them."""
        self._run_stages()
        raise AssertionError


def takeover(tasks: int) -> float:
    """The seconds from the claim of the next epoch to the first task, for a job with so many finished
    tasks."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with _coordinator(folder, tasks) as job:
            job.__class__ = _UntilStageTwo
            with suppress(_Stopped):
                job.run()
        began = time.perf_counter()
        with _coordinator(folder, tasks) as job:
            job._hand_out()
            seconds = time.perf_counter() - began
            assert len(JobState.of(job._log.read()).finished) == tasks
            job._end_runs()
        return seconds


def main() -> None:
    """Measure, and print the medians."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tasks", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    pairs = [
        (run(options.tasks, logged=True), run(options.tasks, logged=False)) for _ in range(options.rounds)
    ]
    more = [(with_log - without) / options.tasks * 1000 for with_log, without in pairs]
    share = [with_log / without - 1 for with_log, without in pairs]
    print(f"{options.tasks} tasks with a log: {statistics.median(one for one, _ in pairs):.2f} s")
    print(f"{options.tasks} tasks without: {statistics.median(two for _, two in pairs):.2f} s")
    print(
        f"per finished task {statistics.median(more):.3f} ms, {statistics.median(share):.0%} of the run time"
    )
    taken = [takeover(1000) for _ in range(options.rounds)]
    print(f"takeover of a job with 1000 finished tasks: {statistics.median(taken):.3f} s")


if __name__ == "__main__":
    main()
