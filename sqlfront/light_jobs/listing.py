"""The light jobs that run now, on all members."""

from sqlfront_cluster.members.member import Member
from sqlfront_cluster.members.questions.listing import JobListing, wait_for_jobs
from sqlfront_engine.engine import Engine


def listing(runner: Engine | Member) -> JobListing:
    """Return the running queries of all members, oldest first, and the names of the members that don't
    answer. Raises OperationalError if the session is closed while members are asked."""
    if isinstance(runner, Member):
        return wait_for_jobs(runner.list_jobs)
    return JobListing(tuple(sorted(runner.jobs(), key=lambda job: job.started)))
