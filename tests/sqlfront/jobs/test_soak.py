"""Jobs in processes that are killed at random: a sample of `python -m tests.sqlfront.jobs.soak`."""

from pathlib import Path

import pytest

from tests.sqlfront.jobs.soak import soak


@pytest.mark.parametrize("jobs", [5, pytest.param(1000, marks=pytest.mark.soak)])
def test_soak(tmp_path: Path, jobs: int) -> None:
    outcomes = soak(tmp_path, jobs, seed=jobs)

    assert outcomes["jobs"] == jobs
