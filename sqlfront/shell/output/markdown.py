"""The format ``markdown``: a table of GitHub's Markdown."""

from typing import BinaryIO, Final

import pyarrow as pa

from sqlfront.results import boxes
from sqlfront.results.result import Result
from sqlfront.shell.output.options import OutputOptions
from sqlfront.shell.output.texts import NULL

#: Characters that would end a cell or a line, or be read as HTML or as an escape.
_ESCAPES: Final = str.maketrans(
    {"|": "\\|", "\\": "\\\\", "\r": "&#13;", "\n": "<br>", "<": "&lt;", "&": "&amp;"}
)


def write(result: Result, out: BinaryIO, options: OutputOptions) -> int:
    """Write a table with a header, and an empty line behind it; return the number of rows. Numbers are
    aligned to the right; line breaks in values are ``<br>``."""
    null = NULL if options.null is None else options.null
    rules = ["---:" if _is_number(kind) else "---" for kind in result.schema.types]
    out.write(f"{_line([name.translate(_ESCAPES) for name in result.columns])}{_line(rules)}".encode())
    count = 0
    for batch in result.batches():
        rows = boxes.cells(batch, result.schema, result.settings, null)
        lines = (_line([cell.translate(_ESCAPES) for cell in row]) for row in rows)
        out.write("".join(lines).encode())
        count += batch.num_rows
    out.write(b"\n")
    return count


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |\n"


def _is_number(kind: pa.DataType) -> bool:
    return pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
