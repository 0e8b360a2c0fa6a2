"""Stores and logs for tests, and a disk that crashes or fails at a chosen call."""

import os
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlfront_engine.durable.event_store.event_log import EventLog
from sqlfront_engine.durable.event_store.events import TaskId, TasksReset
from sqlfront_engine.durable.event_store.job_store import JobStore
from sqlfront_engine.durable.event_store.ownership import Owner
from sqlfront_engine.durable.event_store.replay import Replay
from sqlfront_engine.durable.event_store.settings import LogSettings
from sqlfront_engine.storage.folders import Folder
from sqlfront_engine.storage.local_folder import LocalFolder
from sqlfront_engine.system_calls import SystemCalls
from sqlfront_engine.testing import FakeClock

JOB = "job-1"
CLUSTER = "cluster-1"
SECTOR = 64


def note(text: str) -> TasksReset:
    """Return an event that a test can tell from other events by its text."""
    return TasksReset(tasks=(TaskId(stage=0, task=0),), reason=text)


def notes(replay: Replay) -> list[str]:
    """Return the texts of the notes in a log, in order."""
    events = [record.event() for record in replay.records]
    return [event.reason for event in events if isinstance(event, TasksReset)]


def local_store(path: Path, calls: SystemCalls | None = None) -> JobStore:
    return JobStore(LocalFolder(str(path), calls), FakeClock())


@contextmanager
def owned(store: JobStore) -> Iterator[JobStore]:
    """A context in which the cluster of the tests owns the store."""
    ownership = store.own(Owner(CLUSTER, "member-1"))
    try:
        yield store
    finally:
        ownership.release()


def begin(store: JobStore, settings: LogSettings | None = None, job: str = JOB) -> EventLog:
    """Claim the job's next epoch, and return its log."""
    claim = store.take_epoch(job, cluster=CLUSTER, member="member-1")
    return claim.start(incarnation="incarnation-1", settings=settings or LogSettings())


def plain_log(
    folder: Folder, clock: FakeClock, settings: LogSettings | None = None, first: int = 1
) -> EventLog:
    """Return a log without the first record of an epoch, whose timers write on the thread that advances the
    clock."""
    return EventLog(
        folder, epoch=1, first=first, clock=clock, settings=settings or LogSettings(), run=lambda call: call()
    )


def failing(name: str, code: int, *, times: int, after: int = 0) -> Callable[[int, str], None]:
    """Return a disturbance of system calls: of the calls with this name, the first ``after`` succeed, and the
    next ``times`` fail with the error ``code`` (an errno)."""
    seen = 0

    def disturb(number: int, called: str) -> None:
        nonlocal seen
        if called == name:
            seen += 1
            if after < seen <= after + times:
                raise OSError(code, os.strerror(code))

    return disturb


class Crash(BaseException):
    """The simulated end of a process: the test that raises it goes on."""


class Disk(SystemCalls):
    """The system calls on a directory, which are counted. Before each call, ``disturb`` is called with the
    number and the name of the call, and may raise.

    :meth:`lose_unsynced` does what a power failure does: bytes and entries that no sync had covered are lost,
    or are not, sector by sector; what is left is on the disk from then on. A sync that fails drops what was
    to be written, as Linux does: the next sync succeeds, and makes durable only what was written since."""

    def __init__(self, disturb: Callable[[int, str], None] = lambda number, name: None) -> None:
        self.disturb = disturb
        self.calls: list[str] = []
        self._paths: dict[int, str] = {}
        self._synced: dict[str, int] = {}
        # The place from which on a file was written since its last sync.
        self._dirty: dict[str, int] = {}
        self._listed: set[str] = set()

    def _begin(self, name: str) -> None:
        self.calls.append(name)
        self.disturb(len(self.calls), name)

    def create(self, path: str) -> int:
        self._begin("create")
        descriptor = super().create(path)
        self._paths[descriptor] = path
        self._synced[path] = 0
        self._listed.discard(path)
        return descriptor

    def open_again(self, path: str) -> int:
        self._begin("open_again")
        descriptor = super().open_again(path)
        self._paths[descriptor] = path
        return descriptor

    def write(self, descriptor: int, data: memoryview) -> int:
        self._begin("write")
        path = self._paths[descriptor]
        place = min(os.lseek(descriptor, 0, os.SEEK_CUR), os.fstat(descriptor).st_size)
        self._dirty[path] = min(place, self._dirty.get(path, place))
        return super().write(descriptor, data)

    def sync(self, descriptor: int) -> None:
        path = self._paths[descriptor]
        try:
            self._begin("sync")
        except OSError:
            self._dirty.pop(path, None)
            raise
        super().sync(descriptor)
        size, synced = os.fstat(descriptor).st_size, self._synced.get(path, 0)
        if self._dirty.pop(path, size) <= synced:  # else bytes before were dropped
            self._synced[path] = size

    def rename(self, path: str, new_path: str) -> None:
        self._begin("rename")
        super().rename(path, new_path)
        self._synced[new_path] = self._synced.pop(path)
        self._listed.discard(new_path)

    def sync_folder(self, path: str) -> None:
        self._begin("sync_folder")
        super().sync_folder(path)
        self._listed.update(file for file in self._synced if os.path.dirname(file) == path)

    def lose_unsynced(self, seed: int) -> None:
        choose = random.Random(seed)
        self._dirty.clear()
        for path, synced in [*self._synced.items()]:
            if not os.path.exists(path) or (path not in self._listed and choose.random() < 0.5):
                del self._synced[path]
                Path(path).unlink(missing_ok=True)
                continue
            size = choose.randint(synced, os.path.getsize(path))
            os.truncate(path, size)
            self._synced[path] = size
            self._listed.add(path)
            with open(path, "r+b") as file:
                for offset in range(synced, size, SECTOR):
                    if choose.random() < 0.5:
                        file.seek(offset)
                        length = min(SECTOR, size - offset)
                        file.write(choose.choice([bytes(length), choose.randbytes(length)]))
