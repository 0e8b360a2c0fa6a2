"""The rows of one version of a memory table in one process.

Reading order: ``segment`` (the layout of rows), ``index`` (lookup of rows by other columns), ``merging`` (the
number of segments), ``chunks`` (the chunks that a scan skips), ``locate`` and ``row_paths`` (lookup of a few
rows), ``numbering`` (the numbers that name rows), ``statistics``, ``table_memory`` (accounting of memory).
"""
