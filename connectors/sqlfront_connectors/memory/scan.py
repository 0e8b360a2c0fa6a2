"""The source of a memory table, which emits slices of the table's segments or the rows with given keys."""

import math
from collections.abc import Generator, Iterator, Sequence
from typing import ClassVar, Final

import numpy as np
import pyarrow as pa

from sqlfront_connectors.base import Key, Partitioning, ScanRequest
from sqlfront_connectors.memory.segments.chunks import holds_any, matching
from sqlfront_connectors.memory.segments.locate import locator
from sqlfront_connectors.memory.segments.numbering import numbered
from sqlfront_connectors.memory.segments.segment import Segment
from sqlfront_connectors.memory.segments.share import TableShare
from sqlfront_engine.processor import (
    BATCH_ROWS,
    END_OF_PIECE,
    Processor,
    ProcessorContext,
    Steps,
    Take,
    last_round,
)
from sqlfront_values.arrow.arrays import from_numpy, to_python
from sqlfront_values.expressions import EngineExpr, Literal

#: Keys from an input above which the scan reads all rows instead of looking the keys up: a look-up of each
#: key costs more than a scan of the rows that few keys leave.
MOST_GIVEN: Final = 5000

Given = Generator[Take, pa.RecordBatch | None, tuple[Key, ...] | None]


class MemoryScan(Processor, frozen=True):
    """A source of rows of the memory table ``table``. The rows are those of the
    :class:`~sqlfront_connectors.memory.segments.share.TableShare` in ``context.resources[resource]``.

    ``columns``: ordinals of the table. ``partitions``: emit only rows of these partitions, None = of all.
    ``filters``: conjuncts by which the scan may leave out chunks (BATCH_ROWS consecutive rows); an emitted
    row need not satisfy them. ``numbered``: the table's columns are followed by the rows' numbers, by which
    UPDATE and DELETE name rows. Parallel instances take the slices of the rows in turn.

    ``keys``: emit only the rows whose columns ``by`` (the partition key or the columns of an index) have one
    of these keys, each a tuple of literals; then one instance emits all rows.

    ``keys_from``: the keys are in these columns of the input's rows, in the order of ``by``; an input row
    with a null there gives no key unless ``null_keys``. For more than :data:`MOST_GIVEN` distinct keys the
    scan emits all rows.
    """

    reads_table: ClassVar[bool] = True

    resource: str
    table: str
    columns: tuple[int, ...]
    partitioning: Partitioning | None = None
    keys: tuple[tuple[Literal, ...], ...] | None = None
    partitions: tuple[int, ...] | None = None
    limit: int | None = None
    numbered: bool = False
    by: tuple[int, ...] = ()
    keys_from: tuple[int, ...] | None = None
    filters: tuple[EngineExpr, ...] = ()
    null_keys: bool = False

    def run(self, context: ProcessorContext) -> Steps:
        if self.keys == () or (share := self.share_of(context)) is None:
            return
        segments = numbered(share.segments, self.home(share)) if self.numbered else share.segments
        if self.keys is not None:
            if context.local_index == 0:
                yield from self.limited(self.found(segments))
            return
        if self.keys_from is not None:
            keys = yield from self.given()
            if keys is not None:
                if context.local_index == 0 or self.is_dealt_alike(context):
                    yield from self.located(segments, keys)
                return
        yield from self.limited(self.own(segments, share.partitions, context))

    def share_of(self, context: ProcessorContext) -> TableShare | None:
        """Return the rows to read, from the context's resources; None if this member has no rows of the
        table."""
        share = context.resources[self.resource]
        assert isinstance(share, TableShare)
        return share

    def home(self, share: TableShare) -> int | None:
        """Return the home of the share's rows, an integer whose hash is in a partition of the member that has
        the share, so that a job can send changes of these rows back to that member; None if rows of the table
        need no home."""
        return None

    def is_dealt_alike(self, context: ProcessorContext) -> bool:
        """Return whether the keys in the input are divided among the instances just as the rows are. If True,
        each instance receives only keys whose rows no other instance emits. If False, every instance receives
        all keys, and only the first instance of the member emits rows."""
        return True

    def own(
        self, segments: tuple[Segment, ...], partitions: tuple[int, ...], context: ProcessorContext
    ) -> Iterator[pa.RecordBatch]:
        """Yield the wanted columns of the rows that this instance emits in a scan without keys.
        ``partitions``: the partitions that the share has."""
        return self.slices(segments, self.partitions, context.local_index, context.local_parallelism)

    def limited(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the batches until :attr:`limit` rows are emitted; the last batch is cut to fit. None = all
        batches."""
        left = self.limit
        for batch in batches:
            if left is not None and batch is not END_OF_PIECE:
                batch = batch.slice(0, left)
                left -= batch.num_rows
            yield batch
            if left == 0:
                return

    def slices(
        self, segments: tuple[Segment, ...], partitions: tuple[int, ...] | None, share: int, shares: int
    ) -> Iterator[pa.RecordBatch]:
        """Yield the wanted columns in slices of at most BATCH_ROWS rows, END_OF_PIECE after each.
        ``partitions``: only rows of these partitions, None = all. Slices without a row that may match the
        filters are left out. Of the other slices, one instance of several yields every ``shares``-th slice,
        beginning with the slice at the index ``share``."""
        number = 0
        for segment in segments:
            wanted = segment.batch.select(list(self.columns))
            kept = matching(segment, self.filters) if self.filters else None
            for start, end in segment.ranges(partitions):
                for first in range(start, end, BATCH_ROWS):
                    last = min(first + BATCH_ROWS, end)
                    if not holds_any(kept, first, last):
                        continue
                    if number % shares == share:
                        yield from segment.pieces(wanted, first, last)
                        yield END_OF_PIECE
                    number += 1
        yield from last_round(number, share, shares)

    def found(self, segments: tuple[Segment, ...]) -> Iterator[pa.RecordBatch]:
        """Yield the wanted columns of the rows that have one of the keys in ``self.keys``."""
        assert self.keys is not None
        return self.located(segments, [tuple([literal.value for literal in key]) for key in self.keys])

    def given(self) -> Given:
        """Read the input to its end, and return the distinct keys in its rows; None if there are more than
        :data:`MOST_GIVEN` keys, or one that Python cannot represent. This is a generator, to which
        :meth:`run` delegates by ``yield from``."""
        assert self.keys_from is not None
        found: dict[Key, None] = {}
        is_known = True
        while (batch := (yield Take(0))) is not None:
            if not is_known:
                continue
            try:
                columns = [key_values(batch.column(ordinal)) for ordinal in self.keys_from]
            except OverflowError:
                is_known = False
                continue
            keys = zip(*columns, strict=True)
            found.update(dict.fromkeys(key for key in keys if self.null_keys or None not in key))
            is_known = len(found) <= MOST_GIVEN
        return tuple(found) if is_known else None

    def located(self, segments: tuple[Segment, ...], keys: Sequence[Key]) -> Iterator[pa.RecordBatch]:
        """Yield the wanted columns of the rows that have one of ``keys``, in batches of at most BATCH_ROWS
        rows."""
        if not keys or not segments:
            return
        for segment, rows in _located(segments, keys, self.partitioning, self.by):
            wanted = segment.batch.select(list(self.columns))
            if len(rows) == 1 and isinstance(run := rows[0], range):
                for first in range(run.start, run.stop, BATCH_ROWS):
                    yield wanted.slice(first, min(BATCH_ROWS, run.stop - first))
                continue
            numbers = np.concatenate([np.asarray(some, np.int64) for some in rows])
            for first in range(0, len(numbers), BATCH_ROWS):
                yield wanted.take(from_numpy(numbers[first : first + BATCH_ROWS], pa.int64()))

    def describe(self) -> str:
        if self.keys is not None:
            count = {0: "no key", 1: "one key"}.get(len(self.keys), f"{len(self.keys)} keys")
            return f"MemoryScan: {self.table}, {count}"
        if self.keys_from is not None:
            return f"MemoryScan: {self.table}, by the input's keys"
        if self.partitions is not None and self.partitioning is not None:
            return f"MemoryScan: {self.table}, partitions {len(self.partitions)} of {self.partitioning.count}"
        return f"MemoryScan: {self.table}"


def key_values(array: pa.Array) -> list[object]:
    """Return the values of the array in the form in which keys are compared: each NaN is the same object
    ``math.nan``, -0.0 becomes 0.0, null becomes None. Raises OverflowError for values that Python cannot
    represent."""
    values = to_python(array)
    if not pa.types.is_floating(array.type):
        return values
    return [value if not isinstance(value, float) else _canonical(value) for value in values]


def _canonical(value: float) -> float:
    return math.nan if value != value else value + 0.0


def key_literals(request: ScanRequest, schema: pa.Schema) -> tuple[tuple[Literal, ...], ...] | None:
    """Return the keys of a request as literals of the key columns' types, which can be sent to members; None
    if the request has no keys. ``schema``: the table's logical schema."""
    if request.keys is None:
        return None
    types = [schema.field(ordinal).type for ordinal in request.by]
    return tuple(
        tuple([Literal(kind, value) for kind, value in zip(types, key, strict=True)]) for key in request.keys
    )


def _located(
    segments: Sequence[Segment], keys: Sequence[Key], partitioning: Partitioning | None, by: tuple[int, ...]
) -> Iterator[tuple[Segment, list[Sequence[int]]]]:
    """Yield each segment that has rows with one of the keys, in the order of the segments; with the segment,
    for each key found in it, the numbers of the key's rows. ``by``: the columns of the keys, the partition
    key or the columns of an index."""
    locate = locator(segments, segments[0].batch.schema, partitioning, by)
    found: dict[int, list[Sequence[int]]] = {}
    for key in keys:
        for number, rows in locate(key):
            found.setdefault(number, []).append(rows)
    for number in sorted(found):
        yield segments[number], found[number]
