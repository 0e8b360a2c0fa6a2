"""The processors of a job that moves partitions of a spread table to other members, or makes backups anew
(:mod:`~sqlfront_connectors.memory.spread.moves`)."""

from collections.abc import Iterable, Iterator
from typing import ClassVar

import numpy as np
import pyarrow as pa

from sqlfront_connectors.base import Partitioning
from sqlfront_connectors.memory.segments.merging import indexed, live_batch
from sqlfront_connectors.memory.segments.segment import Segment, copy_segment
from sqlfront_connectors.memory.segments.share import TableShare
from sqlfront_connectors.memory.spread.moves import CopyStep, MoveStep
from sqlfront_connectors.memory.spread.processors import BackupShare, StoreShare
from sqlfront_connectors.memory.spread.store import TableStore, store_of
from sqlfront_engine.processor import BATCH_ROWS, Processor, ProcessorContext, Steps
from sqlfront_values.arrow.arrays import numpy_view, repeat
from sqlfront_values.columns.batches import split_batch
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
                yield _marked(part, "home", home)
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

    def present_backup(self, store: TableStore, owner: str) -> tuple[Segment, ...]:
        return super().present_backup(store, owner) if owner in self.step.owners else ()

    def segments(
        self, present: tuple[Segment, ...], batches: list[pa.RecordBatch], owner: str
    ) -> tuple[tuple[Segment, ...], int]:
        return _moved(self, self.step, present, batches, owner)

    def describe(self) -> str:
        return f"MoveBackup: {self.table}"


class CopyShare(StoreShare, frozen=True):
    """A source that makes the member's share of a version from the same rows as the version ``base``, and
    emits the rows for the backups that are made anew, addressed to ``targets``. Behind the table's columns
    is the number of the row's segment: a copy has the segments of its share, so that its rows have the same
    numbers."""

    step: CopyStep = _NO_COPY

    def run(self, context: ProcessorContext) -> Steps:
        store, targets = store_of(context), self.targets
        assert targets is not None
        store.check_dealt(self.dealt, self.table)
        segments = _present(self, store, self.step)
        if store.member in self.step.copied:
            place = self._place(targets, store.member)
            segments = indexed(map(self._without_deleted, segments), self.indexes)
            for number, segment in enumerate(segments):
                for part in _slices(segment.batch):
                    yield targets.addressed(_marked(part, "segment", number), place)
        share = TableShare(self.schema, self.partitioning, segments, self.indexes, context.partitions)
        store.hold(share.segments, self.table)
        store.stage(self.key, share)

    def _without_deleted(self, segment: Segment) -> Segment:
        if segment.deleted is None:
            return segment
        return copy_segment([live_batch(segment)], self.schema, self.partitioning)

    def describe(self) -> str:
        return f"CopyShare: {self.table}"


class CopyBackup(BackupShare, frozen=True):
    """A processor that makes the backups of a version whose shares keep their rows: those of copied shares
    from the input, which :class:`CopyShare` has emitted, the others like those of the version ``base``."""

    step: CopyStep = _NO_COPY

    def present_backup(self, store: TableStore, owner: str) -> tuple[Segment, ...]:
        if owner in self.step.copied or owner not in self.step.owners:
            return ()
        return super().present_backup(store, owner)

    def segments(
        self, present: tuple[Segment, ...], batches: list[pa.RecordBatch], owner: str
    ) -> tuple[tuple[Segment, ...], int]:
        if owner not in self.step.copied:
            return present, 0  # as the share itself stays: a merge would give its rows other numbers
        return _copied(batches, self.schema, self.partitioning), sum(batch.num_rows for batch in batches)

    def describe(self) -> str:
        return f"CopyBackup: {self.table}"


def _copied(
    batches: Iterable[pa.RecordBatch], schema: pa.Schema, partitioning: Partitioning | None
) -> tuple[Segment, ...]:
    """Return the segments whose rows are in ``batches``, in their order. The last column of the batches is
    the number of the row's segment."""
    parts: dict[int, list[pa.RecordBatch]] = {}
    for batch in batches:
        numbers = numpy_view(batch.column(len(schema))).astype(np.intp)
        rows = batch.select(list(range(len(schema))))
        for number, part in split_batch(rows, numbers, int(numbers.max()) + 1).items():
            parts.setdefault(number, []).append(part)
    return tuple(copy_segment(parts[number], schema, partitioning) for number in sorted(parts))


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


def _marked(batch: pa.RecordBatch, name: str, value: int) -> pa.RecordBatch:
    """Return the batch with a further column, which has ``value`` in each row."""
    column = repeat(value, BIGINT, batch.num_rows)
    return pa.RecordBatch.from_arrays([*batch.columns, column], names=[*batch.schema.names, name])
