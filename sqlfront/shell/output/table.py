"""The format ``table``: a box as Spark's ``show`` draws it, for people."""

from typing import BinaryIO

from sqlfront.results import boxes
from sqlfront.results.result import Result
from sqlfront.shell.output.options import OutputOptions


def write(result: Result, out: BinaryIO, options: OutputOptions) -> int:
    """Write a box around the rows; return the number of rows. All rows are read before the first is written,
    since the widest value makes the column's width. The plan of an EXPLAIN is written as plain lines."""
    rows = all_cells(result, options.null)
    if _is_plan(result):
        drawn = "".join(f"{text}\n" for (text,) in rows)
    else:
        drawn = boxes.box(result.columns, rows)
    out.write(drawn.encode())
    return len(rows)


def all_cells(result: Result, null: str | None) -> list[tuple[str, ...]]:
    """Return all rows of the result as texts; ``null`` is the text of a null (None: ``NULL``)."""
    return [
        row
        for batch in result.batches()
        for row in boxes.cells(batch, result.schema, result.settings, "NULL" if null is None else null)
    ]


def _is_plan(result: Result) -> bool:
    """Whether the rows are a plan of EXPLAIN: lines of text, which a box would make unreadable."""
    return result.columns == ["plan"] and result.stats.lane == "command"
