"""Waiting for a fact about a job."""

import time
from collections.abc import Callable


def wait_until(fact: Callable[[], bool]) -> None:
    """Wait until something is so."""
    end = time.monotonic() + 60
    while not fact():
        assert time.monotonic() < end
        time.sleep(0.01)
