"""The processors of a job that moves partitions of a spread table to other members, or makes backups anew
(:mod:`~sqlfront_connectors.memory.spread.moves`)."""

from collections.abc import Iterator
from typing import ClassVar

import pyarrow as pa

from sqlfront_connectors.base import Partitioning
from sqlfront_connectors.memory.segments.merging import live_batch
from sqlfront_connectors.memory.segments.segment import Segment
from sqlfront_connectors.memory.segments.share import TableShare
from sqlfront_connectors.memory.spread.moves import CopyStep, MoveStep
from sqlfront_connectors.memory.spread.processors import BackupShare, StoreShare
from sqlfront_connectors.memory.spread.store import TableStore, store_of
from sqlfront_engine.processor import BATCH_ROWS, Processor, ProcessorContext, Steps
from sqlfront_values.arrow.arrays import repeat
from sqlfront_values.types import BIGINT

_NO_MOVE = MoveStep((), (), (), ())
_NO_COPY = CopyStep((), ())


class MovingRows(Processor, frozen=True):
    """A source of the rows that a step moves from the member's share of the version ``version`` to other
    members. Emits the table's columns, and behind them the home of the new owner. ``dealt``: the version of
    the member list that last changed the owners of partitions when the job was planned. Raises
    OperationalError (40001) if partitions have changed their owners since, or the version is gone."""

    cooperative: ClassVar[bool] = False

    table: str
    version: str
    step: MoveStep
    partitioning: Partitioning | None = None
    dealt: int = 0

    def run(self, context: ProcessorContext) -> Steps:
        store = store_of(context)
        store.check_dealt(self.dealt, self.table)
        if store.member not in self.step.owners:
            return
        segments = store.share(self.version, self.table).segments
        for home, batch in self.step.batches(store.member, segments, self.partitioning):
            context.memory.charge(batch.nbytes)
            for part in _slices(batch):
                homes = repeat(home, BIGINT, part.num_rows)
                names = [*part.schema.names, "home"]
                yield pa.RecordBatch.from_arrays([*part.columns, homes], names=names)
            context.memory.release(batch.nbytes)

    def describe(self) -> str:
        return f"MovingRows: {self.table}, {len(self.step.moving)} partitions"


class MoveShare(StoreShare, frozen=True):
    """A processor that makes the member's share of a version whose partitions have moved: the share of the
    version ``base``, without the rows that leave, and with the input, which :class:`MovingRows` has
    emitted."""

    step: MoveStep = _NO_MOVE

    def rows_of(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        return batch.select(list(range(len(self.schema))))

    def present(self, store: TableStore, context: ProcessorContext) -> tuple[Segment, ...]:
        return _present(self, store, self.step)

    def segments(
        self, present: tuple[Segment, ...], batches: list[pa.RecordBatch], owner: str
    ) -> tuple[tuple[Segment, ...], int]:
        return _moved(self, self.step, present, batches, owner)

    def describe(self) -> str:
        return f"MoveShare: {self.table}, {len(self.step.moving)} partitions"


class MoveBackup(BackupShare, frozen=True):
    """A processor that makes the backups of shares of a version whose partitions have moved."""

    step: MoveStep = _NO_MOVE

    def segments(
        self, present: tuple[Segment, ...], batches: list[pa.RecordBatch], owner: str
    ) -> tuple[tuple[Segment, ...], int]:
        return _moved(self, self.step, present, batches, owner)

    def describe(self) -> str:
        return f"MoveBackup: {self.table}"


class CopyShare(StoreShare, frozen=True):
    """A source that makes the member's share of a version from the same rows as the version ``base``, and
    emits the rows for the backups that are made anew, addressed to ``targets``."""

    step: CopyStep = _NO_COPY

    def run(self, context: ProcessorContext) -> Steps:
        store, targets = store_of(context), self.targets
        assert targets is not None
        store.check_dealt(self.dealt, self.table)
        segments = _present(self, store, self.step)
        if store.member in self.step.copied:
            place = self._place(targets, store.member)
            for batch in map(live_batch, segments):
                for part in _slices(batch):
                    yield targets.addressed(part, place)
            segments = self.as_copied(segments)
        share = TableShare(self.schema, self.partitioning, segments, self.indexes, context.partitions)
        store.hold(share.segments, self.table)
        store.stage(self.key, share)

    def as_copied(self, segments: tuple[Segment, ...]) -> tuple[Segment, ...]:
        """Return the segments with the rows under the numbers that the rows have in a copy. One segment
        without deleted rows is ordered like its copy."""
        if len(segments) == 1 and segments[0].deleted is None:
            return segments
        return super().segments((), [*map(live_batch, segments)], "")[0]

    def describe(self) -> str:
        return f"CopyShare: {self.table}"


class CopyBackup(BackupShare, frozen=True):
    """A processor that makes the backups of a version whose shares keep their rows: those of copied shares
    from the input, the others like those of the version ``base``."""

    step: CopyStep = _NO_COPY

    def present_backup(self, store: TableStore, owner: str) -> tuple[Segment, ...]:
        if owner in self.step.copied or owner not in self.step.owners:
            return ()
        return super().present_backup(store, owner)

    def describe(self) -> str:
        return f"CopyBackup: {self.table}"


def _present(processor: StoreShare, store: TableStore, step: MoveStep | CopyStep) -> tuple[Segment, ...]:
    """Return the segments of the member's share before the step; none for a member without a share."""
    assert processor.base is not None
    return store.share(processor.base, processor.table).segments if store.member in step.owners else ()


def _moved(
    processor: StoreShare,
    step: MoveStep,
    present: tuple[Segment, ...],
    batches: list[pa.RecordBatch],
    owner: str,
) -> tuple[tuple[Segment, ...], int]:
    """Return the segments of the share of ``owner``, or of its backup, after the step, and the number of rows
    that have come."""
    schema, partitioning, indexes = processor.schema, processor.partitioning, processor.indexes
    segments = step.moved(owner, present, schema, partitioning, batches, indexes)
    return segments, sum(batch.num_rows for batch in batches)


def _slices(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    for first in range(0, batch.num_rows, BATCH_ROWS):
        yield batch.slice(first, BATCH_ROWS)
