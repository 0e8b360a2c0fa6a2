"""Values: Spark's types, expressions over them, and the evaluation of expressions over Arrow arrays.

The lowest of the three packages below ``engine/``. The package knows no DAG, no thread and no socket: every
function turns values into values. :mod:`sqlfront_engine` runs DAGs of operators that are built on this
package, :mod:`sqlfront_cluster` runs DAGs on several members.

The packages, in reading order; each imports only packages that stand before it in the list, except that
``types`` imports ``errors`` alone:

* :mod:`.errors` (PEP 249's classes with Spark's conditions) and :mod:`.types` (Spark's types as Arrow types:
  the logical types of schemas, and the physical forms that batches carry).
* :mod:`.room` (memory is claimed before it is used), :mod:`.stacks` (recursion as deep as a query),
  :mod:`.settings` (the session's settings that evaluation depends on).
* :mod:`.arrow`: Arrow's arrays, scalars, kernels and dictionaries, without pandas.
* :mod:`.java`: Java's calendar, and Java's texts of floating-point numbers. :mod:`.zones`: the time zones
  of ``java.time``. :mod:`.partitioning`: Spark's hash of keys.
* :mod:`.expressions`: the bound expression language; an expression is frozen data.
  :mod:`.expression_text` shows an expression, :mod:`.literal_values` carries the values of literals.
* :mod:`.columns`: grouping, joining and sorting of complete columns, vectorised in numpy.
* :mod:`.casts`: CAST and TRY_CAST. :mod:`.evaluation_errors`: Spark's messages for values that can't be
  computed.
* :mod:`.functions`: the registry of scalar, aggregate and window functions, and their kernels.
* :mod:`.evaluate`: expressions compiled to closures over batches.
"""

from sqlfront_values.lazy_modules import lazy_submodules

lazy_submodules(
    __name__, "evaluate", "evaluation_errors", "expression_text", "literal_values", "spark_conditions"
)
