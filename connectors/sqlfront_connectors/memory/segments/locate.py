"""Functions that find the row numbers of a key in a memory table, in a few microseconds and without Arrow's
kernels."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence

import pyarrow as pa

from sqlfront_connectors.base import Key, Partitioning
from sqlfront_connectors.memory.segments.segment import Segment
from sqlfront_values.arrow.arrays import numpy_view
from sqlfront_values.columns.reading import Reader, storage_reader, to_storage
from sqlfront_values.partitioning.partitions import key_hasher
from sqlfront_values.types import BIGINT, is_fractional

#: A function that returns, for a key, pairs of a segment's number and the key's row numbers in that segment;
#: segments without such rows are left out.
Locate = Callable[[Key], list[tuple[int, Sequence[int]]]]


def key_locator(segments: Sequence[Segment], schema: pa.Schema, partitioning: Partitioning) -> Locate:
    """Return a function that finds the rows with a value of the partition key. For a key, the function
    returns pairs of a segment's index and the numbers of the key's rows in that segment; segments without
    such rows are left out. ``schema``: the logical schema. The values of a key are of the columns' types,
    None stands for null; NaN finds NaN, and 0.0 finds -0.0."""
    types = [schema.field(ordinal).type for ordinal in partitioning.columns]
    hash_key, count = key_hasher(types), partitioning.count
    offsets = [_offsets(segment) for segment in segments]
    # Made when first used: each change of a row makes a new segment, which few keys are in.
    searches: dict[int, _Search] = {}

    def locate(key: Key) -> list[tuple[int, Sequence[int]]]:
        partition = hash_key(key) % count
        found: list[tuple[int, Sequence[int]]] = []
        for number, starts in enumerate(offsets):
            if starts[partition] == starts[partition + 1]:
                continue
            segment, search = segments[number], searches.get(number)
            if search is None:
                search = searches[number] = _search(segment, partitioning.columns)
            rows = segment.live(search.find(partition, key))
            if rows:
                found.append((number, rows))
        return found

    return locate


def integer_key(segment: Segment, schema: pa.Schema, partitioning: Partitioning) -> memoryview | None:
    """Return the partition key of each row of the segment, as a view of int64 numbers, which ascend within
    each partition. Return None if the partition key is not a single BIGINT column, or the segment has a null
    in this column."""
    if [schema.field(ordinal).type for ordinal in partitioning.columns] != [BIGINT]:
        return None
    return _search(segment, partitioning.columns).integers


def locator(
    segments: Sequence[Segment],
    schema: pa.Schema,
    partitioning: Partitioning | None,
    by: tuple[int, ...],
) -> Locate:
    """Return a function that finds the rows with given values of the columns ``by``: the partition key, or
    the columns of an index that all segments have. For a key, the function returns pairs of a segment's index
    and the numbers of the key's rows in that segment; segments without such rows are left out. The values of
    a key are of the columns' types, None stands for null; NaN finds NaN, and 0.0 finds -0.0."""
    if partitioning is not None and by == partitioning.columns:
        return key_locator(segments, schema, partitioning)
    hash_key = key_hasher([schema.field(ordinal).type for ordinal in by])
    indexes = [segment.index(by) for segment in segments]

    def locate(key: Key) -> list[tuple[int, Sequence[int]]]:
        hashed = hash_key(key)
        found: list[tuple[int, Sequence[int]]] = []
        for number, index in enumerate(indexes):
            assert index is not None, "every segment has the table's indexes"
            rows = segments[number].live(index.find(hashed, key))
            if rows:
                found.append((number, rows))
        return found

    return locate


def _offsets(segment: Segment) -> memoryview:
    assert segment.offsets is not None
    return segment.offsets.data


def _search(segment: Segment, columns: tuple[int, ...]) -> "_Search":
    return segment.memo.get(("search", columns), lambda: _Search(segment, columns))


class _Search:
    """A binary search for the rows of a key in one segment, whose rows are ordered by partition id and then
    by the partition key, nulls first."""

    __slots__ = ("_columns", "integers", "offsets")

    def __init__(self, segment: Segment, columns: tuple[int, ...]) -> None:
        arrays = [segment.batch.column(ordinal) for ordinal in columns]
        self.offsets = _offsets(segment)
        # The commonest key, one integer column without nulls: the search reads the values in place.
        self.integers: memoryview | None = None
        self._columns: list[_KeyColumn] = []
        if len(arrays) == 1 and pa.types.is_integer(arrays[0].type) and not arrays[0].null_count:
            self.integers = numpy_view(arrays[0]).data
        else:
            self._columns = [_KeyColumn(array) for array in arrays]

    def find(self, partition: int, key: Key) -> range:
        """Return the numbers of the rows that have the key; an empty range if there are none. ``partition``:
        the id of the key's partition. Deleted rows are included."""
        start, end = self.offsets[partition], self.offsets[partition + 1]
        if self.integers is not None:
            (value,) = key
            if value is None:
                return range(0)
            assert isinstance(value, int)
            start = bisect_left(self.integers, value, start, end)
            return range(start, bisect_right(self.integers, value, start, end))
        for column, value in zip(self._columns, key, strict=True):
            start, end = column.narrow(value, start, end)
        return range(start, end)


class _KeyColumn:
    """A column of the partition key in one segment, whose values can be searched in their order."""

    __slots__ = ("_convert", "_of", "_read")

    def __init__(self, array: pa.Array) -> None:
        self._convert = to_storage(array.type)
        self._of = _float_rank if is_fractional(array.type) else _rank
        self._read: Reader = storage_reader(array)

    def narrow(self, value: object, start: int, end: int) -> tuple[int, int]:
        """Return the start and the end (exclusive) of the rows that have the value ``value``, among the rows
        from ``start`` to ``end`` (exclusive), which must be in the order of this column. Start and end are
        equal if no row has the value."""
        wanted = self._of(value if value is None or self._convert is None else self._convert(value))
        rows, rank = range(start, end), self._rank
        first = bisect_left(rows, wanted, key=rank)
        return start + first, start + bisect_right(rows, wanted, first, key=rank)

    def _rank(self, row: int) -> tuple[object, ...]:
        return self._of(self._read(row))


def _rank(value: object) -> tuple[object, ...]:
    """Return a sort key for a value of a column that isn't floating-point; nulls come before all values."""
    return (False,) if value is None else (True, value)


def _float_rank(value: object) -> tuple[object, ...]:
    """Return a sort key for a value of a floating-point column, in the order null, NaN (equal to itself),
    numbers."""
    if value is None:
        return (False,)
    return (True, False, 0.0) if value != value else (True, True, value)
