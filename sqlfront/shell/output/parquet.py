"""The format ``parquet``: a Parquet file as Spark writes one."""

from typing import TYPE_CHECKING, BinaryIO

import pyarrow as pa

from sqlfront.results.result import Result
from sqlfront.shell.output.cut_streams import CutStream, cut_at_error
from sqlfront.shell.output.options import OutputOptions
from sqlfront_values.errors import NotSupportedError

if TYPE_CHECKING:
    import pyarrow.parquet as pq


def write(result: Result, out: BinaryIO, options: OutputOptions) -> int:
    """Write a Parquet file, compressed with Snappy as in Spark; return the number of rows. An error leaves
    the file without its footer, so that nobody can read the file. Raises NotSupportedError for a type that
    Parquet doesn't have, such as an interval of months."""
    count = 0
    with cut_at_error(out) as stream:
        writer = _writer(stream, result.arrow_schema)
        for batch in result.batches():
            writer.write_batch(batch)
            count += batch.num_rows
        writer.close()
    return count


def _writer(stream: CutStream, schema: pa.Schema) -> "pq.ParquetWriter":
    import pyarrow.parquet as pq  # noqa: PLC0415 - loaded when a Parquet file is written

    try:
        return pq.ParquetWriter(pa.PythonFile(stream, "w"), schema, compression="snappy", version="2.6")
    except pa.ArrowNotImplementedError as error:
        raise NotSupportedError(f"Parquet has no form of a column's type: {error}") from error
