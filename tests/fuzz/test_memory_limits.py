"""A few queries of the generator; ``make fuzz`` and ``make soak`` run more."""

import os
from collections import Counter

import pytest

from tests.fuzz.memory_limits import Finding, Outcome, campaign

SEED = int(os.environ.get("SQLFRONT_FUZZ_SEED", "12"))


def outcomes(seed: int, count: int, rows: int) -> Counter[str]:
    """The lanes of a campaign's queries; AssertionError if there is a finding."""
    events = list(campaign(seed, count, rows))
    findings = [str(event) for event in events if isinstance(event, Finding)]
    assert not findings, "\n".join(findings)
    return Counter(event.lane for event in events if isinstance(event, Outcome))


def test_queries_with_little_memory_are_right_or_say_what_they_lack() -> None:
    assert sum(outcomes(SEED, 5, 20_000).values()) == 5


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_many_queries_with_little_memory() -> None:
    found = outcomes(SEED + 1, 300, 300_000)

    assert found["durable"] > found["no memory"]
