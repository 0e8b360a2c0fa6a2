"""Stores on an object storage: one object for each commit, created only if absent."""

import sys

import pytest

from sqlfront_engine.durable.event_store.job_store import JobStore
from sqlfront_engine.durable.event_store.ownership import Owner
from sqlfront_engine.durable.event_store.replay import Reason
from sqlfront_engine.durable.event_store.settings import LogState
from sqlfront_engine.storage.object_folder import ObjectFolder
from sqlfront_engine.testing import FakeClock
from sqlfront_values.errors import OperationalError
from tests.engine.durable.logs import JOB, begin, note, notes, owned
from tests.engine.durable.objects import MemoryStorage, memory_folder


@pytest.fixture
def folder() -> ObjectFolder:
    return memory_folder()


@pytest.fixture
def store(folder: ObjectFolder) -> JobStore:
    return JobStore(folder, FakeClock())


def test_each_commit_is_an_object(store: JobStore, folder: ObjectFolder) -> None:
    with owned(store), begin(store) as log:
        log.append(note("a"))
        log.append_durably(note("b"))
        log.append_durably(note("c"))

    assert notes(store.read(JOB)) == ["a", "b", "c"]
    assert folder.folder("jobs").folder(JOB).names() == [
        "epoch.000001",
        "events.000001.000000",
        "events.000001.000001",
        "events.000001.000002",
    ]


def test_epochs_follow_each_other(store: JobStore) -> None:
    with owned(store):
        former = begin(store)
        former.append_durably(note("a"))
        with begin(store) as log:
            log.append_durably(note("b"))
        with pytest.raises(OperationalError, match="another coordinator has claimed epoch 2"):
            former.append_durably(note("late"))

    replay = store.read(JOB)
    assert notes(replay) == ["a", "b"]
    assert [left.reason for left in replay.left_out] == [Reason.FENCED]
    assert store.jobs() == [JOB]


def test_a_job_is_removed(store: JobStore) -> None:
    with owned(store):
        begin(store).close()
        store.remove(JOB)
        store.remove(JOB)

    assert store.jobs() == []


class Failing(MemoryStorage):
    """A storage that fails some writes: before it writes, or after."""

    writes: bool
    failures = 0

    def pipe_file(self, path: str, value: bytes, mode: str = "overwrite") -> None:
        if "events" in path and self.failures:
            self.failures -= 1
            if self.writes:
                super().pipe_file(path, value, mode=mode)
            raise RuntimeError("connection reset")
        super().pipe_file(path, value, mode=mode)


@pytest.mark.parametrize("writes", [True, False])
def test_a_write_without_an_answer_is_repeated_under_another_name(writes: bool) -> None:
    storage = Failing()
    storage.writes = writes
    store = JobStore(memory_folder(storage), FakeClock())
    with owned(store), begin(store) as log:
        storage.failures = 1
        log.append_durably(note("a"))
        log.append_durably(note("b"))
        assert log.statistics().failures == 1

    replay = store.read(JOB)
    assert notes(replay) == ["a", "b"]
    assert [left.reason for left in replay.left_out] == [Reason.REPLACED] * writes


def test_a_storage_that_cannot_be_reached_fails_the_log() -> None:
    storage = Failing()
    storage.writes = False
    store = JobStore(memory_folder(storage), FakeClock())
    with owned(store), begin(store) as log:
        storage.failures = 9
        with pytest.raises(OperationalError, match=r"can't be written: .*RuntimeError: connection reset"):
            log.append_durably(note("a"))
        assert log.state is LogState.FAILED


def test_a_second_cluster_is_refused(store: JobStore, folder: ObjectFolder) -> None:
    with owned(store):
        with pytest.raises(OperationalError, match="belongs to cluster cluster-1"):
            store.take_epoch(JOB, cluster="cluster-2", member="m")
    assert store.owner() is None


class Replacing(MemoryStorage):
    """A storage that ignores the condition."""

    def pipe_file(self, path: str, value: bytes, mode: str = "overwrite") -> None:
        super().pipe_file(path, value)


def test_a_storage_that_replaces_objects_is_refused() -> None:
    store = JobStore(memory_folder(Replacing()), FakeClock())

    with pytest.raises(OperationalError, match="replaces an object that was to be created only if absent"):
        store.own(Owner("c", "m"))
    assert store.jobs() == []


@pytest.mark.parametrize("url", ["memory://bucket/store", "ftp://host/store", "hdfs://host/store"])
def test_protocols_without_exclusive_creation_are_refused(url: str) -> None:
    with pytest.raises(OperationalError, match=f"a job store can't be at {url}: "):
        JobStore.open(url, clock=FakeClock())


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "s3fs", None)

    with pytest.raises(OperationalError, match="a job store at s3://bucket/store needs another library"):
        JobStore.open("s3://bucket/store", clock=FakeClock())
