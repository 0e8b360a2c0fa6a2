"""A Spark with real executors, and a Python for them that has what members need and nothing else.

With ``SQLFRONT_TEST_SPARK=connect`` the session is one over Spark Connect, whose server this process starts.
"""

import os
import socket
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
import pyspark
from pyspark import SparkContext
from pyspark.sql import SparkSession

from tests.oracle.spark import SHORT_LIVED

PACKAGES = (pyarrow, numpy, msgspec, cloudpickle)
PATIENCE = 120.0
SPARK = pyspark.__path__[0]
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
def standalone(folder: Path, hosts: tuple[str, ...]) -> Iterator[str]:
    """The address of a Spark whose master and workers, one with two slots on each host, are processes of
    their own. The hosts are addresses of this machine, which Spark takes for different machines."""
    with socket.create_server((hosts[0], 0)) as free:
        port = str(free.getsockname()[1])
    master = f"spark://{hosts[0]}:{port}"
    started: list[subprocess.Popen[bytes]] = []

    def start(name: str, *arguments: str) -> None:
        command = [str(Path(SPARK) / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", *arguments]
        environment = os.environ | {"SPARK_HOME": SPARK, "SPARK_DAEMON_MEMORY": "256m"}
        with open(folder / f"{len(started)}.log", "wb") as log:
            started.append(subprocess.Popen(command, env=environment, stdout=log, stderr=log))

    try:
        start("master.Master", "--host", hosts[0], "--port", port, "--webui-port", "0")
        for host in hosts:
            place = ("--work-dir", str(folder / host), "--webui-port", "0")
            start("worker.Worker", "--host", host, "--cores", "2", "--memory", "1g", *place, master)
        yield master
    finally:
        for process in started:
            process.terminate()
        for process in started:
            process.wait(PATIENCE)


@contextmanager
def session(folder: Path, master: str = MASTER, **settings: str) -> Iterator[SparkSession]:
    """A session whose executors don't see our sources; three with two slots each, or those of a
    ``master``. There can be no other one in this process at the time."""
    assert CONNECT or SparkContext._active_spark_context is None, "this process has a session already"
    python = python_with(PACKAGES, folder / "python")
    given = {"PYSPARK_PYTHON": python, "SPARK_WORKER_DIR": str(folder / "work"), "PYTHONPATH": ""}
    if CONNECT:
        given["SPARK_TESTING"] = "1"  # has the client ask its server for the port
    before = {name: os.environ.get(name) for name in given}
    os.environ.update(given)
    builder = SparkSession.builder.remote(master) if CONNECT else SparkSession.builder.master(master)
    for name, value in {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.extraJavaOptions": SHORT_LIVED,
        "spark.executor.extraJavaOptions": SHORT_LIVED,
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.sql.catalogImplementation": "in-memory",
        "spark.connect.grpc.binding.port": "0",
        **settings,
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
