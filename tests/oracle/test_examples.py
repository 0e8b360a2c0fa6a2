"""The examples of edges are still answered as docs/edges.md says."""

from itertools import chain
from pathlib import Path

from tests.oracle.examples import asked_here, by_area, cell, laid_out, shown

PAGE = Path(__file__).parents[2] / "docs" / "edges.md"
#: Seconds of the page from which on an example is left to `python -m tests.oracle.examples`.
LONG = 5.0
#: How many times as long as on the page an example may take here, and seconds that count as nothing.
SLOWER, UNNOTICED = 20.0, 5.0


def test_sqlfront_says_what_the_page_says(tmp_path: Path) -> None:
    lines = [
        line.strip("| ").split(" | ") for line in PAGE.read_text().splitlines() if line.startswith("| `")
    ]
    examples = list(chain.from_iterable(examples for _, examples in by_area()))
    assert [cells[0] for cells in lines] == [cell(shown(example), tmp_path) for example in examples]

    short = [number for number, cells in enumerate(lines) if _seconds(cells) < LONG]
    statements = [laid_out(examples[number], tmp_path / str(number)) for number in short]
    differ = []
    for (words, seconds), number in zip(asked_here(statements, tmp_path, 300.0), short, strict=False):
        told, limit = cell(words, tmp_path / str(number)), max(SLOWER * _seconds(lines[number]), UNNOTICED)
        if told.strip() != lines[number][1].strip() or seconds > limit:
            differ.append(f"{lines[number]}: {told} in {seconds:.1f} s")
    assert not differ, "\n".join(differ)


def _seconds(cells: list[str]) -> float:
    return float(cells[2].removesuffix(" s"))
