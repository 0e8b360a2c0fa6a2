"""The format ``arrow``: a stream of Arrow IPC."""

from typing import BinaryIO

import pyarrow as pa

from sqlfront.results.result import Result
from sqlfront.shell.output.cut_streams import cut_at_error
from sqlfront.shell.output.options import OutputOptions


def write(result: Result, out: BinaryIO, options: OutputOptions) -> int:
    """Write an Arrow IPC stream with the logical types, and return the number of rows. Streams of several
    results may follow each other in one output. An error leaves the stream without its end mark."""
    count = 0
    with cut_at_error(out) as stream:
        writer = pa.ipc.new_stream(pa.PythonFile(stream, "w"), result.arrow_schema)
        for batch in result.batches():
            writer.write_batch(batch)
            count += batch.num_rows
        writer.close()
    return count
