"""CREATE and DROP of tables and indexes as Spark's SQL.

Options of a table: ``sqlfront_using`` (format), ``sqlfront_clustered_by`` and ``sqlfront_partitioned_by``
(names of columns), ``sqlfront_buckets``, ``sqlfront_location``. A table with a primary key and none of these
options is a table in memory, clustered by the primary key: a lookup by the key reads only the key's
partition. Constraints are not enforced, and not written, except NOT NULL.
"""

from collections.abc import Iterable
from typing import Any, Final

from sqlalchemy import exc, schema
from sqlalchemy.sql.compiler import DDLCompiler

from sqlfront.literal_texts import string_literal
from sqlfront.sqlalchemy.elements import Element, Option

#: The options of a table, with their defaults, as ``Dialect.construct_arguments`` has them.
TABLE_OPTIONS: Final[dict[str, Any]] = {
    "using": None,
    "clustered_by": None,
    "partitioned_by": None,
    "buckets": None,
    "location": None,
}


class SqlfrontDDLCompiler(DDLCompiler):
    """The compiler of SQLAlchemy's CREATE and DROP statements to Spark's SQL. Each method writes one element
    whose SQL differs from the standard's."""

    def get_column_specification(self, column: Element, **kw: Option) -> str:
        """Return a column's name, type, NOT NULL and comment. Raises CompileError for IDENTITY."""
        if column.identity is not None:
            raise exc.CompileError(
                f"column {column.name!r}: sqlfront's tables have no IDENTITY; give values, or a default in"
                " Python"
            )
        text = super().get_column_specification(column, **kw)
        return text if column.comment is None else f"{text} COMMENT {string_literal(column.comment)}"

    def create_table_constraints(self, table: Element, **kw: Option) -> str:
        """Return an empty text: the constraints of a table are not enforced."""
        return ""

    def visit_check_constraint(self, constraint: Element, **kw: Option) -> str:
        """Return an empty text: the constraints of a column are not enforced."""
        return ""

    visit_column_check_constraint = visit_check_constraint
    visit_foreign_key_constraint = visit_unique_constraint = visit_check_constraint

    def post_create_table(self, table: Element) -> str:
        """Return the clauses behind a table's columns: format, partitioning, location and comment."""
        options = table.dialect_options["sqlfront"]
        given = any(options[name] is not None for name in TABLE_OPTIONS)
        using, clustered = options["using"], _names(options["clustered_by"])
        if not given and len(table.primary_key):
            using, clustered = "memory", [column.name for column in table.primary_key]
        parts = [
            None if using is None else f"USING {using}",
            self._columns("PARTITIONED BY", _names(options["partitioned_by"])),
            self._columns("CLUSTERED BY", clustered),
            None if options["buckets"] is None else f"INTO {int(options['buckets'])} BUCKETS",
            None if options["location"] is None else f"LOCATION {string_literal(options['location'])}",
            None if table.comment is None else f"COMMENT {string_literal(table.comment)}",
        ]
        return "".join(f"\n{part}" for part in parts if part is not None)

    def _columns(self, clause: str, names: list[str]) -> str | None:
        if not names:
            return None
        return f"{clause} ({', '.join(self.preparer.quote(name) for name in names)})"

    def visit_create_index(self, create: Element, *args: Option, **kw: Option) -> str:
        """Return CREATE INDEX, without UNIQUE, as no constraint is enforced. Raises CompileError for an index
        over expressions."""
        index = create.element
        if not all(isinstance(expression, schema.Column) for expression in index.expressions):
            raise exc.CompileError(f"index {index.name!r}: an index is over columns, without expressions")
        exists = "IF NOT EXISTS " if getattr(create, "if_not_exists", False) else ""
        name = self._prepared_index_name(index, include_schema=False)
        columns = ", ".join(self.preparer.format_column(column) for column in index.expressions)
        return f"CREATE INDEX {exists}{name} ON {self.preparer.format_table(index.table)} ({columns})"

    def visit_drop_index(self, drop: Element, **kw: Option) -> str:
        """Return DROP INDEX with the names of index and table. Raises CompileError if one of them is
        missing."""
        index = drop.element
        if index.name is None or index.table is None:
            raise exc.CompileError("DROP INDEX needs the names of index and table")
        exists = "IF EXISTS " if getattr(drop, "if_exists", False) else ""
        name = self._prepared_index_name(index, include_schema=False)
        return f"\nDROP INDEX {exists}{name} ON {self.preparer.format_table(index.table)}"


def _names(given: "str | Iterable[Element] | None") -> list[str]:
    """Return the names in an option's value: one name, or several names or columns. None: no names."""
    if given is None:
        return []
    if isinstance(given, str):
        return [given]
    return [getattr(each, "name", each) for each in given]
