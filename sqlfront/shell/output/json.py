"""The format ``json``: an array of objects."""

from typing import BinaryIO

from sqlfront.results.result import Result
from sqlfront.shell.output.json_texts import objects
from sqlfront.shell.output.options import OutputOptions


def write(result: Result, out: BinaryIO, options: OutputOptions) -> int:
    """Write one array with an object per row, and return the number of rows. Values without a form in JSON,
    such as decimals and dates, are strings."""
    count, skipped = 0, 1
    out.write(b"[")
    for batch in result.batches():
        for data in objects(batch, result.schema, result.settings, ",\n ", ""):
            # No comma stands before the first row.
            out.write(data[skipped:])
            skipped = 0
        count += batch.num_rows
    out.write(b"\n]\n" if count else b"]\n")
    return count
