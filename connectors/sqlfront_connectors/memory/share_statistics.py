"""Statistics of spread tables: what each member says of its share, as a row, and what follows for all rows.

The row has the numbers of rows and bytes, and for each column of the table its distinct values, nulls, least
and greatest value, the latter two in the column's own type (or void where they have no order).
"""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec
import pyarrow as pa

from sqlfront_connectors.base import ColumnStatistics, Partitioning, TableStatistics
from sqlfront_connectors.memory.statistics import column_statistics, has_bounds, merged_column
from sqlfront_engine.arrays import from_values, to_python
from sqlfront_engine.columns.batches import make_batch
from sqlfront_engine.types import BIGINT, VOID, physical

_FIXED: Final = (("rows", BIGINT), ("size", BIGINT))
_NOTHING: Final = ColumnStatistics(distinct=0, nulls=0)


class ShareStatistics(msgspec.Struct, frozen=True):
    """Rows, bytes and columns (in the table's order) of a set of rows."""

    rows: int
    size: int
    columns: tuple[ColumnStatistics, ...]


def report_schema(table: pa.Schema) -> pa.Schema:
    """The schema of the row that tells of a share of a table with that schema."""
    fields = [pa.field(name, kind) for name, kind in _FIXED]
    for number, field in enumerate(table):
        bound = field.type if has_bounds(physical(field.type)) else VOID
        fields += [
            pa.field(f"distinct {number}", BIGINT),
            pa.field(f"nulls {number}", BIGINT),
            pa.field(f"minimum {number}", bound),
            pa.field(f"maximum {number}", bound),
        ]
    return pa.schema(fields)


def report(batches: Sequence[pa.RecordBatch], table: pa.Schema) -> pa.RecordBatch:
    """The row about these batches, which are stored ones."""
    columns = tuple(
        column_statistics([batch.column(number) for batch in batches]) for number in range(len(table))
    )
    rows = sum(batch.num_rows for batch in batches)
    return _row(ShareStatistics(rows, sum(batch.nbytes for batch in batches), columns), table)


def _row(statistics: ShareStatistics, table: pa.Schema) -> pa.RecordBatch:
    values: list[object] = [statistics.rows, statistics.size]
    for column in statistics.columns:
        values += [column.distinct, column.nulls, column.minimum, column.maximum]
    schema = report_schema(table)
    arrays = [from_values([value], physical(field.type)) for value, field in zip(values, schema, strict=True)]
    return make_batch(arrays, schema.names, 1)


def read_reports(batches: Iterable[pa.RecordBatch]) -> list[ShareStatistics]:
    """What the rows of :func:`report` say."""
    found = []
    for batch in batches:
        for row in zip(*(to_python(column) for column in batch.columns), strict=True):
            rows, size, *rest = row
            columns = tuple(ColumnStatistics(*rest[start : start + 4]) for start in range(0, len(rest), 4))
            found.append(ShareStatistics(rows, size, columns))
    return found


def encode_statistics(statistics: ShareStatistics, table: pa.Schema) -> bytes:
    """The same as an Arrow IPC stream of one row, as :func:`report` has it."""
    batch = _row(statistics, table)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    encoded: bytes = sink.getvalue().to_pybytes()
    return encoded


def decode_statistics(encoded: bytes) -> ShareStatistics:
    """The other way round."""
    (statistics,) = read_reports(pa.ipc.open_stream(encoded))
    return statistics


def nothing(width: int) -> ShareStatistics:
    """The statistics of no rows."""
    return ShareStatistics(0, 0, (_NOTHING,) * width)


def merged(
    parts: Sequence[ShareStatistics], width: int, partitioning: Partitioning | None
) -> ShareStatistics:
    """The statistics of all rows of the parts, which were placed by ``partitioning`` or at random."""
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


def appended(base: ShareStatistics, added: ShareStatistics) -> ShareStatistics:
    """The statistics after an insert. Some of the new rows' values may have been there before."""
    if not base.rows or not added.rows:
        return added if not base.rows else base
    columns = tuple(
        merged_column([(base.rows, before), (added.rows, after)], apart=False)
        for before, after in zip(base.columns, added.columns, strict=True)
    )
    return ShareStatistics(base.rows + added.rows, base.size + added.size, columns)


def table_statistics(statistics: ShareStatistics, schema: pa.Schema) -> TableStatistics:
    """The same for the planner."""
    return TableStatistics(
        statistics.rows, statistics.size, dict(zip(schema.names, statistics.columns, strict=True))
    )
