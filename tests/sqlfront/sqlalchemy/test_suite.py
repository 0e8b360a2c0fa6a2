"""SQLAlchemy's own suite for dialects: a sample in each run, all of it by `make doors`."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import sqlalchemy

from tests.sqlfront.sqlalchemy.suite.ruled_out import RULED_OUT

ROOT = Path(__file__).parents[3]
_SAMPLE = "RowCount or LimitOffset or StringTest"
_COUNTS = re.compile(r"(\d+) (passed|failed|error)")


def _run(*arguments: str) -> tuple[dict[str, int], str]:
    """How many tests passed and failed, and what was printed."""
    command = [sys.executable, "-m", "tests.sqlfront.sqlalchemy.suite.run", "-W", "ignore", *arguments]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=550)
    counts = {kind: int(number) for number, kind in _COUNTS.findall(ran.stdout.splitlines()[-1])}
    return counts, ran.stdout


def test_a_sample_of_the_suite_passes() -> None:
    counts, printed = _run("-k", _SAMPLE)

    assert counts.keys() == {"passed"}, printed
    assert counts["passed"] > 10


def test_the_documentation_lists_what_is_ruled_out() -> None:
    text = (ROOT / "docs" / "sqlalchemy.md").read_text(encoding="utf-8")

    assert re.findall(r"^- `([^`]+)`: (.*)\.$", text, re.MULTILINE) == list(RULED_OUT.items())


@pytest.mark.doors
def test_the_suite_passes_but_for_what_the_documentation_lists(capsys: pytest.CaptureFixture[str]) -> None:
    counts, printed = _run()

    with capsys.disabled():
        print(f" [SQLAlchemy {sqlalchemy.__version__}: {printed.splitlines()[-1]}]", end="")
    assert counts.keys() == {"passed"}, printed
