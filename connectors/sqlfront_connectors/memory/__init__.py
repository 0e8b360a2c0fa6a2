"""Partitioned tables in memory.

In: record batches in any form. Out: zero-copy slices in physical form. A table is a sequence of immutable
versions, each a tuple of segments: the first segment holds nearly all rows, ordered by (partition id, key);
inserts add small segments, a delete marks rows, and a merge rewrites segments that have gathered many
changes. A reader takes one version and keeps it; a writer publishes the next version at once.

Reading order: ``segment`` (the layout of rows), ``index`` (lookup of rows by other columns), ``merging`` (the
number of segments), ``scan`` and ``chunks`` (full reads), ``locate`` and ``rows`` (lookup of a few rows),
``table`` (versions and changes), ``numbering`` and ``numbered_table`` (the numbers that name the rows of an
UPDATE or DELETE), ``statistics``. A table that is spread over members: ``spread`` (versions), ``documents``
(announcement of versions), ``store`` and ``share`` (the rows of each member), ``holding`` (the lifetime of
shares), ``lookup`` and ``spread_rows`` (a few rows from their owners, without a job), ``row_changes`` and
``spread_changes`` (changes of a few rows, without a job), ``chunk_counts`` (the chunks that a scan skips).
"""

from sqlfront_connectors.memory.table import MemoryConnector, MemoryTable, partitioning_of

__all__ = ["MemoryConnector", "MemoryTable", "partitioning_of"]
