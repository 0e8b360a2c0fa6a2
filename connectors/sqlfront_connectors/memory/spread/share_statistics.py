"""Statistics of spread tables: each member reports on its share in one row, and the reports are merged into
statistics of the table.

The columns of a report are the numbers of rows and bytes; for each column of the table its number of distinct
values, number of nulls, least and greatest value (the latter two in the column's own type, or void if the
type has no bounds); and the number of rows that were written.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final

import msgspec
import pyarrow as pa
from msgspec.structs import astuple

from sqlfront_cluster.codec.rows import Encoded, encode_rows, rows_decoder
from sqlfront_cluster.codec.values import malformed
from sqlfront_connectors.base import ColumnStatistics, Partitioning, TableStatistics
from sqlfront_connectors.memory.segments.share import TableShare
from sqlfront_connectors.memory.segments.statistics import has_bounds, merged_column, segments_statistics
from sqlfront_values.arrow.arrays import from_values, to_python
from sqlfront_values.columns.batches import make_batch
from sqlfront_values.types import BIGINT, VOID, physical

_FIXED: Final = (("rows", BIGINT), ("size", BIGINT))
_WRITTEN: Final = pa.field("written", BIGINT)
_NOTHING: Final = ColumnStatistics(distinct=0, nulls=0)
#: The number of statistics of a column.
_WIDTH: Final = len(ColumnStatistics.__struct_fields__)


class ShareStatistics(msgspec.Struct, frozen=True):
    """Statistics of a set of rows. ``rows``: the number of rows. ``size``: their bytes in memory.
    ``columns``: the statistics of each column, in the table's order."""

    rows: int
    size: int
    columns: tuple[ColumnStatistics, ...]


@lru_cache(64)
def report_schema(table: pa.Schema) -> pa.Schema:
    """Return the schema of the batch in which a member reports the statistics of its new share. ``table``:
    the table's logical schema."""
    return _schema(table).append(_WRITTEN)


@lru_cache(64)
def _schema(table: pa.Schema) -> pa.Schema:
    fields = [pa.field(name, kind) for name, kind in _FIXED]
    for number, field in enumerate(table):
        bound = field.type if has_bounds(physical(field.type)) else VOID
        types = {"distinct": BIGINT, "nulls": BIGINT, "minimum": bound, "maximum": bound}
        fields += [pa.field(f"{name} {number}", types[name]) for name in ColumnStatistics.__struct_fields__]
    return pa.schema(fields)


def report(share: TableShare, written: int) -> pa.RecordBatch:
    """Return a member's report on its new share, for the coordinator of the write: a batch of one row with
    the share's statistics and ``written``, the number of rows that the statement has written to the share.
    :func:`report_schema` has its columns."""
    row = _row(_statistics_of(share), share.schema)
    return row.append_column(_WRITTEN.name, from_values([written], BIGINT))


def _statistics_of(share: TableShare) -> ShareStatistics:
    columns = tuple(segments_statistics(share.segments, number) for number in range(len(share.schema)))
    return ShareStatistics(share.rows, share.size, columns)


def _row(statistics: ShareStatistics, table: pa.Schema) -> pa.RecordBatch:
    values, schema = _values(statistics), _schema(table)
    arrays = [from_values([value], physical(field.type)) for value, field in zip(values, schema, strict=True)]
    return make_batch(arrays, schema.names, 1)


def _values(statistics: ShareStatistics) -> list[object]:
    values: list[object] = [statistics.rows, statistics.size]
    for column in statistics.columns:
        values += astuple(column)
    return values


def encode_statistics_change(before: TableShare, after: TableShare) -> bytes:
    """Return the statistics of a member's share before and after a change of rows, as encoded rows, for
    :func:`decode_statistics_change`."""
    return encode_rows([tuple(_values(_known(share))) for share in (before, after)])


def _known(share: TableShare) -> ShareStatistics:
    return share.facts.get("statistics", lambda: _statistics_of(share))


def decode_statistics_change(encoded: Encoded, table: pa.Schema) -> tuple[ShareStatistics, ShareStatistics]:
    """Return the statistics of a share before and after a change, from the bytes of
    :func:`encode_statistics_change`. ``table``: the table's logical schema. Raises OperationalError for
    malformed bytes."""
    before, after = _rows(rows_decoder(_schema(table).types)(encoded), 2)
    return _statistics(before), _statistics(after)


def read_reports(batches: Iterable[pa.RecordBatch]) -> tuple[list[ShareStatistics], int]:
    """Read the members' reports in the batches that :func:`report` has made: return the statistics of each
    share, and the total number of rows written."""
    shares, total = [], 0
    for batch in batches:
        *known, written = (to_python(column) for column in batch.columns)
        shares += [_statistics(row) for row in zip(*known, strict=True)]
        total += sum(written)  # type: ignore[arg-type]
    return shares, total


def _statistics(row: tuple[object, ...]) -> ShareStatistics:
    rows, size, *rest = row
    columns = tuple(ColumnStatistics(*rest[start : start + _WIDTH]) for start in range(0, len(rest), _WIDTH))  # type: ignore[arg-type]
    return ShareStatistics(rows, size, columns)  # type: ignore[arg-type]


def encode_statistics(statistics: ShareStatistics) -> bytes:
    """Encode the statistics in the form that :func:`decode_statistics` reads."""
    return encode_rows([tuple(_values(statistics))])


def decode_statistics(encoded: Encoded, table: pa.Schema) -> ShareStatistics:
    """Decode the bytes of :func:`encode_statistics`; ``table``: the table's logical schema. Raises
    OperationalError for malformed bytes."""
    return _statistics(_rows(rows_decoder(_schema(table).types)(encoded), 1)[0])


def _rows(rows: Sequence[tuple[object, ...]], count: int) -> Sequence[tuple[object, ...]]:
    if len(rows) != count:
        raise malformed("row of statistics", f"there are {len(rows)}, not {count}")
    return rows


def nothing(width: int) -> ShareStatistics:
    """Return the statistics of an empty table. ``width``: the number of its columns."""
    return ShareStatistics(0, 0, (_NOTHING,) * width)


def merged(
    parts: Sequence[ShareStatistics], width: int, partitioning: Partitioning | None
) -> ShareStatistics:
    """Merge the statistics of the members' shares into statistics of the whole table. ``width``: the number
    of columns. ``partitioning``: the table's partitioning, None = rows are on any member. If the partition
    key is a single column, each value of this column is in one share only, so that the shares' distinct
    counts of the column add up; other distinct counts are estimated."""
    parts = [part for part in parts if part.rows]
    if not parts:
        return nothing(width)
    rows = sum(part.rows for part in parts)
    size = sum(part.size for part in parts)
    key = partitioning.columns[0] if partitioning is not None and len(partitioning.columns) == 1 else None
    columns = tuple(
        merged_column([(part.rows, part.columns[number]) for part in parts], apart=number == key)
        for number in range(width)
    )
    return ShareStatistics(rows, size, columns)


def changed(
    known: ShareStatistics, before: ShareStatistics, after: ShareStatistics, partitioning: Partitioning | None
) -> ShareStatistics:
    """Return the statistics of a table after a change of one member's share. ``known``: the table's
    statistics before. ``before``, ``after``: those of the share. ``partitioning``: the table's partitioning.

    Numbers of rows, bytes and nulls are exact. Bounds only grow: the other shares may still have the values
    of rows that are gone. Distinct counts of the partition key follow the share's; others are estimated.
    """
    rows = known.rows - before.rows + after.rows
    if not rows:
        return nothing(len(known.columns))
    key = partitioning.columns if partitioning is not None else ()
    columns = tuple(
        _changed_column(*each, apart=key == (number,), rows=rows)
        for number, each in enumerate(zip(known.columns, before.columns, after.columns, strict=True))
    )
    return ShareStatistics(rows, known.size - before.size + after.size, columns)


def _changed_column(
    known: ColumnStatistics, before: ColumnStatistics, after: ColumnStatistics, *, apart: bool, rows: int
) -> ColumnStatistics:
    nulls = (known.nulls or 0) - (before.nulls or 0) + (after.nulls or 0)
    joined = merged_column([(1, known), (1, after)], apart=False)
    distinct = max(known.distinct or 0, after.distinct or 0)
    if apart:
        distinct = (known.distinct or 0) - (before.distinct or 0) + (after.distinct or 0)
    # Counts of 0 have no bounds: differences of estimates must not say 0 of a column with values.
    least = min(1, max(known.distinct or 0, after.distinct or 0))
    return ColumnStatistics(max(least, min(distinct, rows)), max(0, nulls), joined.minimum, joined.maximum)


def table_statistics(statistics: ShareStatistics, schema: pa.Schema) -> TableStatistics:
    """Return the statistics as :class:`TableStatistics`, with the columns by their names in ``schema``."""
    return TableStatistics(
        statistics.rows, statistics.size, dict(zip(schema.names, statistics.columns, strict=True))
    )
