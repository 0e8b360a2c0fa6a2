"""A sample of the random statements about durable jobs, of the sessions that share a store, and of the
changes around a job; `python -m tests.fuzz.job_statements`, `.job_crowds` and `.job_hazards` run more."""

from collections import Counter
from collections.abc import Sequence

import pytest

from tests.fuzz import job_crowds, job_hazards, job_statements


@pytest.mark.parametrize(
    "numbers", [range(4), pytest.param(range(4, 300), marks=pytest.mark.doors)], ids=["few", "many"]
)
def test_statements_about_jobs_end_as_a_model_says(numbers: Sequence[int]) -> None:
    done, findings = Counter[str](), []
    for number, ran, found in job_statements.campaign(0, numbers):
        done += ran
        findings += [(number, found)] if found else []

    assert findings == []
    assert len(done) == 11  # kinds of statements


@pytest.mark.parametrize(
    ("count", "seconds"), [(1, 1.5), pytest.param(30, 5.0, marks=pytest.mark.doors)], ids=["short", "long"]
)
def test_sessions_that_share_a_store_get_right_rows_or_named_errors(count: int, seconds: float) -> None:
    outcomes = Counter[str]()
    for _, crowd in job_crowds.campaign(0, range(count), seconds):
        assert crowd.findings == []
        outcomes += crowd.outcomes

    assert outcomes["CREATE"] > 0
    assert outcomes["OperationalError"] > 0


@pytest.mark.doors
def test_a_job_whose_surroundings_change_has_right_rows_or_named_errors() -> None:
    outcomes = Counter[str]()
    for number, outcome, found, did in job_hazards.campaign(0, range(60)):
        assert not found, (number, did, found)
        outcomes[outcome] += 1

    assert outcomes["finished"] > 15
    assert outcomes["cancelled"] > 0
