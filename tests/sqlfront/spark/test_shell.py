"""The interactive shell beside a live Spark, driven by keys."""

import re
from pathlib import Path

import pytest

from tests.sqlfront.shell.terminal import Terminal
from tests.sqlfront.spark.terminal import ENDLESS, LONG, PIVOT

pytestmark = [pytest.mark.spark, pytest.mark.cluster]

TIME = r"(?:[\d.]+ m?s|\d+ min \d+ s)"
PROGRESS = re.compile(rf"spark: \d of \d stages, \d of \d tasks, {TIME} \(Ctrl-C cancels\)$", re.MULTILINE)
FOOTER = re.compile(rf"^1 row, {TIME}, spark$", re.MULTILINE)


@pytest.mark.parametrize("name", ["table", "csv"])
def test_a_query_that_spark_runs_shows_its_progress_and_is_cancelled(tmp_path: Path, name: str) -> None:
    with Terminal("--spark", "local[2]", folder=tmp_path, patience=LONG) as shell:
        shell.run(rf"\format {name}")
        shell.clear()
        shell.enter(f"{PIVOT};")
        shell.wait("spark: starting")
        shell.wait(lambda text: FOOTER.search(text) is not None)
        shell.clear()
        shell.enter(f"{ENDLESS};")
        shell.wait(lambda text: PROGRESS.search(text) is not None)
        shell.send("\x03")
        shell.wait("cancelled after")

        assert FOOTER.search(shell.run(f"{PIVOT};"))
        assert "1 row" in shell.run("select 1 as a;")
        shell.send("\x04")
        assert shell.ended() == 0
