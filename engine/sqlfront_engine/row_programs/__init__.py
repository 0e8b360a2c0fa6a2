"""Row programs: small queries run tuple by tuple instead of by a DAG.

For a lookup by key, a join of a few rows, a grouping of one customer's orders, starting a kernel or a tasklet
would cost more than the whole query should. Such a query is a tree of :class:`~.program.RowOperator` over
Python tuples, run on the caller's thread. It finds its rows by key (``RowPath`` of a table's snapshot), or
takes all rows of a small table.

A program computes exactly Spark's result or none: for anything else (an overflow, a value without a Python
counterpart, more rows than is sensible) it raises :class:`~.program.NotByRows`, and the query runs as a light
job, with the job's answer or error. So each error has a single place, the kernels.

Reading order: ``program`` (the contract), ``expressions`` and ``aggregates`` (values), ``row_makers`` and
``computed`` (rows from values), ``operators``.
"""
