"""Names for SHOW and DESCRIBE: the relations of a schema, matching by patterns, and the relation of a
name."""

import re
from typing import Final, TypeAlias

import pyarrow as pa

from sqlfront.commands.run import StatementRun, no_database, not_found, origin_of
from sqlfront.information_schema import schemas
from sqlfront_planner.catalog import (
    DEFAULT_CATALOG,
    DEFAULT_DATABASE,
    GLOBAL_TEMP,
    Entry,
    FoundElsewhere,
    TableEntry,
    ViewEntry,
    is_default,
)
from sqlfront_planner.statements.dotted_names import name_parts
from sqlfront_values.errors import Error, spark_error

#: A row of SHOW TABLES or SHOW VIEWS: the schema, the name, and whether the relation is temporary.
Named: TypeAlias = tuple[str, str, bool]

#: A name that needs no backticks: words that begin a query do, behind an opening parenthesis.
_PLAIN: Final = re.compile(r"(?!(?:select|with|values|from|table)$)[A-Za-z_][A-Za-z0-9_]*", re.IGNORECASE)


def as_written(name: str) -> tuple[str, str]:
    """Split the dotted name of a table into schema and name, as the statement writes them; the schema is
    ``default`` if the name has none.

    >>> as_written("spark_catalog.Default.T"), as_written("T")
    (('Default', 'T'), ('default', 'T'))
    """
    *qualifier, last = name_parts(name)
    return qualifier[-1] if qualifier else DEFAULT_DATABASE, last


def matches(name: str, pattern: str | None) -> bool:
    """Return whether the name matches Spark's SHOW pattern: regular expressions, separated by ``|``, in which
    ``*`` means any characters. Case doesn't matter; a malformed expression matches nothing; None matches all.

    >>> matches("events", "ev*|x"), matches("events", "["), matches("events", None)
    (True, False, True)
    """
    if pattern is None:
        return True
    for part in pattern.strip().split("|"):
        try:
            if re.fullmatch(part.replace("*", ".*"), name, re.IGNORECASE):
                return True
        except re.error:
            continue
    return False


def quoted(name: str) -> str:
    """Return the name in backticks, unless it is a plain identifier. Spark's ``quoteIfNeeded`` leaves more
    names as they are, such as ``1y`` and ``select``, which some statements can't contain without backticks.

    >>> quoted("a1"), quoted("1y"), quoted("a`b")
    ('a1', '`1y`', '`a``b`')
    """
    return name if _PLAIN.fullmatch(name) else f"`{name.replace('`', '``')}`"


def database_of(entry: Entry) -> str:
    """Return the entry's schema as SHOW TABLES shows it: ``default`` for a permanent relation; for a
    temporary one the last part of its qualifier, empty without a qualifier."""
    return ".".join(entry.parts[-2:-1]) if entry.temporary else DEFAULT_DATABASE


def named(entry: Entry) -> Named:
    """Return the entry's row of SHOW TABLES: schema, name in lower case, and whether the relation is
    temporary."""
    return database_of(entry), entry.name.lower(), entry.temporary


def in_order(rows: set[Named], pattern: str | None) -> list[Named]:
    """Return the rows whose names match the pattern (None: all rows), in Spark's order: by schema and name,
    relations without a schema last."""
    found = (row for row in rows if matches(row[1], pattern))
    return sorted(found, key=lambda row: (not row[0], row))


def is_view(entry: Entry) -> bool:
    """Return whether the entry counts as a view in SHOW VIEWS: every view, cached or not, and every temporary
    relation."""
    return entry.temporary or isinstance(origin_of(entry), ViewEntry)


def own_relations(run: StatementRun, database: str | None) -> list[Entry]:
    """Return the relations of this session that Spark would show in the schema ``database`` (None = the
    default schema): temporary views are shown in every schema, global temporary views in ``global_temp``
    alone. Raises SCHEMA_NOT_FOUND for an unknown schema."""
    parts = checked_database(database)
    entries = run.context.catalog.entries()
    if parts == GLOBAL_TEMP:
        return [entry for entry in entries if entry.temporary]
    return [entry for entry in entries if not (entry.temporary and entry.database == GLOBAL_TEMP)]


def relations_beside(run: StatementRun, database: str | None) -> list[Entry]:
    """Return the relations of this session that a SHOW statement adds to Spark's own list for the schema
    (None = the default schema): temporary relations in every schema, permanent ones in the default schema
    alone. CACHE TABLE's copies of Spark's relations are left out, since Spark's list has the relations
    themselves. Needs a Spark session."""
    spark = run.spark
    assert spark is not None
    is_here = is_default(name_parts(database or run.context.settings.database))
    entries = run.context.catalog.entries()
    return [entry for entry in entries if not spark.has(entry) and (is_here or entry.temporary)]


def checked_database(database: str | None) -> tuple[str, ...]:
    """Return the parts of a schema's name, in lower case and without the catalog; None stands for the default
    schema. Raises SCHEMA_NOT_FOUND for an unknown schema, MISSING_DATABASE_FOR_V1_SESSION_CATALOG for the
    name of the catalog alone, NESTED_DATABASE_UNSUPPORTED_BY_V1_SESSION_CATALOG for a name of too many
    parts."""
    if database is None:
        return (DEFAULT_DATABASE,)
    given = name_parts(database)
    parts = tuple(part.lower() for part in given)
    if parts == (DEFAULT_CATALOG,):
        raise spark_error(
            "MISSING_DATABASE_FOR_V1_SESSION_CATALOG",
            "Database name is not specified in the v1 session catalog. Please ensure to provide a valid "
            "database name when interacting with the v1 catalog.",
        )
    inner = parts[1:] if parts[0] == DEFAULT_CATALOG else parts
    if len(inner) > 1:
        raise spark_error(
            "NESTED_DATABASE_UNSUPPORTED_BY_V1_SESSION_CATALOG",
            "Nested databases are not supported by v1 session catalog: "
            f"{'.'.join(f'`{part}`' for part in given)}.",
        )
    if is_default(inner) or inner == GLOBAL_TEMP or inner[0] in schemas.SYSTEM_SCHEMAS:
        return inner
    raise no_database(database)


def system_schema(database: str | None) -> str | None:
    """Return the name of the schema of system tables (``sys`` or ``information_schema``) that ``database``
    stands for; None for another schema, and for ``database`` None."""
    return None if database is None else schemas.system_schema(name_parts(database))


def relation(run: StatementRun, name: str) -> Entry:
    """Return the entry of a dotted name: of the catalog's relation, a system table, or the files of
    ``format.`path```. Raises TABLE_OR_VIEW_NOT_FOUND if the name stands for nothing. Raises FoundElsewhere,
    so that Spark runs the statement, for a relation of Spark and for CACHE TABLE's copy of such a
    relation."""
    catalog, parts = run.context.catalog, name_parts(name)
    found = catalog.lookup(parts)
    if found is not None:
        if run.spark is not None and run.spark.has(found):
            raise FoundElsewhere(f"`{found.name}` is a copy of a relation of Spark")
        return found
    table = catalog.path_table(parts)
    if table is None:
        raise not_found(name, catalog.names())
    return TableEntry(parts[-1], table, temporary=True, database=parts[:-1])


def schema_of(run: StatementRun, name: str, entry: Entry) -> pa.Schema:
    """Return the columns of a relation; ``entry`` is its entry in the catalog, ``name`` its name in the
    statement. Raises the binder's error for a view whose query is no longer valid."""
    return run.all_rows(name, entry).schema


def known_schema(run: StatementRun, name: str, entry: Entry) -> pa.Schema:
    """Return the columns of a relation; ``entry`` is its entry in the catalog, ``name`` its name in the
    statement. For a view whose query is no longer valid, since a table was dropped for example, return the
    columns that the view had when it was made. Raises the binder's error if these aren't known either."""
    try:
        return schema_of(run, name, entry)
    except Error:
        origin = origin_of(entry)
        known = origin.columns_at_creation if isinstance(origin, ViewEntry) else None
        if known is None:
            raise
        return known
