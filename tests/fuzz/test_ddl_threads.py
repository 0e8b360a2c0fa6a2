"""A sample of the towns; `python -m tests.fuzz.ddl_threads --minutes 10` runs more."""

from functools import partial

import pytest

from tests.fuzz.ddl_threads import (
    FORMATS,
    SPREAD_FORMATS,
    Place,
    campaign,
    embedded,
    leaving_members,
    of_cluster,
)

PLACES = pytest.mark.parametrize(
    "place",
    [partial(embedded, 1), partial(embedded, 3), of_cluster],
    ids=["alone", "three members", "two sessions of processes"],
)


@PLACES
def test_readers_beside_ddl_and_copies_see_each_confirmed_row(place: Place) -> None:
    outcomes = campaign(range(len(FORMATS)), place, 60, each=0.5)

    assert outcomes["towns"] == len(FORMATS)
    assert outcomes["INSERT INTO"] > 0


@pytest.mark.doors
@PLACES
def test_a_minute_of_towns(place: Place) -> None:
    outcomes = campaign(range(100, 100_000), place, 60)

    assert outcomes["towns"] > 5
    assert outcomes["CACHE TABLE"] > 0


@pytest.mark.doors
def test_ddl_beside_members_that_join_and_leave_loses_no_row() -> None:
    """ADD COLUMN and CACHE TABLE lost the rows of a member that handed over."""
    with leaving_members(1) as place:
        outcomes = campaign(range(100, 100_000), place, 30, 6.0, SPREAD_FORMATS, leaving=True)

    assert outcomes["INSERT INTO"] > 0
    assert outcomes["ALTER TABLE"] > 0
