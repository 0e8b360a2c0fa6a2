"""SQL on processes that are killed, paused and cut off: the right answer, or an error that says why."""

import gc
import logging
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.sqlfront.process_chaos import Chaos


def until(fact: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not fact():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.05)


@pytest.mark.parametrize(
    "seconds", [10, pytest.param(120, marks=[pytest.mark.cluster, pytest.mark.timeout(400)])]
)
def test_every_query_is_right_or_says_what_is_wrong(
    seconds: int, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL)
    files = len(os.listdir("/proc/self/fd"))
    others = set(threading.enumerate())
    chaos = Chaos(tmp_path, seed=seconds)
    try:
        chaos.run(seconds, clients=8)
    finally:
        chaos.close()
        print(chaos.figures())
    assert chaos.found["answers"] > 10
    assert chaos.found["kills"] + chaos.found["cuts"] > 0

    def threads() -> list[str]:
        names = [
            each.name for each in set(threading.enumerate()) - others if each.name.startswith("sqlfront")
        ]
        return [name for name in names if name != "sqlfront-timer"]

    until(lambda: not threads())
    until(lambda: gc.collect() >= 0 and len(os.listdir("/proc/self/fd")) <= files)
