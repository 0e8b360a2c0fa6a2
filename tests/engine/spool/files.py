"""Spool files for tests."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import pyarrow as pa

from sqlfront_engine.spool.reading import read_spool
from sqlfront_engine.spool.spool_file import (
    DEFAULT_SETTINGS,
    Compression,
    SpoolFile,
    SpoolSettings,
    SpoolWriter,
)
from sqlfront_engine.system_calls import SystemCalls
from sqlfront_engine.testing import CountingMemory
from sqlfront_engine.testing.rows import Row, rows_of

NAME = "part.arrow"
COMPRESSIONS: list[Compression] = ["lz4", "zstd", None]


def write_spool(
    folder: Path,
    batches: Sequence[tuple[pa.RecordBatch, int]],
    buckets: int = 1,
    *,
    schema: pa.Schema | None = None,
    settings: SpoolSettings = DEFAULT_SETTINGS,
    memory: CountingMemory | None = None,
    calls: SystemCalls | None = None,
) -> SpoolFile:
    """Write the batches, each into its bucket. Checks that the memory is given back. ``schema``: None = that
    of the first batch."""
    memory = memory or CountingMemory()
    schema = batches[0][0].schema if schema is None else schema
    path = str(folder / NAME)
    with SpoolWriter(path, schema, buckets, memory=memory, settings=settings, calls=calls) as writer:
        for batch, bucket in batches:
            writer.write(batch, bucket)
        file = writer.finish()
    assert memory.held == 0
    return file


def one_bucket(batches: Iterable[pa.RecordBatch]) -> list[tuple[pa.RecordBatch, int]]:
    return [(batch, 0) for batch in batches]


def stored_rows(file: SpoolFile, buckets: range | None = None) -> list[Row]:
    """The rows of the buckets, in the order of the file; each batch is checked."""
    batches = list(read_spool(file, buckets))
    for batch in batches:
        batch.validate(full=True)
    return rows_of(batches)


def names(folder: Path) -> list[str]:
    """The names in the folder."""
    return sorted(path.name for path in folder.iterdir())
