"""Jobs whose plan changes while they run, killed by SIGKILL around the change: the decision stays, it is not
made again, the answer is right, and only tasks without a record run again."""

import os
import signal
from pathlib import Path

import pytest

from sqlfront_engine.durable.division import JobOptions
from sqlfront_engine.durable.event_store.events import (
    BroadcastJoin,
    JobEnd,
    PlanChanged,
    SplitBuckets,
    TaskId,
)
from sqlfront_engine.durable.job_state import JobState
from sqlfront_engine.durable.plan_changes import replanned
from sqlfront_engine.durable.stages import cut
from tests.engine.durable.durable_jobs import (
    join_dag,
    noted_tasks,
    right_answer,
    rows_of,
    run_in_process,
    run_job,
    state_in,
)

ORDERS, LINES, JOIN, FINAL, LAST = range(5)
CHANGED = ["broadcast", "split"]
#: Options that decide otherwise: another number of tasks, and no change of the plan.
OTHER = JobOptions(parallelism=5, buckets=9, task_size=2**30, adaptive=False)
#: The fsyncs of an undisturbed run.
SYNCS = 40


def ran_tasks(ledger: Path, state: JobState) -> list[TaskId]:
    """The tasks that began, by the stages of the changed plan."""
    return noted_tasks(ledger, replanned(cut(join_dag("unused")), state.changes))


def all_tasks(state: JobState) -> set[TaskId]:
    return {TaskId(stage.stage, task) for stage in state.stages.values() for task in range(stage.parallelism)}


def check_end(folder: Path, variant: str, before: JobState, again: frozenset[TaskId] = frozenset()) -> None:
    """Run the job to its end under options that would decide otherwise; check the answer, the decision, the
    tasks that ran, and the files that are left. ``before``: the state at the kill. ``again``: the finished
    tasks that have to run again."""
    ledger = folder / "ledger"
    ledger.unlink(missing_ok=True)
    options = OTHER if before.changes else None

    ended = run_job(folder, str(ledger), variant=variant, options=options)

    assert ended.state is JobEnd.FINISHED, ended.error
    assert rows_of(ended.result) == right_answer(is_skewed=variant == "split")
    state = state_in(folder)
    assert [type(event.change) for event in state.changes] == [
        BroadcastJoin if variant == "broadcast" else SplitBuckets
    ]
    assert state.changes[: len(before.changes)] == before.changes
    ran = ran_tasks(ledger, state)
    assert len(ran) == len(set(ran))
    if before.ended is None:
        assert set(ran) == all_tasks(state) - (set(before.finished) - again)
    else:
        assert not ran
    assert len(os.listdir(folder / "spool")) == 1


def test_a_join_of_few_held_rows_needs_no_exchange(tmp_path: Path) -> None:
    ended = run_job(tmp_path, str(tmp_path / "ledger"), variant="broadcast")

    assert rows_of(ended.result) == right_answer()
    state = state_in(tmp_path)
    (event,) = state.changes
    assert event == PlanChanged(
        BroadcastJoin(JOIN, LINES, (ORDERS,)),
        "stage 2 joins the rows of stage 1 without an exchange: stage 0 wrote only 48000 bytes",
    )
    assert sorted(state.stages) == [ORDERS, JOIN, FINAL, LAST]
    assert set(ran_tasks(tmp_path / "ledger", state)) == all_tasks(state)


def test_tasks_share_the_bucket_of_a_key_with_most_rows(tmp_path: Path) -> None:
    ended = run_job(tmp_path, str(tmp_path / "ledger"), variant="split")

    assert rows_of(ended.result) == right_answer(is_skewed=True)
    state = state_in(tmp_path)
    (event,) = state.changes
    assert isinstance(event.change, SplitBuckets)
    assert (event.change.stage, event.change.inputs) == (JOIN, (0,))
    assert event.change.ranges == state.stages[JOIN].ranges
    divided = zip(event.change.ranges, event.change.parts, strict=True)
    assert len({span for span, (_, parts) in divided if parts > 1}) == 1
    rows = [state.finished[TaskId(JOIN, task)].rows_out for task in range(state.stages[JOIN].parallelism)]
    assert min(rows) > 0


@pytest.mark.parametrize("variant", CHANGED)
def test_the_option_keeps_the_plan(tmp_path: Path, variant: str) -> None:
    options = JobOptions(parallelism=3, buckets=6, task_size=1, adaptive=False)

    ended = run_job(tmp_path, str(tmp_path / "ledger"), variant=variant, options=options)

    assert rows_of(ended.result) == right_answer(is_skewed=variant == "split")
    assert not state_in(tmp_path).changes


# ---- SIGKILL


@pytest.mark.parametrize("variant", CHANGED)
def test_replan_restored(tmp_path: Path, variant: str) -> None:
    """Killed when the decision is durable and nothing follows from it yet; the successor has options under
    which it would decide otherwise."""
    assert run_in_process(tmp_path, tmp_path / "ledger", "changed", 1, variant=variant) == -signal.SIGKILL
    before = state_in(tmp_path)
    assert len(before.changes) == 1
    assert JOIN not in before.stages

    check_end(tmp_path, variant, before)


@pytest.mark.parametrize("variant", CHANGED)
@pytest.mark.parametrize("number", [5, 8])
def test_replan_restored_later(tmp_path: Path, variant: str, number: int) -> None:
    """Killed when tasks of the changed stage run, and some are finished."""
    run_in_process(tmp_path, tmp_path / "ledger", "finished", number, threads=2, variant=variant)

    check_end(tmp_path, variant, state_in(tmp_path))


@pytest.mark.parametrize("variant", CHANGED)
@pytest.mark.parametrize("what", ["after", "before"])
@pytest.mark.parametrize(
    "number",
    [pytest.param(number, marks=() if number % 13 == 4 else pytest.mark.soak) for number in range(1, SYNCS)],
)
def test_kill_at_every_record(tmp_path: Path, variant: str, number: int, what: str) -> None:
    killed = run_in_process(tmp_path, tmp_path / "ledger", what, number, variant=variant)
    before = state_in(tmp_path)
    assert killed == -signal.SIGKILL or before.ended is not None

    check_end(tmp_path, variant, before)


def test_crash_twice_after_a_change(tmp_path: Path) -> None:
    for variant in CHANGED:
        folder = tmp_path / variant
        folder.mkdir()
        for what, number in (("changed", 1), ("before", 3), ("after", 6)):
            run_in_process(folder, folder / "ledger", what, number, variant=variant)
        check_end(folder, variant, state_in(folder))


# ---- lost outputs after a change


def _lost(folder: Path, variant: str, task: TaskId, *, random: bool = False) -> JobState:
    """The state of a job that was killed when some tasks of the join were finished, with the outputs of one
    task lost."""
    number = 4 if variant == "broadcast" else 7
    run_in_process(folder, folder / "ledger", "finished", number, variant=variant, random=random)
    state = state_in(folder)
    assert [one.stage for one in state.finished].count(JOIN) == 1
    (folder / "ledger").unlink()
    for file in state.finished[task].output.files:
        Path(file.path).unlink()
    return state


def test_missing_output_of_held_rows(tmp_path: Path) -> None:
    """The task that made the held rows runs again, and no finished task of the join."""
    before = _lost(tmp_path, "broadcast", TaskId(ORDERS, 1))

    check_end(tmp_path, "broadcast", before, frozenset([TaskId(ORDERS, 1)]))


def test_missing_output_of_shared_buckets(tmp_path: Path) -> None:
    """A file that several tasks have read in parts may be made anew with other record batches: all tasks that
    read it run again."""
    before = _lost(tmp_path, "split", TaskId(LINES, 1))
    done = {task for task in before.finished if task.stage == JOIN}

    check_end(tmp_path, "split", before, frozenset([TaskId(LINES, 1), *done]))


@pytest.mark.parametrize("variant", CHANGED)
def test_nondeterministic_producer(tmp_path: Path, variant: str) -> None:
    """A task with ``rand`` loses its output, or with a broadcast join is a part of the join: the answer is
    right."""
    lost = TaskId(LINES if variant == "split" else JOIN, 0 if variant == "broadcast" else 2)
    _lost(tmp_path, variant, lost, random=True)

    ended = run_job(tmp_path, str(tmp_path / "ledger"), variant=variant, random=True)

    assert rows_of(ended.result) == right_answer(is_skewed=variant == "split")
    assert lost in ran_tasks(tmp_path / "ledger", state_in(tmp_path))
