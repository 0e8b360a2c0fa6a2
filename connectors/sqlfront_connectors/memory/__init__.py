"""Partitioned tables in memory.

In: record batches in any form. Out: zero-copy slices in physical form. A table is a sequence of immutable
versions, each a tuple of segments: the first holds nearly all rows, ordered by (partition id, key); inserts
add small ones, deleted rows are marked, and what has become much is merged. A reader takes one version and
keeps it; a writer publishes the next one at once.

Reading order: ``segment`` (how rows lie), ``index`` (how they are found by other columns), ``merging`` (how
many segments there are), ``scan`` and ``chunks`` (how they are read), ``locate`` and ``rows`` (how a few are
found), ``table`` (versions and changes), ``numbering`` and ``numbered_table`` (what names the rows to be
changed), ``statistics``.
A table that is spread over members: ``spread`` (versions), ``documents`` (how these are told), ``store`` and
``share`` (what each member has), ``holding`` (for how long),
``lookup`` and ``spread_rows`` (a few rows from their owners, without a job), ``row_changes`` and
``spread_changes`` (a few rows changed, likewise), ``chunk_counts`` (what scans skip, for who asks).
"""

from sqlfront_connectors.memory.table import MemoryConnector, MemoryTable, partitioning_of

__all__ = ["MemoryConnector", "MemoryTable", "partitioning_of"]
