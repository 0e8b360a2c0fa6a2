"""A sample of the sweep over extremes: every second function; ``make fuzz`` runs the whole."""

import os

import pytest

from tests.fuzz.extreme_calls import functions
from tests.fuzz.extremes import sweep

SEED = int(os.environ.get("SQLFRONT_FUZZ_SEED", "0"))
#: Calls of each function: two of constants, and one over the tables. ``make fuzz`` begins with the same ones.
COUNT = 3


@pytest.mark.slow
def test_functions_survive_extremes() -> None:
    findings = [found for findings, _ in sweep(functions()[SEED % 4 :: 4], COUNT, SEED) for found in findings]
    assert findings == [], "\n".join(map(str, findings))
