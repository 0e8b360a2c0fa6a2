"""The durable jobs of a store, read from their logs."""

from collections.abc import Iterable, Iterator
from typing import TypeAlias

import msgspec

from sqlfront.jobs.job_plan import schema_of
from sqlfront.jobs.job_status import DurableJobStatus, as_error, unreadable
from sqlfront.jobs.spooled_rows import SpooledRows
from sqlfront_engine.durable.event_store.events import JobEnd, JobSubmitted
from sqlfront_engine.durable.event_store.job_store import JobStore
from sqlfront_engine.durable.event_store.replay import Replay
from sqlfront_engine.durable.job_state import JobState
from sqlfront_engine.storage.requests import at_once
from sqlfront_values.errors import Error, OperationalError


class StoredJob(msgspec.Struct, frozen=True):
    """A job that was accepted, as the job's log describes it. ``submitted``: the event that stored the job;
    ``replay``: all events of the log that count; ``state``: the job's state after these events."""

    submitted: JobSubmitted
    state: JobState
    replay: Replay

    @property
    def id(self) -> str:
        """The job's id."""
        return self.submitted.job

    @property
    def rows(self) -> SpooledRows:
        """The rows of the finished job. Raises the error of a failed job; OperationalError for a cancelled
        job, and for a job that has put its rows into a target."""
        name, ended = self.submitted.name, self.state.ended
        assert ended is not None
        if ended.error is not None:
            raise as_error(ended.error)
        if ended.state is JobEnd.CANCELLED:
            raise OperationalError(f"the job `{name}` was cancelled")
        if ended.result is None:
            raise OperationalError(f"the job `{name}` has put its rows into its target")
        return SpooledRows(f"job.`{name}`", schema_of(self.submitted), ended.result.files)


#: What a store has of each job, by id: the job, the error of reading the job's log, or None for a job that
#: was never accepted or is removed.
_Found: TypeAlias = list[tuple[str, StoredJob | Error | None]]


class StoredJobs:
    """The reader of a store's jobs. Safe to use from several threads."""

    def __init__(self, store: JobStore) -> None:
        self._store = store
        # The jobs that have ended, whose logs never change again, by id.
        self._ended: dict[str, StoredJob] = {}

    def __iter__(self) -> Iterator[StoredJob]:
        """Yield the jobs whose logs can be read, in the order of creation."""
        yield from _in_order(job for _, job in self._found() if isinstance(job, StoredJob))

    def _found(self) -> _Found:
        """Return what the store has of each job that was not replaced by another one, by id."""
        found = self._read_all()
        replaced = _replaced(found)
        return [(job, each) for job, each in found if job not in replaced]

    def _read_all(self) -> _Found:
        """Return what the store has of each job, by id. Jobs that are removed meanwhile are left out, and one
        that replaces a removed job is there."""
        jobs = self._store.jobs()
        while True:
            found = [*(at_once(self.find, jobs) if self._store.is_remote else map(self.find, jobs))]
            if None not in found or (now := self._store.jobs()) == jobs:
                return [*zip(jobs, found, strict=True)]
            jobs = now

    def unreadable(self) -> list[DurableJobStatus]:
        """Return the status of each job whose log can't be read."""
        return [unreadable(job, error) for job, error in self._found() if isinstance(error, Error)]

    def leftovers(self) -> list[str]:
        """Return the ids of jobs that have left files in the store, since a process died while it stored the
        job, so that the job was never accepted; or while it removed a job that another one had replaced."""
        found = self._read_all()
        replaced = _replaced(found)
        return [job for job, each in found if each is None or job in replaced]

    def find(self, job: str) -> StoredJob | Error | None:
        """Return the job with the id ``job``; or, if the job's log can't be read, the error of the reading;
        None if the store has accepted no such job."""
        known = self._ended.get(job)
        if known is not None:
            return known
        try:
            replay = self._store.read(job)
            state = JobState.of(replay)
        except Error as error:
            return error
        if state.submitted is not None:
            stored = StoredJob(state.submitted, state, replay)
            if state.is_clean:
                self._ended[job] = stored
            return stored
        if replay.damage is not None:
            return OperationalError(f"the log of the job {job} is damaged: {replay.damage.problem}")
        return None

    def read(self, job: str) -> StoredJob:
        """Return the job with the id. Raises OperationalError if there is no such job, or its log can't be
        read."""
        found = self.find(job)
        if found is None:
            raise OperationalError(f"there is no job {job} in {self._store.address}")
        if isinstance(found, Error):
            raise found
        return found

    def forget(self, job: str) -> None:
        """Note that the job with the id ``job`` was removed from the store, and discard the copy that this
        reader has kept of the job."""
        self._ended.pop(job, None)


def _replaced(found: _Found) -> set[str | None]:
    return {job.submitted.replaces for _, job in found if isinstance(job, StoredJob)}


def _in_order(jobs: Iterable[StoredJob]) -> list[StoredJob]:
    return sorted(jobs, key=lambda job: (job.submitted.now, job.id))
