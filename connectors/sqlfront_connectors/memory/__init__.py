"""Partitioned tables in memory.

In: record batches in any form. Out: zero-copy slices in physical form. A table is a sequence of immutable
versions, each a tuple of segments: the first segment holds nearly all rows, ordered by (partition id, key);
inserts add small segments, a delete marks rows, and a merge rewrites segments that have gathered many
changes. A reader takes one version and keeps it; a writer publishes the next version at once.

This folder has the table of one process: ``scan`` (the source of a job), ``table`` (versions and changes) and
``numbered_table`` (rows with the numbers that name the rows of an UPDATE or DELETE). Its rooms:

* ``segments``: the rows of one version in one process. Knows no table and no members.
* ``spread``: the table whose rows are spread over the members of a cluster.
* ``exchange``: exchange of rows with processes that are not members, and the lifetime of the members' shares.
"""

from sqlfront_connectors.memory.table import MemoryConnector, MemoryTable, partitioning_of

__all__ = ["MemoryConnector", "MemoryTable", "partitioning_of"]
