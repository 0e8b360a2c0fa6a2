"""A sample of the towns; `python -m tests.fuzz.ddl_threads --minutes 10` runs more."""

from functools import partial

import pytest

from tests.fuzz.ddl_threads import FORMATS, Place, campaign, embedded, of_cluster

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
