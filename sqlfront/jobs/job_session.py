"""The session to which the durable jobs of a store belong, as the jobs see it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from sqlfront.jobs.job_plan import JobPlan
from sqlfront_engine.durable.event_store.events import JobSubmitted
from sqlfront_engine.durable.target import JobTarget

if TYPE_CHECKING:
    from sqlfront.results.result import Result
    from sqlfront_planner.logical import LogicalPlan


class StoredTarget(JobTarget, Protocol):
    """The object that puts a job's rows into the table or directory of the job's statement, made from the
    stored job: so a process that takes the job over has it, too. In addition to the methods of
    :class:`~sqlfront_engine.durable.target.JobTarget` it can check the job beforehand."""

    def check(self, token: str) -> None:
        """Raise the error for which the target can't take the rows of the job ``token``, such as a table that
        the session doesn't know or that has other columns."""


class JobSession(Protocol):
    """The session to which a service belongs, limited to what the service needs."""

    def read(self, plan: "LogicalPlan") -> "Result":
        """Run a plan in the session, and return its result."""

    def target(self, submitted: JobSubmitted) -> StoredTarget | None:
        """Return the target for a job's rows; None = the rows stay in the job's files."""

    def sources(self, plan: JobPlan) -> Mapping[str, object]:
        """Return the versions of spread tables that a job with the ``plan`` reads, by key, for a takeover of
        the job. Raises OperationalError if such a table has changed, or the session has no such table."""
