"""Durable jobs that read sources which can't list their splits in advance: the coordinator gets SIGKILL, or
an output is lost. The tasks note in ledgers which of them ran, and which splits they read."""

import signal
from collections import Counter
from pathlib import Path

import pytest

from sqlfront_engine.durable.event_store.events import JobEnd, TaskId
from sqlfront_engine.durable.job_state import JobState
from sqlfront_engine.durable.stages import SplitKind, cut
from tests.engine.durable.durable_jobs import noted_tasks, rows_of, state_in
from tests.engine.durable.opaque_jobs import (
    GROUP,
    SCAN,
    SORTED,
    SPLITS,
    opaque_dag,
    right_rows,
    run_killed,
    run_opaque_job,
)

PLAN = cut(opaque_dag("unused", restorable=False))
SCANS = {TaskId(SCAN, task) for task in range(3)}
GROUPS = {TaskId(GROUP, task) for task in range(3)}
LAST = {TaskId(SORTED, 0)}


def killed(folder: Path, number: int, *, restorable: bool, holds: bool = False) -> JobState:
    """Have a process begin the job, and be killed when so many tasks are finished; return the state that it
    leaves. The ledgers begin anew. ``holds``: as for :func:`run_killed`."""
    assert run_killed(folder, "finished", number, restorable=restorable, holds=holds) == -signal.SIGKILL
    for ledger in ("ledger", "splits"):
        (folder / ledger).unlink(missing_ok=True)
    return state_in(folder)


def run_again(folder: Path, *, restorable: bool) -> set[TaskId]:
    """Run the job to its end, check the answer, and return the tasks that ran. Each of them ran once."""
    ended = run_opaque_job(folder, restorable=restorable)
    assert ended.state is JobEnd.FINISHED, ended.error
    assert rows_of(ended.result) == right_rows(0 if restorable else passes(folder))
    ran = noted_tasks(folder / "ledger", PLAN)
    assert len(ran) == len(set(ran))
    return set(ran)


def passes(folder: Path) -> int:
    """The number of passes over the source so far."""
    return len((folder / "passes").read_text().split())


def splits_read(folder: Path) -> Counter[int]:
    """The splits that tasks have read since the ledger begins."""
    ledger = folder / "splits"
    return Counter(map(int, ledger.read_text().split())) if ledger.exists() else Counter()


def lose(state: JobState, task: TaskId) -> None:
    for file in state.finished[task].output.files:
        Path(file.path).unlink()


def test_the_plan_says_how_splits_are_divided() -> None:
    kinds = {
        restorable: cut(opaque_dag("unused", restorable=restorable)).stages[SCAN]
        for restorable in (True, False)
    }
    assert {one: stage.splits for one, stage in kinds.items()} == {
        True: SplitKind.RESTORABLE,
        False: SplitKind.PASSED_ONCE,
    }
    assert {one: stage.is_deterministic for one, stage in kinds.items()} == {True: True, False: False}
    assert PLAN.stages[GROUP].splits is SplitKind.LISTED


# ---- sources whose enumerators have no snapshots


def test_opaque_source_unfinished(tmp_path: Path) -> None:
    """A source that one task has not read to its end is read by all tasks again, in one pass."""
    state = killed(tmp_path, 2, restorable=False, holds=True)
    assert len(set(state.finished) & SCANS) == len(state.finished) == 2

    assert run_again(tmp_path, restorable=False) == SCANS | GROUPS | LAST
    assert passes(tmp_path) == 2
    assert splits_read(tmp_path) == dict.fromkeys(range(SPLITS), 1)
    assert state_in(tmp_path).resets == 2


def test_opaque_source_finished(tmp_path: Path) -> None:
    """The outputs of a source that all tasks have read are kept; if one is lost, all are made again, and the
    finished readers read again."""
    state = killed(tmp_path, 4, restorable=False)
    assert {task.stage for task in state.finished} == {SCAN, GROUP}
    kept = set(state.finished)

    assert run_killed(tmp_path, "finished", 5, restorable=False) == -signal.SIGKILL
    assert len(set(noted_tasks(tmp_path / "ledger", PLAN)) - kept) >= 1
    assert passes(tmp_path) == 1
    (tmp_path / "ledger").unlink()
    lose(state_in(tmp_path), TaskId(SCAN, 1))

    assert run_again(tmp_path, restorable=False) == SCANS | GROUPS | LAST
    assert passes(tmp_path) == 2
    assert splits_read(tmp_path) == dict.fromkeys(range(SPLITS), 1)
    assert state_in(tmp_path).resets == 5


def test_opaque_source_finished_and_an_output_damaged(tmp_path: Path) -> None:
    """The same if only a task that reads the output sees the damage."""
    state = killed(tmp_path, 4, restorable=False)
    (file,) = state.finished[TaskId(SCAN, 1)].output.files
    Path(file.path).write_bytes(bytes(file.bytes))

    ended = run_opaque_job(tmp_path, restorable=False)

    assert ended.state is JobEnd.FINISHED, ended.error
    assert rows_of(ended.result) == right_rows(2)
    assert Counter(noted_tasks(tmp_path / "ledger", PLAN)) >= Counter(SCANS | GROUPS | LAST)
    assert splits_read(tmp_path) == dict.fromkeys(range(SPLITS), 1)


def test_opaque_source_finished_and_an_unneeded_output_lost(tmp_path: Path) -> None:
    state = killed(tmp_path, 6, restorable=False)
    for task in SCANS:
        lose(state, task)

    assert run_again(tmp_path, restorable=False) == LAST
    assert passes(tmp_path) == 1


# ---- sources whose enumerators have snapshots


def test_restorable_source_unfinished(tmp_path: Path) -> None:
    """Finished tasks are kept, and each split is read by one accepted run."""
    state = killed(tmp_path, 2, restorable=True, holds=True)
    assert len(set(state.finished) & SCANS) == len(state.finished) == 2
    kept = {split for task in state.finished for split in _numbers(state, task)}

    assert run_again(tmp_path, restorable=True) == SCANS - set(state.finished) | GROUPS | LAST

    end = state_in(tmp_path)
    read = Counter(split for task in SCANS for split in _numbers(end, task))
    assert read == dict.fromkeys(range(SPLITS), 1)
    assert 0 < len(kept) < SPLITS
    assert splits_read(tmp_path).total() == SPLITS - len(kept)
    assert end.resets == 0


def _numbers(state: JobState, task: TaskId) -> list[int]:
    """The numbers of the splits that a task has read, by the source."""
    issued = state.issued[SCAN, "numbers"].splits
    return [int(issued[number].split()[0]) for number in state.splits_of[task]["numbers"]]


def test_restorable_source_finished(tmp_path: Path) -> None:
    """A task whose output was lost reads its own splits again; finished readers are kept."""
    state = killed(tmp_path, 4, restorable=True)
    lost = max(SCANS, key=lambda task: len(_numbers(state, task)))
    lose(state, lost)

    assert run_again(tmp_path, restorable=True) == {lost} | GROUPS - set(state.finished) | LAST
    assert splits_read(tmp_path) == dict.fromkeys(_numbers(state, lost), 1)
    assert state_in(tmp_path).splits_of == state.splits_of


@pytest.mark.parametrize("restorable", [False, True])
@pytest.mark.parametrize(
    "number", [pytest.param(number, marks=() if number == 9 else pytest.mark.soak) for number in range(1, 30)]
)
def test_kill_at_every_record_of_opaque_sources(tmp_path: Path, number: int, restorable: bool) -> None:
    """Killed at an fsync, and again at one of the successor's: no split is read 0 or 2 times."""
    for _ in range(2):
        run_killed(tmp_path, "before", number, restorable=restorable)  # ends if it has fewer

    ended = run_opaque_job(tmp_path, restorable=restorable)

    assert ended.state is JobEnd.FINISHED, ended.error
    rows = rows_of(ended.result)
    assert rows == right_rows(int(str(rows[0][2])))
    assert len(list((tmp_path / "spool").iterdir())) == 1
