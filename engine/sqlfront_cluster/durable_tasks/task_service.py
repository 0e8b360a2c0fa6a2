"""A service that runs tasks of durable jobs on a member, and reports their ends to the coordinator.

The coordinator (:mod:`.member_runner`) sends questions; the service answers each at once, without waiting for
a task. Each question names the job and the coordinator's epoch. A question of an older epoch than the
service has seen is refused.

A coordinator that leaves the cluster leaves a *lease*: for that time its tasks go on, and the service keeps
what has become of them. A successor that announces a later epoch is told of these runs, and says which of
them it adopts. At the end of the lease without a successor the runs end, and their files are removed.

The service itself removes a file only if no coordinator was told that the file is complete; the record of any
other file may be in the job's log.
"""

import logging
from collections.abc import Callable, Collection
from contextlib import suppress
from functools import partial
from threading import Lock
from typing import Final

import msgspec

from sqlfront_cluster import codec
from sqlfront_cluster.codec.dags import decode_dag
from sqlfront_cluster.codec.failures import ErrorData
from sqlfront_cluster.codec.values import malformed
from sqlfront_cluster.members.requests import RequestService
from sqlfront_engine.durable.event_store.events import Attempt, Manifest, TaskId
from sqlfront_engine.durable.files import remove_output
from sqlfront_engine.durable.runner import TaskEnd
from sqlfront_engine.durable.stages import StagePlan, cut
from sqlfront_engine.durable.tasks import RunId, StageTasks, TaskRun
from sqlfront_engine.durable.thread_runner import ThreadRunner
from sqlfront_engine.engine import Engine, JobConfig
from sqlfront_engine.spool.reading import SpoolDamaged
from sqlfront_engine.spool.spool_file import SpoolFile
from sqlfront_values.decoders import make_decoder
from sqlfront_values.errors import OperationalError
from sqlfront_values.settings import Settings

logger: Final = logging.getLogger(__name__)

#: The number of jobs that are over whose last epoch the service remembers, so that a coordinator of an older
#: epoch can't begin tasks of them anew.
REMEMBERED: Final = 1000

# ---- questions and answers


class _Question(msgspec.Struct, frozen=True, tag=True):
    """The base of all questions. ``job``: the directory or URL of the job's spool files, which no other job
    has. ``epoch``: the epoch of the coordinator that asks."""

    job: str
    epoch: int


class LearnJob(_Question, frozen=True):
    """The coordinator's announcement to a member that it coordinates a job from now on. The answer names the
    runs of the job that former coordinators have started on the member. ``coordinator``: the name of the
    coordinator's member. ``dag``: the encoded DAG of the job. ``settings``: the settings of the session that
    has created the job. ``lease``: the seconds for which the job's tasks go on when the coordinator has left
    the cluster."""

    coordinator: str
    dag: bytes
    settings: Settings
    lease: float


class StartTask(_Question, frozen=True):
    """The coordinator's request that a member begins a run of a task. ``stage``: the number of the task's
    stage. ``ranges``: for each task of the stage, the half-open range of the buckets that it reads.
    ``buckets``: the number of buckets among which the stage's output rows are divided. ``task``: the number
    of the task in its stage. ``attempt``: which attempt at the task the run is. ``files``: for each input of
    the stage, the spool files of all tasks that wrote it."""

    stage: int
    ranges: tuple[tuple[int, int], ...]
    buckets: int
    task: int
    attempt: Attempt
    files: tuple[tuple[SpoolFile, ...], ...]

    @classmethod
    def of(cls, epoch: int, run: TaskRun) -> "StartTask":
        """Return the request to begin ``run``. ``epoch``: the epoch of the coordinator that sends the
        request."""
        tasks = run.tasks
        return cls(
            run.folder,
            epoch,
            tasks.stage.number,
            tasks.ranges,
            tasks.buckets,
            run.task,
            run.attempt,
            run.files,
        )

    @property
    def run_id(self) -> RunId:
        """The identity of the run to begin: its task, and the attempt at the task."""
        return RunId(TaskId(self.stage, self.task), self.attempt)

    def task_run(self, plan: StagePlan) -> TaskRun:
        """Return the run to begin. ``plan``: the stages of the job, which has the stage whose number is in
        the request. Raises OperationalError for a stage that the plan doesn't have."""
        if not 0 <= self.stage < len(plan.stages):
            raise OperationalError(f"a durable job has no stage {self.stage}")
        tasks = StageTasks(plan.stages[self.stage], self.ranges, self.buckets)
        return TaskRun(tasks, self.task, self.attempt, self.files, self.job)


class AdoptRuns(_Question, frozen=True):
    """The coordinator's message that it adopts ``runs`` of former coordinators: it waits for their ends as
    for the ends of its own runs. All other runs of the job end on the member that gets the message."""

    runs: tuple[RunId, ...]


class SettledRun(msgspec.Struct, frozen=True):
    """The coordinator's decision about a run whose end, with files, the member has reported. ``counts`` True:
    the run's record is in the job's log, durably, and the files are needed. False: the member removes the
    files."""

    run: RunId
    counts: bool


class AskEnds(_Question, frozen=True):
    """The coordinator's question to a member: which runs of the job have ended since the last such question?
    ``settled``: decisions about runs whose ends were reported before; the member forgets these runs."""

    settled: tuple[SettledRun, ...] = ()


class StopTasks(_Question, frozen=True):
    """The coordinator's request that a member ends all its runs of the job soon."""


class ForgetJob(_Question, frozen=True):
    """The coordinator's message that no further question about the job will come, so that the member ends the
    job's remaining runs. ``settled``: decisions about runs whose ends were reported before."""

    settled: tuple[SettledRun, ...] = ()


TaskQuestion = LearnJob | StartTask | AdoptRuns | AskEnds | StopTasks | ForgetJob


class EndedTask(msgspec.Struct, frozen=True):
    """The end of a run, as data for the coordinator: the run's files (``output``) or its ``error``.
    ``damaged``: if the run could not read a spool file, the path of the file and the problem with it, else
    None."""

    run: RunId
    output: Manifest | None = None
    error: ErrorData | None = None
    damaged: tuple[str, str] | None = None

    @classmethod
    def of(cls, end: TaskEnd) -> "EndedTask":
        """Return the end of a run as data that a message can hold."""
        run = end.run.run_id
        if end.error is None:
            return cls(run, end.output)
        error = end.error
        damaged = (error.path, error.problem) if isinstance(error, SpoolDamaged) else None
        return cls(run, None, ErrorData.of(error), damaged)

    def end(self, run: TaskRun) -> TaskEnd:
        """Return the end of a run as a coordinator takes it. ``run``: the run, which has the identity
        ``self.run``."""
        if self.damaged is not None:
            return TaskEnd(run, None, SpoolDamaged(*self.damaged))
        return TaskEnd(run, self.output, None if self.error is None else self.error.error())


class TaskAnswer(msgspec.Struct, frozen=True):
    """The service's answer to every question. ``ends``: in the answer to :class:`AskEnds`, the runs that have
    ended. ``runs``: in the answer to :class:`LearnJob`, the requests that have started the job's runs on this
    member, without runs that the member has forgotten since."""

    ends: tuple[EndedTask, ...] = ()
    runs: tuple[StartTask, ...] = ()


_decode_question: Final = make_decoder(TaskQuestion, codec.decode_hook)


def _decode(content: bytes) -> TaskQuestion:
    """Decode a question of the coordinator. Raises OperationalError for bytes that are no question."""
    try:
        question: TaskQuestion = _decode_question(content)  # type: ignore[assignment]
    except Exception as error:
        raise malformed("question about tasks", error) from error
    return question


# ---- the service


class _HeldRun:
    """A run of a task on this member, from the request for the run until the coordinator has decided whether
    the run counts."""

    def __init__(self, request: StartTask) -> None:
        self.request = request
        #: The end; None while the task runs.
        self.end: EndedTask | None = None
        #: The epoch of the last coordinator that was told of the end, 0 = none.
        self.told = 0


class _JobTasks:
    """The runs of one job's tasks on this member. ``learned``: the announcement of the first coordinator that
    has announced itself here."""

    def __init__(self, engine: Engine, learned: LearnJob) -> None:
        self._plan = cut(decode_dag(learned.dag))
        config = JobConfig(settings=learned.settings, description=learned.job)
        self._runner = ThreadRunner(
            engine, self._plan, config, threads=engine.workers, member="", incarnation=""
        )
        self._lock = Lock()
        # Guarded by the lock: the announcement of the last coordinator, whether that coordinator has left the
        # cluster, and the runs.
        self._learned = learned
        self._is_left = False
        self._runs: dict[RunId, _HeldRun] = {}
        #: Whether the job is over on this member; set with the lock held.
        self.is_dropped = False

    @property
    def epoch(self) -> int:
        """The epoch of the last coordinator that has announced itself to this member."""
        return self._learned.epoch

    def answer(self, question: TaskQuestion) -> TaskAnswer:
        """Act on a question and return the answer. Raises OperationalError for a question of a coordinator
        that has a successor, and for a job that this member has dropped meanwhile."""
        with self._lock:
            if self.is_dropped:
                raise unknown_job()
            check_epoch(question, self.epoch)
            match question:
                case LearnJob():
                    self._learned, self._is_left = question, False
                    return TaskAnswer(runs=tuple(held.request for held in self._runs.values()))
                case StartTask():
                    self._start(question)
                case AdoptRuns():
                    self._drop_others(question.runs)
                case AskEnds():
                    self._settle(question.settled)
                    return TaskAnswer(ends=self._ends())
                case StopTasks():
                    for run, held in self._runs.items():
                        if held.end is None:
                            self._runner.cancel(run)
                case ForgetJob():
                    self._settle(question.settled)
                    self._drop()
        return TaskAnswer()

    def _start(self, request: StartTask) -> None:
        run = request.task_run(self._plan)
        self._runs[run.run_id] = held = _HeldRun(request)

        def ended(end: TaskEnd) -> None:
            with self._lock:
                if self._runs.get(run.run_id) is held:
                    held.end = EndedTask.of(end)
                    return
            _remove(end.output)  # the run was dropped meanwhile

        self._runner.start(run, ended)

    def _settle(self, settled: Collection[SettledRun]) -> None:
        for each in settled:
            held = self._runs.pop(each.run, None)
            if held is not None and held.end is not None and not each.counts:
                _remove(held.end.output)

    def _ends(self) -> tuple[EndedTask, ...]:
        """Return the ends of runs that the present coordinator has not been told yet. Ends with errors are
        forgotten then, since no successor needs them."""
        ends = []
        for run, held in [*self._runs.items()]:
            if held.end is not None and held.told < self.epoch:
                held.told = self.epoch
                ends.append(held.end)
                if held.end.output is None:
                    del self._runs[run]
        return tuple(ends)

    def _drop_others(self, adopted: Collection[RunId]) -> None:
        """Cancel and forget the runs that are not ``adopted``. If such a run has ended and no coordinator was
        told of its end, remove its files."""
        for run in self._runs.keys() - set(adopted):
            held = self._runs.pop(run)
            if held.end is None:
                self._runner.cancel(run)
            elif not held.told:
                _remove(held.end.output)

    def _drop(self) -> None:
        self.is_dropped = True
        self._drop_others(())
        self._runner.end_threads()

    def leave(self, is_present: Callable[[str], bool]) -> LearnJob | None:
        """Begin the lease of the last coordinator if the coordinator has left the cluster and its lease has
        not begun yet. Return the coordinator's announcement if the lease begins now, else None; the caller
        passes the announcement to :meth:`end_lease` when the lease is over. ``is_present``: tells whether the
        member list has a member of a name."""
        with self._lock:
            if self._is_left or is_present(self._learned.coordinator):
                return None
            self._is_left = True
            return self._learned

    def end_lease(self, learned: LearnJob) -> bool:
        """Drop the job because a lease is over, unless another coordinator has announced itself since the
        lease began. ``learned``: the announcement of the coordinator whose lease is over. Return whether the
        job was dropped."""
        with self._lock:
            if self.is_dropped or self._learned is not learned:
                return False
            self._drop()
            return True


class TaskService(RequestService):
    """The service that runs tasks of durable jobs on a member, and answers the coordinators' questions."""

    def __init__(self, engine: Engine) -> None:
        """``engine``: the member's engine, which runs the tasks."""
        self._engine = engine
        self._lock = Lock()
        # Guarded by the lock: the jobs, by their directories; and the last epochs of jobs that are over, the
        # oldest first.
        self._jobs: dict[str, _JobTasks] = {}
        self._epochs: dict[str, int] = {}

    def answer(self, content: bytes) -> bytes:
        """Decode a question, act on it, and return the encoded :class:`TaskAnswer`. Raises OperationalError
        for bytes that are no question, for a job that this member doesn't know, and for a question of a
        coordinator that has a successor."""
        question = _decode(content)
        job = self._learned(question) if isinstance(question, LearnJob) else self._job(question)
        answer = job.answer(question)
        if isinstance(question, ForgetJob):
            self._forget(question.job, job)
        return codec.encode(answer)

    def _learned(self, question: LearnJob) -> _JobTasks:
        with self._lock:
            check_epoch(question, self._epochs.get(question.job, 0))
            job = self._jobs.get(question.job)
            if job is None or job.is_dropped:
                job = self._jobs[question.job] = _JobTasks(self._engine, question)
            return job

    def _job(self, question: TaskQuestion) -> _JobTasks:
        with self._lock:
            job = self._jobs.get(question.job)
        if job is None:
            raise unknown_job()
        return job

    def _forget(self, name: str, job: _JobTasks) -> None:
        """Forget the dropped ``job``, except its last epoch. ``name``: the directory or URL of the job's
        spool files."""
        with self._lock:
            if self._jobs.get(name) is job:
                del self._jobs[name]
            self._epochs.pop(name, None)
            self._epochs[name] = job.epoch
            if len(self._epochs) > REMEMBERED:
                del self._epochs[next(iter(self._epochs))]

    def keep_present(self, is_present: Callable[[str], bool]) -> None:
        """Begin the lease of each coordinator that has left the cluster: the time for which its tasks go on
        without it. To be called after each change of the member list. ``is_present``: tells whether the
        member list has a member of a name."""
        clock = self._engine.clock
        with self._lock:
            jobs = [*self._jobs.values()]
        for job in jobs:
            learned = job.leave(is_present)
            if learned is not None:
                clock.call_at(clock.now() + learned.lease, partial(self._end_lease, job, learned))

    def _end_lease(self, job: _JobTasks, learned: LearnJob) -> None:
        if job.end_lease(learned):
            logger.warning("the tasks of the durable job in %s end: it has no coordinator", learned.job)
            self._forget(learned.job, job)


def unknown_job() -> OperationalError:
    """Return the error for a question about a job that this member doesn't know."""
    return OperationalError(
        "this member knows nothing of the durable job: it has been restarted, or the job had no coordinator"
    )


def check_epoch(question: TaskQuestion, epoch: int) -> None:
    """Check that a question comes from the last coordinator of a job, or announces a later one. ``epoch``:
    the epoch of the last coordinator that this member knows. Raises OperationalError for a question of an
    earlier epoch, and for a question of a later epoch that is no :class:`LearnJob`."""
    if question.epoch < epoch:
        raise OperationalError(
            f"the coordinator of epoch {epoch} has taken the durable job over; the coordinator of epoch"
            f" {question.epoch} must end"
        )
    if question.epoch > epoch and not isinstance(question, LearnJob):
        raise unknown_job()


def _remove(output: Manifest | None) -> None:
    """Remove the files of a run. A file that can't be removed is left for the coordinator to remove."""
    with suppress(OSError):
        remove_output(output)
