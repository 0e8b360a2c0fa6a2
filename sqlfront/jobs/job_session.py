"""The contract of a session with the durable jobs that belong to it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from sqlfront.jobs.job_plan import JobPlan
from sqlfront_engine.durable.event_store.events import JobSubmitted
from sqlfront_engine.durable.target import JobTarget
from sqlfront_values.settings import Settings

if TYPE_CHECKING:
    from sqlfront.results.result import Result
    from sqlfront_planner.logical import LogicalPlan


class StoredTarget(JobTarget, Protocol):
    """The target of a stored job: the object that puts the job's rows into the table or directory of the
    job's statement. It is made from what the job's log stores, so that a process that takes the job over can
    make it, too. Before the job runs, :meth:`check` tells whether the target can take the rows."""

    def check(self, token: str) -> None:
        """Check that the target can take the rows of the job with the id ``token``. Raises the error that
        says why it can't, for example for a table that the session doesn't know or that has other columns."""


class JobSession(Protocol):
    """The methods of a session that the service for the session's durable jobs calls."""

    def read(self, plan: "LogicalPlan") -> "Result":
        """Run a plan in the session, and return its result."""

    def target(self, submitted: JobSubmitted) -> StoredTarget | None:
        """Return the target for a job's rows; None if the rows stay in the job's files. ``submitted``: the
        event by which the job was stored."""

    def sources(self, plan: JobPlan, settings: Settings, *, versions: bool) -> Mapping[str, object]:
        """Return the sources that a job with the ``plan`` and the ``settings`` reads, by key, for a takeover
        of the job: the tables of Spark, and if ``versions``, the versions of spread tables. Raises
        OperationalError if a spread table has changed, or the session has no such table; Spark isn't asked
        yet."""
