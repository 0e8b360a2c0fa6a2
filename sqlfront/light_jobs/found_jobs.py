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
from sqlfront_cluster.members.member import Member
from sqlfront_cluster.members.protocol.member_list import member_lost
from sqlfront_cluster.members.questions.listing import LISTING_TIMEOUT, wait_for_jobs
from sqlfront_cluster.members.questions.outcomes import UNKNOWN_OUTCOME, AskedOutcome, JobOutcome
from sqlfront_engine.engine import Engine
from sqlfront_engine.job_statistics import JobStatistics, JobStatus, JobSummary
from sqlfront_engine.jobs.execution import Execution
from sqlfront_values.errors import InterfaceError, NotSupportedError, OperationalError, ProgrammingError

#: Seconds between the first two and between two later looks at a job that has no lock to wait for.
_FIRST_PAUSE: Final = 0.001
_LONGEST_PAUSE: Final = 0.05
#: Seconds between two listings, each of which is a message to every member.
_LISTING_PAUSE: Final = 1.0


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
    """The run of a job that another member or client coordinates, which tells how the job ends. ``summary``:
    the job in a listing; ``member``: the member that asks."""

    def __init__(self, summary: JobSummary, member: Member) -> None:
        self.id = summary.id
        self.submitted = summary.started
        self._summary, self._member = summary, member
        self._watch = _Watch(summary, member)

    @property
    def status(self) -> JobStatus:
        """The present status. Raises OperationalError (42704) if the job has ended and its coordinator can't
        tell how."""
        outcome = self._watch.outcome()
        return JobStatus.RUNNING if outcome is None else outcome.status or self._watch.raise_unknown()

    @property
    def is_user_cancelled(self) -> bool:
        """Whether a user has cancelled the job."""
        outcome = self._watch.outcome()
        if outcome is None or outcome.status is not JobStatus.CANCELLED:
            return False
        return outcome.cancelled_by is not None

    def join(self, timeout: float | None) -> bool:
        """Wait for the job's end, at most ``timeout`` seconds (None = no limit), and return whether the job
        has ended. Raises the job's error; OperationalError (42704) if the job has ended and its coordinator
        can't tell how."""
        return self.waiter()(timeout)

    def waiter(self) -> Wait:
        """Return the function that waits for the job's end."""
        return self._watch.wait

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


class _Watch:
    """The watch over a job that another process coordinates. The coordinator is asked for the job's end and
    answers then; listings tell whether an answer is still to come, since a question or an answer may get
    lost."""

    def __init__(self, summary: JobSummary, member: Member) -> None:
        self._summary, self._member = summary, member
        self._asked = self._ask()

    def _ask(self) -> AskedOutcome:
        return self._member.outcomes.ask(self._summary.id, self._summary.coordinator)

    def outcome(self) -> JobOutcome | None:
        """Return the job's end, None if the job runs. A coordinator that gives no answer is taken to run
        the job."""
        asked = self._asked
        if asked.outcome is not None and asked.outcome.status is not None:
            return asked.outcome
        if self._is_listed():
            if asked.outcome is not None:  # who was to ask the coordinator was lost
                self._asked = self._ask()
            return None
        if asked.arrived.wait(LISTING_TIMEOUT) and asked.outcome is not None:
            return self._after_loss(asked.outcome)
        return self._after_loss(UNKNOWN_OUTCOME)

    def _after_loss(self, outcome: JobOutcome) -> JobOutcome:
        coordinator = self._summary.coordinator
        is_known = coordinator in self._member.members or coordinator in self._member.clients
        if outcome.status is not None or is_known:
            return outcome
        return JobOutcome(JobStatus.FAILED, member_lost(coordinator))

    def _is_listed(self) -> bool:
        found = wait_for_jobs(self._member.list_jobs)
        return self._summary.coordinator in found.silent or any(
            each.id == self._summary.id for each in found.jobs
        )

    def wait(self, timeout: float | None) -> bool:
        """Wait for the job's end, at most ``timeout`` seconds (None = no limit), and return whether the job
        has ended. Raises the job's error."""
        end = math.inf if timeout is None else time.monotonic() + timeout
        while True:
            self._asked.arrived.wait(max(0.0, min(_LISTING_PAUSE, end - time.monotonic())))
            outcome = self.outcome()
            if outcome is not None:
                break
            if time.monotonic() >= end:
                return False
        if outcome.status is None:
            self.raise_unknown()
        if outcome.error is not None:
            raise outcome.error
        return True

    def raise_unknown(self) -> NoReturn:
        """Raise the error of a job that has ended, nobody can tell how."""
        number, coordinator = self._summary.id, self._summary.coordinator
        raise OperationalError(
            f"light job {number} has ended, and its coordinator {coordinator} can't tell how",
            sqlstate="42704",
        )


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


def wait_until(ended: Callable[[], bool], timeout: float | None) -> bool:
    """Wait until ``ended()`` is true, at most ``timeout`` seconds (None = no limit), and return its last
    answer."""
    end = math.inf if timeout is None else time.monotonic() + timeout
    pause = _FIRST_PAUSE
    while not ended():
        left = end - time.monotonic()
        if left <= 0:
            return False
        time.sleep(min(pause, left))
        pause = min(2 * pause, _LONGEST_PAUSE)
    return True
