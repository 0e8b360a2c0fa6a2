"""The format ``arrow``: a stream of Arrow IPC."""

from typing import BinaryIO

import pyarrow as pa

from sqlfront.results.result import Result
from sqlfront.shell.output.options import OutputOptions


def write(result: Result, out: BinaryIO, options: OutputOptions) -> int:
    """Write an Arrow IPC stream of logical types, which ends where the next result's stream begins. Return
    the number of rows."""
    count = 0
    with pa.ipc.new_stream(out, result.arrow_schema) as writer:
        for batch in result.batches():
            writer.write_batch(batch)
            count += batch.num_rows
    return count
