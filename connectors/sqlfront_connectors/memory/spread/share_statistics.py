"""Statistics of spread tables: each member reports on its share in one row, and the reports are merged into
statistics of the table.

The columns of a report are the numbers of rows and bytes; for each column of the table its number of distinct
values, number of nulls, least and greatest value (the latter two in the column's own type, or void if the
type has no bounds); and the number of rows that were written.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
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
from sqlfront_values.decoders import make_decoder
from sqlfront_values.types import BIGINT, VOID, physical

_FIXED: Final = (("rows", BIGINT), ("size", BIGINT))
_WRITTEN: Final = pa.field("written", BIGINT)
_NOTHING: Final = ColumnStatistics(distinct=0, nulls=0)
#: The divisor of a share's rows: if a change rewrites more than that part of them, which happens the more
#: rarely the larger the share is, distinct values are counted anew.
_REWRITTEN: Final = 8
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


@lru_cache(64)
def _reader(table: pa.Schema) -> Callable[[Encoded], list[tuple[object, ...]]]:
    """Return the decoder of encoded statistics, kept since reading the schema's types takes longer than
    decoding a row. ``table``: the table's logical schema."""
    return rows_decoder(_schema(table).types)


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


class ShareChange(msgspec.Struct, frozen=True, array_like=True):
    """The changes of a share's statistics by a change of a few rows that the writer can't know. ``size``: the
    change of the share's bytes in memory. ``nulls``: for each column, the change of the number of its nulls.
    ``keys``: the change of the number of distinct values of the partition key, if that is a single column,
    else 0. ``distinct``: for each column, the number of distinct values in the share after the change; None
    unless the change has rewritten a good part of the share, since to estimate them takes as long as the rest
    of the change."""

    size: int
    nulls: tuple[int, ...]
    keys: int
    distinct: tuple[int, ...] | None


_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = make_decoder(ShareChange)


def encode_share_change(before: TableShare, after: TableShare, keys: int) -> bytes:
    """Encode a :class:`ShareChange` from the share ``before`` to the share ``after``, for
    :func:`decode_share_change`. ``keys``: its field of this name."""
    former, present = before.segments, after.segments
    had, has = {id(segment.batch) for segment in former}, {id(segment.batch) for segment in present}
    gone = [segment.batch for segment in former if id(segment.batch) not in has]
    new = [segment.batch for segment in present if id(segment.batch) not in had]
    columns = range(len(after.schema))
    nulls = tuple(
        sum(batch.column(column).null_count for batch in new)
        - sum(batch.column(column).null_count for batch in gone)
        for column in columns
    )
    distinct = None
    if _REWRITTEN * sum(batch.num_rows for batch in gone) > after.rows:
        distinct = tuple(segments_statistics(present, column).distinct or 0 for column in columns)
    return _encode(ShareChange(after.size - before.size, nulls, keys, distinct))


def decode_share_change(encoded: Encoded, width: int) -> ShareChange:
    """Decode the bytes of :func:`encode_share_change`. ``width``: the number of the table's columns. Raises
    OperationalError for malformed bytes."""
    try:
        change: ShareChange = _decode(encoded)  # type: ignore[assignment]
    except (msgspec.MsgspecError, ValueError) as error:
        raise malformed("change of a share", error) from error
    if len(change.nulls) != width or len(change.distinct or change.nulls) != width:
        raise malformed("change of a share", f"it has not {width} columns")
    return change


def encode_share_statistics(share: TableShare) -> bytes:
    """Encode the statistics of a member's share, in the form that :func:`decode_statistics` reads."""
    return encode_statistics(_statistics_of(share))


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
    return _statistics(_rows(_reader(table)(encoded), 1)[0])


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
    known: ShareStatistics,
    changes: Sequence[ShareChange],
    rows: int,
    values: Mapping[int, Sequence[object]],
    table: pa.Schema,
    partitioning: Partitioning | None,
) -> ShareStatistics:
    """Return the statistics of a table after a change of a few rows. ``known``: the table's statistics
    before. ``changes``: what the members tell of their shares. ``rows``: the number of rows after the change.
    ``values``: the values of the new rows, by the ordinals of those columns that may have values which they
    did not have before. ``table``: the table's logical schema. ``partitioning``: the table's partitioning.

    Numbers of rows, bytes and nulls are exact. Bounds only grow: other rows may still have the values of rows
    that are gone. The number of distinct keys is as exact as before; other distinct counts are estimated.
    """
    if not rows:
        return nothing(len(known.columns))
    key = partitioning.columns if partitioning is not None else ()
    columns = tuple(
        _changed_column(
            column,
            table.field(number).type,
            values.get(number, ()),
            sum(change.nulls[number] for change in changes),
            max((change.distinct[number] for change in changes if change.distinct is not None), default=0),
            sum(change.keys for change in changes) if key == (number,) else None,
            rows,
        )
        for number, column in enumerate(known.columns)
    )
    return ShareStatistics(rows, known.size + sum(change.size for change in changes), columns)


def _changed_column(
    known: ColumnStatistics,
    kind: pa.DataType,
    values: Sequence[object],
    nulls: int,
    told: int,
    keys: int | None,
    rows: int,
) -> ColumnStatistics:
    """Return the statistics of a column after a change. ``kind``: the column's type. ``values``: its new
    values. ``nulls``: the change of the number of nulls. ``told``: the distinct values of a share, 0 =
    unknown. ``keys``: the change of the number of distinct values, None = unknown. ``rows``: the number of
    rows after the change."""
    present = [value for value in values if value is not None]
    before = known.distinct or 0
    # Counts of 0 have no bounds: an estimate must not say 0 of a column with values.
    least = min(1, max(before, len(present)))
    distinct = max(before, told, least) if keys is None else before + keys
    minimum, maximum = known.minimum, known.maximum
    if present and before and minimum is not None:
        minimum, maximum = min(minimum, *present), max(maximum, *present)  # type: ignore[call-overload]
    elif present and not before and has_bounds(physical(kind)):
        minimum, maximum = min(present), max(present)  # type: ignore[type-var]
    if isinstance(minimum, int) and isinstance(maximum, int):
        distinct = min(distinct, maximum - minimum + 1)
    count = max(0, (known.nulls or 0) + nulls)
    return ColumnStatistics(max(least, min(distinct, rows)), count, minimum, maximum)


def table_statistics(statistics: ShareStatistics, schema: pa.Schema) -> TableStatistics:
    """Return the statistics as :class:`TableStatistics`, with the columns by their names in ``schema``."""
    return TableStatistics(
        statistics.rows, statistics.size, dict(zip(schema.names, statistics.columns, strict=True))
    )
