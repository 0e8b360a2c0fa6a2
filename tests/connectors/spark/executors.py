"""A Spark with real executors, and a Python for them that has what members need and nothing else."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import cloudpickle
import msgspec
import numpy
import pyarrow
from pyspark.sql import SparkSession

PACKAGES = (pyarrow, numpy, msgspec, cloudpickle)
PATIENCE = 120.0


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
def session(folder: Path, **settings: str) -> Iterator[SparkSession]:
    """Three executors with two slots each, which don't see our sources."""
    python = python_with(PACKAGES, folder / "python")
    given = {"PYSPARK_PYTHON": python, "SPARK_WORKER_DIR": str(folder / "work"), "PYTHONPATH": ""}
    before = {name: os.environ.get(name) for name in given}
    os.environ.update(given)
    builder = SparkSession.builder.master("local-cluster[3,2,1024]")
    for name, value in {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.sql.catalogImplementation": "in-memory",
        **settings,
    }.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    try:
        spark.sparkContext.setLogLevel("OFF")
        yield spark
    finally:
        spark.stop()
        for name, old in before.items():
            if old is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = old


def executors(spark: SparkSession) -> dict[str, int]:
    """The processes of the session's executors, by their Spark names."""
    found = {}
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            try:
                words = (process / "cmdline").read_text().split("\0")
            except OSError:  # it has ended
                continue
            if "--executor-id" in words and spark.sparkContext.applicationId in words:
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
