"""What runs on every member for a spread table: reading its share of a version, and making that of a new
one."""

from collections.abc import Iterator, Sequence
from typing import ClassVar

import pyarrow as pa

from sqlfront_connectors.base import Partitioning
from sqlfront_connectors.memory.merging import merged
from sqlfront_connectors.memory.scan import MemoryScan
from sqlfront_connectors.memory.segment import Segment, build_segments
from sqlfront_connectors.memory.share_statistics import report
from sqlfront_connectors.memory.store import Share, share_of, store_of
from sqlfront_engine.partitions import DEFAULT_PARTITIONS, key_hasher
from sqlfront_engine.processor import Processor, ProcessorContext, Steps, Take


class ShareScan(MemoryScan, frozen=True):
    """A :class:`MemoryScan` of the member's share.

    Every instance reads the rows of its own partitions if the table is partitioned; else instances take
    every n-th batch of the share. ``dealt``: the dealing of partitions that the query was planned for.
    ``holders``: None = the shares lie as the partitions are dealt; else only these members have shares, which
    are read as they lie. OperationalError with SQLSTATE 40001 if the version isn't there any more, or the
    partitions were dealt anew.
    """

    dealt: int = 0
    holders: tuple[str, ...] | None = None

    def run(self, context: ProcessorContext) -> Steps:
        if self.keys == ():
            return
        store = store_of(context)
        store.check_dealt(self.dealt, self.table)
        if self.holders is not None and store.member not in self.holders:
            return
        share = share_of(context, self.resource, self.table)
        if self.keys is not None:
            if context.local_index == 0:
                yield from self.limited(self.found(share.segments))
            return
        yield from self.limited(self._own(share, context))

    def required_partitions(self) -> frozenset[int] | None:
        """The job's partitions that can hold the keys' rows; None = all."""
        if self.keys is None or (self.keys and self.holders is not None):
            return None
        if not self.keys:
            return frozenset()
        hash_key = key_hasher([literal.type for literal in self.keys[0]])
        values = (tuple(literal.value for literal in key) for key in self.keys)
        return frozenset(hash_key(key) % DEFAULT_PARTITIONS for key in values)

    def _own(self, share: Share, context: ProcessorContext) -> Iterator[pa.RecordBatch]:
        index, count = context.local_index, context.local_parallelism
        if self.partitioning is None or self.holders is not None:
            return self.slices(share.segments, None, index, count)
        if self.partitions is not None:
            wanted: tuple[int, ...] = self.partitions[index::count]
        elif self.partitioning[1] != context.partition_count:
            # Rows are on the member of their key in the job's partitions; here they lie by the table's own.
            wanted = tuple(range(index, self.partitioning[1], count))
        elif count == 1 and share.partitions == context.partitions:
            return self.slices(share.segments, None, 0, 1)
        else:
            wanted = context.partitions
        return self.slices(share.segments, wanted, 0, 1)


class StoreShare(Processor, frozen=True):
    """Makes the member's share of the version ``key`` of a table, with all rows of the input: behind those of
    the version ``base``, or alone (None). Nobody sees it before the version is published elsewhere.

    ``partitioning`` is that of :class:`~sqlfront_connectors.base.Partitioning`. Emits the row of
    :func:`~sqlfront_connectors.memory.share_statistics.report` about the new rows. To be run with one
    instance on each member. ``dealt``: see :class:`ShareScan`.
    """

    cooperative: ClassVar[bool] = False

    table: str
    key: str
    base: str | None
    schema: pa.Schema
    partitioning: tuple[tuple[int, ...], int] | None = None
    dealt: int = 0

    def run(self, context: ProcessorContext) -> Steps:
        store = store_of(context)
        store.check_dealt(self.dealt, self.table)
        present: Sequence[Segment] = ()
        if self.base is not None:
            present = share_of(context, self.base, self.table).segments
        batches: list[pa.RecordBatch] = []
        while (batch := (yield Take(0))) is not None:
            context.memory.charge(batch.nbytes)
            batches.append(batch)
        partitioning = None if self.partitioning is None else Partitioning(*self.partitioning)
        added = build_segments(batches, self.schema, partitioning)
        segments = merged((*present, *added), self.schema, partitioning)
        store.stage(self.key, Share(segments, context.partitions))
        yield report([segment.batch for segment in added], self.schema)

    def describe(self) -> str:
        return f"StoreShare: {self.table}"
