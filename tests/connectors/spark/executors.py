"""A Spark with real executors, and a Python for them that has what members need and nothing else.

With ``SQLFRONT_TEST_SPARK=connect`` the session is one over Spark Connect, whose server this process starts.
"""

import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import cloudpickle
import msgspec
import numpy
import pyarrow
from pyspark import SparkContext
from pyspark.sql import SparkSession

PACKAGES = (pyarrow, numpy, msgspec, cloudpickle)
PATIENCE = 120.0
MASTER = "local-cluster[3,2,1024]"
CONNECT = os.environ.get("SQLFRONT_TEST_SPARK") == "connect"


def python_with(packages: tuple[object, ...], folder: Path) -> str:
    """A Python in the folder that has these packages only."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    (site,) = folder.glob("lib/python*/site-packages")
    for package in packages:
        home = Path(package.__path__[0])  # type: ignore[attr-defined]
        for place in (home, home.with_name(f"{home.name}.libs")):
            if place.exists():
                (site / place.name).symlink_to(place)
    return str(folder / "bin" / "python")


@contextmanager
def session(folder: Path) -> Iterator[SparkSession]:
    """Three executors with two slots each, which don't see our sources."""
    python = python_with(PACKAGES, folder / "python")
    given = {"PYSPARK_PYTHON": python, "SPARK_WORKER_DIR": str(folder / "work"), "PYTHONPATH": ""}
    if CONNECT:
        given["SPARK_TESTING"] = "1"  # has the client ask its server for the port
    before = {name: os.environ.get(name) for name in given}
    os.environ.update(given)
    builder = SparkSession.builder.remote(MASTER) if CONNECT else SparkSession.builder.master(MASTER)
    for name, value in {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.sql.catalogImplementation": "in-memory",
        "spark.connect.grpc.binding.port": "0",
    }.items():
        builder = builder.config(name, value)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # over Connect: settings of the server that can't be changed again
        spark = builder.getOrCreate()
    try:
        context().setLogLevel("OFF")
        yield spark
    finally:
        spark.stop()
        for name, old in before.items():
            if old is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = old


def context() -> SparkContext:
    """The context of this process's JVM, whichever way its sessions are talked to."""
    found = SparkContext._active_spark_context
    assert found is not None
    return found


def executors() -> dict[str, int]:
    """The processes of the executors, by their Spark names."""
    found = {}
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            try:
                words = (process / "cmdline").read_text().split("\0")
            except OSError:  # it has ended
                continue
            if "--executor-id" in words and context().applicationId in words:
                found[words[words.index("--executor-id") + 1]] = int(process.name)
    return found


def below(process: int) -> list[int]:
    """The processes that this one has started, and theirs."""
    children = Path(f"/proc/{process}/task").glob("*/children")
    found = [int(child) for place in children for child in place.read_text().split()]
    return [*found, *(other for child in found for other in below(child))]


def until(fact: Callable[[], object]) -> None:
    """Wait for the fact."""
    deadline = time.monotonic() + PATIENCE
    while not fact():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.01)
