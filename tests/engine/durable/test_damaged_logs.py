"""Logs that a crash or a bad disk left: torn, damaged, and without what was never synced."""

import errno
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sqlfront_engine.durable.event_store.event_log import EventLog
from sqlfront_engine.durable.event_store.job_store import JobStore
from sqlfront_engine.durable.event_store.log_lines import log_lines
from sqlfront_engine.durable.event_store.names import JobFiles
from sqlfront_engine.durable.event_store.records import Record
from sqlfront_engine.durable.event_store.replay import Reason, Replay
from sqlfront_engine.durable.event_store.settings import LogSettings
from sqlfront_values.errors import OperationalError
from tests.engine.durable.logs import (
    CLUSTER,
    JOB,
    Crash,
    Disk,
    begin,
    failing,
    local_store,
    note,
    notes,
    owned,
)


def files_of(store: JobStore) -> list[Path]:
    """The files with records, in the order of the log."""
    folder = Path(store.address) / "jobs" / JOB
    listing = JobFiles.of(path.name for path in folder.iterdir())
    return [folder / name for epoch in sorted(listing.events) for name in listing.events[epoch]]


def write_log(store: JobStore) -> Replay:
    """Two epochs; the first has two files; the last group has two records."""
    with owned(store):
        with begin(store) as log:
            log.append_durably(note("a"))
            log.start_file()
            log.append_durably(note("b"))
        with begin(store) as log:
            log.append_durably(note("c"))
            log.append(note("d"))
            log.append(note("e"))
    replay = store.read(JOB)
    assert replay.damage is None
    assert not replay.left_out
    return replay


@pytest.fixture
def store(tmp_path: Path) -> JobStore:
    return local_store(tmp_path / "store")


def test_torn_log_every_byte(store: JobStore) -> None:
    whole = write_log(store).records
    newest = files_of(store)[-1]
    data = newest.read_bytes()
    before = len(whole) - 4
    ends = [sum(len(record.frame) for record in whole[before : before + count]) for count in range(5)]

    for cut in range(len(data)):
        newest.write_bytes(data[:cut])
        replay = store.read(JOB)
        last = max(count for count, end in enumerate(ends) if end <= cut)
        assert replay.records == whole[: before + last]
        assert replay.damage is None
        assert sum(left.size for left in replay.left_out) == cut - ends[last]
        assert {left.reason for left in replay.left_out} <= {Reason.TORN}


@pytest.mark.parametrize("cut", [0, 1, 40, 300, 500, 700, 800])
def test_a_torn_log_is_gone_on_with(store: JobStore, cut: int) -> None:
    write_log(store)
    newest = files_of(store)[-1]
    newest.write_bytes(newest.read_bytes()[:cut])
    kept = notes(store.read(JOB))

    with owned(store), begin(store) as log:
        log.append_durably(note("after"))

    assert notes(store.read(JOB)) == [*kept, "after"]
    assert store.read(JOB).damage is None


def check_flip(store: JobStore, whole: tuple[Record, ...], file: Path, place: int, bit: int) -> None:
    """Flip one bit of the log: all records before it are kept, none behind; the reader says so, as damage
    unless the bit is in the last group."""
    data = file.read_bytes()
    file.write_bytes(data[:place] + bytes([data[place] ^ 1 << bit]) + data[place + 1 :])
    replay = store.read(JOB)
    file.write_bytes(data)

    position = place + sum(path.stat().st_size for path in files_of(store)[: files_of(store).index(file)])
    hit, end = 0, len(whole[0].frame)
    while end <= position:
        hit += 1
        end += len(whole[hit].frame)
    assert replay.records == whole[:hit], (file.name, place, bit)
    if whole[hit].sequence > whole[-1].durable:
        assert [left.reason for left in replay.left_out] == [Reason.TORN]
        assert replay.damage is None
    else:
        assert replay.damage is not None, (file.name, place, bit)
        assert replay.damage.file == file.name


def test_bit_flip_log(store: JobStore) -> None:
    whole = write_log(store).records
    for file in files_of(store):
        for place in range(file.stat().st_size):
            check_flip(store, whole, file, place, place % 8)


@pytest.mark.parametrize(
    "flips", [40, pytest.param(5_000, marks=pytest.mark.soak)], ids=["sample", "all_night"]
)
def test_bit_flip_log_of_many_records(store: JobStore, flips: int) -> None:
    choose = random.Random(flips)
    with owned(store):
        for epoch in range(3):
            with begin(store, LogSettings(file_size=4000)) as log:
                for number in range(40):
                    log.append(note(f"{epoch}-{number}" + "x" * choose.randint(0, 60)))
                    if choose.random() < 0.3:
                        log.commit()
    whole = store.read(JOB).records
    assert len(whole) == 3 * 41
    files = files_of(store)
    assert len(files) > 5

    for _ in range(flips):
        file = choose.choice(files)
        check_flip(store, whole, file, choose.randrange(file.stat().st_size), choose.randrange(8))


def test_a_missing_file_is_damage(store: JobStore) -> None:
    write_log(store)
    files_of(store)[1].unlink()
    replay = store.read(JOB)

    assert notes(replay) == ["a"]
    assert replay.damage is not None
    assert replay.damage.problem == "the records that follow are missing"


def test_a_missing_first_file_is_damage(store: JobStore) -> None:
    write_log(store)
    files_of(store)[0].unlink()
    replay = store.read(JOB)

    assert replay.records == ()
    assert replay.damage is not None
    assert replay.damage.problem == "the records that follow are missing"


def test_an_epoch_written_anew_is_damage(store: JobStore, tmp_path: Path) -> None:
    """Each record is whole, but they are not those that the next coordinator accepted."""
    write_log(store)
    other = local_store(tmp_path / "other")
    with owned(other), begin(other) as log:
        log.append_durably(note("x"))
        log.start_file()
        log.append_durably(note("y"))
    for mine, theirs in zip(files_of(store), files_of(other), strict=False):
        mine.write_bytes(theirs.read_bytes())
    replay = store.read(JOB)

    assert replay.records == ()
    assert replay.damage is not None
    assert replay.damage.problem == "the records differ from those that were accepted"


def test_a_damaged_log_is_gone_on_with_behind_its_prefix(store: JobStore) -> None:
    write_log(store)
    file = files_of(store)[1]
    file.write_bytes(b"?" + file.read_bytes()[1:])

    with owned(store), begin(store) as log:
        log.append_durably(note("after"))

    replay = store.read(JOB)
    assert notes(replay) == ["a", "after"]
    assert replay.damage is None


def test_the_lines_of_a_log_say_what_does_not_count(store: JobStore) -> None:
    write_log(store)
    newest = files_of(store)[-1]
    newest.write_bytes(newest.read_bytes()[:-1])
    torn = list(log_lines(store.read(JOB)))
    newest.write_bytes(b"?" + newest.read_bytes()[1:])
    damaged = list(log_lines(store.read(JOB)))

    assert torn[1].split(maxsplit=3)[:3] == ["2", "1", "tasks_reset"]
    assert torn[-1].startswith("torn: ")
    assert damaged[-1].startswith("DAMAGED: byte 0 of events.000002.000000: the record is damaged")


# ---- power failures


def write_until_crash(disk: Disk, path: Path, acknowledged: list[str]) -> None:
    """Append notes 0, 1, ...; some nobody waits for; files are small."""
    store = local_store(path, disk)
    with owned(store):
        log = begin(store, LogSettings(file_size=600))
        for number in range(12):
            if number % 3:
                log.append(note(str(number)))
            else:
                log.append_durably(note(str(number)))
                acknowledged[:] = [str(one) for one in range(number + 1)]
        log.close()


def crashes(path: Path) -> Iterator[int]:
    """The numbers of the calls at which the process may end."""
    disk = Disk()
    write_until_crash(disk, path / "whole", [])
    yield from range(1, len(disk.calls) + 1)


def check_power_failure(path: Path, call: int, seed: int) -> None:
    def end(number: int, name: str) -> None:
        if number == call:
            raise Crash

    disk, acknowledged = Disk(end), list[str]()
    with pytest.raises(Crash):
        write_until_crash(disk, path, acknowledged)
    disk.lose_unsynced(seed)
    replay = local_store(path).read(JOB)

    found = notes(replay)
    assert replay.damage is None, (call, seed)
    assert found == [str(number) for number in range(len(found))], (call, seed)
    assert len(found) >= len(acknowledged), (call, seed)


def test_unflushed_lost(tmp_path: Path) -> None:
    for call in crashes(tmp_path):
        for seed in range(2):
            check_power_failure(tmp_path / f"{call}-{seed}", call, seed)


@pytest.mark.soak
def test_unflushed_lost_in_many_ways(tmp_path: Path) -> None:
    for call in crashes(tmp_path):
        for seed in range(40):
            check_power_failure(tmp_path / f"{call}-{seed}", call, seed)


# ---- power failures after a takeover


def crash_at(name: str) -> Callable[[int, str], None]:
    """A disturbance of calls: the process ends at the first call of this name."""

    def disturb(number: int, called: str) -> None:
        if called == name:
            raise Crash

    return disturb


def write_unsynced(store: JobStore, disk: Disk, disturb: Callable[[int, str], None]) -> EventLog:
    """Append two records, the second of which is written and, by the disturbance, never synced."""
    log = begin(store)
    log.append_durably(note("a"))
    disk.disturb = disturb
    with pytest.raises((Crash, OperationalError)):
        log.append_durably(note("b" * 300))
    disk.disturb = lambda number, name: None
    return log


@pytest.mark.parametrize(
    "disturb",
    [lambda: crash_at("sync"), lambda: failing("sync", errno.EIO, times=9)],
    ids=["the process died before the sync", "the sync failed"],
)
def test_what_a_successor_accepts_is_durable(
    tmp_path: Path, disturb: Callable[[], Callable[[int, str], None]]
) -> None:
    """The successor reads a record that is in memory only, and appends others behind it."""
    for seed in range(10):
        path = tmp_path / str(seed)
        store = local_store(path, disk := Disk())
        with owned(store):
            write_unsynced(store, disk, disturb())
            log = begin(store)
            accepted = notes(store.read(JOB))
            log.append_durably(note("c"))
        assert accepted == ["a", "b" * 300]

        disk.lose_unsynced(seed)

        replay = local_store(path).read(JOB)
        assert replay.damage is None, seed
        assert notes(replay) == [*accepted, "c"], seed


def test_a_successor_does_not_begin_if_what_it_accepts_cannot_be_made_durable(tmp_path: Path) -> None:
    store = local_store(tmp_path, disk := Disk())
    with owned(store):
        write_unsynced(store, disk, crash_at("sync"))
        claim = store.take_epoch(JOB, cluster=CLUSTER, member="m2")
        disk.disturb = failing("sync", errno.EIO, times=1)
        with pytest.raises(OperationalError, match=r"can't be made durable: .*Input/output error"):
            claim.start(incarnation="i")

    assert [record.epoch for record in store.read(JOB).records] == [1, 1, 1]


def test_a_successor_writes_only_the_last_group_once_more(tmp_path: Path) -> None:
    """The groups before were durable before it was written; their sectors are left alone."""
    store = local_store(tmp_path)
    with owned(store):
        with begin(store) as log:
            log.append_durably(note("a"))
            log.append(note("b"))
            log.append_durably(note("c"))
    replay = store.read(JOB)
    offset, data = replay.last_group()

    assert data == b"".join(record.frame for record in replay.records[-2:])
    assert files_of(store)[0].read_bytes()[offset:] == data
    assert local_store(tmp_path / "empty").read(JOB).last_group() == (0, b"")


def test_a_successor_makes_the_folders_durable_that_another_member_created(tmp_path: Path) -> None:
    """The other one died between the creation of the folders and their sync."""
    synced: list[str] = []

    class Noting(Disk):
        def sync_folder(self, path: str) -> None:
            super().sync_folder(path)
            synced.append(path)

    store = local_store(tmp_path / "store", Noting())
    jobs = tmp_path / "store" / "jobs"
    (jobs / JOB).mkdir(parents=True)
    with owned(store):
        begin(store)

    assert {str(jobs.parent), str(jobs), str(jobs / JOB)} <= {*synced}
