"""The status of a durable job, as its user sees it."""

from datetime import UTC, datetime
from enum import Enum

import msgspec

from sqlfront_engine.durable.event_store.events import JobEnd, JobError, JobSubmitted
from sqlfront_engine.durable.job_state import JobState
from sqlfront_engine.jobs.query_run import Progress
from sqlfront_values import errors
from sqlfront_values.errors import Error


class JobPhase(Enum):
    """The state of a durable job."""

    CREATED = "created"
    """The job is accepted; no stage has begun."""
    RUNNING = "running"
    """A coordinator runs the job's tasks."""
    RECOVERING = "recovering"
    """The job's coordinator is gone; the job goes on by RESUME JOB."""
    FINISHED = "finished"
    """All rows are in the target, or in the job's files."""
    FAILED = "failed"
    """An error ended the job."""
    CANCELLED = "cancelled"
    """A user ended the job."""
    UNREADABLE = "unreadable"
    """The job's log is damaged from its beginning on, or another version of sqlfront wrote the log."""


_PHASES = {
    JobEnd.FINISHED: JobPhase.FINISHED,
    JobEnd.FAILED: JobPhase.FAILED,
    JobEnd.CANCELLED: JobPhase.CANCELLED,
}


class DurableJobStatus(msgspec.Struct, frozen=True):
    """The facts about a job at one moment.

    ``statement``: the statement of CREATE JOB ... AS. ``stages`` and ``tasks``: the numbers that have begun;
    ``stages_done`` and ``tasks_done``: the numbers that are finished. ``restored``: the number of finished
    tasks that the present coordinator has taken over from its predecessors; ``rerun``: the number of finished
    tasks that had to run again, since their files were lost. ``plan_changes``: what was changed of the plan
    while the job ran, and why, in order. ``epoch``: the number of coordinators that the
    job has had. ``rows``: the number of rows of the finished job, None = not finished; ``bytes``: the size of
    the spool files of finished tasks. ``created``: microseconds since 1970, UTC; None = unknown. ``error``:
    the error that ended the job, or the error of reading its log; None = no error."""

    id: str
    name: str
    phase: JobPhase
    statement: str = ""
    user: str = ""
    created: int | None = None
    epoch: int = 0
    stages: int = 0
    stages_done: int = 0
    tasks: int = 0
    tasks_done: int = 0
    restored: int = 0
    rerun: int = 0
    plan_changes: tuple[str, ...] = ()
    bytes: int = 0
    rows: int | None = None
    error: JobError | None = None

    @property
    def has_ended(self) -> bool:
        """Whether the job is finished, failed or cancelled."""
        return self.phase in _PHASES.values()

    @property
    def progress(self) -> Progress:
        """The number of stages and tasks that have begun, and how many of these are finished."""
        return Progress(self.stages, self.stages_done, self.tasks, self.tasks_done)


def status_of(submitted: JobSubmitted, state: JobState, *, coordinated: bool) -> DurableJobStatus:
    """Return the status of a job from the event that stored it (``submitted``) and the ``state`` that all
    events of its log add up to. ``coordinated``: whether a coordinator runs the job."""
    stages, finished, ended = state.stages.copy(), state.finished.copy(), state.ended
    return DurableJobStatus(
        id=submitted.job,
        name=submitted.name,
        phase=_phase(state, coordinated=coordinated),
        statement=submitted.statement,
        user=submitted.user,
        created=submitted.now,
        epoch=state.epoch,
        stages=len(stages),
        stages_done=sum(map(state.is_complete, stages)),
        tasks=sum(stage.parallelism for stage in stages.values()),
        tasks_done=len(finished),
        restored=state.restored,
        rerun=state.resets,
        plan_changes=tuple(event.reason for event in state.changes.copy()),
        bytes=sum(file.bytes for task in finished.values() for file in task.output.files),
        rows=None if ended is None else ended.rows,
        error=None if ended is None else ended.error,
    )


def unreadable(job: str, error: Error) -> DurableJobStatus:
    """Return the status of a job whose log can't be read because of ``error``. The name is unknown, so that
    the id ``job`` serves as the name."""
    return DurableJobStatus(job, job, JobPhase.UNREADABLE, error=JobError.of(error))


def as_error(error: JobError) -> Error:
    """Return a job's error, which the job's log stores as data, as an exception to raise: an OperationalError
    if sqlfront has no class of errors of this name."""
    kind = getattr(errors, error.kind, None)
    if not (isinstance(kind, type) and issubclass(kind, Error)):
        kind = errors.OperationalError
    made = kind(error.message, condition=error.condition, sqlstate=error.sqlstate)
    made.hint = error.hint
    return made


def job_time(microseconds: int | None) -> datetime | None:
    """Convert microseconds since 1970 to a datetime in UTC; None stays None."""
    return None if microseconds is None else datetime.fromtimestamp(microseconds / 1_000_000, UTC)


def _phase(state: JobState, *, coordinated: bool) -> JobPhase:
    if state.ended is not None:
        return _PHASES[state.ended.state]
    if not coordinated:
        return JobPhase.RECOVERING
    return JobPhase.RUNNING if state.stages else JobPhase.CREATED
