"""A durable job as its user sees the job."""

from typing import TYPE_CHECKING, Protocol

from sqlfront.jobs.job_status import DurableJobStatus

if TYPE_CHECKING:
    from sqlfront.results.result import Result


class JobOperations(Protocol):
    """The operations on the jobs of a store, as a job's handle (:class:`DurableJob`) uses them; implemented
    by :class:`~sqlfront.jobs.service.JobService`. ``job`` is the id of a job, and the job must exist."""

    def status(self, job: str) -> DurableJobStatus:
        """Return the job's present status."""

    def wait(self, job: str, timeout: float | None) -> DurableJobStatus:
        """Wait for the job's end, but at most ``timeout`` seconds (None: without a limit); return its status
        then."""

    def read(self, job: str) -> "Result":
        """Return the rows of the finished job."""

    def cancel(self, job: str) -> bool:
        """Cancel the job, and return True; return False if the job has ended, or if it is too late to stop
        its end."""


class DurableJob:
    """A user's handle of a durable job. The job goes on when this object, or the session, is gone."""

    def __init__(self, service: JobOperations, job: str, name: str) -> None:
        self._service = service
        #: The id, which no other job of the store has.
        self.id = job
        #: The name.
        self.name = name

    def status(self) -> DurableJobStatus:
        """Return the job's present status."""
        return self._service.status(self.id)

    def wait(self, timeout: float | None = None) -> DurableJobStatus:
        """Wait for the end of the job, but at most ``timeout`` seconds (None: without a limit); return the
        job's status then. The wait goes on while one process takes the job over from another. Raises
        OperationalError if the coordinator in this process can't run the job on (for example because the log
        can't be written), and if no process has run the job for :data:`~sqlfront.jobs.service.PATIENCE`
        seconds."""
        return self._service.wait(self.id, timeout)

    def result(self) -> "Result":
        """Wait for the job's end, without a limit, and return the rows of the job as a result. Raises the
        error that ended the job, and OperationalError for a cancelled job and for a job that has put its rows
        into a target (INSERT, CREATE TABLE)."""
        self.wait()
        return self._service.read(self.id)

    def cancel(self) -> bool:
        """Cancel the job, and return True when the request is durable; return False if the job has ended, or
        if it is too late to stop its end."""
        return self._service.cancel(self.id)

    def __repr__(self) -> str:
        return f"DurableJob({self.name!r}, {self.id})"
