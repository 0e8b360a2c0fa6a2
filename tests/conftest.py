"""What all tests share: the live Spark, and what happens to its tests on a machine without Java."""

import gc
import itertools
import os
import shutil
import signal
import sys
import warnings
from collections import defaultdict
from collections.abc import Generator, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest

if TYPE_CHECKING:
    from tests.oracle.spark import SparkOracle


# Tests start hundreds of processes, each of which would compile every module anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
# In each process that loads numpy, OpenBLAS starts threads that spin for a while, and nothing uses them.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

#: Seconds of CPU from which on a run is told what its folders cost.
_LONG = 60.0

# A loaded machine is no reason for an example to fail.
hypothesis.settings.register_profile(
    "house", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("house")


def pytest_configure() -> None:
    """Let Ctrl-C be heard, here and by the programs that tests start: shells have what they start in the
    background ignore it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Generator[None, object, object]:
    """End a test's own handler of Ctrl-C with the test: commands, and PySpark, install theirs."""
    before = signal.getsignal(signal.SIGINT)
    try:
        return (yield)
    finally:
        signal.signal(signal.SIGINT, before)


def missing_for_spark() -> str | None:
    """What this machine lacks for a live Spark, in words; None if nothing."""
    java_home = os.environ.get("JAVA_HOME")
    if shutil.which("java") is None and not (java_home and (Path(java_home) / "bin" / "java").exists()):
        return "Java is not installed"
    if find_spec("pyspark") is None:
        return "pyspark is not installed"
    return None


def on_ci() -> bool:
    """Whether this run is a continuous-integration run, where nothing may be skipped for want of a tool."""
    return os.environ.get("CI", "").lower() in ("true", "1", "yes")


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist looks at the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep the tests that use the live Spark on one worker, so that only one JVM is started."""
    for item in items:
        if item.get_closest_marker("spark") is not None:
            item.add_marker(pytest.mark.xdist_group("spark"))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect without looks for garbage, which took a fifth of the CPU: what is collected stays."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish() -> None:
    """Begin the account of the CPU, without the collection."""
    _leave_out_of_looks_for_garbage()
    _Spent.since_the_last()


def _leave_out_of_looks_for_garbage() -> None:
    """Keep all that lives now out of every later look for garbage: hundreds of tests look, and a look at the
    collected tests or at the syntax trees of all sources takes a second."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None, None, None]:
    """Behind the last test of a file, leave out of looks for garbage what the file's tests have loaded."""
    yield
    if nextitem is not None and nextitem.path != item.path:
        _leave_out_of_looks_for_garbage()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test of the live Spark where there is no Java; on CI that is a failure."""
    if item.get_closest_marker("spark") is None:
        return
    reason = missing_for_spark()
    if reason is None:
        return
    if on_ci():
        pytest.fail(f"needs a live Spark, but {reason}, and CI skips nothing", pytrace=False)
    pytest.skip(f"needs a live Spark: {reason}")


class _Spent:
    """The CPU of this process and of its processes that have ended, up to the last report."""

    seconds = 0.0

    @classmethod
    def since_the_last(cls) -> float:
        """The seconds since the last call."""
        before, cls.seconds = cls.seconds, sum(os.times()[:4])
        return cls.seconds - before


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Let each report carry the CPU since the one before, for the summary of the folders."""
    report = yield
    vars(report).update(cpu=_Spent.since_the_last())
    return report


def _say_what_folders_cost(reporter: pytest.TerminalReporter) -> None:
    """The folders that take the most CPU, if the run is long. What still runs, as the JVM, is left out."""
    cpu, wall = defaultdict[str, float](float), defaultdict[str, float](float)
    for report in itertools.chain.from_iterable(reporter.stats.values()):
        if isinstance(report, pytest.TestReport):
            folder = report.nodeid.partition("::")[0].rpartition("/")[0]
            cpu[folder] += vars(report).get("cpu", 0.0)  # a report of a lost worker has none
            wall[folder] += report.duration
    if sum(cpu.values()) > _LONG:
        workers = sum(wall.values())
        reporter.write_line(f"{sum(cpu.values()):.0f} s of CPU in {workers:.0f} s of the workers; most in")
        for folder in sorted(cpu, key=cpu.__getitem__, reverse=True)[:5]:
            reporter.write_line(f"{cpu[folder]:6.0f} s of CPU in {wall[folder]:6.0f} s  {folder}")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say in the last lines what the folders cost, how many tests did not run for want of a live Spark, and
    why."""
    _say_what_folders_cost(terminalreporter)
    skipped = [
        report
        for report in terminalreporter.stats.get("skipped", [])
        if isinstance(report.longrepr, tuple) and "needs a live Spark" in report.longrepr[2]
    ]
    if skipped:
        terminalreporter.write_line(
            f"{len(skipped)} tests that run a live Spark were skipped: {missing_for_spark()}", yellow=True
        )


@pytest.fixture(scope="session")
def spark() -> "Iterator[SparkOracle]":
    """The live Spark, one for the whole run. A test that asks for it carries `@pytest.mark.spark`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pyspark's own
        from tests.oracle.spark import SparkOracle

        oracle = SparkOracle().__enter__()
    try:
        yield oracle
    finally:
        oracle.__exit__(None, None, None)
