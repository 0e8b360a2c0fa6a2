"""The format ``parquet``: a Parquet file as Spark writes one."""

from typing import BinaryIO

import pyarrow as pa

from sqlfront.results.result import Result
from sqlfront.shell.output.options import OutputOptions
from sqlfront_values.errors import NotSupportedError


class _Counted:
    """A stream that knows its position, which a pipe doesn't."""

    closed = False

    def __init__(self, out: BinaryIO) -> None:
        self._out: BinaryIO | None = out
        self._position = 0

    def let_go(self) -> None:
        """Write no further bytes: a writer that has failed writes the end of its file when it is freed."""
        self._out = None

    def write(self, data: bytes) -> int:
        """Write the bytes, and count them."""
        if self._out is not None:
            self._out.write(data)
        self._position += len(data)
        return len(data)

    def tell(self) -> int:
        """The number of bytes written."""
        return self._position

    def writable(self) -> bool:
        """Whether bytes can be written: always."""
        return True

    def flush(self) -> None:
        """Flush the stream below."""
        if self._out is not None:
            self._out.flush()


def write(result: Result, out: BinaryIO, options: OutputOptions) -> int:
    """Write a Parquet file, compressed with Snappy as in Spark. Return the number of rows. Raises
    NotSupportedError for a type that Parquet doesn't have, such as an interval of months."""
    import pyarrow.parquet as pq  # noqa: PLC0415 - loaded when a Parquet file is written

    schema, count, stream = result.arrow_schema, 0, _Counted(out)
    try:
        writer = pq.ParquetWriter(pa.PythonFile(stream, "w"), schema, compression="snappy", version="2.6")
    except pa.ArrowNotImplementedError as error:
        raise NotSupportedError(f"Parquet has no form of a column's type: {error}") from error
    try:
        with writer:
            for batch in result.batches():
                writer.write_batch(batch)
                count += batch.num_rows
    except BaseException:
        stream.let_go()
        raise
    return count
