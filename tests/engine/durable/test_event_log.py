"""The writing of a log: groups, timers, files, and failures of the disk."""

import errno
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from sqlfront_engine.durable.event_store.event_log import EventLog
from sqlfront_engine.durable.event_store.events import CleanupDone
from sqlfront_engine.durable.event_store.replay import Reason
from sqlfront_engine.durable.event_store.settings import FailurePolicy, LogSettings, LogState
from sqlfront_engine.storage.local_folder import LocalFolder
from sqlfront_engine.testing import FakeClock
from sqlfront_values.errors import DatabaseError, OperationalError
from tests.engine.durable.logs import (
    JOB,
    Crash,
    Disk,
    begin,
    failing,
    local_store,
    note,
    notes,
    owned,
    plain_log,
)
from tests.small_disks import small_disk

UNPROTECTED = LogSettings(policy=FailurePolicy.UNPROTECTED)


# ---- groups and timers


def test_a_durable_append_is_one_sync(tmp_path: Path) -> None:
    disk = Disk()
    log = plain_log(LocalFolder(str(tmp_path), disk), FakeClock())
    log.append_durably(note("a"))
    disk.calls.clear()

    assert log.append_durably(note("b")) == 2
    assert disk.calls == ["write", "sync"]


def test_records_that_nobody_waits_for_are_written_with_the_next_group(tmp_path: Path) -> None:
    disk = Disk()
    log = plain_log(LocalFolder(str(tmp_path), disk), FakeClock())
    log.append(note("a"))
    log.append(note("b"))
    assert disk.calls == []

    log.append_durably(note("c"))

    assert log.statistics().durable == 3
    assert log.statistics().commits == 1


def test_the_flush_interval_ends_the_wait_for_company(tmp_path: Path) -> None:
    clock = FakeClock()
    log = plain_log(LocalFolder(str(tmp_path)), clock)
    log.append(note("a"))
    clock.advance(0.9)
    log.append(note("b"))
    assert log.statistics().durable == 0

    clock.advance(0.11)

    assert log.statistics().durable == 2


def test_a_callback_is_called_within_the_group_window(tmp_path: Path) -> None:
    clock = FakeClock()
    log = plain_log(LocalFolder(str(tmp_path)), clock)
    told: list[tuple[str, DatabaseError | None]] = []
    log.append(note("earlier"))
    log.append(note("a"), lambda error: told.append(("a", error)))
    log.append(note("b"), lambda error: told.append(("b", error)))
    clock.advance(0.004)
    assert told == []

    clock.advance(0.0011)

    assert told == [("a", None), ("b", None)]
    assert log.statistics().commits == 1


def test_a_full_buffer_is_written_at_once(tmp_path: Path) -> None:
    log = plain_log(LocalFolder(str(tmp_path)), FakeClock(), LogSettings(buffer_size=1000))
    for _ in range(10):
        log.append(note("x" * 200))

    assert log.statistics().durable == 8
    assert log.statistics().commits == 2


def test_a_hundred_threads_share_syncs(tmp_path: Path) -> None:
    """Each thread waits until all others have appended: two groups are enough, whatever the order is."""
    all_appended = threading.Barrier(100)

    def wait(number: int, name: str) -> None:
        if name == "sync" and number == 4:
            all_appended.wait()

    disk = Disk(wait)
    log = plain_log(LocalFolder(str(tmp_path), disk), FakeClock())
    sequences: list[int] = []

    def append(one: int) -> None:
        sequence, _ = log._add(note(str(one)), None)
        if sequence > 1:
            all_appended.wait()
        log._make_durable(sequence)
        sequences.append(sequence)

    threads = [threading.Thread(target=append, args=(one,)) for one in range(100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(sequences) == list(range(1, 101))
    assert disk.calls.count("sync") <= 2


def test_the_appends_of_many_threads_are_all_there_once(tmp_path: Path) -> None:
    store = local_store(tmp_path)
    with owned(store), begin(store) as log:

        def append(one: int) -> None:
            for count in range(10):
                log.append_durably(note(f"{one}-{count}"))

        threads = [threading.Thread(target=append, args=(one,)) for one in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        commits = log.statistics().commits

    found = notes(store.read(JOB))
    assert sorted(found) == sorted(f"{one}-{count}" for one in range(20) for count in range(10))
    assert all(
        [one for one in found if one.startswith(f"{thread}-")] == [f"{thread}-{count}" for count in range(10)]
        for thread in range(20)
    )
    assert commits < 200


# ---- files


def test_a_new_file_begins_at_the_size_and_on_request(tmp_path: Path) -> None:
    store = local_store(tmp_path)
    with owned(store), begin(store, LogSettings(file_size=300)) as log:
        for _ in range(4):
            log.append_durably(note("x" * 100))
        assert log.statistics().files == 3
        log.start_file()
        log.append_durably(note("y"))
        assert log.statistics().files == 4

    assert len(notes(store.read(JOB))) == 5


def test_a_closed_log_refuses_appends(tmp_path: Path) -> None:
    log = plain_log(LocalFolder(str(tmp_path)), FakeClock())
    log.append(CleanupDone())
    log.close()
    log.close()

    assert log.statistics().durable == 1
    assert log.state is LogState.CLOSED
    with pytest.raises(OperationalError, match="the job log is closed"):
        log.append(CleanupDone())


def test_a_forked_child_does_not_write_to_its_parents_log(tmp_path: Path) -> None:
    log = plain_log(LocalFolder(str(tmp_path)), FakeClock())
    log._process += 1

    with pytest.raises(OperationalError, match="belongs to the process that forked this one"):
        log.append(CleanupDone())


# ---- failures


@pytest.mark.parametrize("code", [errno.EIO, errno.ENOSPC])
@pytest.mark.parametrize("name", ["create", "sync_folder", "write", "sync"])
def test_the_records_of_a_failed_file_go_into_a_new_one(tmp_path: Path, name: str, code: int) -> None:
    store = local_store(tmp_path, disk := Disk())
    with owned(store), begin(store) as log:
        log.append_durably(note("a"))
        log.start_file()
        disk.disturb = failing(name, code, times=1)
        log.append_durably(note("b"))
        log.append_durably(note("c"))
        assert log.state is LogState.PROTECTED
        assert log.statistics().failures == 1

    replay = store.read(JOB)
    assert notes(replay) == ["a", "b", "c"]
    assert replay.damage is None
    assert {left.reason for left in replay.left_out} <= {Reason.REPLACED}


def test_a_file_whose_sync_failed_is_never_written_to_again(tmp_path: Path) -> None:
    """The kernel may have dropped the pages, and report success the next time."""
    store = local_store(tmp_path, disk := Disk())
    with owned(store), begin(store) as log:
        log.append_durably(note("a"))
        disk.disturb = failing("sync", errno.EIO, times=1)
        log.append_durably(note("b"))
        newest = max((tmp_path / "jobs" / JOB).glob("events.*"))
        size = newest.stat().st_size
        first = min((tmp_path / "jobs" / JOB).glob("events.*"))
        first.write_bytes(first.read_bytes()[: -size // 2])  # the pages that the kernel dropped

    assert newest.name == "events.000001.000001"
    assert notes(store.read(JOB)) == ["a", "b"]
    assert store.read(JOB).damage is None


@pytest.mark.parametrize("name", ["write", "sync", "create"])
def test_append_error_fails_the_job(tmp_path: Path, name: str) -> None:
    store = local_store(tmp_path, disk := Disk())
    told: list[DatabaseError | None] = []
    with owned(store), begin(store) as log:
        log.append_durably(note("a"))
        log.start_file()
        disk.disturb = failing(name, errno.EIO, times=99)
        log.append(note("b"), told.append)
        with pytest.raises(OperationalError, match=r"can't be written: .*Input/output error"):
            log.append_durably(note("c"))
        assert log.state is LogState.FAILED
        assert told == [log.failure]
        disk.disturb = failing(name, errno.EIO, times=0)
        with pytest.raises(OperationalError, match="can't be written"):
            log.append(note("d"))

    assert notes(store.read(JOB))[:1] == ["a"]
    assert "d" not in notes(store.read(JOB))


def test_append_error_may_leave_the_job_unprotected(tmp_path: Path) -> None:
    store = local_store(tmp_path, disk := Disk())
    told: list[DatabaseError | None] = []
    with owned(store), begin(store, UNPROTECTED) as log:
        log.append_durably(note("a"))
        disk.disturb = failing("write", errno.EIO, times=2)
        log.append(note("b"), told.append)
        log.append_durably(note("c"))
        log.append(note("d"), told.append)
        assert log.state is LogState.UNPROTECTED
        assert "the job goes on unprotected" in str(log.failure)
        assert told == [None, None]

    assert notes(store.read(JOB)) == ["a"]


def test_disk_full_on_a_small_file_system(tmp_path: Path) -> None:
    with small_disk(tmp_path / "small", "64k") as folder:
        store = local_store(folder)
        acknowledged: list[str] = []

        def fill(log: EventLog) -> None:
            for number in range(1000):
                log.append_durably(note(f"{number}-" + "x" * 500))
                acknowledged.append(str(number))

        with owned(store), begin(store) as log:
            with pytest.raises(OperationalError, match="No space left on device"):
                fill(log)
        replay = store.read(JOB)

    assert [text.partition("-")[0] for text in notes(replay)][: len(acknowledged)] == acknowledged
    assert len(acknowledged) > 20
    assert replay.damage is None


LIMITED = """
import resource, sys
from pathlib import Path
from tests.engine.durable.logs import begin, local_store, note, owned
resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
store = local_store(Path(sys.argv[1]))
with owned(store), begin(store) as log:
    for number in range(40):
        log.append_durably(note(f"{number}-" + "x" * 500))
    print(log.statistics().files, log.statistics().failures)
"""


def test_disk_full_by_a_limit_of_the_file_size(tmp_path: Path) -> None:
    """The system writes a part of a record and refuses the rest: the next file has the record."""
    ran = subprocess.run(
        [sys.executable, "-c", LIMITED, str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    files, failures = map(int, ran.stdout.split())
    replay = local_store(tmp_path).read(JOB)

    assert files == failures + 1 > 3
    assert [text.partition("-")[0] for text in notes(replay)] == [str(number) for number in range(40)]
    assert {left.reason for left in replay.left_out} == {Reason.REPLACED}


@pytest.mark.parametrize("name", ["write", "sync"])
def test_an_interrupt_in_the_middle_of_a_write_loses_nothing(tmp_path: Path, name: str) -> None:
    store = local_store(tmp_path, disk := Disk())

    def interrupt(number: int, called: str) -> None:
        if called == name:
            disk.disturb = lambda number, name: None
            raise Crash

    with owned(store), begin(store) as log:
        log.append_durably(note("a"))
        disk.disturb = interrupt
        with pytest.raises(Crash):
            log.append_durably(note("b"))
        log.append_durably(note("c"))

    assert notes(store.read(JOB)) == ["a", "b", "c"]
    assert store.read(JOB).damage is None


def test_waiting_threads_get_the_error(tmp_path: Path) -> None:
    """A thread that waits for another one's write learns that it failed."""
    appended = threading.Event()

    def fail_when_joined(number: int, name: str) -> None:
        if name == "write":
            appended.wait(10)
            raise OSError(errno.EIO, "broken")

    log = plain_log(LocalFolder(str(tmp_path), Disk(fail_when_joined)), FakeClock())
    errors: list[str] = []

    def append(log: EventLog) -> None:
        try:
            log.append_durably(note("x"))
        except OperationalError as error:
            errors.append(str(error))

    writer = threading.Thread(target=append, args=(log,))
    writer.start()
    sequence = 0
    while sequence < 2:
        sequence = log.append(note("y"))
    waiting = threading.Thread(target=append, args=(log,))
    waiting.start()
    appended.set()
    writer.join()
    waiting.join()

    assert len(errors) == 2
    assert all("broken" in error for error in errors)
