"""The optimized plans of the 22 TPC-H queries at scale 1, from statistics alone, kept as text and read in
review.

``python -m tests.planner.test_tpch_plans`` writes them anew.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from sqlfront_planner.check import check
from sqlfront_planner.explain.plan_text import plan_text
from sqlfront_planner.optimizer import RULES, optimize
from sqlfront_planner.testing import bound
from sqlfront_values.settings import Settings
from tests.planner.known_tables import TPCH, known_catalog

PLANS = Path(__file__).parent / "tpch_plans"
QUERIES = Path(__file__).parents[1] / "tpch" / "queries"
CATALOG = known_catalog(TPCH)
NUMBERS = range(1, 23)


def text(number: int) -> str:
    return (QUERIES / f"q{number}.sql").read_text().strip().rstrip(";")


def optimized(number: int) -> str:
    """The plan of a query as text; its invariants are checked after every rule."""
    plan = bound(text(number), CATALOG)
    for rule in RULES:
        plan = check(rule(plan, Settings()))
    return plan_text(plan) + "\n"


@pytest.mark.parametrize("number", NUMBERS)
def test_plan(number: int) -> None:
    assert optimized(number) == (PLANS / f"q{number}.txt").read_text()


@pytest.mark.parametrize("number", NUMBERS)
def test_rules_that_are_passed_over_would_change_nothing(number: int) -> None:
    assert plan_text(optimize(bound(text(number), CATALOG), Settings())) + "\n" == optimized(number)


def test_no_query_joins_without_a_condition_but_for_a_single_row() -> None:
    for number in NUMBERS:
        assert "Join: inner\n" not in optimized(number)


if __name__ == "__main__":
    PLANS.mkdir(exist_ok=True)
    for number in NUMBERS:
        (PLANS / f"q{number}.txt").write_text(optimized(number))
