"""The relations that ``information_schema`` describes: this session's, those of the Spark session beside it,
and the system tables."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import pyarrow as pa

from sqlfront.information_schema.rows import Described
from sqlfront.state.cached_table import CachedTable
from sqlfront_connectors.base import Table
from sqlfront_connectors.files import FileTable
from sqlfront_planner.binder import bind_query
from sqlfront_planner.binder.relations.view_columns import as_created
from sqlfront_planner.catalog import (
    DEFAULT_CATALOG,
    DEFAULT_DATABASE,
    GLOBAL_TEMP,
    SESSION_SCHEMA,
    Entry,
    Lookups,
    TableEntry,
    ViewEntry,
)
from sqlfront_planner.statements.query_parser import parse_query
from sqlfront_values.errors import Error

if TYPE_CHECKING:
    from sqlfront.state.context import Context
    from sqlfront.state.spark_beside import SparkBeside

BASE_TABLE = "BASE TABLE"
VIEW = "VIEW"
SYSTEM_VIEW = "SYSTEM VIEW"


def own_entries(context: "Context") -> tuple[Entry, ...]:
    """Return the catalog's entries of this session's relations, without CACHE TABLE's copies of Spark's
    relations."""
    spark = context.spark
    entries = context.catalog.entries()
    return entries if spark is None else tuple(entry for entry in entries if not spark.has(entry))


def described(entry: Entry) -> Described:
    """Return the description of a relation of this session: all but its columns, which :func:`columns_of`
    gives."""
    catalog, database = _place(entry)
    name = entry.name if entry.temporary else entry.name.lower()
    origin = entry
    if isinstance(entry, TableEntry) and isinstance(entry.table, CachedTable):
        origin = entry.table.origin
    if isinstance(origin, ViewEntry):
        return Described(catalog, database, name, VIEW, definition=origin.sql, details=origin.details)
    kind = VIEW if entry.temporary else BASE_TABLE
    table = origin.table
    return Described(
        catalog,
        database,
        name,
        kind,
        # Cheaper than a check of all names of WritableTable, which takes 0.1 ms.
        insertable=not entry.temporary and hasattr(table, "begin_insert"),
        format=table.format,
        location=f"file:{table.location}" if isinstance(table, FileTable) else None,
        partition=table.partition_columns if isinstance(table, FileTable) else (),
        details=origin.details,
    )


def _place(entry: Entry) -> tuple[str, str]:
    """Return the catalog and the schema of a relation. A temporary view belongs to ``system.session``, as in
    Spark."""
    if not entry.temporary:
        return DEFAULT_CATALOG, DEFAULT_DATABASE
    if entry.database == GLOBAL_TEMP:
        return DEFAULT_CATALOG, GLOBAL_TEMP[0]
    return SESSION_SCHEMA


def columns_of(entry: Entry, context: "Context") -> tuple[pa.Schema | None, Lookups | None]:
    """Return the columns of a relation of this session, and the names that were looked up to find the
    columns, each with the entry found for it. A caller may store the columns: they are right as long as these
    names find the same entries.

    Columns: for a view whose query is no longer valid, the columns that it had when it was made; None if
    these aren't known. Lookups: empty for a table, None if the columns may change at any time, such as the
    columns of a view over ``parquet.`path```."""
    if isinstance(entry, TableEntry):
        return entry.table.schema, {}
    catalog = context.catalog.seen_by(entry)
    try:
        bound = bind_query(parse_query(entry.sql), catalog, context.bind_settings)
        schema = as_created(bound.plan, bound.plan.schema.names, entry).schema
    except Error:
        return entry.columns_at_creation, None
    if len(entry.columns) == len(schema):
        schema = pa.schema(list(map(pa.field, entry.columns, schema.types)))
    return schema, bound.lookups if bound.repeatable else None


def system_relations(schemas: Mapping[str, Mapping[str, pa.Schema]]) -> Iterator[tuple[Described, pa.Schema]]:
    """Yield the description and the columns of each system table; ``schemas``: the tables' columns by the
    names of schema and table."""
    for database, tables in schemas.items():
        for name, schema in tables.items():
            yield Described(DEFAULT_CATALOG, database, name, SYSTEM_VIEW), schema


def sparks_relations(spark: "SparkBeside") -> Iterator[Described]:
    """Yield the descriptions of the tables and views in Spark's current catalog. Raises NotStarted if Spark
    isn't started; the statement is then decided anew, with Spark."""
    catalog, _ = spark.link.database
    temporary: set[Described] = set()
    for database in (*spark.link.schemas, *GLOBAL_TEMP):
        views = set(spark.link.tables(database, kind="VIEWS"))
        for row in spark.link.tables(database):
            kind = VIEW if row in views else BASE_TABLE
            if not row[2]:
                yield Described(catalog, row[0], row[1], kind, insertable=kind == BASE_TABLE)
            elif row[0]:
                temporary.add(Described(catalog, row[0], row[1], VIEW))
            else:
                temporary.add(Described(*SESSION_SCHEMA, row[1], VIEW))
    yield from sorted(temporary, key=lambda each: each.key)


def sparks_columns(spark: "SparkBeside", relation: Described) -> pa.Schema | None:
    """Return the columns of a relation of Spark, as Spark's analyzer finds them; None if Spark can't analyze
    the relation, as for an invalid view."""
    is_temporary = (relation.catalog, relation.database) == SESSION_SCHEMA
    table: Table = spark.entry((relation.name,) if is_temporary else relation.key).table
    try:
        return table.schema
    except Error:
        return None
