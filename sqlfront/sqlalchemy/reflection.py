"""The catalog for SQLAlchemy's inspector: schemas, tables, views, columns, indexes, options.

All facts come from the answers to SHOW and DESCRIBE; in a session beside Spark, they include Spark's
relations. The types of columns come from a query without rows, since the text of a nested type can't name
every field.
"""

import json
import re
from typing import TYPE_CHECKING, Any, Final

import msgspec
from sqlalchemy import exc
from sqlalchemy.engine import reflection
from sqlalchemy.engine.default import DefaultDialect

from sqlfront.commands.inspection.names import Named, named
from sqlfront.sqlalchemy.elements import Element, Option, Reflected
from sqlfront.sqlalchemy.types import column_type
from sqlfront_values.errors import Error, NotSupportedError

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

DEFAULT_SCHEMA: Final = "default"
#: Conditions of the errors for a name that no relation has.
_UNKNOWN: Final = frozenset({"TABLE_OR_VIEW_NOT_FOUND", "SCHEMA_NOT_FOUND", "REQUIRES_SINGLE_PART_NAMESPACE"})


class Listed(msgspec.Struct, frozen=True):
    """A table or view, as SHOW TABLES and SHOW VIEWS list it: its name, and whether it is temporary."""

    name: str
    temporary: bool


class SqlfrontReflection(DefaultDialect):
    """The methods of the dialect that read the catalog for SQLAlchemy's inspector."""

    @reflection.cache
    def get_schema_names(self, connection: "Connection", **kw: Option) -> list[str]:
        """Return the names of all schemas."""
        return [row[0] for row in connection.exec_driver_sql("SHOW SCHEMAS")]

    @reflection.cache
    def get_table_names(self, connection: "Connection", schema: str | None = None, **kw: Option) -> list[str]:
        """Return the names of the tables in ``schema`` (None: the default one), without views."""
        views = set(self._listed(connection, "VIEWS", schema, **kw))
        relations = self._listed(connection, "TABLES", schema, **kw)
        return [each.name for each in relations if each not in views and not each.temporary]

    @reflection.cache
    def get_view_names(self, connection: "Connection", schema: str | None = None, **kw: Option) -> list[str]:
        """Return the names of the views in ``schema`` (None: the default one), without temporary views."""
        return [each.name for each in self._listed(connection, "VIEWS", schema, **kw) if not each.temporary]

    @reflection.cache
    def get_temp_view_names(
        self, connection: "Connection", schema: str | None = None, **kw: Option
    ) -> list[str]:
        """Return the names of the session's temporary views."""
        return [each.name for each in self._listed(connection, "VIEWS", schema, **kw) if each.temporary]

    def get_temp_table_names(
        self, connection: "Connection", schema: str | None = None, **kw: Option
    ) -> list[str]:
        """Return an empty list: Spark has no temporary tables."""
        return []

    @reflection.cache
    def has_table(
        self, connection: "Connection", table_name: str, schema: str | None = None, **kw: Option
    ) -> bool:
        """Return whether a table or view has the name; case doesn't matter."""
        self._ensure_has_table_connection(connection)
        try:
            self._describe(connection, table_name, schema, **kw)
        except exc.NoSuchTableError:
            return False
        return True

    def has_schema(self, connection: "Connection", schema_name: str, **kw: Option) -> bool:
        """Return whether a schema has the name; case doesn't matter."""
        return schema_name.lower() in map(str.lower, self.get_schema_names(connection, **kw))

    @reflection.cache
    def get_columns(
        self, connection: "Connection", table_name: str, schema: str | None = None, **kw: Option
    ) -> list[Reflected]:
        """Return name, type, nullability and comment of each column. Raises NoSuchTableError."""
        described = self._describe(connection, table_name, schema, **kw)
        comments = {name: comment for name, _, comment in _columns(described)}
        name = self._qualified(table_name, schema)
        required = _required(connection, name) if _details(described).get("Provider") == "memory" else set()
        rows = connection.exec_driver_sql(f"SELECT * FROM {name} LIMIT 0")
        assert rows.cursor is not None
        description: list[Any] = list(rows.cursor.description)
        return [
            {
                "name": column,
                "type": column_type(code.arrow),
                "nullable": column not in required and (nullable is None or bool(nullable)),
                "default": None,
                "comment": comments.get(column) or None,
            }
            for column, code, *_, nullable in description
        ]

    @reflection.cache
    def get_indexes(
        self, connection: "Connection", table_name: str, schema: str | None = None, **kw: Option
    ) -> list[Reflected]:
        """Return the name and columns of each index of a table in memory; none for other relations. Raises
        NoSuchTableError."""
        columns = [row[0] for row in _columns(self._describe(connection, table_name, schema, **kw))]
        try:
            rows = connection.exec_driver_sql(f"SHOW INDEXES ON {self._qualified(table_name, schema)}").all()
        except exc.DBAPIError as error:
            if isinstance(error.orig, NotSupportedError) or _condition(error) == _NO_INDEXES:
                return []
            raise
        return [
            {"name": name, "column_names": _split(listed, columns), "unique": False}
            for name, listed, _ in rows
        ]

    def get_pk_constraint(
        self, connection: "Connection", table_name: str, schema: str | None = None, **kw: Option
    ) -> Reflected:
        """Return a primary key without columns: no key is enforced to be unique. Raises NoSuchTableError."""
        self._describe(connection, table_name, schema, **kw)
        return {"constrained_columns": [], "name": None}

    def _none(
        self, connection: "Connection", table_name: str, schema: str | None = None, **kw: Option
    ) -> list[Element]:
        """Return an empty list, for kinds of constraints that Spark's tables don't have. Raises
        NoSuchTableError."""
        self._describe(connection, table_name, schema, **kw)
        return []

    get_foreign_keys = get_unique_constraints = get_check_constraints = _none

    @reflection.cache
    def get_view_definition(
        self, connection: "Connection", view_name: str, schema: str | None = None, **kw: Option
    ) -> str:
        """Return the text of a view's query. Raises NoSuchTableError if no view has the name."""
        text = _details(self._describe(connection, view_name, schema, **kw)).get("View Text")
        if text is None:
            raise exc.NoSuchTableError(view_name)
        return text

    @reflection.cache
    def get_table_comment(
        self, connection: "Connection", table_name: str, schema: str | None = None, **kw: Option
    ) -> dict[str, str | None]:
        """Return the comment of a table or view under the key ``text``; None without a comment. Raises
        NoSuchTableError."""
        details = _details(self._describe(connection, table_name, schema, **kw))
        return {"text": details.get("Comment") or None}

    @reflection.cache
    def get_table_options(
        self, connection: "Connection", table_name: str, schema: str | None = None, **kw: Option
    ) -> Reflected:
        """Return the options of ``sqlalchemy.Table`` with which ``create_all`` creates an equal table. The
        location is among them only if the table was created with one, so that no two tables own the same
        files. Raises NoSuchTableError."""
        described = self._describe(connection, table_name, schema, **kw)
        details = _details(described)
        options: dict[str, Any] = {
            "sqlfront_using": details.get("Provider"),
            "sqlfront_clustered_by": _clustered(details, [row[0] for row in _columns(described)]),
            "sqlfront_buckets": int(details["Num Buckets"]) if "Num Buckets" in details else None,
            "sqlfront_location": details.get("Location") if details.get("Type") == "EXTERNAL" else None,
            "sqlfront_partitioned_by": _partitioned(described),
        }
        return {name: value for name, value in options.items() if value}

    # ---- what the statements answer

    @reflection.cache
    def _listed(
        self, connection: "Connection", kind: str, schema: str | None = None, **kw: Option
    ) -> list[Listed]:
        """Return the rows of SHOW TABLES or SHOW VIEWS (``kind``: TABLES or VIEWS). Names of sqlfront's
        relations are in the letters with which they were created, names of Spark's in small letters."""
        where = "" if schema is None else f" IN {self.identifier_preparer.quote_identifier(schema)}"
        rows = connection.exec_driver_sql(f"SHOW {kind}{where}").all()
        created = _created_names(connection)
        return [
            Listed(created.get((database, name, temporary), name), temporary)
            for database, name, temporary in rows
        ]

    @reflection.cache
    def _describe(
        self, connection: "Connection", table_name: str, schema: str | None = None, **kw: Option
    ) -> list[tuple[str, str, str | None]]:
        """Return the rows of DESCRIBE TABLE EXTENDED, each with name, type or text, and comment. Raises
        NoSuchTableError if no relation has the name."""
        name = self._qualified(table_name, schema)
        try:
            return [tuple(row) for row in connection.exec_driver_sql(f"DESCRIBE TABLE EXTENDED {name}")]
        except exc.DBAPIError as error:
            if _condition(error) in _UNKNOWN:
                shown = table_name if schema is None else f"{schema}.{table_name}"
                raise exc.NoSuchTableError(shown) from error
            raise

    def _qualified(self, name: str, schema: str | None) -> str:
        quote = self.identifier_preparer.quote_identifier
        return quote(name) if schema is None else f"{quote(schema)}.{quote(name)}"


def _created_names(connection: "Connection") -> dict[Named, str]:
    """Return the names of the session's relations in the letters with which they were created, by the
    relations' rows of SHOW TABLES, which has names in small letters."""
    driver: Any = connection.connection.driver_connection
    return {named(entry): entry.name for entry in driver.session.context.catalog.entries()}


def _required(connection: "Connection", name: str) -> set[str]:
    """Return the names of the columns of a memory table that are NOT NULL. Other tables take nulls in all
    columns."""
    ((text,),) = connection.exec_driver_sql(f"DESCRIBE TABLE EXTENDED {name} AS JSON")
    return {column["name"] for column in json.loads(text)["columns"] if not column["nullable"]}


_NO_INDEXES: Final = "UNSUPPORTED_FEATURE.TABLE_OPERATION"


def _condition(error: exc.DBAPIError) -> str | None:
    return error.orig.condition if isinstance(error.orig, Error) else None


def _columns(described: list[tuple[str, str, str | None]]) -> list[tuple[str, str, str | None]]:
    """Return the rows of DESCRIBE EXTENDED that describe columns; they end where the first section begins."""
    end = next((place for place, row in enumerate(described) if row[0] in _SECTIONS), len(described))
    return described[:end]


_PARTITIONS: Final = "# Partition Information"
_DETAILS: Final = "# Detailed Table Information"
_SECTIONS: Final = frozenset({"", _PARTITIONS, _DETAILS})


def _details(described: list[tuple[str, str, str | None]]) -> dict[str, str]:
    """Return the section of DESCRIBE EXTENDED with details of the table: texts by their names, such as
    ``Provider``."""
    names = [row[0] for row in described]
    if _DETAILS not in names:
        return {}
    return {name: text for name, text, _ in described[names.index(_DETAILS) + 1 :]}


def _partitioned(described: list[tuple[str, str, str | None]]) -> list[str]:
    """Return the columns by which the table's files are partitioned, from the rows of DESCRIBE EXTENDED."""
    names = [row[0] for row in described]
    if _PARTITIONS not in names:
        return []
    found = names[names.index(_PARTITIONS) + 2 :]
    return found[: next((place for place, name in enumerate(found) if name in _SECTIONS), len(found))]


def _clustered(details: dict[str, str], columns: list[str]) -> list[str]:
    """Return the columns by which a table is clustered, which the details list in the form ``[`a`, `b`]``.
    ``columns``: the names of all columns."""
    listed = details.get("Bucket Columns", "[]")[1:-1]
    return [name[1:-1] for name in _split(listed, [f"`{column}`" for column in columns])]


def _split(listed: str, names: list[str]) -> list[str]:
    """Return the names that the text ``listed`` lists, separated by commas. ``names``: all names that may
    occur, since a name may hold a comma, too.

    >>> _split("a, b, c", ["c", "a, b"])
    ['a, b', 'c']
    """
    known = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    return re.findall(rf"({known})(?:, |\Z)", listed)
