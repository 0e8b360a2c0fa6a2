"""SHOW TABLES, VIEWS, SCHEMAS, CATALOGS and CURRENT SCHEMA: lists of names."""

from typing import Final

import pyarrow as pa

from sqlfront.commands.inspection.details import information
from sqlfront.commands.inspection.names import (
    Named,
    checked_database,
    in_order,
    is_view,
    matches,
    named,
    own_relations,
    relation,
    relations_beside,
    system_schema,
)
from sqlfront.commands.run import CommandOutcome, StatementRun, shown
from sqlfront.information_schema.schemas import SYSTEM_SCHEMAS
from sqlfront_planner.catalog import DEFAULT_CATALOG, DEFAULT_DATABASE, FoundElsewhere
from sqlfront_planner.statements.dotted_names import name_parts
from sqlfront_planner.statements.structs import (
    ShowCatalogs,
    ShowSchemas,
    ShowTables,
    ShowTablesExtended,
    ShowViews,
)
from sqlfront_values.types import BOOLEAN, STRING

_TABLES: Final = pa.schema([("namespace", STRING), ("tableName", STRING), ("isTemporary", BOOLEAN)])
_EXTENDED: Final = _TABLES.append(pa.field("information", STRING))
_VIEWS: Final = pa.schema([("namespace", STRING), ("viewName", STRING), ("isTemporary", BOOLEAN)])
_SCHEMAS: Final = pa.schema([("namespace", STRING)])
_CATALOGS: Final = pa.schema([("catalog", STRING)])
_CURRENT: Final = pa.schema([("catalog", STRING), ("namespace", STRING)])


def show_tables(run: StatementRun, statement: ShowTables) -> CommandOutcome:
    """SHOW TABLES: show the tables and views of a schema whose names match the pattern. With a Spark session,
    Spark's tables and views are shown, too. Raises SCHEMA_NOT_FOUND for an unknown schema."""
    database = statement.database
    system = system_schema(database)
    if system is not None:
        rows: set[Named] = {(system, name, False) for name in SYSTEM_SCHEMAS[system]}
    elif run.spark is not None:
        rows = {*run.spark.tables(run.request, database), *map(named, relations_beside(run, database))}
    else:
        rows = {named(entry) for entry in own_relations(run, database)}
    return shown(_TABLES, in_order(rows, statement.pattern))


def show_views(run: StatementRun, statement: ShowViews) -> CommandOutcome:
    """SHOW VIEWS: show the views of a schema whose names match the pattern, temporary views included; with a
    Spark session beside, Spark's views as well. A schema of system tables has no views. Raises
    SCHEMA_NOT_FOUND for an unknown schema."""
    database, rows = statement.database, set[Named]()
    if system_schema(database) is None and run.spark is not None:
        own = filter(is_view, relations_beside(run, database))
        rows = {*run.spark.tables(run.request, database, kind="VIEWS"), *map(named, own)}
    elif system_schema(database) is None:
        rows = {named(entry) for entry in own_relations(run, database) if is_view(entry)}
    return shown(_VIEWS, in_order(rows, statement.pattern))


def show_tables_extended(run: StatementRun, statement: ShowTablesExtended) -> CommandOutcome:
    """SHOW TABLE EXTENDED: show the tables and views of a schema whose names match the pattern, each with a
    text of its facts and columns. Raises SCHEMA_NOT_FOUND for an unknown schema. With a Spark session beside,
    raises FoundElsewhere for all schemas except the schemas of system tables, so that Spark answers."""
    system = system_schema(statement.database)
    if system is not None:
        entries = {
            (system, name, False): relation(run, f"{system}.{name}") for name in SYSTEM_SCHEMAS[system]
        }
    elif run.spark is not None:
        raise FoundElsewhere("Spark knows the details of its tables")
    else:
        entries = {named(entry): entry for entry in own_relations(run, statement.database)}
    found = in_order(set(entries), statement.pattern)
    return shown(_EXTENDED, [(*row, information(run, entries[row])) for row in found])


def show_schemas(run: StatementRun, statement: ShowSchemas) -> CommandOutcome:
    """SHOW SCHEMAS: show the only schema, ``default``, if its name matches the pattern. ``global_temp`` is
    not shown, as in Spark, nor are the schemas of system tables, which ``information_schema.schemata`` lists.
    With a Spark session beside, raises FoundElsewhere, since Spark has more schemas."""
    if run.spark is not None:
        raise FoundElsewhere("Spark lists the schemas of both engines")
    parts = tuple(part.lower() for part in name_parts(statement.database or DEFAULT_CATALOG))
    known: tuple[str, ...] = (DEFAULT_DATABASE,)
    if parts != (DEFAULT_CATALOG,):
        checked_database(statement.database)
        known = ()  # a schema has no schemas inside
    return shown(_SCHEMAS, [(name,) for name in known if matches(name, statement.pattern)])


def show_catalogs(run: StatementRun, statement: ShowCatalogs) -> CommandOutcome:
    """SHOW CATALOGS: show the only catalog, ``spark_catalog``, if its name matches the pattern. With a Spark
    session beside, raises FoundElsewhere, so that Spark answers."""
    if run.spark is not None:
        raise FoundElsewhere("Spark lists its catalogs")
    known = (DEFAULT_CATALOG,)
    return shown(_CATALOGS, [(name,) for name in known if matches(name, statement.pattern)])


def show_current_schema(run: StatementRun) -> CommandOutcome:
    """SHOW CURRENT SCHEMA: show the current catalog and schema."""
    settings = run.context.settings
    return shown(_CURRENT, [(settings.catalog, settings.database)])
