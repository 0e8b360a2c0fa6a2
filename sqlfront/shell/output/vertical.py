"""The format ``vertical``: a line per value, for people."""

from typing import BinaryIO

from sqlfront.results import boxes
from sqlfront.results.result import Result
from sqlfront.shell.output.options import OutputOptions
from sqlfront.shell.output.table import all_cells


def write(result: Result, out: BinaryIO, options: OutputOptions) -> int:
    """Write for each row a line with its number and a line per value; return the number of rows. All rows are
    read before the first is written."""
    rows = all_cells(result, options.null)
    drawn = boxes.vertical(result.columns, rows) if rows else "(0 rows)\n"
    out.write(drawn.encode())
    return len(rows)
