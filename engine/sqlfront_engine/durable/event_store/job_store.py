"""The store of all durable jobs: a directory or a prefix of an object storage.

>>> import tempfile
>>> from sqlfront_engine.testing import FakeClock
>>> from sqlfront_engine.durable.event_store.events import CleanupDone
>>> store = JobStore.open(tempfile.mkdtemp(), clock=FakeClock())
>>> ownership = store.own(Owner(cluster="c1", member="m1"))
>>> with store.take_epoch("job-1", cluster="c1", member="m1").start(incarnation="i1") as log:
...     log.append_durably(CleanupDone())
2
>>> ownership.release()
>>> [record.event().__class__.__name__ for record in store.read("job-1").records]
['EpochStarted', 'CleanupDone']
"""

import re
from collections.abc import Sequence
from typing import Final

import msgspec

from sqlfront_engine.durable.event_store.event_log import EventLog, Run, start_thread
from sqlfront_engine.durable.event_store.events import EpochStarted, FinishedTask, TaskId
from sqlfront_engine.durable.event_store.names import claim_name
from sqlfront_engine.durable.event_store.ownership import (
    FileLock,
    Lease,
    LeaseView,
    Owner,
    Ownership,
    lease_owner,
    lock_owner,
    refused,
)
from sqlfront_engine.durable.event_store.replay import Replay, read_log
from sqlfront_engine.durable.event_store.settings import LogSettings
from sqlfront_engine.scheduler import Clock
from sqlfront_engine.storage.addresses import open_folder
from sqlfront_engine.storage.folders import Folder
from sqlfront_engine.storage.local_folder import LocalFolder
from sqlfront_values.errors import OperationalError, ProgrammingError

_JOBS: Final = "jobs"
_JOB: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")


class JobStore:
    """A store of the logs of durable jobs. Any process may read; a cluster may write after :meth:`own`.
    Methods raise OperationalError if the store can't be read or written. ``run(function)`` has the function
    called soon on another thread; an :class:`EventLog` of the store writes records there."""

    def __init__(self, root: Folder, clock: Clock, run: Run = start_thread) -> None:
        self._root = root
        self._clock = clock
        self._run = run
        self._leases = LeaseView(root, clock)

    @classmethod
    def open(cls, address: str, *, clock: Clock) -> "JobStore":
        """Return the store at a path or URL; nothing is created yet. Raises OperationalError for a URL whose
        storage can't create an object only if it is absent, or whose library is not installed."""
        return cls(open_folder(address), clock)

    @property
    def address(self) -> str:
        """The path or URL of the store."""
        return self._root.address

    @property
    def is_remote(self) -> bool:
        """Whether the store is on an object storage, where each look at the store is a request over the
        network."""
        return not isinstance(self._root, LocalFolder)

    # ---- ownership

    def own(self, owner: Owner) -> Ownership:
        """Make a cluster the owner of the store, and return the ownership, which the caller releases. Raises
        OperationalError if another cluster, or another process of the same cluster, owns the store, and for
        an object storage that can't create an object only if it is absent. On an object storage the call may
        take :data:`~sqlfront_engine.durable.event_store.ownership.LEASE` seconds."""
        try:
            if isinstance(self._root, LocalFolder):
                return FileLock(self._root, owner)
            lease = Lease(self._leases, owner)
            lease.keep()
            return lease
        except OSError as error:
            raise self._unusable(error) from error

    def owner(self) -> Owner | None:
        """Return the owner of the store, None if the store has no owner. On an object storage an owner whose
        process was killed still counts as the owner for a while: until this object has seen the owner's lease
        unchanged for :data:`~sqlfront_engine.durable.event_store.ownership.LEASE` seconds, or finds that the
        last renewal was three times as long ago."""
        try:
            return lock_owner(self._root) if isinstance(self._root, LocalFolder) else self._leases.owner()
        except OSError as error:
            raise self._unusable(error) from error

    def _leaseholder(self) -> Owner | None:
        """Return the owner that the store names, even if the owner's lease has run out."""
        if isinstance(self._root, LocalFolder):
            return self.owner()
        try:
            return lease_owner(self._root)
        except OSError as error:
            raise self._unusable(error) from error

    # ---- jobs

    def jobs(self) -> list[str]:
        """Return the ids of the jobs in the store, sorted."""
        try:
            return [name for name in self._root.folder(_JOBS).names() if _JOB.fullmatch(name)]
        except OSError as error:
            raise self._unusable(error) from error

    def read(self, job: str) -> Replay:
        """Return the log of a job; a replay without records if there is no such job."""
        try:
            return read_log(self._folder(job))
        except OSError as error:
            raise self._unusable(error) from error

    def take_epoch(self, job: str, *, cluster: str, member: str) -> "EpochClaim":
        """Claim the next epoch of a job for a member of the owning cluster, and read the records that count.
        Raises OperationalError, and claims nothing, if the cluster doesn't own the store, if another member
        claims the same epoch first, or if the log has an event that only another version of sqlfront
        knows."""
        owner = self._leaseholder()
        if owner is None or owner.cluster != cluster:
            raise refused(self.address, owner)
        folder = self._folder(job)
        replay = self.read(job)
        for record in replay.records:
            record.event()
        epoch = replay.claimed + 1
        try:
            folder.create(claim_name(epoch), msgspec.json.encode({"epoch": epoch, "member": member}))
            # The member that created these folders may have died before it synced them.
            self._root.make_names_durable()
            self._root.folder(_JOBS).make_names_durable()
        except FileExistsError:
            raise OperationalError(f"another member has claimed epoch {epoch} of job {job}") from None
        except OSError as error:
            raise self._unusable(error) from error
        return EpochClaim(folder, self._clock, epoch, member, self.read(job), self._run)

    def remove(self, job: str) -> None:
        """Remove a job with its log; do nothing if there is no such job."""
        try:
            self._folder(job).remove()
        except OSError as error:
            raise self._unusable(error) from error

    def _folder(self, job: str) -> Folder:
        if not _JOB.fullmatch(job):
            raise ProgrammingError(f"{job!r} is not the id of a job")
        return self._root.folder(_JOBS).folder(job)

    def _unusable(self, error: OSError) -> OperationalError:
        return OperationalError(f"the job store {self.address} can't be used: {error}")


class EpochClaim:
    """An epoch that a member has claimed, and in which no record is written yet. ``replay`` was read after
    the claim, so that the replay has each record that a former coordinator acknowledged."""

    def __init__(
        self, folder: Folder, clock: Clock, epoch: int, member: str, replay: Replay, run: Run
    ) -> None:
        self.epoch = epoch
        self.member = member
        self.replay = replay
        self._folder = folder
        self._clock = clock
        self._run = run

    def start(
        self,
        *,
        incarnation: str,
        finished: Sequence[FinishedTask] = (),
        reset: Sequence[TaskId] = (),
        settings: LogSettings = LogSettings(),  # noqa: B008 - frozen
    ) -> EventLog:
        """Begin the epoch, and return its log. The log's first record is durable then; it accepts the
        records of the replay, and names the tasks that count as ``finished`` and those to ``reset``.
        ``incarnation`` is the id of the member's process. The records of the replay are synced before, since
        their writer may have died between write and sync. Raises OperationalError if the log can't be
        written, or if a later epoch was claimed."""
        self._make_replay_durable()
        log = EventLog(
            self._folder,
            epoch=self.epoch,
            first=self.replay.sequence + 1,
            clock=self._clock,
            settings=settings,
            run=self._run,
        )
        log.append_durably(
            EpochStarted(
                epoch=self.epoch,
                member=self.member,
                incarnation=incarnation,
                accepted=self.replay.end,
                finished=(*finished,),
                reset=(*reset,),
            )
        )
        return log

    def _make_replay_durable(self) -> None:
        if self.replay.end is None:
            return
        try:
            self._folder.make_durable(self.replay.end.file, *self.replay.last_group())
        except OSError as error:
            raise OperationalError(
                f"the job log in {self._folder.address} can't be made durable: {error}"
            ) from error
