"""Statements that show relations, functions and schemas: SHOW and DESCRIBE, with Spark's columns, texts and
order.

In comes a :class:`~sqlfront.commands.run.StatementRun` with the statement; out goes a
:class:`~sqlfront.commands.run.CommandOutcome`. Reading order: ``names`` (relations of a schema, patterns),
``details`` (facts about one relation), ``listing`` (SHOW TABLES, VIEWS, SCHEMAS, CATALOGS), ``describing``
(DESCRIBE of tables, columns, queries and schemas), ``creation`` (SHOW CREATE TABLE), ``as_json`` (DESCRIBE AS
JSON), ``partitions`` (SHOW PARTITIONS), ``functions`` (SHOW and DESCRIBE of functions).
"""

from sqlfront_values.lazy_modules import lazy_submodules

lazy_submodules(
    __name__, "as_json", "creation", "describing", "details", "functions", "listing", "names", "partitions"
)
