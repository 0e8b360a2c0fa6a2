"""Row programs: what small queries run on instead of a DAG.

A lookup by key, a join of a few rows, a grouping of one customer's orders: there the start of a kernel or of
a tasklet costs more than the whole query is to. Such a query is a tree of
:class:`~.program.RowOperator` over Python tuples, run on the caller's thread. It finds its rows by key
(``RowPath`` of a table's snapshot), or takes all of a small table.

A program is right or silent: whatever it does not do exactly as Spark does (an overflow, a value that has no
Python counterpart, more rows than is sensible) raises :class:`~.program.NotByRows`, and the query runs as a
light job, with its answer or its error. So there is one place that knows each error, the kernels.

Reading order: ``program`` (the contract), ``expressions`` and ``aggregates`` (values), ``row_makers`` and
``computed`` (rows of them), ``operators``.
"""
