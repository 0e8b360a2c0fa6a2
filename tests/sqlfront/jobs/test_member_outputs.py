"""Durable jobs whose rows between stages are on the disks of their members."""

import signal
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import sqlfront
from sqlfront.jobs.job_status import JobPhase
from tests.small_disks import small_disk
from tests.sqlfront.jobs.gate import GATE
from tests.sqlfront.jobs.killed import OPTIONS as JOB_OPTIONS
from tests.sqlfront.jobs.killed import open_session, run_killed
from tests.sqlfront.jobs.member_disks import (
    NAME,
    QUERY,
    RIGHT,
    Disks,
    disks_of,
    jobs_of,
    resumed,
    submit,
)
from tests.sqlfront.jobs.waiting import wait_until

# One worker starts the members.
pytestmark = pytest.mark.xdist_group("outputs on members")


@pytest.mark.cluster
def test_rows_between_stages_are_on_the_members(tmp_path: Path) -> None:
    """Each member has the rows of its tasks, and the store has the result alone; nothing else is left."""
    with disks_of(tmp_path) as disks, disks.session() as session:
        job = submit(session)
        wait_until(disks.first_stage_is_done)

        assert sorted(map(str, disks.finished().values())) == ["local-0", "local-1", "local-2"]
        assert len({file.parent for file in disks.files()}) == 3
        assert not disks.results()

        disks.open()
        assert disks.check_end(job).rerun == 0


def test_coordinator_and_member_die(tmp_path: Path) -> None:
    """The successor runs exactly those finished tasks again whose rows were on the killed member's disk."""
    with disks_of(tmp_path) as disks:
        with disks.coordinator(disks.first_stage_is_done) as program:
            lost = [task for task, member in disks.finished().items() if member == "local-1"]
            disks.signal("local-1", signal.SIGKILL)
            program.kill()
        with disks.session() as session:
            job = resumed(session)
            disks.open()
            status = disks.check_end(job)

        assert (status.epoch, status.rerun) == (2, 1)
        assert disks.begun() == sorted(["0.0.0", "0.1.0", "0.2.0", *lost])


@pytest.mark.cluster
def test_what_members_hold_is_kept(tmp_path: Path) -> None:
    """The session alone is killed: no task runs again, and the running ones are adopted."""
    with disks_of(tmp_path) as disks:
        with disks.coordinator(disks.first_stage_is_done) as program:
            program.kill()
        began = time.monotonic()
        with disks.session() as session:
            job = resumed(session)
            disks.open()
            status = disks.check_end(job)

        assert (status.epoch, status.rerun, status.restored) == (2, 0, 3)
        assert max(Counter(disks.begun() + disks.begun(1) + disks.begun(2)).values()) == 1
        assert time.monotonic() - began < 20  # the wait for members ends early


@pytest.mark.cluster
def test_a_closed_session_leaves_the_outputs_to_a_successor(tmp_path: Path) -> None:
    with disks_of(tmp_path) as disks:
        with disks.session() as session:
            submit(session)
            wait_until(disks.first_stage_is_done)
        disks.open()
        with disks.session() as session:
            assert disks.check_end(resumed(session)).rerun == 0
        assert disks.begun() == ["0.0.0", "0.1.0", "0.2.0"]


@pytest.mark.cluster
def test_outputs_end_with_the_lease(tmp_path: Path) -> None:
    """Nobody goes on with the job: members remove the outputs. Whoever does later runs the tasks again."""
    with disks_of(tmp_path) as disks:
        with disks.coordinator(disks.first_stage_is_done, lease="1 s") as program:
            program.kill()
        disks.outlive()

        wait_until(lambda: not disks.files())

        disks.open()
        with disks.session() as session:
            assert disks.check_end(resumed(session)).rerun == 3


@pytest.mark.parametrize(
    "wait", ["1 s", pytest.param("0", marks=pytest.mark.cluster)], ids=["after the wait", "without a wait"]
)
def test_late_member(tmp_path: Path, wait: str) -> None:
    """A member is stopped when the successor asks, and goes on before the job ends: the job doesn't need the
    member, which removes what it has."""
    with disks_of(tmp_path) as disks, disks.session() as session:
        with disks.coordinator(disks.first_stage_is_done, wait=wait) as program:
            disks.signal("local-1", signal.SIGSTOP)
            program.kill()
        late = {file for file in disks.files() if "local-1" in owner_of(file)}
        assert late
        job = resumed(session)
        wait_until(lambda: len(disks.begun()) > 3)
        disks.signal("local-1", signal.SIGCONT)
        wait_until(lambda: not late & {*disks.files()})
        assert job.status().phase is JobPhase.RUNNING
        disks.open()
        status = disks.check_end(job)

    assert status.rerun == 1 if wait == "1 s" else status.rerun >= 1


def owner_of(file: Path) -> str:
    """The member whose process has written a file, as the lock on the directory tells."""
    return (file.parents[1] / "owner").read_text()


@pytest.mark.cluster
@pytest.mark.parametrize("all_are_gone", [False, True])
def test_no_member(tmp_path: Path, *, all_are_gone: bool) -> None:
    """The successor doesn't wait for members, or all of them are gone: all needed outputs are made again."""
    with disks_of(tmp_path) as disks, disks.session() as session:
        with disks.coordinator(disks.first_stage_is_done, wait="0") as program:
            for member in [*disks.cluster.processes]:
                disks.signal(member, signal.SIGKILL if all_are_gone else signal.SIGSTOP)
            program.kill()
        if all_are_gone:
            wait_until(lambda: not disks.cluster.members.data_members)
        job = resumed(session)
        wait_until(lambda: job.status().rerun == 3)
        if all_are_gone:
            disks.cluster.add(3)
        else:
            for member in ["local-0", "local-1", "local-2"]:
                disks.signal(member, signal.SIGCONT)
        disks.open()
        assert disks.check_end(job).rerun == 3
        assert disks.begun() == ["0.0.0", "0.0.0", "0.1.0", "0.1.0", "0.2.0", "0.2.0"]


@pytest.mark.cluster
def test_restarted_member(tmp_path: Path) -> None:
    """A member is killed, and another process joins in its place while the job runs: the tasks whose rows are
    lost run again, and use up no attempts."""
    with disks_of(tmp_path) as disks, disks.session() as session:
        job = submit(session, attempts="1")
        wait_until(disks.first_stage_is_done)
        disks.signal("local-1", signal.SIGKILL)
        disks.cluster.add(1)
        disks.open()

        assert disks.check_end(job).rerun == 1
        assert len(disks.begun()) == 4


@pytest.mark.cluster
@pytest.mark.parametrize("damage", ["missing", "short", "overwritten"])
def test_damaged_output(tmp_path: Path, damage: str) -> None:
    """A file on a member's disk is deleted or damaged while no session runs the job: the task that has made
    the file runs again, and no other."""
    with disks_of(tmp_path) as disks:
        with disks.session() as session:
            submit(session)
            wait_until(disks.first_stage_is_done)
        (file,) = (file for file in disks.files() if file.name.startswith("0.1."))
        match damage:
            case "missing":
                file.unlink()
            case "short":
                file.write_bytes(file.read_bytes()[:-1])
            case _:
                file.write_bytes(bytes(file.stat().st_size))
        disks.open()
        with disks.session() as session:
            assert disks.check_end(resumed(session)).rerun == 1
        assert disks.begun() == ["0.0.0", "0.1.0", "0.1.0", "0.2.0"]


@pytest.mark.cluster
@pytest.mark.parametrize("end", ["CANCEL JOB", "DROP JOB"])
def test_an_ended_job_leaves_nothing(tmp_path: Path, end: str) -> None:
    """Also if the session that began it was killed, and another one ends it."""
    with disks_of(tmp_path) as disks:
        with disks.coordinator(disks.first_stage_is_done) as program:
            program.kill()
        with disks.session() as session:
            session.execute(f"{end} {NAME}")
            wait_until(lambda: not disks.files())
            assert not disks.results()


@pytest.mark.cluster
def test_members_that_are_there_serve_a_session_without_members(tmp_path: Path) -> None:
    """A session without members resumes the job: it makes all outputs again, in the store."""
    with disks_of(tmp_path) as disks:
        with disks.coordinator(disks.first_stage_is_done, lease="1 s") as program:
            program.kill()
        with sqlfront.connect(job_store=str(tmp_path / "store"), workers=2, collect_rows=100) as connection:
            job = resumed(connection.session)
            assert job.result().collect() == RIGHT
            assert job.status().rerun == 3
        disks.outlive()
        wait_until(lambda: not disks.files())


@pytest.mark.cluster
def test_disk_full(tmp_path: Path) -> None:
    """The disk of the members is full: the job fails, says why, and leaves nothing."""
    with small_disk(tmp_path / "disk", "100k") as disk, disks_of(tmp_path, place=disk) as disks:
        disks.open()
        with disks.session() as session:
            job = submit(
                session, "SELECT u, count(*) FROM (SELECT uuid() AS u FROM range(100000)) GROUP BY u"
            )
            with pytest.raises(sqlfront.OperationalError, match="No space left on device"):
                job.result()
            assert job.status().phase is JobPhase.FAILED
            wait_until(lambda: not list(disk.rglob("*.arrow*")))
            session.execute(f"DROP JOB {NAME}")
            job = submit(session)
            assert job.result().collect() == RIGHT


@pytest.fixture(scope="module")
def living(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Disks]:
    """Members for many jobs, whose tasks wait for nothing."""
    with disks_of(tmp_path_factory.mktemp("living")) as disks:
        disks.open()
        yield disks


@pytest.mark.cluster
@pytest.mark.parametrize("step", ["sync", "synced"])
@pytest.mark.parametrize("number", range(3, 18, 3))
def test_kill_at_every_record(living: Disks, tmp_path: Path, number: int, step: str) -> None:
    """SIGKILL of the session before and after fsyncs: the members keep all outputs, and no finished task
    runs again; each task counts once."""
    (tmp_path / "cluster").write_text(living.address)
    (tmp_path / GATE).touch()  # for the tasks that write the result
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(JOB_OPTIONS, "outputs 'members', 'task-size' 1, lease 20")
        run_killed(tmp_path, QUERY, step, number)
    with open_session(tmp_path) as connection:
        if jobs_of(connection.session).find(NAME) is None:
            return  # killed before the job was accepted
        job = resumed(connection.session)
        assert job.result().collect() == RIGHT
        assert job.status().rerun == 0
        living.outlive(connection)  # killed after the end of the job: the members have not heard of it
        wait_until(lambda: not living.files())


def test_the_option_needs_members_in_processes(tmp_path: Path) -> None:
    with sqlfront.connect(job_store=str(tmp_path)) as connection:
        with pytest.raises(sqlfront.NotSupportedError, match="outputs = members"):
            submit(connection.session)
        with pytest.raises(sqlfront.ProgrammingError, match="takes store or members, not 'disk'"):
            connection.session.submit_job(QUERY, options={"outputs": "disk"})
        assert jobs_of(connection.session).jobs() == []
