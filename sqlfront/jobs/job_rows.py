"""The rows of a durable job that a single result reads."""

from contextlib import suppress
from typing import Protocol

from sqlfront_engine.jobs.light_job import LightJob
from sqlfront_values.errors import InterfaceError


class PassingJobs(Protocol):
    """The operations on passing jobs: durable jobs that exist only until a result of this process has read
    their rows. ``passing``: the ids of these jobs. Implemented by :class:`~sqlfront.jobs.service.JobService`.
    """

    passing: set[str]

    def remove(self, job: str) -> None:
        """Remove the job with the id ``job``, its files and its log. Raises OperationalError if the job
        runs."""


class JobRows:
    """The reader of a finished durable job's rows for a result. ``reading``: the light job that reads the
    rows; ``job``: the id of the durable job.

    When all rows are read, or if this object is dropped, the durable job is removed from its store.
    """

    def __init__(self, reading: LightJob, service: PassingJobs, job: str) -> None:
        self._reading, self._service, self._job = reading, service, job

    def cancel(self) -> None:
        """Stop the light job that reads the rows, and remove the durable job; do nothing the second time. A
        closed session has removed the durable job itself, and a forked process leaves it to the parent
        process."""
        self._reading.cancel()
        discard(self._service, self._job)

    def __del__(self) -> None:
        self.cancel()


def discard(service: PassingJobs, job: str) -> None:
    """Remove the job that has ended, unless it is removed already, or the session is closed."""
    if job in service.passing:
        with suppress(InterfaceError):
            service.remove(job)
            service.passing.discard(job)
