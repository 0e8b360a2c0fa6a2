"""A sample of the random changes by keys; `python -m tests.fuzz.key_changes` runs more."""

import pytest

from tests.fuzz import key_changes


@pytest.mark.parametrize("count", [3, pytest.param(600, marks=pytest.mark.doors)], ids=["few", "many"])
def test_members_change_rows_by_keys_as_one_process_does(count: int) -> None:
    findings, outcomes = key_changes.campaign(count, seed=count)

    assert findings == []
    assert outcomes["done"] > 20 * count
    assert outcomes["error"] > count
