"""The format ``jsonl``: JSON Lines, an object per line."""

from typing import BinaryIO

from sqlfront.results.result import Result
from sqlfront.shell.output.json_texts import objects
from sqlfront.shell.output.options import OutputOptions


def write(result: Result, out: BinaryIO, options: OutputOptions) -> int:
    """Write a line with an object per row, and return the number of rows. Values without a form in JSON, such
    as decimals and dates, are strings."""
    count = 0
    for batch in result.batches():
        for data in objects(batch, result.schema, result.settings, "", "\n"):
            out.write(data)
        count += batch.num_rows
    return count
