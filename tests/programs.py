"""Programs and tests in processes of their own."""

import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path


def printed(program: str) -> list[str]:
    """The lines that a program prints, which has to end well."""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    return done.stdout.splitlines()


def assert_passed_over_connect(files: Iterable[Path], *options: str) -> None:
    """The tests of the live Spark in these files pass over Spark Connect, on a server that they start."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-m", "spark", *options, *map(str, files)],
        env=os.environ | {"SQLFRONT_TEST_SPARK": "connect"},
        capture_output=True,
        text=True,
        timeout=800,
        check=False,
    )
    assert done.returncode == 0, done.stdout
