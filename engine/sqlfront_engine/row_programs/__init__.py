"""Row programs: small queries run tuple by tuple instead of by tasklets.

For a lookup by key, a join of a few rows, a grouping of one customer's orders, starting a kernel or a tasklet
would cost more than the whole query should. The plan of such a query is a DAG like any other. Each of its
processors offers a second method beside ``run``: ``rows`` compiles the vertex to a function over Python
tuples (:class:`~.program.RowStep`), which is called on the caller's thread. Sources find their rows by key
(``RowPath`` of a table's snapshot), or take all rows of a small table.

A program returns exactly Spark's result or none at all. If it can't compute the result (an overflow, a value
without a Python counterpart, too many rows), it raises :class:`~.program.NotByRows`, and the query runs as a
light job, with the job's result or error. So each error is raised in one place only, the kernels.

Reading order: ``program`` (the contract), ``expressions`` and ``aggregates`` (values), ``row_makers``,
``keys``, ``sorting`` and ``computed`` (rows), ``compiler`` (which compiles the expressions of a
processor).
"""

from sqlfront_values.lazy_modules import lazy_submodules

lazy_submodules(__name__, "computed")
