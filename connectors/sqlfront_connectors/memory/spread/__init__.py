"""Memory tables that are spread over the members of a cluster.

Each member holds its share of each version: ``store`` (the shares), ``processors`` (the parts of jobs that
read and make shares) and the questions to a store that need no job, ``lookup`` (rows by key), ``row_changes``
(changes of a few rows) and ``chunk_counts`` (the chunks that a scan skips). The member with the session has
the table: ``table`` (versions), ``row_path`` (rows from their owners), ``documents`` (announcement of
versions), ``share_statistics`` (the members' reports, merged).
"""
