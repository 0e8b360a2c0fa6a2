"""From conditions to keys: which ones, and whether they say it all."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal

import pytest

from tests.planner.pruning.cases import Said
from tests.planner.pruning.conditions import ALL_KEYS, DAY, EXACT, Case, name


def _as_tuples(expected: list[object] | None) -> set[tuple[object, ...]] | None:
    if expected is None:
        return None
    return {item if isinstance(item, tuple) else (item,) for item in expected}


@pytest.mark.parametrize("case", [*EXACT, *ALL_KEYS], ids=name)
def test_keys_of_a_condition(case: Case) -> None:
    said = Said(case.where, case.keys.split(", "), case.arguments)
    found = said.keys()

    assert (None if found is None else set(found)) == _as_tuples(case.expected)
    assert found is None or len(set(found)) == len(found)
    assert said.is_exact == case.exact


def test_enough_conditions_must_not_prune() -> None:
    assert len(ALL_KEYS) >= 60


def test_keys_have_the_types_of_their_columns() -> None:
    found = Said(
        "l = 5 and dec = 5 and d = '2024-02-28' and ts = '2024-02-28'", ["l", "dec", "d", "ts"]
    ).keys()

    assert found is not None
    assert [type(value) for value in found[0]] == [int, Decimal, date, datetime]


def test_above_the_limit_all_keys_are_possible() -> None:
    assert Said("i in (1, 2, 3)", ["i"], limit=3).keys() == ((1,), (2,), (3,))
    assert Said("i in (1, 2, 3)", ["i"], limit=2).keys() is None
    assert Said("i in (1, 2) and j in (1, 2)", ["i", "j"], limit=3).keys() is None
    assert Said("i = 1 or i = 2 or i = 3", ["i"], limit=2).keys() is None
    assert Said("i in (?, ?, ?)", ["i"], (1, 2, 3), limit=2).keys() is None


def test_what_may_be_above_the_limit_is_not_exact() -> None:
    said = Said("i in (?, ?, ?)", ["i"], (1, 1, 2), limit=2)

    assert said.keys() == ((1,), (2,))
    assert not said.is_exact


def test_a_day_is_midnight_where_the_session_is() -> None:
    where = "d = timestamp'2024-02-28 00:00:00 Asia/Tokyo'"

    assert Said(where, ["d"], zone="Asia/Tokyo").keys() == ((DAY,),)
    assert Said(where, ["d"], zone="UTC").keys() == ()


def test_a_long_list_of_rows() -> None:
    rows = [(number, number % 7) for number in range(900)]
    said = Said(f"(i, j) in ({', '.join(map(str, rows))})", ["i", "j"])

    assert set(said.keys() or ()) == set(rows)


def test_nan_is_a_key_like_any_other() -> None:
    found = Said("g = ? or g = 'NaN'", ["g"], (float("nan"),)).keys()

    assert found is not None
    assert len(found) == 1
    assert found[0] != (0.0,)
