"""The rows of one version of a memory table in one process.

Reading order: ``segment`` (the layout of rows), ``index`` (lookup of rows by columns other than the
partition key), ``merging`` (the segments of the next version), ``chunks`` (the chunks that a scan skips),
``locate`` and ``row_paths`` (lookup of a few rows), ``statistics``, ``share`` (all of these for one
version), ``numbering`` (the numbers by which UPDATE and DELETE identify rows), ``table_memory``
(accounting of memory).
"""
