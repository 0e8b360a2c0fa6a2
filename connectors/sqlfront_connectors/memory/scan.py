"""The source of a memory table: slices of the segments, or the rows of given keys."""

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
    """A source that reads the :class:`~sqlfront_connectors.memory.segments.share.TableShare` found as
    ``context.resources[resource]``.

    ``columns`` are ordinals of the table. With ``keys`` (a literal of the column's type for each of the
    columns ``by``, the columns of the partitioning or of an index) one instance emits only the rows of these
    keys; with ``partitions`` the scan emits only those partitions. Parallel instances take every n-th batch.
    ``numbered``: the rows' numbers follow the table's columns
    (:mod:`~sqlfront_connectors.memory.segments.numbering`).

    ``filters`` are conjuncts by which the scan may skip chunks; an emitted row need not satisfy them.
    ``keys_from``: the keys are these columns of the input's rows, in the order of ``by``; a row with a null
    in these columns gives a key only with ``null_keys``. For more than :data:`MOST_GIVEN` keys the scan emits
    all rows.
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
        """Return the rows to read; None if this member has no rows to read."""
        share = context.resources[self.resource]
        assert isinstance(share, TableShare)
        return share

    def home(self, share: TableShare) -> int | None:
        """Return the home of the share's rows (:mod:`~sqlfront_connectors.memory.segments.numbering`), None
        if rows need none."""
        return None

    def is_dealt_alike(self, context: ProcessorContext) -> bool:
        """Return whether an instance gets from its input only keys whose rows this instance alone emits. If
        False, every instance gets all keys, and only the first instance of the member emits the rows."""
        return True

    def own(
        self, segments: tuple[Segment, ...], partitions: tuple[int, ...], context: ProcessorContext
    ) -> Iterator[pa.RecordBatch]:
        """Yield the wanted columns of the rows that this instance emits in a scan without keys.
        ``partitions``: the partitions of the share."""
        return self.slices(segments, self.partitions, context.local_index, context.local_parallelism)

    def limited(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the batches until :attr:`limit` rows are emitted; the last batch is cut."""
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
        """Yield the wanted columns of the partitions (None = all) in slices of at most BATCH_ROWS rows,
        END_OF_PIECE after each. Slices without a row that may match the filters are skipped; of the other
        slices yield every ``shares``-th one, beginning with number ``share``."""
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
        """Yield the wanted columns of the rows with one of ``self.keys``."""
        assert self.keys is not None
        return self.located(segments, [tuple([literal.value for literal in key]) for key in self.keys])

    def given(self) -> Given:
        """Read the input to its end, and return the distinct keys of its rows; None for more than
        :data:`MOST_GIVEN` keys, and for a key that Python cannot represent."""
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
        """Yield the wanted columns of the rows with one of ``keys``, in batches of at most BATCH_ROWS
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
    """Return the values of the array as values of keys: all NaNs become one NaN, -0.0 becomes 0.0, null is
    None. Raises OverflowError for values that Python cannot represent."""
    values = to_python(array)
    if not pa.types.is_floating(array.type):
        return values
    return [value if not isinstance(value, float) else _canonical(value) for value in values]


def _canonical(value: float) -> float:
    return math.nan if value != value else value + 0.0


def key_literals(request: ScanRequest, schema: pa.Schema) -> tuple[tuple[Literal, ...], ...] | None:
    """Return the keys of a request as literals, which can be sent to members; None if the request has no
    keys. ``schema`` is the table's."""
    if request.keys is None:
        return None
    types = [schema.field(ordinal).type for ordinal in request.by]
    return tuple(
        tuple([Literal(kind, value) for kind, value in zip(types, key, strict=True)]) for key in request.keys
    )


def _located(
    segments: Sequence[Segment], keys: Sequence[Key], partitioning: Partitioning | None, by: tuple[int, ...]
) -> Iterator[tuple[Segment, list[Sequence[int]]]]:
    """Yield each segment that has rows with one of the keys, in the order of the segments, with one sequence
    of row numbers for each key that was found. ``by``: the columns of the keys."""
    locate = locator(segments, segments[0].batch.schema, partitioning, by)
    found: dict[int, list[Sequence[int]]] = {}
    for key in keys:
        for number, rows in locate(key):
            found.setdefault(number, []).append(rows)
    for number in sorted(found):
        yield segments[number], found[number]
