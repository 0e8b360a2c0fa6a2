"""Run the feature files, and count.

    python -m tests.oracle.features.report                  sqlfront: same, refused, different, by folder
    python -m tests.oracle.features.report --only json      the folders and files of this beginning
    python -m tests.oracle.features.report --spark          PySpark: writes the names that it fails itself

A scenario's name is its file, its title and the parameters of its example, so that it is the
same in every run.

Exit status 1 if a scenario that PySpark passes is answered differently.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from sqlfront_values.errors import NotSupportedError
from tests.oracle.features.subject import FrontSession

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HERE: Final = Path(__file__).parent
#: The names of the scenarios that PySpark itself fails: features of another engine, of Spark Connect alone,
#: or of another version of Spark. A run of some files replaces the names of these files only.
BASELINE: Final = HERE / "spark_failures.txt"
#: Two partitions instead of 200 spare most of the time.
SETTINGS: Final = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
}
#: What leaves out the scenario that hangs Spark: windows of time by the microsecond.
WITHOUT_HANGING: Final = "not pathological"
STEPS: Final = ("files", "sql", "plan")


class Outcome(Enum):
    """What became of a scenario."""

    SAME = "same"
    REFUSED = "refused"
    DIFFERENT = "different"


class Recorder:
    """The plugin of the inner pytest: it gives the steps their session, and notes each scenario's outcome."""

    def __init__(self, *, on_spark: bool) -> None:
        self._on_spark = on_spark
        self.outcomes: dict[str, Outcome] = {}
        self.details: dict[str, str] = {}
        self._names: dict[str, str] = {}

    @pytest.fixture(scope="session")
    def spark(self) -> Iterator[FrontSession | SparkSession]:
        """The session that runs the statements."""
        if not self._on_spark:
            yield FrontSession()
            return
        session = _spark_session()
        yield session
        session.stop()

    def pytest_bdd_before_scenario(self, request: pytest.FixtureRequest, feature: Any, scenario: Any) -> None:
        """Note the scenario's name: that of its test depends on which other files are run."""
        _, bracket, example = request.node.name.partition("[")
        name = f"{feature.rel_filename}: {scenario.name}{bracket}{example}"
        self._names[request.node.nodeid] = " ".join(name.split())

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
        """Note the outcome of a phase: the worst one counts."""
        name = self._names.get(item.nodeid)
        if name is not None:
            self._note(name, call.excinfo and call.excinfo.value)
        return (yield)

    def _note(self, name: str, error: BaseException | None) -> None:
        if error is None:
            self.outcomes.setdefault(name, Outcome.SAME)
        elif self.outcomes.get(name) in (None, Outcome.SAME):
            refusal = _refusal(error)
            self.outcomes[name] = Outcome.DIFFERENT if refusal is None else Outcome.REFUSED
            self.details[name] = str(refusal or error)


def _refusal(error: BaseException | None) -> NotSupportedError | None:
    while error is not None:
        if isinstance(error, NotSupportedError):
            return error
        error = error.__cause__ or error.__context__
    return None


def _spark_session() -> SparkSession:
    from pyspark.sql import SparkSession

    builder: Any = SparkSession.builder
    for key, value in SETTINGS.items():
        builder = builder.config(key, value)
    return builder.master("local[2]").getOrCreate()


def run(beginning: str, *, on_spark: bool) -> Recorder:
    """Run the scenarios of the folders and files whose names begin so."""
    os.environ["SQLFRONT_FEATURES"] = beginning
    recorder = Recorder(on_spark=on_spark)
    steps = [part for name in STEPS for part in ("-p", f"pysail.testing.spark.steps.{name}")]
    # A signal of pytest-timeout breaks the connection to Spark. The project's own configuration isn't read.
    switches = [
        "-q",
        "--tb=no",
        "--no-summary",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:timeout",
        "-c",
        os.devnull,
        "-k",
        WITHOUT_HANGING,
    ]
    place = ["--rootdir", str(HERE), "--confcutdir", str(HERE), str(HERE / "scenarios.py")]
    pytest.main([*switches, *steps, *place], [recorder])
    return recorder


def main(arguments: list[str] | None = None) -> int:
    """Exit status 0, or 1 if an answer differs."""
    parser = argparse.ArgumentParser(prog="tests.oracle.features.report")
    parser.add_argument("--only", default="", help="the beginning of the names of folders or files")
    parser.add_argument("--spark", action="store_true", help="run PySpark, and write the names that it fails")
    options = parser.parse_args(arguments)
    recorder = run(options.only, on_spark=options.spark)
    if options.spark:
        failed = {name for name, each in recorder.outcomes.items() if each is not Outcome.SAME}
        kept = _failures_of_spark() - recorder.outcomes.keys()
        BASELINE.write_text("".join(f"{name}\n" for name in sorted(failed | kept)))
        print(f"PySpark: {len(recorder.outcomes)} scenarios, {len(failed)} failed")
        return 0
    baseline = _failures_of_spark()
    judged = {name: each for name, each in recorder.outcomes.items() if name not in baseline}
    print(summary(judged, recorder.details))
    if not baseline:
        print("PySpark's own failures are among these: no baseline is stored, see --spark")
    return 1 if Outcome.DIFFERENT in judged.values() else 0


def _failures_of_spark() -> frozenset[str]:
    return frozenset(BASELINE.read_text().splitlines()) if BASELINE.exists() else frozenset()


def summary(judged: dict[str, Outcome], details: dict[str, str]) -> str:
    """Differences, refusals by what they say, then the counts."""
    lines = []
    for name, outcome in judged.items():
        if outcome is Outcome.DIFFERENT:
            lines += [f"DIFFERENT {name}", *(f"    {line}" for line in details[name].splitlines()[:8])]
    refused = (details[name].partition("\n")[0] for name, each in judged.items() if each is Outcome.REFUSED)
    lines += [f"{count:5} refused: {detail}" for detail, count in Counter(refused).most_common()]
    counts = Counter(judged.values())
    lines.append(", ".join(f"{counts[each]} {each.value}" for each in Outcome))
    lines.append(f"{len(judged)} scenarios; same: {counts[Outcome.SAME] / max(len(judged), 1):.1%}")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
