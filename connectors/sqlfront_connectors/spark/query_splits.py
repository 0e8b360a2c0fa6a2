"""The rows of a query of Spark as splits, for a source of durable jobs that can't list its splits in
advance."""

from collections.abc import Iterator

import pyarrow as pa

from sqlfront_connectors.spark.run import SparkRun


class QuerySplits:
    """The batches of a query that Spark runs: a
    :class:`~sqlfront_engine.processors.sources.split_scan.SplitEnumerator`. Each split is a batch as an Arrow
    IPC stream. The query runs once: another run may give other batches."""

    def __init__(self, run: SparkRun) -> None:
        self._run = run
        self._batches = run.batches()

    def next_split(self) -> bytes | None:
        """Return the next batch as a split, None after the last one; waits for Spark. Raises Spark's errors
        as sqlfront's."""
        batch = next(self._batches, None)
        if batch is None:
            return None
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch)
        return sink.getvalue().to_pybytes()

    def close(self) -> None:
        """Cancel the query unless it has ended; returns at once."""
        self._run.cancel()


def read_split(split: bytes) -> Iterator[pa.RecordBatch]:
    """Yield the batch that a split of :class:`QuerySplits` holds."""
    with pa.ipc.open_stream(pa.py_buffer(split)) as reader:
        yield from reader
