"""Durable jobs whose rows between stages are on the disks of their members, and whose coordinators or members
get SIGKILL more than once. The tasks note their beginnings themselves."""

import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from sqlfront.jobs.job_status import DurableJobStatus
from tests.sqlfront.jobs.gate import GATE, LEDGER
from tests.sqlfront.jobs.killed import OPTIONS, RESUME, open_session, run_killed
from tests.sqlfront.jobs.member_disks import QUERY, RIGHT, Disks, disks_of, resumed
from tests.sqlfront.jobs.waiting import wait_until

# One worker starts the members.
pytestmark = [pytest.mark.cluster, pytest.mark.xdist_group("outputs on members")]

#: The query with a random number in each row, which doesn't change the sum.
RANDOM: Final = QUERY.replace(
    "range(400000)", "(SELECT id + CAST(rand() AS BIGINT) AS id FROM range(400000))"
)
FIRST: Final = ["0.0.0", "0.1.0", "0.2.0"]


def killed_when_a_reader_is_finished(disks: Disks, query: str) -> str:
    """Have a coordinator begin the job, and kill it when the first stage and one task of the next stage are
    finished. Kill a member as well that has an output of the first stage alone, and return the name of the
    task that wrote it."""

    def is_ready() -> bool:
        if not disks.first_stage_is_done():
            return False
        disks.open("1.0")
        return [*disks.finished(1)] == ["1.0.0"]

    with disks.coordinator(is_ready, query) as program:
        program.kill()
    return lose_member(disks)


def lose_member(disks: Disks) -> str:
    """Kill a member that has an output of the first stage, and none of the next one; return the name of the
    task that wrote the output."""
    readers = set(disks.finished(1).values())
    task, member = next((task, member) for task, member in disks.finished().items() if member not in readers)
    assert member is not None
    disks.signal(member, signal.SIGKILL)
    return task


def ended(disks: Disks) -> DurableJobStatus:
    """Have a session of this process go on with the job, check its end, and return its status."""
    with disks.session() as session:
        job = resumed(session)
        disks.open()
        return disks.check_end(job)


def test_unneeded_output_lost(tmp_path: Path) -> None:
    """A member is lost with an output whose readers are finished: no task runs again."""
    with disks_of(tmp_path) as disks:

        def two_stages_are_done() -> bool:
            if not disks.first_stage_is_done():
                return False
            disks.open(1)
            return len(disks.finished(1)) == 2 and len(disks.begun(2)) > 0

        with disks.coordinator(two_stages_are_done, buckets="2") as program:
            program.kill()
        lose_member(disks)
        status = ended(disks)

        assert (status.epoch, status.rerun, status.restored) == (2, 0, 5)
        assert (disks.begun(), disks.begun(1)) == (FIRST, ["1.0.0", "1.1.0"])


@pytest.mark.parametrize("query", [QUERY, RANDOM], ids=["deterministic", "random"])
def test_nondeterministic_producer(tmp_path: Path, query: str) -> None:
    """A member is lost with an output that unfinished tasks need: its task runs again. The finished reader
    runs again exactly if the second run may have written other rows."""
    with disks_of(tmp_path) as disks:
        lost = killed_when_a_reader_is_finished(disks, query)
        status = ended(disks)

        again = ["1.0.0"] if query == RANDOM else []
        assert (status.epoch, status.rerun) == (2, 1 + len(again))
        assert disks.begun() == sorted([*FIRST, lost])
        assert disks.begun(1).count("1.0.0") == 1 + len(again)


@pytest.mark.parametrize("number", range(1, 9))
def test_crash_during_recovery(tmp_path: Path, number: int) -> None:
    """The successor finds an output lost, and gets SIGKILL at one of its own fsyncs: the lost output and that
    of its reader are made again once, whoever makes them."""
    with disks_of(tmp_path) as disks:
        lost = killed_when_a_reader_is_finished(disks, RANDOM)
        disks.open()
        (tmp_path / "cluster").write_text(disks.address)
        assert run_killed(tmp_path, RESUME, "synced" if number % 2 else "sync", number) == -signal.SIGKILL
        with open_session(tmp_path) as connection:
            status = disks.check_end(resumed(connection.session))

        assert status.rerun == 2
        assert disks.begun() == sorted([*FIRST, lost])
        assert disks.begun(1).count("1.0.0") == 2


@pytest.fixture(scope="module")
def living(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Disks]:
    """Members for many jobs, whose tasks wait for nothing."""
    with disks_of(tmp_path_factory.mktemp("living")) as disks:
        disks.open()
        yield disks


@pytest.mark.parametrize("first", [4, 6, 8, 10])
@pytest.mark.parametrize("second", [1, 4, 7])
def test_crash_twice(living: Disks, tmp_path: Path, first: int, second: int) -> None:
    """Two coordinators in a row get SIGKILL at fsyncs of theirs: the members keep all outputs and go on with
    all tasks, so that each task begins once under three coordinators."""
    (living.folder / LEDGER).unlink(missing_ok=True)
    (tmp_path / "cluster").write_text(living.address)
    (tmp_path / GATE).touch()  # for the tasks that write the result
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(OPTIONS, "outputs 'members', 'task-size' 1, lease 30")
        assert run_killed(tmp_path, QUERY, "sync", first) == -signal.SIGKILL
    run_killed(tmp_path, RESUME, "synced", second)  # ends if it has fewer

    with open_session(tmp_path) as connection:
        job = resumed(connection.session)
        assert job.result().collect() == RIGHT
        assert job.status().rerun == 0
        living.outlive(connection)  # killed after the end of the job: the members have not heard of it
        wait_until(lambda: not living.files())
    begun = Counter(living.begun() + living.begun(1))
    assert set(begun) >= {*FIRST}
    assert set(begun.values()) == {1}
