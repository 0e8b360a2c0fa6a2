"""The gaps: the statements of the notebooks that sqlfront doesn't answer yet, in `gaps.txt`.

A line per statement: the notebook, the statement's number among those that sqlfront runs, then, for the
reader, the verdict and what the refusal said when the list was written:

    05_signup_funnel 10 refused: |> is not supported

The list is strict: a statement of the list that sqlfront answers as Spark does fails the tests, and so does
one that isn't in the list and has another outcome. `python -m tests.oracle.notebooks.report --write` writes
the list anew.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tests.oracle.notebooks.runs import FOLDER, Statement, Verdict

GAPS = FOLDER / "gaps.txt"
Gap = tuple[str, int]


def gap(statement: Statement) -> Gap:
    """What names the statement in the list: the notebook's name and the statement's number."""
    return statement.record.file.removesuffix(".slt"), statement.number


def read(path: Path = GAPS) -> dict[Gap, str]:
    """The gaps, and what the list says of each."""
    found: dict[Gap, str] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            name, number, text = line.split(" ", 2)
            found[name, int(number)] = text
    return found


def write(statements: Iterable[Statement], path: Path = GAPS) -> None:
    """Write the list: the statements that aren't native."""
    head = "# Statements of the notebooks that sqlfront doesn't answer yet; see gaps.py for the format."
    lines = [_line(each) for each in statements if each.verdict is not Verdict.NATIVE]
    path.write_text("\n".join([head, *lines]) + "\n", encoding="utf-8")


def _line(statement: Statement) -> str:
    name, number = gap(statement)
    text = statement.detail if statement.verdict is Verdict.REFUSED else statement.detail.split("\n")[0]
    return f"{name} {number} {statement.verdict.name.lower()}: {text}"
