"""Coordinators killed by SIGKILL, at each record of a job's log and at each step of a recovery: the answer is
right, and exactly the tasks without a record run again, as the ledger has it that the tasks write."""

import os
import random
import shutil
import signal
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from sqlfront_engine.durable.division import JobOptions
from sqlfront_engine.durable.event_store.events import JobEnd, TaskId
from sqlfront_engine.durable.job_state import JobState
from sqlfront_engine.durable.stages import cut
from tests.engine.durable.durable_jobs import (
    all_tasks,
    begin_in_process,
    join_dag,
    noted_tasks,
    right_answer,
    rows_of,
    run_in_process,
    run_job,
    state_in,
)
from tests.engine.durable.logs import JOB

PLAN = cut(join_dag("unused"))
#: The fsyncs of an undisturbed run: one per record, and some of folders and claims.
SYNCS = 40


def check_end(folder: Path, ledger: Path, before: JobState) -> None:
    """Run the job to its end in this process, and check the answer, the tasks that ran again, and the files
    that are left. ``before``: the job's state at the kill."""
    ledger.unlink(missing_ok=True)

    end = run_job(folder, str(ledger))

    assert end.state is JobEnd.FINISHED, end.error
    assert rows_of(end.result) == right_answer()
    ran = noted_tasks(ledger, PLAN)
    assert len(ran) == len(set(ran))
    if before.ended is None:
        assert set(ran) == all_tasks(state_in(folder)) - set(before.finished)
    else:
        assert not ran
    assert len(os.listdir(folder / "spool")) == len(PLAN.stages[-1].outputs)


NUMBERS = [
    pytest.param(number, marks=() if number % 7 == 4 else pytest.mark.soak) for number in range(1, SYNCS)
]


@pytest.mark.parametrize("what", ["after", "before"])
@pytest.mark.parametrize("number", NUMBERS)
def test_kill_at_every_record(tmp_path: Path, number: int, what: str) -> None:
    ledger = tmp_path / "ledger"
    killed = run_in_process(tmp_path, ledger, what, number)
    before = state_in(tmp_path)
    assert killed == -signal.SIGKILL or before.ended is not None

    check_end(tmp_path, ledger, before)


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(1, 20))])
def test_crash_twice(tmp_path: Path, seed: int) -> None:
    choose, ledger = random.Random(seed), tmp_path / "ledger"
    for _ in range(4):
        run_in_process(tmp_path, ledger, choose.choice(["before", "after"]), choose.randint(1, 12), threads=3)

    check_end(tmp_path, ledger, state_in(tmp_path))


def test_zombie_coordinator(tmp_path: Path) -> None:
    """A coordinator is stopped, and goes on when another member of its cluster has ended the job."""
    ledger = tmp_path / "ledger"
    with begin_in_process(tmp_path, ledger, "stopped", 7) as zombie:
        stopped = os.waitid(os.P_PID, zombie.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        assert stopped is not None
        assert stopped.si_code == os.CLD_STOPPED
        ledger.unlink()

        ended = run_job(tmp_path, str(ledger), is_owner=False)

        assert set(noted_tasks(ledger, PLAN)) == LATER
        zombie.send_signal(signal.SIGCONT)
        _, said = zombie.communicate(timeout=60)

    assert zombie.returncode == 1
    assert "another coordinator has claimed epoch 2" in said
    assert state_in(tmp_path).ended == ended
    assert rows_of(ended.result) == right_answer()
    assert len(os.listdir(tmp_path / "spool")) == len(PLAN.stages[-1].outputs)


# ---- lost outputs


@pytest.fixture
def killed(tmp_path: Path) -> JobState:
    """The state of a job that was killed when one task of the join (stage 2) was finished."""
    return _killed(tmp_path)


def _killed(folder: Path, *, random: bool = False) -> JobState:
    run_in_process(folder, folder / "ledger", "finished", 7, random=random)
    state = state_in(folder)
    assert sorted(task.stage for task in state.finished) == [0, 0, 0, 1, 1, 1, 2]
    (folder / "ledger").unlink()
    return state


def _file(state: JobState, task: TaskId) -> Path:
    (file,) = state.finished[task].output.files
    return Path(file.path)


def _run_again(folder: Path, *, random: bool = False) -> set[TaskId]:
    """Run the job to its end, check the answer, and return the tasks that ran."""
    ended = run_job(folder, str(folder / "ledger"), random=random)
    assert ended.state is JobEnd.FINISHED, ended.error
    assert rows_of(ended.result) == right_answer()
    return set(noted_tasks(folder / "ledger", PLAN))


LATER = {TaskId(2, 1), TaskId(2, 2), TaskId(3, 0), TaskId(3, 1), TaskId(4, 0)}


def test_missing_output(tmp_path: Path, killed: JobState) -> None:
    _file(killed, TaskId(1, 2)).unlink()

    assert _run_again(tmp_path) == {TaskId(1, 2), *LATER}
    assert state_in(tmp_path).resets == 1


def test_missing_output_twice(tmp_path: Path, killed: JobState) -> None:
    """The successor makes two lost files again, is killed, and both are lost again."""
    lost = {TaskId(0, 0), TaskId(1, 2)}
    for task in lost:
        _file(killed, task).unlink()
    assert run_in_process(tmp_path, tmp_path / "ledger", "finished", 8) == -signal.SIGKILL
    assert set(noted_tasks(tmp_path / "ledger", PLAN)) >= lost
    (tmp_path / "ledger").unlink()
    again = state_in(tmp_path)
    for task in lost:
        _file(again, task).unlink()

    assert _run_again(tmp_path) == lost | LATER - set(again.finished)
    assert state_in(tmp_path).resets == 4


STEPS = [
    pytest.param(number, what, marks=() if (number, what) == (3, "before") else pytest.mark.soak)
    for number in range(1, 6)
    for what in ("before", "after")
]


@pytest.mark.parametrize(("number", "what"), STEPS)
def test_crash_during_recovery(tmp_path: Path, killed: JobState, number: int, what: str) -> None:
    """The successor finds a file lost, and is killed at one of its own fsyncs."""
    _file(killed, TaskId(1, 2)).unlink()
    assert run_in_process(tmp_path, tmp_path / "ledger", what, number) == -signal.SIGKILL
    (tmp_path / "ledger").unlink(missing_ok=True)
    ended = {task for task, finish in state_in(tmp_path).finished.items() if finish.attempt.epoch == 2}

    assert _run_again(tmp_path) == {TaskId(1, 2), *LATER} - ended
    assert state_in(tmp_path).resets == 1


def test_truncated_output(tmp_path: Path, killed: JobState) -> None:
    os.truncate(_file(killed, TaskId(0, 0)), 100)

    assert _run_again(tmp_path) == {TaskId(0, 0), *LATER}


def test_damaged_output(tmp_path: Path, killed: JobState) -> None:
    """A file of the right size shows its damage only to the task that reads it."""
    path = _file(killed, TaskId(0, 1))
    path.write_bytes(bytes(path.stat().st_size))

    assert _run_again(tmp_path) == {TaskId(0, 1), *LATER}
    assert state_in(tmp_path).resets == 1


def test_a_flipped_bit_in_an_output(tmp_path: Path, killed: JobState) -> None:
    """Arrow would read the file, and other rows."""
    path = _file(killed, TaskId(0, 1))
    (file,) = killed.finished[TaskId(0, 1)].output.files
    data = bytearray(path.read_bytes())
    data[file.offsets[-1] - 17] ^= 1
    path.write_bytes(data)

    assert _run_again(tmp_path) == {TaskId(0, 1), *LATER}
    assert state_in(tmp_path).resets == 1


def test_missing_output_of_all_tasks(tmp_path: Path, killed: JobState) -> None:
    for task in killed.finished:
        _file(killed, task).unlink()

    assert _run_again(tmp_path) == {*killed.finished, *LATER}


def test_unneeded_output_lost(tmp_path: Path) -> None:
    run_in_process(tmp_path, tmp_path / "ledger", "finished", 9)
    state = state_in(tmp_path)
    (tmp_path / "ledger").unlink()
    assert all(TaskId(2, task) in state.finished for task in range(3))
    for stage in (0, 1):
        for task in range(3):
            _file(state, TaskId(stage, task)).unlink()

    assert _run_again(tmp_path) == {TaskId(3, 0), TaskId(3, 1), TaskId(4, 0)}
    assert state_in(tmp_path).resets == 0


def test_nondeterministic_producer(tmp_path: Path) -> None:
    """The finished reader of a task that runs again and calls ``rand`` runs again, too."""
    state = _killed(tmp_path, random=True)
    _file(state, TaskId(1, 2)).unlink()

    assert _run_again(tmp_path, random=True) == {TaskId(1, 2), TaskId(2, 0), *LATER}


# ---- damaged logs


def check_damaged(folder: Path, change: Callable[[bytes, int], bytes], places: Iterable[int]) -> None:
    """For each place of the log that the killed coordinator left, change the log there, run the job to its
    end, and check the answer and the tasks that ran again."""
    store, spool, log = folder / "store", folder / "spool", folder / "store" / "jobs" / JOB
    for each in (store, spool):
        shutil.copytree(each, folder / "kept" / each.name)
    data = (log / "events.000001.000000").read_bytes()
    for place in places:
        for each in (store, spool):
            shutil.rmtree(each)
            shutil.copytree(folder / "kept" / each.name, each)
        (log / "events.000001.000000").write_bytes(change(data, place % len(data)))

        check_end(folder, folder / "ledger", state_in(folder))


FEW, MANY = [1, 3001], pytest.param(range(0, 6000, 41), marks=pytest.mark.soak)


@pytest.mark.usefixtures("killed")
@pytest.mark.parametrize("places", [FEW, MANY])
def test_torn_log_of_a_job(tmp_path: Path, places: Iterable[int]) -> None:
    check_damaged(tmp_path, lambda data, place: data[:place], places)


@pytest.mark.usefixtures("killed")
@pytest.mark.parametrize("places", [FEW, MANY])
def test_bit_flip_log_of_a_job(tmp_path: Path, places: Iterable[int]) -> None:
    def flipped(data: bytes, place: int) -> bytes:
        return data[:place] + bytes([data[place] ^ 1 << place % 8]) + data[place + 1 :]

    check_damaged(tmp_path, flipped, places)


# ---- decisions


def test_parallelism_restored(tmp_path: Path, killed: JobState) -> None:
    """A stage that has begun keeps its tasks under a successor with other options, which would decide
    otherwise; the next stage has them."""
    other = JobOptions(parallelism=5, buckets=9, task_size=2**30)

    ended = run_job(tmp_path, str(tmp_path / "ledger"), options=other)

    assert rows_of(ended.result) == right_answer()
    begun = state_in(tmp_path).stages
    assert {stage: begun[stage] for stage in killed.stages} == killed.stages
    again = {TaskId(2, 1), TaskId(2, 2), TaskId(3, 0), TaskId(4, 0)}
    assert set(noted_tasks(tmp_path / "ledger", PLAN)) == again


# ---- the end of a job


TASKS = 12


@pytest.mark.parametrize(
    ("what", "number"),
    [
        pytest.param("finished", TASKS, marks=pytest.mark.soak),
        pytest.param("ended", 0),
        pytest.param("clean", 0, marks=pytest.mark.soak),
    ],
)
def test_terminal_race(tmp_path: Path, what: str, number: int) -> None:
    """Killed between the last task, the record of the end, the clean-up and a client's reading."""
    ledger = tmp_path / "ledger"
    assert run_in_process(tmp_path, ledger, what, number) == -signal.SIGKILL
    ledger.unlink()
    killed = state_in(tmp_path)
    assert len(killed.finished) == TASKS

    ended = run_job(tmp_path, str(ledger))

    assert killed.ended in (None, ended)
    assert run_job(tmp_path, str(ledger)) == ended
    assert not ledger.exists()
    assert rows_of(ended.result) == right_answer()
    assert len(os.listdir(tmp_path / "spool")) == len(PLAN.stages[-1].outputs)


def test_an_ended_job_has_one_answer_and_runs_no_more(tmp_path: Path) -> None:
    ended = run_job(tmp_path, str(tmp_path / "ledger"))
    (tmp_path / "ledger").unlink()

    assert run_job(tmp_path, str(tmp_path / "ledger")) == ended
    assert not (tmp_path / "ledger").exists()
    assert rows_of(ended.result) == right_answer()
