"""A session beside one of Spark Connect: the same tests, in a process of their own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900)]


def test_copies_and_lanes_are_the_same_over_spark_connect() -> None:
    files = [
        str(Path(__file__).parent / f"test_{name}.py") for name in ("copies", "names", "mixed", "attached")
    ]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-m", "spark", "-k", "not tpch", *files],
        env=os.environ | {"SQLFRONT_TEST_SPARK": "connect"},
        check=False,
        capture_output=True,
        text=True,
        timeout=800,
    )

    assert done.returncode == 0, done.stdout
