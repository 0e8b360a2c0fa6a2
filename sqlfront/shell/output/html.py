"""The format ``html``: an HTML table."""

from html import escape
from typing import BinaryIO

from sqlfront.results import boxes
from sqlfront.results.result import Result
from sqlfront.shell.output.options import OutputOptions
from sqlfront.shell.output.texts import NULL


def write(result: Result, out: BinaryIO, options: OutputOptions) -> int:
    """Write a ``<table>`` with a header and a line per row; return the number of rows. All texts are
    escaped."""
    null = NULL if options.null is None else options.null
    head = "".join(f"<th>{escape(name)}</th>" for name in result.columns)
    out.write(f"<table>\n<thead>\n<tr>{head}</tr>\n</thead>\n<tbody>\n".encode())
    count = 0
    for batch in result.batches():
        rows = boxes.cells(batch, result.schema, result.settings, null)
        lines = (f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>\n" for row in rows)
        out.write("".join(lines).encode())
        count += batch.num_rows
    out.write(b"</tbody>\n</table>\n")
    return count
