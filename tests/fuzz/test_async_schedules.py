"""A sample of the random schedules; `python -m tests.fuzz.async_schedules --minutes 10` runs more."""

import asyncio

import pytest

from tests.fuzz.async_schedules import campaign


@pytest.mark.parametrize("members", [1, 3])
def test_whatever_tasks_do_answers_are_right_and_nothing_is_left(members: int) -> None:
    outcomes = asyncio.run(campaign(range(7, 9), members, 300))

    assert outcomes["schedules"] == 2
    assert outcomes["lookup"] > 0


@pytest.mark.doors
@pytest.mark.parametrize("members", [1, 3])
def test_a_minute_of_schedules(members: int) -> None:
    outcomes = asyncio.run(campaign(range(100, 100_000), members, 60))

    assert outcomes["schedules"] > 10
