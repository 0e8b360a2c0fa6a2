"""The same tests over Spark Connect, in a process of their own."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest


@pytest.mark.cluster
def test_all_of_it_holds_over_spark_connect() -> None:
    """Its client needs packages that Spark itself doesn't (``pyspark[connect]``)."""
    assert find_spec("grpc") is not None
    folder = Path(__file__).parent
    files = [str(folder / f"test_{name}.py") for name in ("link", "run", "watch", "loading")]
    connect = os.environ | {"SQLFRONT_TEST_SPARK": "connect"}

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-m", "spark", *files],
        env=connect,
        check=False,
        capture_output=True,
        text=True,
        timeout=500,
    )

    assert done.returncode == 0, done.stdout
