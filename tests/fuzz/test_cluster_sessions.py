"""A sample of the random sessions of a cluster; `python -m tests.fuzz.cluster_sessions` runs more."""

import pytest

from tests.fuzz.cluster_sessions import campaign


def test_members_answer_as_one_process_does() -> None:
    findings, outcomes = campaign(seed=1, seconds=60, rounds=2, embedded=True)

    assert findings == []
    assert outcomes["done"] > 60
    assert outcomes["error"] > 5


@pytest.mark.doors
@pytest.mark.parametrize("kills", [False, True], ids=["members leave", "members are killed"])
def test_members_that_come_and_go_change_no_answer(kills: bool) -> None:
    findings, outcomes = campaign(seed=2, seconds=30, kills=kills)

    assert findings == []
    assert outcomes["done"] > 0
    assert outcomes["join"] > 0
