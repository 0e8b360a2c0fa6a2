"""A durable job as its user sees the job."""

from datetime import datetime
from typing import TYPE_CHECKING, Final, NoReturn, Protocol

from sqlfront.jobs.job_status import DurableJobStatus, JobPhase, as_error, job_time
from sqlfront.light_jobs.handle import JobHandle, Wait
from sqlfront.light_jobs.refusals import refuse
from sqlfront_engine.jobs.query_run import Progress
from sqlfront_values.errors import OperationalError

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

    def resume(self, job: str) -> bool:
        """Go on with the job, whose coordinator is gone, and return True; return False if the job runs here
        or has ended."""


_NO_SNAPSHOT: Final = "the log of a durable job is its state; there are no snapshots"


class DurableJob(JobHandle):
    """A user's handle of a durable job. The job goes on when this object, or the session, is gone.

    :meth:`join`, :attr:`future`, ``await`` and :meth:`add_done_callback` wait for the job's end as those of a
    light job do (:class:`~sqlfront.light_jobs.job.Job`), and raise the error of a failed or cancelled job;
    :meth:`wait` raises none.
    """

    #: Whether the job is a light job, which has no log.
    is_light: Final = False

    def __init__(self, service: JobOperations, job: str, name: str) -> None:
        super().__init__()
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

    @property
    def progress(self) -> Progress:
        """The number of stages and tasks that have begun, and how many of these are finished."""
        return self.status().progress

    @property
    def submission_time(self) -> datetime | None:
        """The time at which the job was accepted, in UTC; None if the job's log can't be read."""
        return job_time(self.status().created)

    def resume(self) -> bool:
        """Go on with the job, whose coordinator is gone, in this process, and return True; return False if
        the job runs here already or has ended. Raises OperationalError if another process owns the store, or
        if what the job reads has changed."""
        return self._service.resume(self.id)

    def suspend(self) -> NoReturn:
        """Not supported: a durable job waits when its process ends, and goes on by :meth:`resume`."""
        refuse("durable", "suspend", "it waits when its process ends, and goes on by resume()")

    def restart(self) -> NoReturn:
        """Not supported: CREATE OR REPLACE JOB begins a job anew."""
        refuse("durable", "restart", "CREATE OR REPLACE JOB begins it anew")

    def export_snapshot(self, name: str) -> NoReturn:
        """Not supported by durable jobs."""
        refuse("durable", "export_snapshot", _NO_SNAPSHOT)

    def cancel_and_export_snapshot(self, name: str) -> NoReturn:
        """Not supported by durable jobs."""
        refuse("durable", "cancel_and_export_snapshot", _NO_SNAPSHOT)

    def suspension_cause(self) -> NoReturn:
        """Not supported: durable jobs aren't suspended."""
        refuse("durable", "suspension_cause", "it is never suspended")

    def update_config(self, config: object) -> NoReturn:
        """Not supported: CREATE OR REPLACE JOB gives a job other options."""
        refuse("durable", "update_config", "CREATE OR REPLACE JOB gives it other options")

    def _waiter(self) -> Wait:
        service, job, name = self._service, self.id, self.name

        def wait(timeout: float | None) -> bool:
            status = service.wait(job, timeout)
            if status.error is not None:
                raise as_error(status.error)
            if status.phase is JobPhase.CANCELLED:
                raise OperationalError(f"the job `{name}` was cancelled", condition="OPERATION_CANCELED")
            return status.has_ended

        return wait

    def __repr__(self) -> str:
        return f"DurableJob({self.name!r}, {self.id})"
