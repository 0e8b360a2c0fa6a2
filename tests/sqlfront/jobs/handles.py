"""The handle of a durable job by its name, and the end of the job."""

from typing import Final

import sqlfront
from sqlfront.jobs.durable_job import DurableJob
from sqlfront.jobs.job_status import DurableJobStatus, JobPhase
from tests.sqlfront.jobs.killed import NAME

#: Seconds until a job that doesn't end is a fault.
PATIENCE: Final = 60.0


def job_or_none(connection: sqlfront.Connection, name: str = NAME) -> DurableJob | None:
    """The job with the name in the store of the session, None if there is none."""
    service = connection.session.context.jobs
    assert service is not None
    return service.find(name)


def job_of(connection: sqlfront.Connection, name: str = NAME) -> DurableJob:
    """The job with the name in the store of the session; AssertionError if there is none."""
    job = job_or_none(connection, name)
    assert job is not None, f"there is no job {name}"
    return job


def ended(
    connection: sqlfront.Connection, name: str = NAME, phase: JobPhase = JobPhase.FINISHED
) -> DurableJobStatus:
    """Wait for the end of the job, and return its status; AssertionError if it ends in another phase."""
    status = job_of(connection, name).wait(PATIENCE)
    assert status.phase is phase, status
    return status
