"""The text of lanes and plans is deterministic, and a comparison names each difference."""

import datetime
import tempfile
from pathlib import Path

import pytest

from tests.oracle import ways

FILE = """\
statement
CREATE TEMPORARY VIEW t AS SELECT * FROM VALUES (1, 'a'), (2, 'b') AS t(k, s)

query
SELECT s, now() IS NULL FROM t WHERE k = 1

query
SELECT absent FROM t
"""


@pytest.mark.parametrize(
    "text, expected",
    [
        (f"FileScan: parquet.`{tempfile.gettempdir()}/x1/t.parquet`", "FileScan: parquet.`<temporary>`"),
        (
            f"FileScan: parquet.`{Path(__file__).parents[2]}/t.parquet`",
            "FileScan: parquet.`<checkout>/t.parquet`",
        ),
        ("Project: TIMESTAMP '@now'", "Project: TIMESTAMP '<now>+00:00'"),
        ("Filter: d#0 < DATE '@today'", "Filter: d#0 < DATE '<now>'"),
        (
            "lane: light (why)\nFilter: a#17 > DATE '1998-09-24'",
            "lane: light (why)\nFilter: a#17 > DATE '1998-09-24'",
        ),
        (
            "lane: spark (why)\nScan [b#31,a#30L], [plan_id=9]",
            "lane: spark (why)\nScan [b#1,a#2L], [plan_id=3]",
        ),
        (
            "lane: spark (why)\nDrop a.B$$Lambda$6625/0x00007f28@1f2e3d4c",
            "lane: spark (why)\nDrop a.B@<address>",
        ),
        (
            "lane: spark (why)\nFileScan Location: InMemoryFileIndex[file:/a..., PartitionFilters: []",
            "lane: spark (why)\nFileScan Location: <files>, PartitionFilters: []",
        ),
    ],
    ids=["folder", "checkout", "now", "today", "identity", "spark", "address", "files"],
)
def test_what_differs_between_two_runs_is_replaced(text: str, expected: str) -> None:
    now = datetime.datetime.now(datetime.UTC)
    text = text.replace("@now", str(now)).replace("@today", str(now.date()))
    assert ways.scrubbed(text) == expected


def test_two_runs_of_a_file_give_one_text(tmp_path: Path) -> None:
    path = tmp_path / "small.slt"
    path.write_text(FILE)

    first, second = ways.ways([path]), ways.ways([path])

    assert first == second
    headings = [line for line in first.splitlines() if line and not line.startswith(" ")]
    assert headings == [
        f"small.slt:{line} {name}" for line in (2, 5, 8) for name in ("views", "cached", "spread")
    ]
    assert "ProgrammingError UNRESOLVED_COLUMN.WITH_SUGGESTION 42703" in first


def test_a_comparison_prints_each_statement_that_differs(capsys: pytest.CaptureFixture[str]) -> None:
    before = "a.slt:2 views\n    lane: light (why)\n\na.slt:5 views\n    lane: light (why)\n"
    after = before.replace("a.slt:5 views\n    lane: light", "a.slt:5 views\n    lane: direct")

    assert ways.compare(before, after) == 1
    assert capsys.readouterr().out.splitlines() == [
        "2 statements before, 2 after, 1 differ",
        "",
        "a.slt:5 views",
        "-     lane: light (why)",
        "+     lane: direct (why)",
    ]
    assert ways.compare(before, before) == 0
