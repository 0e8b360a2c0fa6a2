"""A sample of the sweep over extremes; ``make fuzz`` runs the whole."""

import os

import pytest

from tests.fuzz.extreme_calls import functions
from tests.fuzz.extremes import sweep

SEED = int(os.environ.get("SQLFRONT_FUZZ_SEED", "0"))
SECONDS = 60.0


@pytest.mark.slow
def test_functions_survive_extremes() -> None:
    findings = [found for findings, _ in sweep(functions(), 10, SEED, seconds=SECONDS) for found in findings]
    assert findings == [], "\n".join(map(str, findings))
