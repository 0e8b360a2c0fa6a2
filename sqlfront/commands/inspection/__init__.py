"""Statements that show what there is: SHOW and DESCRIBE, with Spark's columns, texts and order.

In comes a :class:`~sqlfront.commands.run.StatementRun` with the statement; out goes a
:class:`~sqlfront.commands.run.CommandOutcome`. Reading order: ``names`` (relations of a schema, patterns),
``details`` (facts about one relation), ``listing`` (SHOW TABLES and its like), ``describing`` (DESCRIBE and
its like), ``creation`` (SHOW CREATE TABLE), ``as_json`` (DESCRIBE AS JSON), ``partitions`` (SHOW
PARTITIONS), ``functions`` (SHOW and DESCRIBE of functions).
"""

from sqlfront_values.lazy_modules import lazy_submodules

lazy_submodules(
    __name__, "as_json", "creation", "describing", "details", "functions", "listing", "names", "partitions"
)
