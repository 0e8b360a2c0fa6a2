"""The end of a job: errors, retries, cancellation, a log that can't be written, and a coordinator that was
superseded."""

import errno
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sqlfront_engine.dag import DAG, Edge
from sqlfront_engine.durable.coordinator import Coordinator
from sqlfront_engine.durable.division import JobOptions
from sqlfront_engine.durable.event_store.event_log import EventLog
from sqlfront_engine.durable.event_store.events import CancelRequested, JobEnd, JobEnded
from sqlfront_engine.durable.event_store.job_store import JobStore
from sqlfront_engine.durable.event_store.settings import FailurePolicy, LogSettings
from sqlfront_engine.durable.job_state import JobState
from sqlfront_engine.durable.stages import cut
from sqlfront_engine.durable.takeover import submit, take_over
from sqlfront_engine.durable.target import JobTarget, TargetUnavailableError
from sqlfront_engine.durable.thread_runner import ThreadRunner
from sqlfront_engine.engine import Engine, JobConfig
from sqlfront_engine.processor import Processor, ProcessorContext, Steps, Take
from sqlfront_engine.processors import registry
from sqlfront_engine.processors.sink import ResultSink
from sqlfront_engine.processors.sources.range import Range
from sqlfront_engine.scheduler import SystemClock
from sqlfront_engine.spool.spool_file import SpoolFile
from sqlfront_engine.storage.local_folder import LocalFolder
from sqlfront_engine.system_calls import SystemCalls
from sqlfront_values.errors import Error, OperationalError, spark_error
from tests.engine.durable.durable_jobs import SUBMITTED, rows_of
from tests.engine.durable.logs import CLUSTER, JOB, Disk, failing, owned

CANCEL = CancelRequested("ada", 1)


class Calls(Processor, frozen=True):
    """Calls the job's resource `call` with the number of the task, and passes rows on."""

    def run(self, context: ProcessorContext) -> Steps:
        call = context.resources["call"]
        assert callable(call)
        call(context.global_index)
        while (batch := (yield Take(0))) is not None:
            yield batch


class Setup:
    """A job of two stages, whose tasks of the first stage call a function."""

    def __init__(
        self,
        folder: Path,
        call: Callable[[int], None],
        calls: SystemCalls | None = None,
        target: JobTarget | None = None,
    ) -> None:
        dag = DAG()
        scan, called = dag.vertex("scan", Range(0, 1, 200_000), 1), dag.vertex("calls", Calls(), 1)
        dag.edge(Edge.between(scan, called))
        dag.edge(Edge.between(called, dag.vertex("result", ResultSink(), 1)).to_one().distribute_to())
        self.plan = cut(dag)
        self.call, self.target = call, target
        self.spool = str(folder / "spool")
        self.store = JobStore(LocalFolder(str(folder / "store"), calls), SystemClock())

    @contextmanager
    def coordinator(self, settings: LogSettings = LogSettings()) -> Iterator[Coordinator]:  # noqa: B008
        claim = self.store.take_epoch(JOB, cluster=CLUSTER, member="m")
        if claim.epoch == 1:
            log, state = submit(claim, SUBMITTED, incarnation="i", settings=settings)
        else:
            log, state = take_over(claim, self.plan, self.spool, incarnation="i", settings=settings)
        config = JobConfig(resources={"call": self.call})
        with (
            Engine(workers=1) as engine,
            ThreadRunner(engine, self.plan, config, threads=2, member="m", incarnation="i") as runner,
            _closing(log),
        ):
            options = JobOptions(parallelism=4)
            yield Coordinator(self.plan, state, log, runner, self.spool, options, self.target)

    def run(self, settings: LogSettings = LogSettings()) -> JobEnded:  # noqa: B008
        with owned(self.store), self.coordinator(settings) as coordinator:
            return coordinator.run()

    def state(self) -> JobState:
        return JobState.of(self.store.read(JOB))

    def files(self) -> list[str]:
        return os.listdir(self.spool) if os.path.isdir(self.spool) else []


@contextmanager
def _closing(log: EventLog) -> Iterator[None]:
    try:
        yield
    finally:
        log.close()


def _failing_times(times: int, error: Error) -> Callable[[int], None]:
    """A function that fails so many times for task 1."""
    left = [times]

    def call(task: int) -> None:
        if task == 1 and left[0]:
            left[0] -= 1
            raise error

    return call


def test_a_task_that_fails_because_of_the_world_runs_again(tmp_path: Path) -> None:
    setup = Setup(tmp_path, _failing_times(3, OperationalError("no luck")))

    ended = setup.run()
    assert (ended.state, ended.rows) == (JobEnd.FINISHED, 200_000)
    assert sorted(rows_of(ended.result)) == [(number,) for number in range(200_000)]


def test_the_fourth_failure_of_a_task_fails_the_job(tmp_path: Path) -> None:
    setup = Setup(tmp_path, _failing_times(4, OperationalError("no luck")))

    ended = setup.run()
    assert ended.state is JobEnd.FAILED
    assert ended.error is not None
    assert (ended.error.kind, ended.error.message) == ("OperationalError", "no luck")
    assert setup.files() == []


def test_an_error_of_the_data_fails_the_job_at_once(tmp_path: Path) -> None:
    setup = Setup(tmp_path, _failing_times(1, spark_error("DIVIDE_BY_ZERO", "Division by zero.")))

    ended = setup.run()
    assert ended.error is not None
    assert (ended.error.kind, ended.error.condition) == ("DataError", "DIVIDE_BY_ZERO")
    assert setup.state().ended == ended
    assert setup.run() == ended


def test_a_bug_in_a_task_is_an_internal_error_of_the_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(registry._PLACES, "Calls", f"{Calls.__module__}:Calls")

    def call(task: int) -> None:
        raise KeyError("a bug")

    ended = Setup(tmp_path, call).run()
    assert ended.error is not None
    assert ended.error.kind == "InternalError"


def test_a_cancelled_job_stays_cancelled(tmp_path: Path) -> None:
    began, go_on = threading.Event(), threading.Event()

    def call(task: int) -> None:
        began.set()
        go_on.wait(30)

    setup = Setup(tmp_path, call)
    ends: list[JobEnded] = []
    with owned(setup.store), setup.coordinator() as coordinator:
        thread = threading.Thread(target=lambda: ends.append(coordinator.run()))
        thread.start()
        assert began.wait(30)
        assert coordinator.cancel(CANCEL)
        assert setup.state().cancelled == CANCEL
        go_on.set()
        thread.join()

    assert ends[0].state is JobEnd.CANCELLED
    assert not coordinator.cancel(CANCEL)
    assert setup.files() == []
    assert setup.run().state is JobEnd.CANCELLED


def test_a_cancelled_job_stays_cancelled_under_a_successor(tmp_path: Path) -> None:
    """The request is durable, and its coordinator has done nothing about it yet."""
    setup = Setup(tmp_path, lambda task: None)
    with owned(setup.store), setup.coordinator() as coordinator:
        assert coordinator.cancel(CANCEL)

    assert setup.run().state is JobEnd.CANCELLED


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
def test_a_log_that_cannot_be_written_fails_the_coordinator(tmp_path: Path, code: int) -> None:
    disk = Disk()
    setup = Setup(tmp_path, lambda task: None, disk)

    def call(task: int) -> None:
        disk.disturb = failing("write", code, times=1_000)

    setup.call = call
    with pytest.raises(OperationalError, match="can't be written"):
        setup.run()
    disk.disturb = failing("", 0, times=0)
    setup.call = lambda task: None

    assert setup.state().ended is None
    assert setup.run().rows == 200_000
    assert len(setup.files()) == 1


class CutOff(JobTarget):
    """A target that takes the rows, or not, and then loses the connection, once."""

    def __init__(self, *, takes: bool) -> None:
        self._takes, self._is_lost = takes, False
        #: How often the target has taken the rows.
        self.taken = 0

    def put(self, token: str, files: tuple[SpoolFile, ...]) -> None:
        self.taken += self._takes or self._is_lost
        if not self._is_lost:
            self._is_lost = True
            raise OperationalError("cut off", sqlstate="08006")

    def settle(self, token: str) -> bool:
        return self.taken > 0


@pytest.mark.parametrize("takes", [False, True])
def test_a_lost_connection_with_the_target_leaves_the_job_to_a_successor(
    tmp_path: Path, *, takes: bool
) -> None:
    target = CutOff(takes=takes)
    setup = Setup(tmp_path, lambda task: None, target=target)
    with pytest.raises(OperationalError, match="cut off"):
        setup.run()
    assert setup.state().ended is None

    assert setup.run().state is JobEnd.FINISHED
    assert target.taken == 1


def test_a_job_may_go_on_unprotected(tmp_path: Path) -> None:
    disk = Disk()
    setup = Setup(tmp_path, lambda task: None, disk)

    def call(task: int) -> None:
        disk.disturb = failing("write", errno.EIO, times=1_000)

    setup.call = call
    assert setup.run(LogSettings(policy=FailurePolicy.UNPROTECTED)).rows == 200_000


class Away:
    """A target that can't be reached for a number of calls, and has the rows from then on."""

    def __init__(self, calls: int) -> None:
        self.calls = calls
        self.files: tuple[SpoolFile, ...] = ()

    def put(self, token: str, files: tuple[SpoolFile, ...]) -> None:
        self._ask()
        self.files = files

    def settle(self, token: str) -> bool:
        self._ask()
        return bool(self.files)

    def _ask(self) -> None:
        if self.calls:
            self.calls -= 1
            raise TargetUnavailableError("nobody is there")


def test_a_job_waits_for_a_target_that_cannot_be_reached(tmp_path: Path) -> None:
    """Two coordinators leave the job as it is; the third finds the target, and runs no task again."""
    ran: list[int] = []
    setup = Setup(tmp_path, ran.append)
    target = setup.target = Away(2)
    for _ in range(2):
        with pytest.raises(TargetUnavailableError):
            setup.run()
        assert setup.state().ended is None

    assert setup.run().rows == 200_000

    assert sum(file.rows for file in target.files) == 200_000
    assert len(ran) == len(set(ran))


def test_a_superseded_coordinator_changes_nothing(tmp_path: Path) -> None:
    """The former coordinator's tasks end after its successor has ended the job."""
    began, go_on = threading.Event(), threading.Event()

    def late(task: int) -> None:
        began.set()
        go_on.wait(30)

    former, successor = Setup(tmp_path, late), Setup(tmp_path, lambda task: None)
    errors: list[Error] = []

    def run(coordinator: Coordinator) -> None:
        try:
            coordinator.run()
        except Error as error:
            errors.append(error)

    with owned(former.store), former.coordinator() as coordinator:
        thread = threading.Thread(target=run, args=(coordinator,))
        thread.start()
        assert began.wait(30)
        with successor.coordinator() as other:
            ended = other.run()
        go_on.set()
        thread.join()

    assert "another coordinator has claimed epoch 2" in str(errors[0])
    assert former.state().ended == ended
    assert rows_of(ended.result) == [(number,) for number in range(200_000)]
    assert len(former.files()) == 1
