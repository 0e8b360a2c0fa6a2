"""Light jobs found by their ids, whoever has submitted them."""

import math
import time
from collections.abc import Callable, Iterator
from typing import Final, NoReturn

import pyarrow as pa

from sqlfront.light_jobs.handle import Wait
from sqlfront.light_jobs.job import Job
from sqlfront.light_jobs.listing import listing
from sqlfront.state.context import Context
from sqlfront_cluster.members.listing import wait_for_jobs
from sqlfront_cluster.members.member import Member
from sqlfront_engine.engine import Engine
from sqlfront_engine.job_statistics import JobStatistics, JobStatus, JobSummary
from sqlfront_engine.jobs.execution import Execution
from sqlfront_values.errors import InterfaceError, NotSupportedError, OperationalError, ProgrammingError

#: Seconds between the first two and between two later looks at a job that has no lock to wait for.
_FIRST_PAUSE: Final = 0.001
_LONGEST_PAUSE: Final = 0.05
#: Seconds between two listings at most, each of which is a message to every member.
_LISTING_PAUSE: Final = 0.2


def find(context: Context, number: int) -> Job:
    """Return the running light job whose query has the id ``number``; the contract is that of
    :meth:`.Session.job`."""
    if isinstance(number, bool) or not isinstance(number, int):
        raise InterfaceError(f"the id of a light job is an integer, not {number!r}")
    here = [each for each in context.engine.executions() if each.query.id == number]
    if here:
        return Job(RunHere(here[-1], context.engine))
    runner = context.runner
    found = listing(runner)
    listed = [each for each in found.jobs if each.id == number]
    if listed and isinstance(runner, Member):
        return Job(RunElsewhere(listed[0], runner))
    if found.silent:
        raise OperationalError(
            f"light job {number} was not found, and these members gave no answer: {', '.join(found.silent)}",
            sqlstate="08006",
        )
    raise _unknown(number)


def _unknown(number: int) -> ProgrammingError:
    return ProgrammingError(
        f"light job {number} does not exist or has ended; sys.light_jobs lists the ids of the running jobs",
        sqlstate="42704",
    )


class RunHere:
    """The run of a job that this process coordinates. A query of several jobs, one after another, is found as
    the job that runs at the moment."""

    def __init__(self, execution: Execution, engine: Engine) -> None:
        self.id = execution.query.id
        self.submitted = engine.summary(execution, execution.member, execution.participants).started
        self._execution = execution

    @property
    def status(self) -> JobStatus:
        """The present status."""
        return self._execution.status

    @property
    def is_user_cancelled(self) -> bool:
        """Whether a user has cancelled the job."""
        return self._execution.query.cancelled and self.status is JobStatus.CANCELLED

    def join(self, timeout: float | None) -> bool:
        """Wait for the job's end, at most ``timeout`` seconds (None = no limit), and return whether the job
        has ended. Raises the job's error."""
        return self.waiter()(timeout)

    def waiter(self) -> Wait:
        """Return the function that waits for the job's end. A job on its reader's thread is not run by the
        wait."""
        execution = self._execution
        return _wait_for(execution) if execution.is_inline else execution.wait

    def cancel(self) -> None:
        """Stop the job; do nothing if it has ended."""
        self._execution.query.cancel()

    def statistics(self) -> JobStatistics:
        """Return the statistics so far."""
        return self._execution.statistics()

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Raise InterfaceError: whoever has submitted the job reads its result."""
        refuse_result()


class RunElsewhere:
    """The run of a job that another member or client coordinates, known by the listings of all members. Only
    whoever has submitted the job learns how it ends. ``summary``: the job in a listing; ``member``: the
    member that asks for listings."""

    def __init__(self, summary: JobSummary, member: Member) -> None:
        self.id = summary.id
        self.submitted = summary.started
        self._summary, self._member = summary, member

    @property
    def status(self) -> JobStatus:
        """The present status. Raises OperationalError (42704) if the job has ended."""
        if _is_listed(self._summary, self._member):
            return JobStatus.RUNNING
        raise OperationalError(
            f"light job {self.id} of {self._summary.coordinator} has ended; its submitter knows how it ended",
            sqlstate="42704",
        )

    @property
    def is_user_cancelled(self) -> bool:
        """Raise OperationalError (42704) if the job has ended; False as long as it runs."""
        return self.status is JobStatus.CANCELLED

    def join(self, timeout: float | None) -> bool:
        """Wait for the job's end, at most ``timeout`` seconds (None = no limit), and return whether the job
        has ended, with success or not."""
        return self.waiter()(timeout)

    def waiter(self) -> Wait:
        """Return the function that waits for the job's end, however the job ends."""
        summary, member = self._summary, self._member
        return lambda timeout: wait_until(lambda: not _is_listed(summary, member), timeout, _LISTING_PAUSE)

    def cancel(self) -> None:
        """Ask the coordinator to stop the job; do nothing if it has ended."""
        self._member.cancel(self.id, self._summary.coordinator, f"Job.cancel at {self._member.name}")

    def statistics(self) -> JobStatistics:
        """Raise NotSupportedError: the counters are with the coordinator."""
        raise NotSupportedError(
            f"the statistics of a light job are with its coordinator, {self._summary.coordinator}"
        )

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Raise InterfaceError: whoever has submitted the job reads its result."""
        refuse_result()


def _is_listed(summary: JobSummary, member: Member) -> bool:
    """Return whether the job still runs; a coordinator that gives no answer is taken to run it."""
    found = wait_for_jobs(member.list_jobs)
    return summary.coordinator in found.silent or any(each.id == summary.id for each in found.jobs)


def refuse_result() -> NoReturn:
    """Raise InterfaceError for a read of the result of a job that was found by its id."""
    raise InterfaceError("only the object that submit() returned reads the result of a job")


def _wait_for(execution: Execution) -> Wait:
    def wait(timeout: float | None) -> bool:
        if not wait_until(lambda: execution.status is not JobStatus.RUNNING, timeout):
            return False
        failure = execution.failure()
        if failure is not None:
            raise failure
        return True

    return wait


def wait_until(ended: Callable[[], bool], timeout: float | None, longest: float = _LONGEST_PAUSE) -> bool:
    """Wait until ``ended()`` is true, at most ``timeout`` seconds (None = no limit), and return its last
    answer. ``longest``: the most seconds between two looks."""
    end = math.inf if timeout is None else time.monotonic() + timeout
    pause = _FIRST_PAUSE
    while not ended():
        left = end - time.monotonic()
        if left <= 0:
            return False
        time.sleep(min(pause, left))
        pause = min(2 * pause, longest)
    return True
