"""Jobs in processes that are killed at random: samples of `python -m tests.sqlfront.jobs.soak` and of
`python -m tests.sqlfront.jobs.takeover_soak`."""

from pathlib import Path

import pytest

from tests.sqlfront.jobs import takeover_soak
from tests.sqlfront.jobs.soak import soak


@pytest.mark.parametrize("jobs", [5, pytest.param(1000, marks=[pytest.mark.soak, pytest.mark.timeout(7200)])])
def test_soak(tmp_path: Path, jobs: int) -> None:
    outcomes = soak(tmp_path, jobs, seed=jobs)

    assert outcomes["jobs"] == jobs


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_jobs_are_taken_over_by_processes_that_are_killed_and_stopped(tmp_path: Path) -> None:
    outcomes = takeover_soak.soak(tmp_path, 100, seed=1)

    assert outcomes["rounds"] == 100
    assert outcomes["takeovers"] > 50
