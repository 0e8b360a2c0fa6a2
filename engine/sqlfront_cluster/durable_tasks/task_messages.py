"""The questions of a coordinator about the tasks and outputs of a durable job, and a member's answers."""

from collections.abc import Mapping
from typing import Final

import msgspec

from sqlfront_cluster import codec
from sqlfront_cluster.codec.failures import ErrorData
from sqlfront_cluster.codec.values import malformed
from sqlfront_cluster.durable_tasks.output_places import ReadOutput
from sqlfront_engine.durable.division import OutputPlace
from sqlfront_engine.durable.event_store.events import Attempt, Manifest, TaskId
from sqlfront_engine.durable.runner import TaskEnd
from sqlfront_engine.durable.stages import StagePlan
from sqlfront_engine.durable.tasks import RunId, StageTasks, TaskRun
from sqlfront_engine.spool.reading import SpoolDamaged
from sqlfront_engine.spool.spool_file import SpoolFile
from sqlfront_values.decoders import make_decoder
from sqlfront_values.errors import OperationalError
from sqlfront_values.settings import Settings


class _Question(msgspec.Struct, frozen=True, tag=True):
    """The base of all questions. ``job``: the directory of the job's spool files, which no other job has.
    ``epoch``: the epoch of the coordinator that asks."""

    job: str
    epoch: int


class LearnJob(_Question, frozen=True):
    """The coordinator's announcement that it coordinates a job from now on; the answer has the runs and the
    outputs that the member has of the job and keeps for this coordinator. ``coordinator``: the name of the
    coordinator's member. ``dag``: the encoded DAG of the job. ``lease``: the seconds for which tasks go on,
    and outputs are kept, when the coordinator has left the cluster. ``outputs``: where tasks write the rows
    that other tasks read. ``memory_limit``: the bytes that the job's tasks on the member may hold together,
    None = the member's limit."""

    coordinator: str
    dag: bytes
    settings: Settings
    lease: float
    outputs: OutputPlace = OutputPlace.STORE
    memory_limit: int | None = None


class StartTask(_Question, frozen=True):
    """The coordinator's request to begin a run of a task. The fields are those of a
    :class:`~sqlfront_engine.durable.tasks.TaskRun`. The stage comes with the request, since the plan may have
    changed after the member learned it."""

    tasks: StageTasks
    task: int
    attempt: Attempt
    files: tuple[tuple[SpoolFile, ...], ...]

    @classmethod
    def of(cls, epoch: int, run: TaskRun) -> "StartTask":
        """Return the request to begin ``run``, by the coordinator of an epoch."""
        return cls(run.folder, epoch, run.tasks, run.task, run.attempt, run.files)

    @property
    def run_id(self) -> RunId:
        """The identity of the run."""
        return RunId(TaskId(self.tasks.stage.number, self.task), self.attempt)

    def task_run(self, plan: StagePlan, outputs: str = "") -> TaskRun:
        """Return the run to begin. ``outputs``: the URL below which the member writes the rows that other
        tasks read, empty = the job's folder. Raises OperationalError for a stage with vertices that ``plan``,
        the plan of the job's creation, doesn't have."""
        unknown = set(self.tasks.stage.vertices).difference(vertex.name for vertex in plan.dag)
        if unknown:
            raise OperationalError(f"a durable job has no vertices {', '.join(sorted(unknown))}")
        return TaskRun(self.tasks, self.task, self.attempt, self.files, self.job, outputs)


class AdoptRuns(_Question, frozen=True):
    """The coordinator's message which of the runs that the answer to :class:`LearnJob` had it adopts; the
    other ones end. ``kept``: the names of the files that count, of those that the answer had; the other files
    of the job are removed, except those of these runs. None = no coordinator before this one had files here.
    """

    runs: tuple[RunId, ...]
    kept: tuple[str, ...] | None = None


class SettledRun(msgspec.Struct, frozen=True):
    """A run that has ended with files, and of which the member was asked before. ``counts`` True: the record
    of the run is durable; False: the files are to be removed."""

    run: RunId
    counts: bool


class AskEnds(_Question, frozen=True):
    """The coordinator's question which runs have ended since its last question. ``settled``: the runs that
    the member may forget."""

    settled: tuple[SettledRun, ...] = ()


class StopTasks(_Question, frozen=True):
    """The coordinator's request that all runs end soon."""


class ForgetJob(_Question, frozen=True):
    """The coordinator's message that no further question about the job will come. ``settled``: as for
    :class:`AskEnds`. ``is_over``: whether the job has ended; if it has not, the member keeps the job's
    outputs for a successor, until the lease ends."""

    settled: tuple[SettledRun, ...] = ()
    is_over: bool = False


JobQuestion = LearnJob | StartTask | AdoptRuns | AskEnds | StopTasks | ForgetJob
TaskQuestion = JobQuestion | ReadOutput


class EndedTask(msgspec.Struct, frozen=True):
    """The end of a ``run``: its files (``output``) or its ``error``. ``damaged``: the ``path``, the
    ``problem`` and the ``place`` of a :class:`~sqlfront_engine.spool.reading.SpoolDamaged`; None = the run
    has no such error."""

    run: RunId
    output: Manifest | None = None
    error: ErrorData | None = None
    damaged: tuple[str, str, str] | None = None

    @classmethod
    def of(cls, end: TaskEnd) -> "EndedTask":
        """Encode the end of a run as data for the coordinator."""
        run = end.run.run_id
        if end.error is None:
            return cls(run, end.output)
        error = end.error
        damaged = (error.path, error.problem, error.place) if isinstance(error, SpoolDamaged) else None
        return cls(run, None, ErrorData.of(error), damaged)

    def end(self, run: TaskRun) -> TaskEnd:
        """Decode the end of ``run``, the run whose identity this object has."""
        if self.damaged is not None:
            return TaskEnd(run, None, SpoolDamaged(*self.damaged))
        return TaskEnd(run, self.output, None if self.error is None else self.error.error())


class TaskAnswer(msgspec.Struct, frozen=True):
    """The service's answer to every question. ``ends``: for :class:`AskEnds`, the runs that have ended.
    ``runs``: for :class:`LearnJob`, the requests for all runs of the job on this member that run, or have
    ended and are not settled. ``files``: for :class:`LearnJob`, the sizes in bytes of the job's files on the
    member's disk, by their names."""

    ends: tuple[EndedTask, ...] = ()
    runs: tuple[StartTask, ...] = ()
    files: Mapping[str, int] = {}


_decode_question: Final = make_decoder(TaskQuestion, codec.decode_hook)


def decode_question(content: bytes) -> TaskQuestion:
    """Decode a question of the coordinator. Raises OperationalError for bytes that are no question."""
    try:
        question: TaskQuestion = _decode_question(content)  # type: ignore[assignment]
    except Exception as error:
        raise malformed("question about tasks", error) from error
    return question
