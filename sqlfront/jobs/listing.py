"""The rows of ``sys.jobs``, ``sys.job_stages``, ``sys.job_tasks`` and ``sys.job_events``: durable jobs."""

from typing import TYPE_CHECKING, Final

import pyarrow as pa

from sqlfront.jobs.job_status import as_error, job_time
from sqlfront_values.types import BIGINT, INT, STRING, TIMESTAMP

if TYPE_CHECKING:
    from sqlfront.jobs.service import JobService

JOBS: Final = pa.schema(
    [
        ("id", STRING),
        ("name", STRING),
        ("state", STRING),
        ("statement", STRING),
        ("user", STRING),
        ("created", TIMESTAMP),
        ("epoch", INT),
        ("stages", INT),
        ("stages_done", INT),
        ("tasks", INT),
        ("tasks_done", INT),
        ("tasks_restored", INT),
        ("tasks_rerun", INT),
        ("bytes", BIGINT),
        ("rows", BIGINT),
        ("error", STRING),
    ]
)
JOB_STAGES: Final = pa.schema(
    [("job", STRING), ("stage", INT), ("tasks", INT), ("tasks_done", INT), ("plan_change", STRING)]
)
JOB_TASKS: Final = pa.schema(
    [
        ("job", STRING),
        ("stage", INT),
        ("task", INT),
        ("state", STRING),
        ("epoch", INT),
        ("attempt", INT),
        ("member", STRING),
        ("rows", BIGINT),
        ("bytes", BIGINT),
    ]
)
JOB_EVENTS: Final = pa.schema(
    [("job", STRING), ("sequence", BIGINT), ("epoch", INT), ("event", STRING), ("content", STRING)]
)

Row = tuple[object, ...]


def jobs(service: "JobService") -> list[Row]:
    """Return the rows of ``sys.jobs``, in the order of the jobs' creation."""
    return [
        (
            job.id,
            job.name,
            job.phase.value,
            job.statement,
            job.user,
            job_time(job.created),
            job.epoch,
            job.stages,
            job.stages_done,
            job.tasks,
            job.tasks_done,
            job.restored,
            job.rerun,
            job.bytes,
            job.rows,
            None if job.error is None else str(as_error(job.error)),
        )
        for job in service.jobs()
    ]


def stages(service: "JobService") -> list[Row]:
    """Return the rows of ``sys.job_stages``: the stages that have begun, by job and number. ``plan_change``
    says what was changed of the stage while the job ran; None = nothing."""
    rows: list[Row] = []
    for job in service.stored():
        changes: dict[int, list[str]] = {}
        for event in job.state.changes:
            changes.setdefault(event.change.stage, []).append(event.reason)
        for number, begun in sorted(job.state.stages.items()):
            done = sum(task.stage == number for task in job.state.finished)
            change = "; ".join(changes.get(number, ())) or None
            rows.append((job.id, number, begun.parallelism, done, change))
    return rows


def tasks(service: "JobService") -> list[Row]:
    """Return the rows of ``sys.job_tasks``: the tasks of the stages that have begun, by job, stage and
    number. A task that isn't finished, or has to run again, has the state ``waiting``, and no epoch, attempt,
    member, rows and bytes."""
    rows: list[Row] = []
    for job in service.stored():
        finished = {(task.stage, task.task): event for task, event in job.state.finished.items()}
        for number, begun in sorted(job.state.stages.items()):
            for task in range(begun.parallelism):
                event = finished.get((number, task))
                if event is None:
                    rows.append((job.id, number, task, "waiting", None, None, None, None, None))
                    continue
                size = sum(file.bytes for file in event.output.files)
                epoch, attempt = event.attempt.epoch, event.attempt.number
                row = (job.id, number, task, "finished", epoch, attempt, event.member, event.rows_out, size)
                rows.append(row)
    return rows


def events(service: "JobService") -> list[Row]:
    """Return the rows of ``sys.job_events``: the events of each log that count, by job and number. Events
    that a coordinator wrote after its successor had taken over don't count."""
    return [
        (job.id, record.sequence, record.epoch, record.name, record.content)
        for job in service.stored()
        for record in job.replay.records
    ]
