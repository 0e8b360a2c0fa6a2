"""The statements of durable jobs: CREATE JOB, SHOW JOBS, DESCRIBE, CANCEL, RESUME and DROP JOB."""

from typing import NoReturn

from sqlfront.commands.run import CommandOutcome, StatementRun
from sqlfront_planner.statements.structs import (
    CancelJob,
    CreateJob,
    DescribeJob,
    DropJob,
    ExplainJob,
    ResumeJob,
    ShowJobs,
)
from sqlfront_values.errors import NotSupportedError


def create_job(run: StatementRun, statement: CreateJob) -> CommandOutcome:
    """CREATE JOB: store a job, and begin to run it."""
    _refuse()


def explain_job(run: StatementRun, statement: ExplainJob) -> CommandOutcome:
    """EXPLAIN CREATE JOB: the plan of the job's statement."""
    _refuse()


def show_jobs(run: StatementRun, statement: ShowJobs) -> CommandOutcome:
    """SHOW JOBS: the stored jobs whose names match the pattern."""
    _refuse()


def describe_job(run: StatementRun, statement: DescribeJob) -> CommandOutcome:
    """DESCRIBE JOB: the facts about a stored job."""
    _refuse()


def cancel_job(run: StatementRun, statement: CancelJob) -> CommandOutcome:
    """CANCEL JOB: end a running job."""
    _refuse()


def resume_job(run: StatementRun, statement: ResumeJob) -> CommandOutcome:
    """RESUME JOB: run a job on from its finished tasks."""
    _refuse()


def drop_job(run: StatementRun, statement: DropJob) -> CommandOutcome:
    """DROP JOB: remove a stored job."""
    _refuse()


def _refuse() -> NoReturn:
    raise NotSupportedError("durable jobs need Config(job_store=...)", sqlstate="0A000")
