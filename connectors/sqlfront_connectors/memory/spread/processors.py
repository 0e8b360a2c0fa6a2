"""The processors of a spread table, which run on every member: they read the member's share of a version, or
make its share of a new version."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import ClassVar

import numpy as np
import pyarrow as pa

from sqlfront_connectors.base import Partitioning
from sqlfront_connectors.memory.scan import MemoryScan
from sqlfront_connectors.memory.segments.merging import indexed, merged
from sqlfront_connectors.memory.segments.numbering import home_of, numbers_of, places
from sqlfront_connectors.memory.segments.segment import RowNumbers, Segment
from sqlfront_connectors.memory.segments.share import TableShare
from sqlfront_connectors.memory.spread.backups import HOME, OWNER, BackupTargets
from sqlfront_connectors.memory.spread.row_changes import rows_elsewhere
from sqlfront_connectors.memory.spread.share_statistics import report
from sqlfront_connectors.memory.spread.store import TableStore, partitions_moved, store_of
from sqlfront_engine.processor import Processor, ProcessorContext, Steps, Take
from sqlfront_engine.row_actions import changes_in
from sqlfront_values.arrow.arrays import numpy_view
from sqlfront_values.columns.batches import split_batch
from sqlfront_values.partitioning.partitions import DEFAULT_PARTITIONS, key_hasher


class ShareScan(MemoryScan, frozen=True):
    """A source of the rows in the member's share of one version of a table whose rows are spread over
    members. The fields ``columns``, ``partitions``, ``keys`` and ``filters`` mean the same as in
    :class:`MemoryScan`, a source of rows of this process. ``resource``: the key under which members have
    their shares of the version.

    If the table is partitioned, each instance reads the rows of its own partitions; otherwise the member's
    instances share the slices in turn. ``dealt``: the version of the member list that last changed the owners
    of partitions when the query was planned. ``holders``: None = each member has the rows of the partitions
    that it owns now. Otherwise partitions have changed their owners since the version was made: only the
    members ``holders`` have shares, and each of them reads its whole share. ``backups``: pairs of a member
    and a lost owner, whose share the member reads from a backup besides. Raises OperationalError with
    SQLSTATE 40001 if the version is gone, or partitions have changed their owners since the query was
    planned."""

    dealt: int = 0
    holders: tuple[str, ...] | None = None
    backups: tuple[tuple[str, str], ...] = ()

    def share_of(self, context: ProcessorContext) -> TableShare | None:
        store = store_of(context)
        store.check_dealt(self.dealt, self.table)
        if self.holders is None:
            if not context.partitions and self.resource not in store:
                return None  # the member owned no partitions when the version was made
            return store.share(self.resource, self.table)
        owners: list[str | None] = [owner for reader, owner in self.backups if reader == store.member]
        if store.member in self.holders:
            owners.insert(0, None)
        shares = [store.share(self.resource, self.table, owner) for owner in owners]
        return self.joined(shares) if owners and owners != [None] else shares[0] if shares else None

    def joined(self, shares: list[TableShare]) -> TableShare:
        """Return the rows of several shares as one share; backups have no indexes, so that the index that the
        scan's keys need is made now."""
        placed = self.partitioning is not None and self.by == self.partitioning.columns
        by = (self.by,) if self.by and not placed else ()
        segments = [
            share.facts.get(("indexed", by), partial(indexed, share.segments, by)) for share in shares
        ]
        return TableShare(
            shares[0].schema, self.partitioning, tuple(each for some in segments for each in some), by
        )

    def home(self, share: TableShare) -> int | None:
        return home_of(share.partitions) if self.partitioning is None and share.segments else None

    def required_partitions(self) -> frozenset[int] | None:
        """Return the ids of the job's partitions that can have rows with one of ``keys``: empty if ``keys``
        is empty. None = all partitions, because the scan has no keys, the keys are of an index, or partitions
        have changed their owners since the version was made."""
        if self.keys is None or (self.keys and self.holders is not None):
            return None
        if self.keys and (self.partitioning is None or self.by != self.partitioning.columns):
            return None
        if not self.keys:
            return frozenset()
        hash_key = key_hasher([literal.type for literal in self.keys[0]])
        values = (tuple(literal.value for literal in key) for key in self.keys)
        return frozenset(hash_key(key) % DEFAULT_PARTITIONS for key in values)

    def read_on(self, owners: Sequence[str]) -> tuple[str, ...]:
        """Return the names of the members that read rows, sorted. ``owners``: the present owner of each
        partition."""
        required = self.required_partitions()
        if required is None and self.holders is not None:
            return tuple(sorted({*self.holders, *(reader for reader, _ in self.backups)}))
        return tuple(sorted({*owners} if required is None else {owners[number] for number in required}))

    def is_dealt_alike(self, context: ProcessorContext) -> bool:
        """Return whether an edge that partitions rows by the table's partition key sends a row to the
        instance that reads the row's partition. If True, each instance of a scan with ``keys_from`` receives
        only the keys of its own rows; if False, every instance receives all keys."""
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
    """A processor that makes the member's share of the version ``key`` of a table, from all rows of its
    input: in addition to the rows of the version ``base``, or, if ``base`` is None, from the input alone.
    Readers don't see the version until the coordinator publishes it.

    Emits one row, the member's report: the statistics of the share, and the number of rows written; with
    ``targets``, emits the input instead, addressed to the member that holds the share's backup, where a
    :class:`BackupShare` takes the rows and reports. To be run with one instance on each member. ``dealt``:
    the version of the member list that last changed the owners of partitions when the job was planned.
    ``indexes``: the columns of each of the version's indexes. Raises OperationalError if the version ``base``
    is gone, partitions have changed their owners, rows come to a member without partitions (40001), or memory
    is short.
    """

    cooperative: ClassVar[bool] = False

    table: str
    key: str
    base: str | None
    schema: pa.Schema
    partitioning: Partitioning | None = None
    dealt: int = 0
    indexes: tuple[tuple[int, ...], ...] = ()
    targets: BackupTargets | None = None

    def run(self, context: ProcessorContext) -> Steps:
        store, targets = store_of(context), self.targets
        store.check_dealt(self.dealt, self.table)
        batches: list[pa.RecordBatch] = []
        charged = 0
        while (batch := (yield Take(0))) is not None:
            if batch.num_rows and not context.partitions:
                # The member has read its rows for the job and is about to leave: no version names a share of
                # it. Rows without a partition key are stored where they are.
                raise partitions_moved(self.table)
            context.memory.charge(batch.nbytes)
            charged += batch.nbytes
            batches.append(self.rows_of(batch))
            if targets is not None:
                yield targets.addressed(batches[-1], self._place(targets, store.member))
        segments, written = self.segments(self.present(store, context), batches, store.member)
        share = TableShare(self.schema, self.partitioning, segments, self.indexes, context.partitions)
        context.memory.release(charged)  # the share takes the batches' place
        store.hold(share.segments, self.table)
        store.stage(self.key, share)
        if targets is None:
            yield report(share, written)

    def rows_of(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the rows to store of a batch of the input: in this class the batch itself."""
        return batch

    def segments(
        self, present: tuple[Segment, ...], batches: list[pa.RecordBatch], owner: str
    ) -> tuple[tuple[Segment, ...], int]:
        """Return the segments of the new share, and the number of rows written. ``present``: the segments of
        the share of ``base``. ``batches``: the whole input. ``owner``: the member whose share this is; for a
        backup, another one than this member."""
        gone, added = self.change(present, batches)
        segments = merged(present, self.schema, self.partitioning, added, self.indexes, gone)
        return segments, sum(batch.num_rows for batch in added)

    def _place(self, targets: BackupTargets, member: str) -> int:
        """Return the position of the member among the owners of shares. Raises OperationalError (40001) for a
        member without partitions, which is about to leave: its rows would have no backup."""
        if member not in targets.owners:
            raise partitions_moved(self.table)
        return targets.owners.index(member)

    def present(self, store: TableStore, context: ProcessorContext) -> tuple[Segment, ...]:
        """Return the segments of the member's share of ``base``; none if the member has no share."""
        if self.base is None or (not context.partitions and self.base not in store):
            return ()
        return store.share(self.base, self.table).segments

    def change(
        self, present: tuple[Segment, ...], batches: list[pa.RecordBatch]
    ) -> tuple[Mapping[int, RowNumbers], list[pa.RecordBatch]]:
        """Return the changes that make the share: the rows of ``present`` to delete, as row positions by the
        segment's index, and the batches to add. ``present``: the segments of the share of ``base``.
        ``batches``: the whole input. This class deletes no row and adds all batches."""
        return {}, batches

    def replaced(
        self, present: tuple[Segment, ...], batches: list[pa.RecordBatch], *, stores: bool
    ) -> tuple[Mapping[int, RowNumbers], list[pa.RecordBatch]]:
        """Return the changes of rows whose numbers are in the batches' last column: the rows to delete, and
        with ``stores`` the batches' other columns as rows to add. Raises the error of :meth:`placed`."""
        gone = self.placed(present, numbers_of(batches))
        columns = list(range(len(self.schema)))
        return gone, [batch.select(columns) for batch in batches] if stores else []

    def acted(
        self, present: tuple[Segment, ...], batches: list[pa.RecordBatch], *, distinct: bool
    ) -> tuple[tuple[Segment, ...], int]:
        """Return the segments of the new share after the changes in the batches
        (:mod:`~sqlfront_engine.row_actions`), and the number of affected rows. ``distinct``: each row may be
        found once only. Raises OperationalError (40001) if the share doesn't have the changed rows."""
        changes = changes_in(batches, len(self.schema), distinct=distinct)
        gone = self.placed(present, changes.numbers)
        return merged(
            present, self.schema, self.partitioning, changes.added, self.indexes, gone
        ), changes.count

    def placed(self, present: tuple[Segment, ...], numbers: RowNumbers) -> Mapping[int, RowNumbers]:
        """Return the positions of the rows with these numbers, by the segment's index. Raises
        OperationalError (40001) if the share doesn't have these rows: so a backup in another order isn't
        changed any further."""
        gone = places(present, numbers)
        found = sum(map(len, gone.values()))
        if found < len(numbers) or any(map(_any_deleted, (present[index] for index in gone), gone.values())):
            raise rows_elsewhere(self.table)
        return gone

    def describe(self) -> str:
        return f"StoreShare: {self.table}"


class ChangeShare(StoreShare, frozen=True):
    """A processor that makes the member's share of a version in which some rows of the version ``base`` are
    deleted or replaced. The last column of the input is the numbers of these rows (their positions among all
    rows of the member's share in ``base``). With ``stores``, the columns before it are the new rows that
    replace them."""

    stores: bool = False

    def change(
        self, present: tuple[Segment, ...], batches: list[pa.RecordBatch]
    ) -> tuple[Mapping[int, RowNumbers], list[pa.RecordBatch]]:
        return self.replaced(present, batches, stores=self.stores)

    def describe(self) -> str:
        return f"ChangeShare: {self.table}"


class MergeShare(StoreShare, frozen=True):
    """A processor that makes the member's share of a version with changes of the version ``base``: the input
    is as :mod:`~sqlfront_engine.row_actions` describes. ``distinct``: each row may be found once only."""

    distinct: bool = True

    def segments(
        self, present: tuple[Segment, ...], batches: list[pa.RecordBatch], owner: str
    ) -> tuple[tuple[Segment, ...], int]:
        return self.acted(present, batches, distinct=self.distinct)

    def describe(self) -> str:
        return f"MergeShare: {self.table}"


class BackupShare(StoreShare, frozen=True):
    """A processor that makes the backups of other members' shares on this member, from the rows that these
    members' :class:`StoreShare` or :class:`ChangeShare` has addressed to ``held``; a second backup is made of
    what the processor of the first one has addressed.

    Emits the reports of the shares, or, with ``targets``, the input, addressed to the members of the next
    backup. ``numbered``: the last column of the input is the numbers of the rows to delete; ``stores``: the
    columns before it are new rows. ``acts``: the input is that of a :class:`MergeShare`, which has checked
    that rows are found once. ``indexes`` is to be empty: a backup has none."""

    held: BackupTargets = BackupTargets((), (), ())
    numbered: bool = False
    stores: bool = False
    acts: bool = False

    def run(self, context: ProcessorContext) -> Steps:
        store, targets = store_of(context), self.targets
        store.check_dealt(self.dealt, self.table)
        parts: dict[int, list[pa.RecordBatch]] = {place: [] for place in self.held.held_by(store.member)}
        charged = 0
        while (batch := (yield Take(0))) is not None:
            context.memory.charge(batch.nbytes)
            charged += batch.nbytes
            for owner, part in self.divided(batch):
                parts[owner].append(part)
                if targets is not None:
                    yield targets.addressed(part, owner)
        for owner, batches in parts.items():
            name = self.held.owners[owner]
            segments, written = self.segments(self.present_backup(store, name), batches, name)
            share = TableShare(self.schema, self.partitioning, segments)
            store.hold(share.segments, self.table)
            store.stage(self.key, share, name)
            if targets is None:
                yield report(share, written)
        context.memory.release(charged)

    def segments(
        self, present: tuple[Segment, ...], batches: list[pa.RecordBatch], owner: str
    ) -> tuple[tuple[Segment, ...], int]:
        if self.acts:
            return self.acted(present, batches, distinct=False)
        return super().segments(present, batches, owner)

    def present_backup(self, store: TableStore, owner: str) -> tuple[Segment, ...]:
        """Return the segments of the backup of the share that ``owner`` has of ``base``."""
        return () if self.base is None else store.share(self.base, self.table, owner).segments

    def divided(self, batch: pa.RecordBatch) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Yield the rows of each owner's share, without the columns of the address, with the owner's
        position."""
        if batch.num_rows:
            columns = [place for place in range(batch.num_columns) if place not in (OWNER, HOME)]
            owners = numpy_view(batch.column(OWNER)).astype(np.intp)
            yield from split_batch(batch.select(columns), owners, len(self.held.owners)).items()

    def change(
        self, present: tuple[Segment, ...], batches: list[pa.RecordBatch]
    ) -> tuple[Mapping[int, RowNumbers], list[pa.RecordBatch]]:
        if not self.numbered:
            return {}, batches
        return self.replaced(present, batches, stores=self.stores)

    def describe(self) -> str:
        return f"BackupShare: {self.table}"


def _any_deleted(segment: Segment, rows: RowNumbers) -> bool:
    return segment.deleted is not None and bool(np.isin(rows, segment.deleted).any())
