"""A notebook of everyday PySpark has the same answers when it attaches sqlfront, and changes nothing else."""

from collections import Counter
from pathlib import Path
from typing import cast

import pytest

from sqlfront.spark.attached import AttachedSession
from tests.notebooks.cells import Answer, Names, code_cells, run
from tests.oracle.spark import SparkOracle

pytestmark = [pytest.mark.spark, pytest.mark.doors, pytest.mark.timeout(1800)]

EVERYDAY = Path(__file__).parent / "everyday.ipynb"
ATTACH = "import sqlfront\n\nspark = sqlfront.attach(spark, sqlfront.Config(query_history=1000))"
NOT_SEEN = "SELECT id, lane FROM sys.queries WHERE id > ? AND text NOT LIKE '%sys.queries%' ORDER BY id"


def test_a_notebook_that_attaches_answers_as_before(
    spark: SparkOracle, capsys: pytest.CaptureFixture[str]
) -> None:
    cells = code_cells(EVERYDAY)
    assert len(cells) >= 40

    names: Names = {"__name__": "__main__"}
    plain = [run(cell, names) for cell in cells]
    attached, lanes = run_attached(cells)

    with capsys.disabled():
        report(cells, lanes)
    for cell, before, after in zip(cells, plain, attached, strict=True):
        assert after == before, cell
    used = Counter(lane for cell in lanes for lane in cell)
    assert used["spark"] and used["light"] + used["direct"] + used["mixed"], used


def run_attached(cells: list[str]) -> tuple[list[Answer], list[list[str]]]:
    """The answers of all cells, with one that attaches after the first; and the lanes of each."""
    names: Names = {"__name__": "__main__"}
    answers, lanes = [run(cells[0], names)], [list[str]()]
    run(ATTACH, names)
    with cast("AttachedSession", names["spark"]) as session:
        last = 0
        for cell in cells[1:]:
            answers.append(run(cell, names))
            statements = list(session.execute(NOT_SEEN, (last,)).tuples(naive=True))
            lanes.append([str(lane) for _, lane in statements])
            last = max([last, *(cast("int", number) for number, _ in statements)])
    return answers, lanes


def report(cells: list[str], lanes: list[list[str]]) -> None:
    """Print the lanes of the cells that ran statements."""
    for number, (cell, used) in enumerate(zip(cells, lanes, strict=True), 1):
        if used:
            print(f"{number:3}  {', '.join(used):30}  {cell.splitlines()[0][:80]}")
