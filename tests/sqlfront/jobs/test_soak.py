"""A sample of the long run; `python -m tests.sqlfront.jobs.soak` has a thousand jobs."""

from pathlib import Path

import pytest

from tests.sqlfront.jobs.soak import soak


@pytest.mark.parametrize("jobs", [5, pytest.param(1000, marks=pytest.mark.soak)])
def test_jobs_in_processes_that_are_killed_end_right(tmp_path: Path, jobs: int) -> None:
    outcomes = soak(tmp_path, jobs, seed=jobs)

    assert outcomes["jobs"] == jobs
