"""The handing out of splits to tasks on several threads, some of whose runs are given up at any moment."""

import random
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pyarrow as pa
import pytest

from sqlfront_engine.dag import DAG
from sqlfront_engine.durable.event_store.events import Attempt, Manifest, SplitsIssued, TaskFinished, TaskId
from sqlfront_engine.durable.job_state import JobState
from sqlfront_engine.durable.split_assignments import RunSplits, SplitAssignments
from sqlfront_engine.durable.stages import JobStage, SplitKind, StagePlan
from sqlfront_engine.durable.tasks import StageTasks, TaskRun
from sqlfront_engine.processors.sources.split_scan import SourceUnavailableError, SplitScan
from sqlfront_values.errors import OperationalError

SPLITS, TASKS, SCAN = 300, 6, "scan"


class Counting:
    """A source of numbers, with snapshots."""

    def __init__(self, splits: int = SPLITS) -> None:
        self._splits, self._next = splits, 0

    def enumerator(self) -> "Counting":
        return Counting(self._splits)

    def next_split(self) -> bytes | None:
        if self._next == self._splits:
            return None
        self._next += 1
        return str(self._next - 1).encode()

    def snapshot(self) -> bytes:
        return str(self._next).encode()

    def restore(self, state: bytes) -> None:
        self._next = int(state)

    def close(self) -> None:
        pass

    def read(self, split: bytes) -> Iterator[pa.RecordBatch]:
        raise NotImplementedError


class Waiting(Counting):
    """A source whose first split never comes."""

    def __init__(self) -> None:
        super().__init__()
        self.is_asked, self._closed = Event(), Event()

    def enumerator(self) -> "Waiting":
        return self

    def next_split(self) -> bytes | None:
        self.is_asked.set()
        self._closed.wait()
        raise OperationalError("closed")

    def close(self) -> None:
        self._closed.set()


def plan_of(kind: SplitKind) -> StagePlan:
    dag = DAG()
    dag.vertex(SCAN, SplitScan("source", "numbers", (), kind is SplitKind.RESTORABLE))
    return StagePlan(dag, (JobStage(0, (SCAN,), True, (), (), splits=kind),), (0,))


def run_of(plan: StagePlan, task: int, attempt: int) -> TaskRun:
    tasks = StageTasks(plan.stages[0], ((0, 1),) * TASKS, 1)
    return TaskRun(tasks, task, Attempt(1, attempt), (), "")


def begun(assignments: SplitAssignments, run: TaskRun) -> RunSplits:
    assignments.begin(run)
    splits = assignments.of(run.run_id)
    assert splits is not None
    return splits


def read_all(splits: RunSplits) -> list[int]:
    read: list[int] = []
    while (split := splits.next_split(SCAN)) is not None:
        read.append(int(split))
    splits.complete()
    return read


def finished(state: JobState, run: TaskRun, assignments: SplitAssignments) -> list[SplitsIssued]:
    """Apply the record of a run's end, after the splits that it needs; return the events of the splits."""
    issued, numbers = assignments.finish(run)
    for event in issued:
        state.apply(event)
    state.apply(TaskFinished(run.id, run.attempt, "m", "i", Manifest(()), True, numbers))
    return issued


@pytest.mark.parametrize("seed", range(5))
def test_each_split_is_read_by_one_accepted_run(seed: int) -> None:
    """Half of the runs are given up while they ask for splits; a successor goes on behind the last record."""
    chance, plan, state = random.Random(seed), plan_of(SplitKind.RESTORABLE), JobState()
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for epoch in range(3):
            assignments = SplitAssignments(plan, {"source": Counting()}, state)
            left = [task for task in range(TASKS) if TaskId(0, task) not in state.finished]
            stops = len(left) // 2 if epoch < 2 else 0
            _run_some(plan, assignments, state, left, stops, chance)
    finally:
        sys.setswitchinterval(interval)
    read = Counter(
        int(state.issued[0, SCAN].splits[number])
        for splits in state.splits_of.values()
        for number in splits[SCAN]
    )
    assert len(state.finished) == TASKS
    assert read == dict.fromkeys(range(SPLITS), 1)


def _run_some(
    plan: StagePlan,
    assignments: SplitAssignments,
    state: JobState,
    waiting: list[int],
    stops: int,
    chance: random.Random,
) -> None:
    """Run the tasks until ``stops`` of them are left."""
    attempt = 0
    with ThreadPoolExecutor(TASKS) as threads:
        while len(waiting) > stops:
            attempt += 1
            runs = {task: run_of(plan, task, attempt) for task in waiting}
            reads = {task: threads.submit(read_all, begun(assignments, run)) for task, run in runs.items()}
            for task in chance.sample(waiting, len(waiting) // 2):
                assignments.give_up(runs.pop(task))
            for task, run in list(runs.items())[: len(waiting) - stops]:
                reads.pop(task).result()
                finished(state, run, assignments)
                waiting.remove(task)
                del runs[task]
            for read in reads.values():
                read.exception()
            for run in runs.values():
                assignments.give_up(run)


def test_a_run_that_was_given_up_gets_no_split() -> None:
    plan = plan_of(SplitKind.RESTORABLE)
    assignments = SplitAssignments(plan, {"source": Counting(3)}, JobState())
    first, second = run_of(plan, 0, 1), run_of(plan, 1, 1)
    splits = begun(assignments, first)
    assert splits.next_split(SCAN) == b"0"
    assignments.give_up(first)
    with pytest.raises(OperationalError, match="given up"):
        splits.next_split(SCAN)
    assert assignments.of(first.run_id) is None
    assert sorted(read_all(begun(assignments, second))) == [0, 1, 2]


def test_a_task_reads_its_own_splits_again() -> None:
    """Under the same coordinator, and under its successor."""
    plan, state = plan_of(SplitKind.RESTORABLE), JobState()
    assignments = SplitAssignments(plan, {"source": Counting(4)}, state)
    first, other = run_of(plan, 0, 1), run_of(plan, 1, 1)
    splits = begun(assignments, first)
    assert [splits.next_split(SCAN) for _ in range(2)] == [b"0", b"1"]
    splits.complete()
    (issued,) = finished(state, first, assignments)
    assert (issued.first, issued.splits, issued.state) == (0, (b"0", b"1"), b"2")

    assert read_all(begun(assignments, run_of(plan, 0, 2))) == [0, 1]
    successor = SplitAssignments(plan, {"source": Counting(4)}, state)
    assert read_all(begun(successor, run_of(plan, 0, 3))) == [0, 1]
    assert read_all(begun(successor, other)) == [2, 3]


@pytest.mark.parametrize("kind", [SplitKind.RESTORABLE, SplitKind.PASSED_ONCE])
def test_the_end_of_the_job_wakes_who_waits_for_a_split(kind: SplitKind) -> None:
    plan, source = plan_of(kind), Waiting()
    assignments = SplitAssignments(plan, {"source": source}, JobState())
    with ThreadPoolExecutor(1) as thread:
        read = thread.submit(read_all, begun(assignments, run_of(plan, 0, 1)))
        assert source.is_asked.wait(10)
        assignments.close()
        with pytest.raises(OperationalError):
            read.result(10)


def test_a_restarted_pass_begins_anew() -> None:
    plan = plan_of(SplitKind.PASSED_ONCE)
    assignments = SplitAssignments(plan, {"source": Counting(3)}, JobState())
    former = begun(assignments, run_of(plan, 0, 1))
    assert former.next_split(SCAN) == b"0"
    assignments.give_up(run_of(plan, 0, 1))
    assignments.restart([0])
    assert read_all(begun(assignments, run_of(plan, 0, 2))) == [0, 1, 2]
    with pytest.raises(OperationalError, match="given up"):
        former.next_split(SCAN)


def test_a_source_that_is_not_at_hand_leaves_the_job() -> None:
    plan = plan_of(SplitKind.PASSED_ONCE)
    with pytest.raises(SourceUnavailableError, match="numbers"):
        SplitAssignments(plan, {}, JobState()).begin(run_of(plan, 0, 1))
