"""Statistics of memory tables: exact counts and bounds, estimated distinct counts, computed on first use."""

import math
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from sqlfront_connectors.base import ColumnStatistics
from sqlfront_connectors.memory.segments.segment import Segment, is_sorted
from sqlfront_values.arrow import kernels as pc
from sqlfront_values.arrow.arrays import from_numpy, numpy_view, to_python

#: Rows of the sample for the estimate of a distinct count: the estimate's error falls with their root, its
#: time grows with them, at each new version of a table.
SAMPLE_ROWS: Final = 32_768
#: Values of a column up to which its statistics are computed without kernels.
_FEW_ROWS: Final = 32


class LazyStatistics(Mapping[str, ColumnStatistics]):
    """The column statistics of a table by the column's name, computed on first use of a column and then kept.
    ``look``: a function that computes the statistics of a column, given its ordinal."""

    def __init__(self, schema: pa.Schema, look: Callable[[int], ColumnStatistics]) -> None:
        self._schema = schema
        self._look = look
        self._known: dict[str, ColumnStatistics] = {}
        self._lock = threading.Lock()

    def __getitem__(self, name: str) -> ColumnStatistics:
        known = self._known.get(name)
        if known is not None:
            return known
        with self._lock:
            known = self._known.get(name)
            if known is None:
                index = self._schema.names.index(name) if name in self._schema.names else -1
                if index < 0:
                    raise KeyError(name)
                known = self._known[name] = self._look(index)
            return known

    def __iter__(self):  # type: ignore[no-untyped-def]
        return iter(self._schema.names)

    def __len__(self) -> int:
        return len(self._schema.names)


def segment_statistics(segment: Segment, ordinal: int) -> ColumnStatistics:
    """Return the statistics of a column of a segment, cached with the segment. Bounds and counts also cover
    deleted rows."""
    return segment.memo.get(
        ("statistics", ordinal), lambda: column_statistics([segment.batch.column(ordinal)])
    )


def segments_statistics(segments: Sequence[Segment], ordinal: int) -> ColumnStatistics:
    """Return the statistics of a column over all segments of a table, merged from those of each segment."""
    parts = [(segment.batch.num_rows, segment_statistics(segment, ordinal)) for segment in segments]
    return merged_column(parts, apart=False)


def column_statistics(chunks: list[pa.Array]) -> ColumnStatistics:
    """Compute the statistics of a column from its arrays ``chunks``: nulls and bounds exactly, the number of
    distinct values as an estimate (near exact for dictionary arrays and sorted columns)."""
    rows = sum(len(chunk) for chunk in chunks)
    nulls = sum(chunk.null_count for chunk in chunks)
    if rows == nulls:
        return ColumnStatistics(distinct=0, nulls=nulls)
    if pa.types.is_dictionary(chunks[0].type):
        return ColumnStatistics(distinct=max(len(chunk.dictionary) for chunk in chunks), nulls=nulls)
    if rows <= _FEW_ROWS and not pa.types.is_nested(chunks[0].type):
        return _of_few(chunks, nulls)
    largest = max(chunks, key=len)
    minimum, maximum = _bounds(chunks)
    distinct = _distinct(largest, rows)
    if isinstance(minimum, int) and isinstance(maximum, int):
        distinct = min(distinct, maximum - minimum + 1)
    return ColumnStatistics(distinct, nulls, minimum, maximum)


def _of_few(chunks: list[pa.Array], nulls: int) -> ColumnStatistics:
    """Compute the statistics of a column of a few values, not all null, without kernels, each of which takes
    as long as some tens of values in Python. A change of one row computes them for each column."""
    try:
        values = [value for chunk in chunks for value in to_python(chunk) if value is not None]
    except (OverflowError, ValueError):  # dates and timestamps beyond Python's
        return ColumnStatistics(sum(map(len, chunks)) - nulls, nulls)
    distinct = len(set(values))
    if not has_bounds(chunks[0].type):
        return ColumnStatistics(distinct, nulls)
    return ColumnStatistics(distinct, nulls, min(values), max(values))  # type: ignore[type-var]


def has_bounds(data_type: pa.DataType) -> bool:
    """Return whether statistics have bounds (least and greatest value) of a column of this physical type:
    integers, decimals, dates, timestamps and durations."""
    return (
        pa.types.is_integer(data_type)
        or pa.types.is_decimal(data_type)
        or (pa.types.is_temporal(data_type) and not pa.types.is_interval(data_type))
    )


def _bounds(chunks: list[pa.Array]) -> tuple[object, object]:
    """Return the least and the greatest value of a column as Python objects; (None, None) for types that
    :func:`has_bounds` excludes and for dates that Python cannot represent."""
    data_type = chunks[0].type
    if not has_bounds(data_type):
        return None, None
    as_integers = pa.types.is_decimal64(data_type) or pa.types.is_duration(data_type)
    comparable = [chunk.view(pa.int64()) if as_integers else chunk for chunk in chunks]
    results = [pc.min_max(chunk) for chunk in comparable if chunk.null_count < len(chunk)]
    ends = [pa.concat_arrays([pa.repeat(item["min"], 1), pa.repeat(item["max"], 1)]) for item in results]
    if as_integers:
        ends = [end.view(data_type) for end in ends]
    try:
        values = [value for end in ends for value in to_python(end)]
    except OverflowError:  # dates and timestamps beyond Python's
        return None, None
    return min(values), max(values)  # type: ignore[type-var]


def _distinct(array: pa.Array, rows: int) -> int:
    """Estimate the number of distinct values of a column. ``array``: a part of the column; ``rows``: the
    number of rows of the whole column. The estimator is GEE (Charikar et al. 2000) on a strided sample of
    ``array``."""
    if pa.types.is_nested(array.type) or pa.types.is_null(array.type):
        return rows
    if pa.types.is_integer(array.type) and array.null_count == 0 and len(array) > SAMPLE_ROWS:
        steps = numpy_view(array)
        changes = int(np.count_nonzero(steps[1:] != steps[:-1])) + 1
        if changes < len(array) // 2 and is_sorted(steps):
            return max(1, changes * rows // len(array))
    stride = max(1, len(array) // SAMPLE_ROWS)
    picks = from_numpy(np.arange(0, len(array), stride, dtype=np.int64), pa.int64())
    sample = array.take(picks)
    if pa.types.is_decimal64(sample.type):
        sample = sample.view(pa.int64())
    counts = numpy_view(pc.value_counts(sample).field(1))
    once = int(np.count_nonzero(counts == 1))
    if stride == 1:
        return len(counts)
    if once == len(counts):
        return rows
    return min(rows, int((rows / len(sample)) ** 0.5 * once) + len(counts) - once)


def merged_column(parts: list[tuple[int, ColumnStatistics]], *, apart: bool) -> ColumnStatistics:
    """Merge the statistics of a column over several parts of the rows. ``parts``: for each part, its number
    of rows and its statistics. ``apart``: True if no value occurs in two parts, so that the distinct counts
    add up; False = the merged distinct count is estimated."""
    if len(parts) == 1:
        return parts[0][1]
    if not parts:
        return ColumnStatistics(distinct=0, nulls=0)
    counts = [(rows - (column.nulls or 0), column.distinct or 0) for rows, column in parts]
    distinct = sum(values for _, values in counts) if apart else _distinct_together(counts)
    columns = [column for _, column in parts]
    minimum = _extreme(min, [column.minimum for column in columns if column.distinct])
    maximum = _extreme(max, [column.maximum for column in columns if column.distinct])
    if isinstance(minimum, int) and isinstance(maximum, int):
        distinct = min(distinct, maximum - minimum + 1)
    return ColumnStatistics(distinct, sum(column.nulls or 0 for column in columns), minimum, maximum)


def _extreme(choose: Callable[..., object], values: list[object]) -> object:
    return choose(values) if values and all(value is not None for value in values) else None


def _distinct_together(parts: list[tuple[int, int]]) -> int:
    """Estimate the number of distinct values among the rows of all parts. ``parts``: for each part, its
    number of rows and of distinct values; the parts are regarded as random samples of the same rows.

    If there are D values, n random rows show D (1 - exp(-n / D)) of them. From the parts' averages follows D,
    and from D the number for all rows.
    """
    parts = [(rows, values) for rows, values in parts if rows]
    most, least = sum(values for _, values in parts), max((values for _, values in parts), default=0)
    if len(parts) < 2 or most == least:
        return least
    total = sum(rows for rows, _ in parts)
    shown = most / len(parts)
    rows = total / len(parts)
    if shown >= 0.98 * rows:
        return most

    # Newton's method: the left side grows ever slower with D, so that it comes from below and never too far.
    guess, step = shown, shown
    while step > 1e-9 * guess:
        missed = math.exp(-rows / guess)
        step = (shown - guess * (1 - missed)) / (1 - missed * (1 + rows / guess))
        guess += step
    return round(min(most, max(least, guess * -math.expm1(-total / guess))))
