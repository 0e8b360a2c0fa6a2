"""The processors of a spread table that run on every member: for reading the member's share of a version, and
for making the member's share of a new version."""

from collections.abc import Iterator, Mapping
from typing import ClassVar

import pyarrow as pa

from sqlfront_connectors.base import Partitioning
from sqlfront_connectors.memory.scan import MemoryScan
from sqlfront_connectors.memory.segments.merging import merged
from sqlfront_connectors.memory.segments.numbering import home_of, numbers_of, places
from sqlfront_connectors.memory.segments.segment import RowNumbers, Segment
from sqlfront_connectors.memory.segments.share import TableShare
from sqlfront_connectors.memory.spread.share_statistics import report
from sqlfront_connectors.memory.spread.store import store_of
from sqlfront_engine.processor import Processor, ProcessorContext, Steps, Take
from sqlfront_values.partitioning.partitions import DEFAULT_PARTITIONS, key_hasher


class ShareScan(MemoryScan, frozen=True):
    """A :class:`MemoryScan` of the member's share.

    Every instance reads the rows of its own partitions if the table is partitioned; else instances take every
    n-th batch of the share. ``dealt``: the dealing of partitions that the query was planned for. ``holders``:
    None = the shares follow the current dealing of the partitions; else only these members have shares, and
    each member reads its whole share. Raises OperationalError with SQLSTATE 40001 if the version is gone, or
    the partitions were dealt anew.
    """

    dealt: int = 0
    holders: tuple[str, ...] | None = None

    def share_of(self, context: ProcessorContext) -> TableShare | None:
        store = store_of(context)
        store.check_dealt(self.dealt, self.table)
        if self.holders is not None and store.member not in self.holders:
            return None
        return store.share(self.resource, self.table)

    def home(self, share: TableShare) -> int | None:
        return home_of(share.partitions) if self.partitioning is None and share.segments else None

    def required_partitions(self) -> frozenset[int] | None:
        """Return the ids of the job's partitions that can hold the rows of ``keys``; the empty set for an
        empty tuple of keys. None = all partitions: without keys, for keys of an index, and after a new
        dealing."""
        if self.keys is None or (self.keys and self.holders is not None):
            return None
        if self.keys and (self.partitioning is None or self.by != self.partitioning.columns):
            return None
        if not self.keys:
            return frozenset()
        hash_key = key_hasher([literal.type for literal in self.keys[0]])
        values = (tuple(literal.value for literal in key) for key in self.keys)
        return frozenset(hash_key(key) % DEFAULT_PARTITIONS for key in values)

    def is_dealt_alike(self, context: ProcessorContext) -> bool:
        """Return whether rows that are partitioned by the table's key arrive at the instance that reads their
        partition. If so, each instance of a scan by an input's keys gets its own keys; else every instance
        gets all keys."""
        return (
            self.holders is None
            and self.partitioning == Partitioning(self.by, DEFAULT_PARTITIONS)
            and context.partition_count == DEFAULT_PARTITIONS
        )

    def own(
        self, segments: tuple[Segment, ...], partitions: tuple[int, ...], context: ProcessorContext
    ) -> Iterator[pa.RecordBatch]:
        index, count = context.local_index, context.local_parallelism
        if self.partitioning is None or self.holders is not None:
            return self.slices(segments, None, index, count)
        if self.partitions is not None:
            wanted: tuple[int, ...] = self.partitions[index::count]
        elif self.partitioning.count != context.partition_count:
            # A row is on the member of its key's partition in the job; in the share, rows are ordered by the
            # table's own partitions.
            wanted = tuple(range(index, self.partitioning.count, count))
        elif count == 1 and partitions == context.partitions:
            return self.slices(segments, None, 0, 1)
        else:
            wanted = context.partitions
        return self.slices(segments, wanted, 0, 1)


class StoreShare(Processor, frozen=True):
    """A processor that makes the member's share of the version ``key`` of a table, with all rows of the
    input: behind the rows of the version ``base``, or alone (None). The version is invisible until it is
    published elsewhere.

    Emits the row of
    :func:`~sqlfront_connectors.memory.spread.share_statistics.report` about the share. To be run with one
    instance on each member. ``dealt``: see :class:`ShareScan`. ``indexes``: the columns of each of the
    version's indexes."""

    cooperative: ClassVar[bool] = False

    table: str
    key: str
    base: str | None
    schema: pa.Schema
    partitioning: Partitioning | None = None
    dealt: int = 0
    indexes: tuple[tuple[int, ...], ...] = ()

    def run(self, context: ProcessorContext) -> Steps:
        store = store_of(context)
        store.check_dealt(self.dealt, self.table)
        present = () if self.base is None else store.share(self.base, self.table).segments
        batches: list[pa.RecordBatch] = []
        charged = 0
        while (batch := (yield Take(0))) is not None:
            context.memory.charge(batch.nbytes)
            charged += batch.nbytes
            batches.append(batch)
        gone, added = self.change(present, batches)
        segments = merged(present, self.schema, self.partitioning, added, self.indexes, gone)
        share = TableShare(self.schema, self.partitioning, segments, self.indexes, context.partitions)
        context.memory.release(charged)  # the share takes the batches' place
        store.hold(segments, self.table)
        store.stage(self.key, share)
        yield report(share, sum(batch.num_rows for batch in added))

    def change(
        self, present: tuple[Segment, ...], batches: list[pa.RecordBatch]
    ) -> tuple[Mapping[int, RowNumbers], list[pa.RecordBatch]]:
        """Return the rows of ``present`` to delete, as row numbers by the segment's number, and the batches
        to add. ``batches``: the whole input. This class deletes no row and adds all batches."""
        return {}, batches

    def describe(self) -> str:
        return f"StoreShare: {self.table}"


class ChangeShare(StoreShare, frozen=True):
    """A processor that makes the member's share of a version without some rows of ``base``: the rows with the
    numbers (:mod:`~sqlfront_connectors.memory.segments.numbering`) in the input's last column, which have to
    be the member's own. With ``stores`` the other columns are the rows that replace them."""

    stores: bool = False

    def change(
        self, present: tuple[Segment, ...], batches: list[pa.RecordBatch]
    ) -> tuple[Mapping[int, RowNumbers], list[pa.RecordBatch]]:
        width = list(range(len(self.schema)))
        added = [batch.select(width) for batch in batches] if self.stores else []
        return places(present, numbers_of(batches)), added

    def describe(self) -> str:
        return f"ChangeShare: {self.table}"
