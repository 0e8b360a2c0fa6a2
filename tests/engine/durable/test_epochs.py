"""Epochs: claims, what a successor accepts, and coordinators that come back."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from sqlfront_engine.durable.event_store.events import Attempt, EpochStarted, FinishedTask, TaskId
from sqlfront_engine.durable.event_store.job_store import JobStore
from sqlfront_engine.durable.event_store.records import frame_record
from sqlfront_engine.durable.event_store.replay import Reason
from sqlfront_engine.durable.event_store.settings import FailurePolicy, LogSettings, LogState
from sqlfront_engine.storage.local_folder import LocalFolder
from sqlfront_engine.testing import FakeClock
from sqlfront_values.errors import OperationalError, ProgrammingError
from tests.engine.durable.logs import CLUSTER, JOB, begin, local_store, note, notes, owned


@pytest.fixture
def store(tmp_path: Path) -> JobStore:
    return local_store(tmp_path / "store")


def test_an_epoch_accepts_all_records_of_the_one_before(store: JobStore) -> None:
    with owned(store):
        with begin(store) as log:
            log.append_durably(note("a"))
        first = store.read(JOB)
        with begin(store):
            pass

    second = store.read(JOB).records[-1].event()
    assert isinstance(second, EpochStarted)
    assert second.epoch == 2
    assert second.accepted == first.end


def test_an_epoch_says_what_it_takes_as_finished_and_what_runs_again(store: JobStore) -> None:
    task = TaskId(stage=0, task=1)
    finished = FinishedTask(task=task, attempt=Attempt(epoch=1, number=0))
    with owned(store):
        claim = store.take_epoch(JOB, cluster=CLUSTER, member="m")
        claim.start(incarnation="i", finished=[finished], reset=[task]).close()

    event = store.read(JOB).records[0].event()
    assert isinstance(event, EpochStarted)
    assert (event.finished, event.reset, event.member) == ((finished,), (task,), "m")


@pytest.mark.parametrize("policy", FailurePolicy)
def test_a_former_coordinator_is_told_that_it_is_one(store: JobStore, policy: FailurePolicy) -> None:
    with owned(store):
        former = begin(store, LogSettings(policy=policy))
        former.append_durably(note("a"))
        with begin(store) as log:
            with pytest.raises(OperationalError, match="another coordinator has claimed epoch 2"):
                former.append_durably(note("late"))
            assert former.state is LogState.FENCED
            log.append_durably(note("b"))
        former.close()

    replay = store.read(JOB)
    assert notes(replay) == ["a", "b"]
    assert [left.reason for left in replay.left_out] == [Reason.FENCED]


def test_late_appends_of_a_former_coordinator_do_not_count(store: JobStore) -> None:
    """Even of one that doesn't look for later epochs: in its old file, and in new files."""
    with owned(store):
        with begin(store) as log:
            log.append_durably(note("a"))
        with begin(store) as log:
            log.append_durably(note("b"))
    folder = Path(store.address) / "jobs" / JOB
    late = b'{"event":"tasks_reset","tasks":[],"reason":"late"}'
    for name, sequence in [("events.000001.000000", 3), ("events.000001.000001", 4)]:
        with open(folder / name, "ab") as file:
            file.write(frame_record(6, 1, late, epoch=1, sequence=sequence, durable=sequence - 1))

    replay = store.read(JOB)
    assert notes(replay) == ["a", "b"]
    assert replay.damage is None
    assert [left.file for left in replay.left_out] == ["events.000001.000000", "events.000001.000001"]


def test_each_acknowledged_record_is_read_by_the_successor(store: JobStore) -> None:
    """The former coordinator goes on appending while its successor claims and reads."""
    acknowledged: list[str] = []
    with owned(store):
        former = begin(store)

        def append() -> None:
            for number in range(100_000):
                try:
                    former.append_durably(note(str(number)))
                except OperationalError:
                    return
                acknowledged.append(str(number))

        thread = threading.Thread(target=append)
        thread.start()
        while len(acknowledged) < 20:
            pass
        claim = store.take_epoch(JOB, cluster=CLUSTER, member="m2")
        thread.join()

    found = notes(claim.replay)
    assert found[: len(acknowledged)] == acknowledged
    assert former.state is LogState.FENCED


def test_a_claimed_epoch_that_never_began_leaves_no_trace(store: JobStore) -> None:
    with owned(store):
        with begin(store) as log:
            log.append_durably(note("a"))
        store.take_epoch(JOB, cluster=CLUSTER, member="died at once")
        with begin(store) as log:
            log.append_durably(note("b"))

    replay = store.read(JOB)
    assert notes(replay) == ["a", "b"]
    assert replay.claimed == 3
    assert replay.damage is None


def test_a_successor_that_was_overtaken_does_not_begin(store: JobStore) -> None:
    with owned(store):
        begin(store).close()
        claim = store.take_epoch(JOB, cluster=CLUSTER, member="m2")
        with begin(store) as log:
            log.append_durably(note("a"))
            with pytest.raises(OperationalError, match="has claimed epoch 3"):
                claim.start(incarnation="i")

    assert notes(store.read(JOB)) == ["a"]


def test_the_records_of_an_epoch_that_nobody_accepted_are_left_out(store: JobStore) -> None:
    """Its coordinator slept between the claim and the first record, for as long as its successor needed."""
    with owned(store):
        begin(store).close()
        claim = store.take_epoch(JOB, cluster=CLUSTER, member="m2")
        begin(store).close()
        with pytest.raises(OperationalError, match="has claimed epoch 3"):
            claim.start(incarnation="i")

    replay = store.read(JOB)
    assert [record.epoch for record in replay.records] == [1, 3]
    assert [(left.file, left.reason) for left in replay.left_out] == [("events.000002.000000", Reason.FENCED)]


def test_many_crashes_in_a_row(store: JobStore) -> None:
    with owned(store):
        for number in range(30):
            log = begin(store)
            log.append_durably(note(str(number)))  # and the coordinator dies

    assert notes(store.read(JOB)) == [str(number) for number in range(30)]
    assert [record.sequence for record in store.read(JOB).records] == list(range(1, 61))


def test_only_the_owners_cluster_takes_epochs(store: JobStore) -> None:
    with pytest.raises(OperationalError, match="belongs to another cluster"):
        begin(store)
    with owned(store):
        with pytest.raises(OperationalError, match="belongs to cluster cluster-1"):
            store.take_epoch(JOB, cluster="cluster-2", member="m")

    assert store.read(JOB).claimed == 0


def test_a_log_of_a_later_version_is_refused_and_not_claimed(store: JobStore) -> None:
    with owned(store):
        begin(store).close()
        file = Path(store.address) / "jobs" / JOB / "events.000001.000000"
        with open(file, "ab") as opened:
            opened.write(frame_record(5, 3, b"{}", epoch=1, sequence=2, durable=1))
        with pytest.raises(OperationalError, match="the event task_finished in version 3"):
            begin(store)

    assert store.read(JOB).claimed == 1


@pytest.mark.parametrize("job", ["", "..", "a/b", ".hidden", "a" * 201])
def test_an_id_that_is_no_name_of_a_folder_is_refused(store: JobStore, job: str) -> None:
    with pytest.raises(ProgrammingError, match="is not the id of a job"):
        store.read(job)


def test_jobs_are_listed_and_removed(store: JobStore) -> None:
    assert store.jobs() == []
    with owned(store):
        begin(store, job="job-b").close()
        begin(store, job="job-a").close()
        assert store.jobs() == ["job-a", "job-b"]
        store.remove("job-a")
        store.remove("job-a")

    assert store.jobs() == ["job-b"]
    assert store.read("job-a").records == ()


def test_a_store_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")

    with pytest.raises(OperationalError, match=r"the job store .*file/store can't be used"):
        with owned(local_store(tmp_path / "file" / "store")):
            pass


# ---- races


class LateFolder(LocalFolder):
    """A directory in which each claim waits until both coordinators have read."""

    barrier = threading.Barrier(2)

    def folder(self, name: str) -> "LateFolder":
        return LateFolder(self.path(name))

    def create(self, name: str, data: bytes) -> None:
        self.barrier.wait()
        super().create(name, data)


def test_of_two_coordinators_that_claim_one_epoch_one_wins(tmp_path: Path) -> None:
    store = JobStore(LateFolder(str(tmp_path)), FakeClock())
    outcomes: list[str] = []

    def claim(member: str) -> None:
        try:
            outcomes.append(str(store.take_epoch(JOB, cluster=CLUSTER, member=member).epoch))
        except OperationalError as error:
            outcomes.append(str(error))

    with owned(local_store(tmp_path)):
        threads = [threading.Thread(target=claim, args=(member,)) for member in ("m1", "m2")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert sorted(outcomes) == ["1", f"another member has claimed epoch 1 of job {JOB}"]


CLAIMING = """
import sys
from pathlib import Path
from sqlfront_values.errors import OperationalError
from tests.engine.durable.logs import CLUSTER, local_store
store = local_store(Path(sys.argv[1]))
print("ready", flush=True)
sys.stdin.readline()
for number in range(100):
    try:
        print(number, store.take_epoch(f"job-{number}", cluster=CLUSTER, member=sys.argv[2]).epoch)
    except OperationalError as error:
        print(number, error)
"""


def test_two_processes_race_for_epochs(tmp_path: Path) -> None:
    """Each epoch of each job has one winner, and who lost is told so."""
    store = local_store(tmp_path)
    with owned(store):
        racers = [
            subprocess.Popen(
                [sys.executable, "-c", CLAIMING, str(tmp_path), member],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
            )
            for member in ("m1", "m2")
        ]
        for racer in racers:
            assert racer.stdout is not None
            assert racer.stdout.readline() == "ready\n"
        for racer in racers:
            assert racer.stdin is not None
            racer.stdin.write("go\n")
            racer.stdin.flush()
        said = [racer.communicate(timeout=60)[0].splitlines() for racer in racers]

    for number in range(100):
        outcomes = [lines[number].partition(" ")[2] for lines in said]
        won = [outcome for outcome in outcomes if outcome.isdigit()]
        assert sorted(won) == [str(epoch) for epoch in range(1, len(won) + 1)]
        assert all("has claimed epoch 1" in outcome for outcome in outcomes if not outcome.isdigit())
        assert store.read(f"job-{number}").claimed == len(won) > 0
