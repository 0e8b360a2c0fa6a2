"""A running query: the state shared by its jobs, and their common cancellation."""

from collections.abc import Callable, Mapping
from typing import Final, Protocol

import msgspec

from sqlfront_engine.job_statistics import JobStatistics, JobStatus
from sqlfront_engine.memory import MemoryBudget
from sqlfront_values.errors import OperationalError

#: Characters of a query's text that listings show, and that every run keeps in memory.
DESCRIPTION_LENGTH: Final = 400


class StoppableJob(Protocol):
    """A running job of a query, in the engine or outside it."""

    @property
    def query(self) -> "QueryRun | None":
        """The query to which the job belongs; None if it belongs to no query."""

    def stop(self, status: JobStatus) -> None:
        """Stop the job; ``status`` says why and becomes the job's status."""


class EngineJob(StoppableJob, Protocol):
    """A running job of this member's engine."""

    def rows_read(self) -> int:
        """Return the number of rows that the job's sources on this member have emitted so far."""


class Progress(msgspec.Struct, frozen=True):
    """The progress of a job outside the engine: the number of its stages and tasks, and how many are
    finished.

    >>> print(Progress(stages=2, stages_done=1, tasks=10, tasks_done=7))
    1 of 2 stages, 7 of 10 tasks
    """

    stages: int = 0
    stages_done: int = 0
    tasks: int = 0
    tasks_done: int = 0

    def __str__(self) -> str:
        if not self.stages:
            return "starting"
        return f"{self.stages_done} of {self.stages} stages, {self.tasks_done} of {self.tasks} tasks"


class MeasuredJob(Protocol):
    """A job with counters of the rows and bytes of its vertices."""

    @property
    def scans(self) -> frozenset[str]:
        """The names of the vertices that read tables."""

    def statistics(self) -> JobStatistics:
        """Return the job's statistics so far."""


class JobElsewhere(StoppableJob, Protocol):
    """A job that belongs to a query but runs outside the engine, such as a job of Spark."""

    def progress(self) -> Progress:
        """Return how many stages and tasks the job has, and how many of them have finished."""


class QueryRun:
    """A running query: the state that the query's jobs, which run one after another, share.
    :meth:`~sqlfront_engine.engine.Engine.begin_query` begins a query.

    ``id`` is unique in the cluster; ``budget`` is the memory that the jobs may hold together; ``began``, in
    seconds of the engine's clock, is the start from which the timeout counts."""

    __slots__ = (
        "__weakref__",
        "_budget",
        "_elsewhere",
        "_member",
        "_running",
        "_text",
        "began",
        "cancelled",
        "cancelled_by",
        "id",
        "jobs",
        "memory_limit",
        "rows_by_programs",
        "timeout",
        "trace",
    )

    def __init__(
        self,
        number: int,
        limit: int | None,
        member: MemoryBudget,
        began: float,
        text: str,
        running: Mapping[int, EngineJob],
    ) -> None:
        """``number``: the query's id. ``limit``: the bytes of the ``member``'s memory that the query may
        hold, None = all. ``began``: seconds of the engine's clock. ``text``: the query's text in listings.
        ``running``: all jobs that run on this member, by number, those of other queries included."""
        self.id = number
        self.began = began
        #: The bytes that the query may hold on each member, None = as many as the member allows.
        self.memory_limit = limit
        self._member = member
        self._budget: MemoryBudget | None = None
        #: Whether the query's jobs, including future ones, are to stop.
        self.cancelled = False
        #: The origin of the cancellation, for the error's text; "" = the user who runs the query.
        self.cancelled_by = ""
        #: Limit in seconds after ``began`` on waiting for other members without a job; None = no limit.
        self.timeout: float | None = None
        #: The query's jobs on this engine so far, in the order of their start, for an observer. None:
        #: nobody observes the query, and its jobs count no bytes.
        self.jobs: list[MeasuredJob] | None = None
        #: Rows that the query's row program has read, which has no job; counted for an observer alone. None:
        #: no row program ran.
        self.rows_by_programs: int | None = None
        #: Returns the context of the trace to which the query belongs, as the header ``traceparent`` of W3C
        #: Trace Context; empty = none. Only jobs on other members ask for it.
        self.trace: Callable[[], str] = str
        self._text = text
        self._running = running
        # The query's jobs outside of this engine, in order of their start. Adding and removing are single
        # steps, since jobs do so on threads of their own.
        self._elsewhere: dict[JobElsewhere, None] = {}

    @property
    def budget(self) -> MemoryBudget:
        """The memory budget of the query's jobs, made when it is first read."""
        if self._budget is None:
            limit = self._member.limit if self.memory_limit is None else self.memory_limit
            self._budget = MemoryBudget("the query", limit, self._member)
        return self._budget

    @property
    def text(self) -> str:
        """The query's text as listings of running queries show it, not shortened."""
        return self._text

    @property
    def description(self) -> str:
        """The query's text, cut to :data:`DESCRIPTION_LENGTH` characters."""
        text = self._text.strip()
        return text if len(text) <= DESCRIPTION_LENGTH else f"{text[: DESCRIPTION_LENGTH - 1]}…"

    def cancel(self, by: str = "") -> None:
        """Stop the query's running jobs, and its later jobs when they start. ``by``: a phrase for the
        error's text that says who cancels; empty = the user of the query. May be called on any thread."""
        self.cancelled_by = by
        # Invariant: every start of a job checks this flag once the job can be stopped, so no job is
        # overlooked.
        self.cancelled = True
        for job in (*self._running.values(), *self._elsewhere):
            if job.query is self:
                job.stop(JobStatus.CANCELLED)

    def progress(self) -> Progress | None:
        """Return the progress of the query's latest job outside of the engine; None if no such job runs."""
        jobs = list(self._elsewhere)
        return jobs[-1].progress() if jobs else None

    def rows_read(self) -> int:
        """Return the number of rows that the query's running jobs have read so far on this member. May be
        called on any thread."""
        return sum(job.rows_read() for job in list(self._running.values()) if job.query is self)

    def add(self, job: JobElsewhere) -> None:
        """Register a job outside the engine, which a cancellation of the query then stops, too. If the query
        is already cancelled, the job is stopped at once. The caller calls :meth:`remove` at the job's end."""
        self._elsewhere[job] = None
        if self.cancelled:
            job.stop(JobStatus.CANCELLED)

    def remove(self, job: JobElsewhere) -> None:
        """Unregister a job outside the engine, which has ended."""
        self._elsewhere.pop(job, None)

    def stopped(self, now: Callable[[], float]) -> OperationalError | None:
        """Return the error to raise if the query was cancelled or its timeout is over, else None. ``now``:
        returns the time of the engine's clock in seconds."""
        if self.cancelled:
            return stopped_error(JobStatus.CANCELLED, by=self.cancelled_by)
        if self.timeout is not None and now() >= self.began + self.timeout:
            return stopped_error(JobStatus.TIMED_OUT, self.timeout)
        return None


def stopped_error(status: JobStatus, timeout: float | None = None, by: str = "") -> OperationalError:
    """Return the error of a query that was stopped. With the ``status`` TIMED_OUT, the message says that the
    query exceeded ``timeout`` seconds (None: another member's timeout, which isn't known here). With any
    other status, it says that the query was cancelled by ``by`` (empty = by nobody in particular)."""
    if status is JobStatus.TIMED_OUT:
        limit = "" if timeout is None else f" of {timeout:g} s"
        return OperationalError(f"the query ran longer than its timeout{limit}", sqlstate="57014")
    text = "the query was cancelled" + (f" by {by}" if by else "")
    return OperationalError(text, condition="OPERATION_CANCELED")
