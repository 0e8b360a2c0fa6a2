"""SPOOL WRITE: rows into a spool file."""

from collections.abc import Callable, Iterable
from typing import Final, Protocol, cast

import numpy as np
import pyarrow as pa
from msgspec.structs import replace

from sqlfront_engine.processor import Processor, ProcessorContext, Steps, Take
from sqlfront_engine.spool.places import is_on_member, places_in
from sqlfront_engine.spool.spool_file import DEFAULT_SETTINGS, SpoolFile, SpoolSettings, SpoolWriter
from sqlfront_values.columns.batches import split_batch
from sqlfront_values.errors import InternalError
from sqlfront_values.partitioning import partitions

#: The rows without a key that go to one bucket before the next bucket gets rows: few, so that long rows are
#: divided, too.
DEALT_ROWS: Final = 256


class SpoolWrite(Processor, frozen=True, tag_field="processor", tag=True):
    """A sink that writes its input into the spool file ``path``; needs one instance. The file has the
    columns of the first batch, and no columns if there are no rows.

    The :class:`SpoolFile` of the finished file is appended to the job's resource ``report``, a list. If an
    error or a cancellation ends the job before the input ends, the file is removed.

    With ``keys``, ordinals of columns, the partition of the key determines the bucket of a row: partition p
    of n goes to bucket ``p * buckets // n``. Without keys each :data:`DEALT_ROWS` rows go to the next bucket,
    however the rows are cut into batches; each task begins with another bucket."""

    cooperative = False
    preferred_parallelism = 1

    path: str
    keys: tuple[int, ...]
    buckets: int
    report: str
    settings: SpoolSettings = DEFAULT_SETTINGS

    def run(self, context: ProcessorContext) -> Steps:
        if context.local_parallelism != 1:
            raise InternalError(f"{context.local_parallelism} instances write the spool file {self.path}")
        if not is_on_member(self.path):  # the directory of a member is its own
            context.files.check(self.path)
        report = cast("_Report", context.resources[self.report])
        first = context.member_index * self.buckets // context.member_count
        split = self._by_key(context.partition_count) if self.keys else self._in_turn(first)
        batch = yield Take(0)
        while batch is not None and not batch.num_rows:
            batch = yield Take(0)
        schema = pa.schema([]) if batch is None else batch.schema
        # Twice: the rows of a bucket are concatenated while the rows of all buckets are held.
        size = max(1, min(self.settings.buffer_size, 2 * context.block_bytes))
        settings = replace(self.settings, buffer_size=size)
        with SpoolWriter(
            self.path,
            schema,
            self.buckets,
            memory=context.memory,
            settings=settings,
            places=places_in(context.resources),
        ) as writer:
            while batch is not None:
                if batch.num_rows:
                    for bucket, rows in split(batch):
                        writer.write(rows, bucket)
                batch = yield Take(0)
            report.append(writer.finish())

    def _by_key(self, partition_count: int) -> "_Split":
        buckets = np.arange(partition_count) * self.buckets // partition_count

        def split(batch: pa.RecordBatch) -> Iterable[tuple[int, pa.RecordBatch]]:
            keys = [batch.column(ordinal) for ordinal in self.keys]
            ids = partitions.partition_ids(keys, batch.num_rows, partition_count)
            return split_batch(batch, buckets[ids], self.buckets).items()

        return split

    def _in_turn(self, first: int) -> "_Split":
        row = first * DEALT_ROWS

        def split(batch: pa.RecordBatch) -> Iterable[tuple[int, pa.RecordBatch]]:
            nonlocal row
            start = 0
            while start < batch.num_rows:
                piece = batch.slice(start, DEALT_ROWS - row % DEALT_ROWS)
                yield row // DEALT_ROWS % self.buckets, piece
                row += piece.num_rows
                start += piece.num_rows

        return split

    def describe(self) -> str:
        return f"SpoolWrite: {self.path}"


#: A function that cuts a batch, of at least one row, into the rows of each bucket.
_Split = Callable[[pa.RecordBatch], Iterable[tuple[int, pa.RecordBatch]]]


class _Report(Protocol):
    def append(self, file: SpoolFile, /) -> object: ...
