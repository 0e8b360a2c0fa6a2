"""The source of a memory table: slices of its segments, or the rows of one key."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from sqlfront_connectors.base import Partitioning
from sqlfront_connectors.memory.segment import Segment, sortable_key
from sqlfront_engine import kernels as pc
from sqlfront_engine.arrays import from_values, numpy_view, scalar, true_rows
from sqlfront_engine.expressions import EngineExpr, Literal
from sqlfront_engine.partitions import key_hasher
from sqlfront_engine.processor import BATCH_ROWS, Processor, ProcessorContext, Steps
from sqlfront_engine.types import VOID, is_integral, is_string, physical


class MemoryScan(Processor, frozen=True):
    """Reads the segments found as ``context.resources[resource]``.

    ``columns`` are ordinals of the table. With ``key`` (one literal per clustering column, at run time;
    one of type void asks for null) only the rows of that key are emitted, with ``partitions`` only those
    partitions. Parallel instances take every n-th batch.
    """

    resource: str
    table: str
    columns: tuple[int, ...]
    partitioning: tuple[tuple[int, ...], int] | None = None
    key: tuple[EngineExpr, ...] | None = None
    partitions: tuple[int, ...] | None = None
    limit: int | None = None

    def run(self, context: ProcessorContext) -> Steps:
        segments = context.resources[self.resource]
        assert isinstance(segments, tuple)
        if self.key is not None:
            if context.global_index == 0:
                yield from self.found(segments)
            return
        share, shares = context.global_index, context.total_parallelism
        yield from self.limited(self.slices(segments, self.partitions, share, shares))

    def limited(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The batches up to the limit."""
        left = self.limit
        for batch in batches:
            if left is not None:
                batch = batch.slice(0, left)
                left -= batch.num_rows
            yield batch
            if left == 0:
                return

    def slices(
        self, segments: tuple[Segment, ...], partitions: tuple[int, ...] | None, share: int, shares: int
    ) -> Iterator[pa.RecordBatch]:
        """The wanted columns of the partitions (None = all) in slices, every ``shares``-th beginning with
        number ``share``."""
        number = 0
        for segment in segments:
            wanted = segment.batch.select(list(self.columns))
            for start, end in segment.ranges(partitions):
                for first in range(start, end, BATCH_ROWS):
                    if number % shares == share:
                        yield from segment.pieces(wanted, first, min(first + BATCH_ROWS, end))
                    number += 1

    def found(self, segments: tuple[Segment, ...]) -> Iterator[pa.RecordBatch]:
        """The wanted columns of the rows with the key."""
        assert self.key is not None
        assert self.partitioning is not None
        literals = [part for part in self.key if isinstance(part, Literal)]
        assert len(literals) == len(self.key), "parameters are bound before the engine begins"
        partitioning = Partitioning(*self.partitioning)
        values = tuple(literal.value for literal in literals)
        types = tuple(literal.type for literal in literals)
        for segment in segments:
            found = probe(segment, partitioning, values, types)
            if found.num_rows:
                yield found.select(list(self.columns))

    def describe(self) -> str:
        if self.key is not None:
            return f"MemoryScan: {self.table}, one key"
        if self.partitions is not None and self.partitioning is not None:
            return f"MemoryScan: {self.table}, partitions {len(self.partitions)} of {self.partitioning[1]}"
        return f"MemoryScan: {self.table}"


def probe(
    segment: Segment, partitioning: Partitioning, key: tuple[object, ...], types: tuple[pa.DataType, ...]
) -> pa.RecordBatch:
    """The rows whose clustering columns equal ``key``; values and types are logical. A null of type void asks
    for null, which is a key like any other; a null of another type equals nothing."""
    asks_for_null = [kind == VOID for kind in types]
    if segment.offsets is None or any(
        value is None and not wanted for value, wanted in zip(key, asks_for_null, strict=True)
    ):
        return segment.batch.slice(0, 0)
    stored = [segment.batch.schema.field(ordinal).type for ordinal in partitioning.columns]
    hashed = [
        have if wanted else kind for have, kind, wanted in zip(stored, types, asks_for_null, strict=True)
    ]
    number = key_hasher(hashed)(key) % partitioning.count
    start, end = int(segment.offsets[number]), int(segment.offsets[number + 1])
    columns = [segment.batch.column(ordinal).slice(start, end - start) for ordinal in partitioning.columns]
    rows = _ordered_rows(columns, key, types)
    if rows is not None and segment.deleted is None:
        return segment.batch.slice(start + rows.start, len(rows))
    if rows is None:
        where = [start + int(row) for row in numpy_view(true_rows(_equal_key(columns, key, types)))]
    else:
        where = list(range(start + rows.start, start + rows.stop))
    return segment.batch.take(from_values(segment.live(where), pa.int64()))


def _ordered_rows(
    columns: list[pa.Array], key: tuple[object, ...], types: tuple[pa.DataType, ...]
) -> range | None:
    """The rows with a key of one column by binary search; None for columns that aren't searched so."""
    if len(key) != 1:
        return None
    (column,), (value,) = columns, key
    if types[0] == VOID:
        return range(column.null_count)  # within a partition nulls come first
    if column.null_count == 0 and is_integral(types[0]):
        values = numpy_view(column)
        first = int(np.searchsorted(values, value, "left"))  # type: ignore[call-overload]
        return range(first, int(np.searchsorted(values, value, "right")))  # type: ignore[call-overload]
    if column.type == pa.string():
        strings = _Strings(column)
        first = bisect_left(strings, str(value), column.null_count)
        return range(first, bisect_right(strings, str(value), first))
    return None


class _Strings:
    """A sorted string array as a sequence for bisect, which is never asked for the nulls at its start."""

    def __init__(self, array: pa.Array) -> None:
        self._array = array

    def __len__(self) -> int:
        return len(self._array)

    def __getitem__(self, index: int) -> str:
        return self._array[index].as_py()


def _equal_key(columns: list[pa.Array], key: tuple[object, ...], types: tuple[pa.DataType, ...]) -> pa.Array:
    mask = None
    for column, value, kind in zip(columns, key, types, strict=True):
        part = pc.is_null(column) if kind == VOID else _equal(column, value, kind)
        mask = part if mask is None else pc.and_kleene(mask, part)
    assert mask is not None
    return mask


def _equal(column: pa.Array, value: object, kind: pa.DataType) -> pa.Array:
    wanted = scalar(value, pa.string() if is_string(kind) else physical(kind))
    if pa.types.is_decimal64(column.type):
        wanted = pa.repeat(wanted, 1).view(pa.int64())[0]
    return pc.equal(sortable_key(column), wanted)
