"""Which running attempts count as slow."""

import pytest

from sqlfront_engine.durable.event_store.events import Attempt, Manifest
from sqlfront_engine.durable.runner import TaskEnd
from sqlfront_engine.durable.speculation import LEAST, PERIOD, SLOWNESS, Speculation
from sqlfront_engine.durable.stages import JobStage
from sqlfront_engine.durable.tasks import StageTasks, TaskRun
from sqlfront_engine.testing import FakeClock
from sqlfront_values.errors import OperationalError

TASKS = 4
RUNS = [
    TaskRun(StageTasks(JobStage(0, (), True, (), ()), ((0, 1),) * TASKS, 1), task, Attempt(1, 1), (), "")
    for task in range(TASKS)
]


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def speculation(clock: FakeClock) -> Speculation:
    """One of a stage all tasks of which have just begun."""
    found = Speculation(clock)
    for run in RUNS:
        found.began(run)
    return found


def end(speculation: Speculation, *tasks: int) -> None:
    for task in tasks:
        speculation.ended(TaskEnd(RUNS[task], Manifest()))


def test_a_task_is_slow_after_twice_the_median_of_half_of_the_tasks(
    speculation: Speculation, clock: FakeClock
) -> None:
    clock.advance(2 * LEAST)
    end(speculation, 0, 1)
    clock.advance((SLOWNESS - 1) * 2 * LEAST)
    assert speculation.slow(RUNS[2:]) == []
    clock.advance(0.1)
    assert speculation.slow(RUNS[2:]) == RUNS[2:]


def test_the_median_of_few_tasks_says_nothing(speculation: Speculation, clock: FakeClock) -> None:
    end(speculation, 0)
    clock.advance(1000)
    assert speculation.slow(RUNS[1:]) == []


def test_short_tasks_are_not_slow(speculation: Speculation, clock: FakeClock) -> None:
    clock.advance(0.1)
    end(speculation, 0, 1)
    clock.advance(LEAST - 0.2)
    assert speculation.slow(RUNS[2:]) == []
    clock.advance(0.2)
    assert speculation.slow(RUNS[2:]) == RUNS[2:]


def test_the_slowest_comes_first_and_ended_runs_are_not_slow(
    speculation: Speculation, clock: FakeClock
) -> None:
    end(speculation, 0, 1)
    speculation.ended(TaskEnd(RUNS[3], None, OperationalError("lost")))
    clock.advance(1)
    speculation.began(RUNS[3])
    clock.advance(2 * LEAST)
    assert speculation.slow(reversed(RUNS)) == [RUNS[2], RUNS[3]]


def test_one_look_is_due_at_a_time(speculation: Speculation, clock: FakeClock) -> None:
    looks: list[int] = []
    for number in range(2):
        speculation.look_later(lambda number=number: looks.append(number))  # type: ignore[misc]
    clock.advance(PERIOD)
    assert looks == [0]
    speculation.looked()
    speculation.look_later(lambda: looks.append(2))
    clock.advance(PERIOD)
    assert looks == [0, 2]
