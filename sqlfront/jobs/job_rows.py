"""The rows of a durable job that a single result reads."""

from contextlib import suppress
from typing import Protocol

from sqlfront_engine.jobs.light_job import LightJob
from sqlfront_values.errors import InterfaceError


class PassingJobs(Protocol):
    """The operations on jobs whose rows only a result of this process reads; see
    :class:`~sqlfront.jobs.service.JobService`."""

    passing: set[str]

    def remove(self, job: str) -> None:
        """Remove the job with the id ``job``, its files and its log. Raises OperationalError if the job
        runs."""


class JobRows:
    """The light job ``reading`` that reads the rows of the finished durable job with the id ``job``.

    At the end of the reading, or if this object is dropped, the durable job is removed from its store.
    """

    def __init__(self, reading: LightJob, service: PassingJobs, job: str) -> None:
        self._reading, self._service, self._job = reading, service, job

    def cancel(self) -> None:
        """Stop the reading, and remove the durable job; do nothing the second time. A closed session has
        removed the job itself, and a forked process leaves the job to the parent process."""
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
