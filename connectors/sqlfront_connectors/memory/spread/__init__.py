"""Memory tables that are spread over the members of a cluster.

On each member: ``store`` (the member's shares of all versions), ``processors`` (the parts of jobs that read
and make shares), and the questions that a store answers without a job: ``lookup`` (rows by key),
``row_changes`` (changes of a few rows), ``key_changes`` (changes of the rows of some keys) and
``chunk_counts`` (the chunks that a scan skips). On the member or client that has the session: ``version`` and
``snapshot`` (one version of a table, and its rows as queries read them), ``published_table`` and ``table``
(the table, whose methods write), ``next_version`` (the making of a version), ``row_path`` (lookups at the
members that own the rows), ``documents`` (the announcement of versions to all members), ``share_statistics``
(the merge of the members' reports) and ``version_scan`` (the source for jobs that don't run on the members).
"""
