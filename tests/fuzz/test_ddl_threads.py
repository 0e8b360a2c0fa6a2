"""A sample of the towns; `python -m tests.fuzz.ddl_threads --minutes 10` runs more."""

import pytest

from tests.fuzz.ddl_threads import FORMATS, campaign


@pytest.mark.parametrize("members", [1, 3])
def test_readers_beside_ddl_and_copies_see_each_confirmed_row(members: int) -> None:
    outcomes = campaign(range(len(FORMATS)), members, 60, each=0.5)

    assert outcomes["towns"] == len(FORMATS)
    assert outcomes["CACHE TABLE"] > 0
    assert outcomes["INSERT INTO"] > 0


@pytest.mark.doors
@pytest.mark.parametrize("members", [1, 3])
def test_a_minute_of_towns(members: int) -> None:
    outcomes = campaign(range(100, 100_000), members, 60)

    assert outcomes["towns"] > 10
