"""A light job: one run of a DAG without stored metadata and without fault tolerance, as its submitter sees
it.

The result is read in batches while the job runs; a job whose result nobody wants any more is cancelled. An
ended job, in whatever way it ended, holds nothing but its counters and what is left of its result.
"""

import os
from typing import Self

import pyarrow as pa

from sqlfront_engine.closing import Closing
from sqlfront_engine.edges.queues import Polled
from sqlfront_engine.forks import inherited
from sqlfront_engine.job_statistics import JobStatistics, JobStatus
from sqlfront_engine.jobs.execution import Execution
from sqlfront_values.errors import InterfaceError


class LightJob:
    """The handle of a submitted job. Dropping it with its result half read cancels the job."""

    def __init__(self, execution: Execution) -> None:
        self._held = execution
        self._read = False
        self._process = os.getpid()

    @property
    def _is_here(self) -> bool:
        return self._process == os.getpid()

    @property
    def _execution(self) -> Execution:
        if not self._is_here:
            raise InterfaceError(inherited("the job"))
        return self._held

    @property
    def id(self) -> int:
        """The job's number, unique within its engine."""
        return self._execution.id

    @property
    def status(self) -> JobStatus:
        """What has become of it."""
        return self._execution.status

    def batches(self) -> "ResultReader":
        """The result in physical form, batch by batch; once only. An inline job runs while it is read."""
        if self._read:
            raise InterfaceError("the result of a job can be read only once")
        self._read = True
        return ResultReader(self)

    def poll(self) -> Polled:
        """The next batch of a job on threads, None after the last, NOTHING if there is none yet; once the job
        has ended otherwise, raises what :meth:`join` does. For those who must not wait."""
        return self._execution.poll_batch()

    def join(self, timeout: float | None = None) -> bool:
        """Wait until every tasklet has ended. False: the job still runs after ``timeout`` seconds.

        Raises the first error of the job; OperationalError with SQLSTATE HY008 after a cancellation and
        57014 after a timeout. A result has to be read before. An inline job runs now, whatever ``timeout``
        says.
        """
        return self._execution.wait(timeout)

    def cancel(self) -> None:
        """Stop the job; it has ended once :meth:`join` says so. Without effect on one that has ended."""
        if self._is_here:
            self._held.stop(JobStatus.CANCELLED)

    def statistics(self) -> JobStatistics:
        """What the job has done so far."""
        return self._execution.statistics()

    def __del__(self) -> None:
        if self._is_here and self._held.has_result:
            self._held.stop(JobStatus.CANCELLED)


class ResultReader(Closing):
    """Reads a job's result; an iterator and a context manager. :meth:`close` before the end cancels the job.

    Raises what the job failed with, as :meth:`LightJob.join` does, once all its tasklets have ended.
    """

    def __init__(self, job: LightJob) -> None:
        self._job: LightJob | None = job

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> pa.RecordBatch:
        if self._job is None:
            raise StopIteration
        try:
            batch = self._job._execution.next_batch()
        except BaseException:
            self.close()
            raise
        if batch is None:
            self._job = None
            raise StopIteration
        return batch

    def close(self) -> None:
        """Give up the rest of the result."""
        job, self._job = self._job, None
        if job is not None:
            job.cancel()
