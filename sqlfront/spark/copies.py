"""Copies of Spark's relations: cached tables with the rows of Spark's tables, views and queries."""

from sqlfront.state.cached_table import CachedTable
from sqlfront_connectors.base import Table
from sqlfront_connectors.spark.table import SparkTable
from sqlfront_planner.catalog import Entry, TableEntry
from sqlfront_values.errors import Error


def origin(table: Table) -> SparkTable | None:
    """The relation of Spark's that a cached table copies; None for other tables."""
    copied = table.origin if isinstance(table, CachedTable) else None
    return copied.table if isinstance(copied, TableEntry) and isinstance(copied.table, SparkTable) else None


def origin_of(entry: Entry | None) -> SparkTable | None:
    """The relation of Spark's that the catalog's entry copies; None for other entries."""
    return origin(entry.table) if isinstance(entry, TableEntry) else None


def has(entry: Entry | None) -> bool:
    """Whether the entry is a copy of a table or view of Spark's."""
    table = origin_of(entry)
    return table is not None and table.named


def is_current(table: SparkTable) -> bool:
    """Whether Spark still has the rows that the table's copy was made of."""
    try:
        return table.snapshot().version == table.copied
    except Error:
        return False
