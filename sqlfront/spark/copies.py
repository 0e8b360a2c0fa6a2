"""Functions that tell which cached tables are copies of Spark's tables, views and queries."""

from sqlfront.state.cached_table import CachedTable
from sqlfront_connectors.base import Table
from sqlfront_connectors.spark.table import SparkTable
from sqlfront_planner.catalog import Entry, TableEntry
from sqlfront_values.errors import Error


def origin(table: Table) -> SparkTable | None:
    """Return the table of Spark's that a cached table copies; None for other tables, and for copies of other
    tables."""
    copied = table.origin if isinstance(table, CachedTable) else None
    return copied.table if isinstance(copied, TableEntry) and isinstance(copied.table, SparkTable) else None


def origin_of(entry: Entry | None) -> SparkTable | None:
    """Return the table of Spark's that the catalog's entry copies; None for other entries and for no
    entry."""
    return origin(entry.table) if isinstance(entry, TableEntry) else None


def has(entry: Entry | None) -> bool:
    """Return whether the entry is CACHE TABLE's copy of a named table or view of Spark's; False for the copy
    of a query, for other entries, and for no entry."""
    table = origin_of(entry)
    return table is not None and table.named


def is_current(table: SparkTable) -> bool:
    """Return whether the relation of Spark's still has the rows from which CACHE TABLE's copy was made; False
    if Spark's version of the relation can't be read."""
    try:
        return table.snapshot().version == table.copied
    except Error:
        return False
