"""A light job: a run of a DAG without stored metadata and without fault tolerance, as its submitter sees it.

The result is read batch by batch while the job runs. If the submitter drops the result, the job is cancelled.
A job that has ended, with success or not, keeps only its counters and the part of the result not yet read.
"""

import os
from collections.abc import Callable
from typing import Self

import pyarrow as pa

from sqlfront_engine.closing import ClosingContext
from sqlfront_engine.edges.queues import Polled
from sqlfront_engine.forks import inherited
from sqlfront_engine.job_statistics import JobStatistics, JobStatus
from sqlfront_engine.jobs.execution import Execution
from sqlfront_values.errors import InterfaceError


class LightJob:
    """The handle of a submitted job. If the handle is dropped before the end of the result, the job is
    cancelled."""

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
        """The job's current state."""
        return self._execution.status

    @property
    def has_result(self) -> bool:
        """Whether the job's DAG has a result to read."""
        return self._execution.has_result

    @property
    def awaits_reader(self) -> bool:
        """Whether the job can't go on before somebody reads its result."""
        return self._execution.awaits_reader

    def waiter(self) -> Callable[[float | None], bool]:
        """Return a function that waits as :meth:`join` does, and that doesn't keep this handle alive: if the
        handle is dropped, a job with a result is cancelled, although the function waits."""
        return self._execution.wait

    def batches(self) -> "ResultReader":
        """Return a reader of the result's batches, in physical form. An inline job runs while its result is
        read. Raises InterfaceError at a second call: the result can be read only once."""
        if self._read:
            raise InterfaceError("the result of a job can be read only once")
        self._read = True
        return ResultReader(self)

    def poll(self) -> Polled:
        """Return the next batch of a job on threads, without waiting: NOTHING if no batch is ready, None
        after the last batch. If the job has failed or was stopped, raises the job's error, OperationalError
        after a cancellation or a timeout."""
        return self._execution.poll_batch()

    def join(self, timeout: float | None = None) -> bool:
        """Wait until every tasklet has ended, and return True; return False if the job still runs after
        ``timeout`` seconds (None = no limit).

        Raises the first error of the job; OperationalError with SQLSTATE HY008 after a cancellation and 57014
        after a timeout. If the job has a result, read all of it before. An inline job, which has no threads
        of its own, runs within this call, to its end whatever the ``timeout``.
        """
        return self._execution.wait(timeout)

    def cancel(self) -> None:
        """Stop the job, and return at once; :meth:`join` waits for the job's end. Does nothing if the job
        has ended."""
        if self._is_here:
            self._held.stop(JobStatus.CANCELLED)

    def statistics(self) -> JobStatistics:
        """Return the job's statistics so far."""
        return self._execution.statistics()

    def __del__(self) -> None:
        if self._is_here and self._held.has_result:
            self._held.stop(JobStatus.CANCELLED)


class ResultReader(ClosingContext):
    """A reader of a job's result; an iterator and a context manager. :meth:`close` before the end cancels the
    job.

    Once all tasklets have ended, the iteration raises the job's first error, or OperationalError if the job
    was cancelled or its timeout is over.
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
        """Read no more batches: if the job still runs, cancel it."""
        job, self._job = self._job, None
        if job is not None:
            job.cancel()
