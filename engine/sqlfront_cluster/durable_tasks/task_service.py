"""A service that runs tasks of durable jobs on a member, and reports their ends to the coordinator.

The coordinator (:mod:`.member_runner`) sends questions; the service answers each at once, without waiting for
a task.
"""

from collections.abc import Callable
from threading import Lock
from typing import Final

import msgspec

from sqlfront_cluster import codec
from sqlfront_cluster.codec.dags import decode_dag
from sqlfront_cluster.codec.failures import ErrorData
from sqlfront_cluster.codec.values import malformed
from sqlfront_cluster.members.requests import RequestService
from sqlfront_engine.durable.event_store.events import Attempt, Manifest
from sqlfront_engine.durable.runner import TaskEnd
from sqlfront_engine.durable.stages import StagePlan, cut
from sqlfront_engine.durable.tasks import StageTasks, TaskRun
from sqlfront_engine.durable.thread_runner import ThreadRunner
from sqlfront_engine.engine import Engine, JobConfig
from sqlfront_engine.spool.reading import SpoolDamaged
from sqlfront_engine.spool.spool_file import SpoolFile
from sqlfront_values.decoders import make_decoder
from sqlfront_values.errors import OperationalError
from sqlfront_values.settings import Settings

# ---- questions and answers


class LearnJob(msgspec.Struct, frozen=True, tag=True):
    """The coordinator's announcement of a job whose tasks will follow. ``run``: the id of this run of the
    job, which the other questions name. ``coordinator``: the name of the coordinator's member. ``dag``: the
    encoded DAG of the job."""

    run: str
    coordinator: str
    dag: bytes
    settings: Settings


class StartTask(msgspec.Struct, frozen=True, tag=True):
    """The coordinator's request to begin a task. ``run``: the id from :class:`LearnJob`. ``number``: a number
    by which the task's end will be reported. ``stage``: the number of the task's stage. ``ranges``: for each
    task of the stage the half-open range of the buckets that it reads. ``buckets``: the number of buckets of
    the output. ``task``: the number of the task in its stage. ``attempt``: identifies this run of the task.
    ``files``: for each input of the stage its spool files. ``folder``: the directory of the job's spool
    files."""

    run: str
    number: int
    stage: int
    ranges: tuple[tuple[int, int], ...]
    buckets: int
    task: int
    attempt: Attempt
    files: tuple[tuple[SpoolFile, ...], ...]
    folder: str

    def task_run(self, plan: StagePlan) -> TaskRun:
        """Return the task to run, with its stage from ``plan``. Raises OperationalError for a stage that the
        plan doesn't have."""
        if not 0 <= self.stage < len(plan.stages):
            raise OperationalError(f"a durable job has no stage {self.stage}")
        tasks = StageTasks(plan.stages[self.stage], self.ranges, self.buckets)
        return TaskRun(tasks, self.task, self.attempt, self.files, self.folder)


class AskEnds(msgspec.Struct, frozen=True, tag=True):
    """The coordinator's question: which tasks of the ``run`` have ended since the last such question?
    ``run``: the id from :class:`LearnJob`."""

    run: str


class StopTasks(msgspec.Struct, frozen=True, tag=True):
    """The coordinator's request that all tasks of the ``run`` (the id from :class:`LearnJob`) end soon."""

    run: str


class ForgetJob(msgspec.Struct, frozen=True, tag=True):
    """The coordinator's message that no further question about the ``run`` (the id from :class:`LearnJob`)
    will come."""

    run: str


TaskQuestion = LearnJob | StartTask | AskEnds | StopTasks | ForgetJob


class EndedTask(msgspec.Struct, frozen=True):
    """The end of the task with this ``number``: its files (``output``) or its ``error``. ``damaged``: the
    path of a spool file that the task could not read, and the problem with the file; None = the task has no
    such error."""

    number: int
    output: Manifest | None = None
    error: ErrorData | None = None
    damaged: tuple[str, str] | None = None

    @classmethod
    def of(cls, number: int, end: TaskEnd) -> "EndedTask":
        """Encode the ``end`` of the task with this number as data for the coordinator."""
        if end.error is None:
            return cls(number, end.output)
        error = end.error
        damaged = (error.path, error.problem) if isinstance(error, SpoolDamaged) else None
        return cls(number, None, ErrorData.of(error), damaged)

    def end(self, run: TaskRun) -> TaskEnd:
        """Decode the end of a task. ``run``: the task that this object's ``number`` stands for, which the
        caller has remembered."""
        if self.damaged is not None:
            return TaskEnd(run, None, SpoolDamaged(*self.damaged))
        return TaskEnd(run, self.output, None if self.error is None else self.error.error())


class TaskEnds(msgspec.Struct, frozen=True):
    """The service's answer to every question of the coordinator. ``ends``: for :class:`AskEnds` the tasks
    that have ended, for other questions nothing."""

    ends: tuple[EndedTask, ...] = ()


_decode_question: Final = make_decoder(TaskQuestion, codec.decode_hook)


def _decode(content: bytes) -> TaskQuestion:
    """Decode a question of the coordinator. Raises OperationalError for bytes that are no question."""
    try:
        question: TaskQuestion = _decode_question(content)  # type: ignore[assignment]
    except Exception as error:
        raise malformed("question about tasks", error) from error
    return question


# ---- the service


class _JobTasks:
    """The tasks of one coordinator's run of a job, and the ends that the coordinator has not fetched yet."""

    def __init__(self, engine: Engine, learned: LearnJob) -> None:
        self.coordinator = learned.coordinator
        self.plan = cut(decode_dag(learned.dag))
        config = JobConfig(settings=learned.settings, description=learned.run)
        self.runner = ThreadRunner(
            engine, self.plan, config, threads=engine.workers, member="", incarnation=""
        )
        self._lock = Lock()
        self._ends: list[EndedTask] = []

    def start(self, question: StartTask) -> None:
        def ended(end: TaskEnd) -> None:
            with self._lock:
                self._ends.append(EndedTask.of(question.number, end))

        self.runner.start(question.task_run(self.plan), ended)

    def take_ends(self) -> tuple[EndedTask, ...]:
        with self._lock:
            ends, self._ends = (*self._ends,), []
        return ends


class TaskService(RequestService):
    """The service that runs tasks of durable jobs on a member, and answers the coordinators' questions."""

    def __init__(self, engine: Engine) -> None:
        """``engine``: the member's engine, which runs the tasks."""
        self._engine = engine
        self._lock = Lock()
        self._jobs: dict[str, _JobTasks] = {}

    def answer(self, content: bytes) -> bytes:
        """Decode a question, act on it, and return the encoded :class:`TaskEnds`, without waiting for tasks.
        Raises OperationalError for a task or a run that this member doesn't know."""
        question = _decode(content)
        return codec.encode(TaskEnds(self._answered(question)))

    def _answered(self, question: TaskQuestion) -> tuple[EndedTask, ...]:
        match question:
            case LearnJob():
                learned = _JobTasks(self._engine, question)
                with self._lock:
                    self._jobs[question.run] = learned
            case StartTask():
                self._job(question.run).start(question)
            case AskEnds():
                return self._job(question.run).take_ends()
            case StopTasks():
                self._job(question.run).runner.stop()
            case ForgetJob():
                with self._lock:
                    forgotten = self._jobs.pop(question.run, None)
                if forgotten is not None:
                    forgotten.runner.stop()
        return ()

    def _job(self, run: str) -> _JobTasks:
        with self._lock:
            job = self._jobs.get(run)
        if job is None:
            raise OperationalError("this member knows nothing of the durable job; it has been restarted")
        return job

    def keep_present(self, is_present: Callable[[str], bool]) -> None:
        """Stop the tasks of coordinators that have left the cluster; ``is_present`` tells whether the member
        list has a name."""
        with self._lock:
            gone = [run for run, job in self._jobs.items() if not is_present(job.coordinator)]
            stopped = [self._jobs.pop(run) for run in gone]
        for job in stopped:
            job.runner.stop()
