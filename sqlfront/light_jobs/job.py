"""A light job as its user sees the job."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final, NoReturn, Protocol

import pyarrow as pa

from sqlfront.light_jobs.handle import JobHandle, Wait, checked_timeout
from sqlfront.light_jobs.refusals import refuse
from sqlfront_engine.job_statistics import JobStatistics, JobStatus

_NO_RECORD: Final = "nothing of a light job is stored, so that it can't go on from a state"
_SNAPSHOT: Final = "a light job has no snapshots"


class LightJobRun(Protocol):
    """A running or ended light job as :class:`Job` uses the run: submitted by this session, or found by its
    id. ``id``: the number of the job's query; ``submitted``: the time of its submission, in seconds since
    1970."""

    id: int
    submitted: float

    @property
    def status(self) -> JobStatus:
        """The present status."""

    @property
    def is_user_cancelled(self) -> bool:
        """Whether a user has cancelled the job."""

    def join(self, timeout: float | None) -> bool:
        """Wait for the job's end, and return whether the job has ended, as :meth:`Job.join` does."""

    def waiter(self) -> Wait:
        """Return the function that waits for the job's end, and that keeps no reference to this object."""

    def cancel(self) -> None:
        """Stop the job; do nothing if it has ended."""

    def statistics(self) -> JobStatistics:
        """Return the statistics so far."""

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Return the reader of the result."""


class Job(JobHandle):
    """A light job: the run of a DAG or a pipeline, by :meth:`.Session.submit`, or a running job that
    :meth:`.Session.job` has found by its id.

    A job with a result is cancelled when its object is dropped before the result is read to its end; a job
    without a result goes on. All jobs end with the process that coordinates them. Threads may share the
    object.

    >>> from sqlfront import Session
    >>> from sqlfront_engine.dag import DAG, Edge
    >>> from sqlfront_engine.processors.sink import ResultSink
    >>> from sqlfront_engine.processors.sources.range import Range
    >>> dag = DAG()
    >>> numbers = dag.vertex("numbers", Range(0, 1, 3))
    >>> _ = dag.edge(Edge.between(numbers, dag.vertex("result", ResultSink())).to_one().distribute_to())
    >>> with Session() as session:
    ...     job = session.submit(dag)
    ...     [value for batch in job.batches() for value in batch.column(0).to_pylist()]
    ...     job.join(), job.status.value, job.is_light
    [0, 1, 2]
    (True, 'completed', True)
    """

    #: Whether the job is a light job: without a stored record, and with one attempt.
    is_light: Final = True
    #: A light job has no name.
    name: Final = None

    def __init__(self, run: LightJobRun) -> None:
        super().__init__()
        self._run = run

    @property
    def id(self) -> int:
        """The number by which ``sys.light_jobs`` lists the job and KILL QUERY cancels it; unique in the
        cluster."""
        return self._run.id

    @property
    def status(self) -> JobStatus:
        """The present status: RUNNING from the submission on, then COMPLETED, FAILED, CANCELLED or
        TIMED_OUT."""
        return self._run.status

    @property
    def submission_time(self) -> datetime:
        """The time of the submission, in UTC, by the coordinator's clock."""
        return datetime.fromtimestamp(self._run.submitted, UTC)

    @property
    def is_user_cancelled(self) -> bool:
        """Whether the job ended because a user cancelled it: by :meth:`cancel` or KILL QUERY. False for a job
        that its timeout or the end of its session has stopped."""
        return self._run.is_user_cancelled

    def join(self, timeout: float | None = None) -> bool:
        """Wait for the job's end, and return True; return False if the job still runs after ``timeout``
        seconds (None = no limit; zero or less: don't wait). The job goes on after the timeout.

        Raises the job's error; OperationalError with the condition OPERATION_CANCELED for a cancelled job and
        with SQLSTATE 57014 if its own timeout is over. Raises InterfaceError for a timeout that is no number,
        and if the job waits for a reader of its result, which nobody has begun to read.
        """
        return self._run.join(checked_timeout(timeout))

    def cancel(self) -> None:
        """Cancel the job on all members, and return at once; :meth:`join` then raises the cancellation. Does
        nothing if the job has ended. Any number of threads may cancel a job."""
        self._run.cancel()

    def statistics(self) -> JobStatistics:
        """Return the counters of the job's tasklets and its memory so far."""
        return self._run.statistics()

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Return an iterator over the batches of the job's result, which come while the job runs: of a
        pipeline in logical types, of a DAG as the DAG emits them. Raises InterfaceError if the job has no
        result, at a second call, and for a job found by its id. The iteration raises the job's error."""
        return self._run.batches()

    def __repr__(self) -> str:
        return f"Job({self.id}, {self.status.value})"

    def _waiter(self) -> Wait:
        return self._run.waiter()

    # ---- what only durable jobs offer

    def suspend(self) -> NoReturn:
        """Not supported by light jobs."""
        refuse("light", "suspend", _NO_RECORD)

    def resume(self) -> NoReturn:
        """Not supported by light jobs."""
        refuse("light", "resume", _NO_RECORD)

    def restart(self) -> NoReturn:
        """Not supported by light jobs."""
        refuse("light", "restart", _NO_RECORD)

    def export_snapshot(self, name: str) -> NoReturn:
        """Not supported by light jobs."""
        refuse("light", "export_snapshot", _SNAPSHOT)

    def cancel_and_export_snapshot(self, name: str) -> NoReturn:
        """Not supported by light jobs."""
        refuse("light", "cancel_and_export_snapshot", _SNAPSHOT)

    def suspension_cause(self) -> NoReturn:
        """Not supported by light jobs."""
        refuse("light", "suspension_cause", "a light job is never suspended")

    def update_config(self, config: object) -> NoReturn:
        """Not supported by light jobs."""
        refuse("light", "update_config", "a light job keeps the options of its submission")
