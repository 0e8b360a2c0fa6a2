"""The format ``none``: rows are read and counted only, to measure a query without its output."""

from typing import BinaryIO

from sqlfront.results.result import Result
from sqlfront.shell.output.options import OutputOptions


def write(result: Result, out: BinaryIO, options: OutputOptions) -> int:
    """Read all rows, and write none. Return the number of rows."""
    return sum(batch.num_rows for batch in result.batches())
