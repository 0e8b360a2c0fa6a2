"""A query while it runs: what its jobs share, and the one way to cancel them all."""

from collections.abc import Callable, Mapping
from typing import Final, Protocol

import msgspec

from sqlfront_engine.job_statistics import JobStatus
from sqlfront_engine.memory import MemoryBudget
from sqlfront_values.errors import OperationalError

#: Characters of a query's text that listings show.
DESCRIPTION_LENGTH: Final = 400


class Job(Protocol):
    """A job that runs."""

    @property
    def query(self) -> "QueryRun | None":
        """The query that it belongs to."""

    def stop(self, status: JobStatus) -> None:
        """End it; ``status`` says why."""


class Progress(msgspec.Struct, frozen=True):
    """How far a job is that runs elsewhere, as far as it has begun: stages and tasks, and how many of them
    are done.

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


class JobElsewhere(Job, Protocol):
    """A job that runs outside of the engine."""

    def progress(self) -> Progress:
        """How far it is."""


class QueryRun:
    """What the jobs of one query share, which run one after the other: an ``id`` that is unique in the
    cluster, the memory that they may hold together, the moment ``began`` (seconds of the engine's clock)
    from which their timeout counts, and what it says. Made by
    :meth:`~sqlfront_engine.engine.Engine.begin_query`.

    ``running`` holds all jobs that run on this member.
    """

    __slots__ = (
        "__weakref__",
        "_budget",
        "_elsewhere",
        "_limit",
        "_member",
        "_running",
        "_text",
        "began",
        "cancelled",
        "cancelled_by",
        "id",
        "timeout",
    )

    def __init__(
        self,
        number: int,
        limit: int | None,
        member: MemoryBudget,
        began: float,
        text: str,
        running: Mapping[int, Job],
    ) -> None:
        """``limit``: bytes that the query may hold of the ``member``'s, None = all."""
        self.id = number
        self.began = began
        self._limit = limit
        self._member = member
        self._budget: MemoryBudget | None = None
        #: Whether its jobs, those to come included, are to stop.
        self.cancelled = False
        #: What has cancelled it, for the error's text; "" = whoever runs it.
        self.cancelled_by = ""
        #: Seconds after ``began`` for which it waits for other members without a job; None = no limit.
        self.timeout: float | None = None
        self._text = text
        self._running = running
        # Its jobs that run outside of this engine, in their order; each comes and goes in one step, since
        # they do so on threads of their own.
        self._elsewhere: dict[JobElsewhere, None] = {}

    @property
    def budget(self) -> MemoryBudget:
        """What its jobs may hold together; made for the first of them, a query without jobs has none."""
        if self._budget is None:
            limit = self._member.limit if self._limit is None else self._limit
            self._budget = MemoryBudget("the query", limit, self._member)
        return self._budget

    @property
    def description(self) -> str:
        """Its text, cut to :data:`DESCRIPTION_LENGTH` characters."""
        text = self._text.strip()
        return text if len(text) <= DESCRIPTION_LENGTH else f"{text[: DESCRIPTION_LENGTH - 1]}…"

    def cancel(self, by: str = "") -> None:
        """Stop the job that runs now and those to come; ``by`` is for the error that they end with. Any
        thread may call this. Without effect once the last job has ended."""
        self.cancelled_by = by
        # Invariant: whoever starts a job looks at this when it can be stopped, so none is overlooked.
        self.cancelled = True
        for job in (*self._running.values(), *self._elsewhere):
            if job.query is self:
                job.stop(JobStatus.CANCELLED)

    def progress(self) -> Progress | None:
        """How far it is outside of the engine; None if nothing of it runs there."""
        jobs = tuple(self._elsewhere)
        return jobs[-1].progress() if jobs else None

    def add(self, job: JobElsewhere) -> None:
        """Let what cancels the query stop a job too that runs outside of the engine, until :meth:`remove`."""
        self._elsewhere[job] = None
        if self.cancelled:
            job.stop(JobStatus.CANCELLED)

    def remove(self, job: JobElsewhere) -> None:
        """Forget such a job, which has ended."""
        self._elsewhere.pop(job, None)

    def stopped(self, now: Callable[[], float]) -> OperationalError | None:
        """The error to end with if it was cancelled, or its time is over; ``now``: the engine's clock."""
        if self.cancelled:
            return stopped_error(JobStatus.CANCELLED, by=self.cancelled_by)
        if self.timeout is not None and now() >= self.began + self.timeout:
            return stopped_error(JobStatus.TIMED_OUT, self.timeout)
        return None


def stopped_error(status: JobStatus, timeout: float | None = None, by: str = "") -> OperationalError:
    """What a query ends with that was stopped: after ``timeout`` seconds, or cancelled ``by`` somebody."""
    if status is JobStatus.TIMED_OUT:
        return OperationalError(f"the query ran longer than its timeout of {timeout:g} s", sqlstate="57014")
    text = "the query was cancelled" + (f" by {by}" if by else "")
    return OperationalError(text, condition="OPERATION_CANCELED")
