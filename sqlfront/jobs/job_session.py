"""The contract of a session with the durable jobs that belong to it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from sqlfront.jobs.job_plan import JobPlan
from sqlfront_engine.durable.event_store.events import JobSubmitted
from sqlfront_engine.durable.target import JobTarget

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

    def sources(self, plan: JobPlan) -> Mapping[str, object]:
        """Return the versions of spread tables that a job reads, for a takeover of the job; each version is
        returned under the key by which the job's DAG finds it. ``plan``: the job's plan. Raises
        OperationalError if such a table has changed, or the session has no such table."""
