"""Statements that show tables, columns, functions or settings."""

import re
from datetime import timedelta, timezone
from typing import TYPE_CHECKING, Final, TypeAlias

import pyarrow as pa

from sqlfront.commands.indexes import indexes_of
from sqlfront.commands.run import NOTHING, CommandOutcome, StatementRun, no_database, origin_of, shown
from sqlfront.state.cached_table import CachedTable
from sqlfront.system_tables import SYSTEM, SYSTEM_TABLES
from sqlfront_connectors.files import FileTable
from sqlfront_planner.binder.functions.function_names import function_names
from sqlfront_planner.catalog import (
    DEFAULT_DATABASE,
    GLOBAL_TEMP,
    Entry,
    FoundElsewhere,
    TableEntry,
    ViewEntry,
    is_default,
)
from sqlfront_planner.statements.dotted_names import name_parts
from sqlfront_planner.statements.structs import (
    DescribeTable,
    FunctionScope,
    Query,
    SetOption,
    ShowFunctions,
    ShowTables,
    UseDatabase,
)
from sqlfront_values.errors import ProgrammingError, spark_error
from sqlfront_values.types import BOOLEAN, STRING, ddl

if TYPE_CHECKING:
    from sqlfront.state.spark_beside import SparkBeside

#: A row of SHOW TABLES: the database, the name, and whether the relation is temporary.
_Shown: TypeAlias = tuple[str, str, bool]
_DESCRIPTION: Final = pa.schema([("col_name", STRING), ("data_type", STRING), ("comment", STRING)])
_TABLES: Final = pa.schema([("namespace", STRING), ("tableName", STRING), ("isTemporary", BOOLEAN)])
_FUNCTIONS: Final = pa.schema([("function", STRING)])
#: Offsets of time zones: the longest in Java (``ZoneOffset.MAX``), and their unit.
_LONGEST: Final = timedelta(hours=18)
_SECOND: Final = timedelta(seconds=1)
_SETTINGS: Final = pa.schema([("key", STRING), ("value", STRING)])


def show_tables(run: StatementRun, statement: ShowTables) -> CommandOutcome:
    """SHOW TABLES: Spark's three columns, for the tables and views of a database whose names match the
    pattern. With a Spark session, Spark's tables and views are shown, too. Raises SCHEMA_NOT_FOUND for an
    unknown database."""
    database, pattern = statement.database, statement.pattern
    if database is not None and database.lower() == SYSTEM:
        rows = {(SYSTEM, name, False) for name in SYSTEM_TABLES}
    elif run.spark is not None:
        rows = _tables_of_both(run, run.spark, database)
    elif database is None or is_default((database,)):
        rows = {_shown(entry) for entry in run.context.catalog.entries() if not _is_global(entry)}
    elif (database.lower(),) == GLOBAL_TEMP:
        rows = {_shown(entry) for entry in run.context.catalog.entries() if entry.temporary}
    else:
        raise no_database(database)
    found = sorted(row for row in rows if pattern is None or _matches(row[1], pattern))
    return shown(_TABLES, found)


def _tables_of_both(run: StatementRun, spark: "SparkBeside", database: str | None) -> set[_Shown]:
    """The rows of SHOW TABLES for Spark's tables and views in ``database`` (None = the current database) and
    this session's, except copies of Spark's. This session's permanent relations belong to the default
    database."""
    sparks = spark.tables(run.request, database)
    shown = is_default(name_parts(database or run.context.settings.database))
    own = [entry for entry in run.context.catalog.entries() if not spark.has(entry)]
    return {*sparks, *(_shown(entry) for entry in own if shown or entry.temporary)}


def _shown(entry: Entry) -> _Shown:
    return _database(entry), entry.name.lower(), entry.temporary


def _is_global(entry: Entry) -> bool:
    """Whether the entry is a global temporary view, which only SHOW TABLES IN global_temp shows."""
    return entry.temporary and entry.database == GLOBAL_TEMP


def _database(entry: Entry) -> str:
    """The entry's database as SHOW TABLES shows it: ``default`` for a permanent relation; for other
    relations the last part of the qualifier, empty without a qualifier."""
    return ".".join(entry.parts[-2:-1]) if entry.temporary else DEFAULT_DATABASE


def _matches(name: str, pattern: str) -> bool:
    """Whether the name matches Spark's SHOW pattern: regular expressions, separated by ``|``, in which ``*``
    means any characters. Case doesn't matter; a malformed expression matches nothing."""
    for part in pattern.strip().split("|"):
        try:
            if re.fullmatch(part.replace("*", ".*"), name, re.IGNORECASE):
                return True
        except re.error:
            continue
    return False


def show_functions(run: StatementRun, statement: ShowFunctions) -> CommandOutcome:
    """SHOW FUNCTIONS: the names of the functions that this session can call and that match the statement's
    pattern; none for USER. Beside a Spark session raises FoundElsewhere, since Spark lists the functions of
    both engines."""
    database, pattern = statement.database, statement.pattern
    if run.spark is not None:
        raise FoundElsewhere("Spark lists the functions of both engines")
    if database is not None and not is_default(name_parts(database)):
        raise no_database(database)
    known = () if statement.scope == FunctionScope.USER else function_names()
    found = [(name,) for name in known if pattern is None or _matches(name, pattern)]
    return shown(_FUNCTIONS, found)


def describe_table(run: StatementRun, statement: DescribeTable) -> CommandOutcome:
    """DESCRIBE TABLE: columns, partition columns, and with EXTENDED further details."""
    entry = _system_table(run, statement.name) or run.entry(statement.name)
    schema = run.all_rows(statement.name, entry).schema
    rows: list[tuple[str | None, ...]] = [(field.name, ddl(field.type), None) for field in schema]
    origin = origin_of(entry)
    if (
        isinstance(origin, TableEntry)
        and isinstance(origin.table, FileTable)
        and origin.table.partition_columns
    ):
        partition = origin.table.partition_columns
        rows += [("# Partition Information", "", ""), ("# col_name", "data_type", "comment")]
        rows += [(name, ddl(schema.field(name).type), None) for name in partition]
    if statement.extended:
        rows += _details(entry, origin)
    return shown(_DESCRIPTION, rows)


def _system_table(run: StatementRun, name: str) -> TableEntry | None:
    """The entry of a system table; None if the name is not a system table's."""
    parts = name_parts(name)
    is_system = len(parts) == len((SYSTEM, name)) and parts[0].lower() == SYSTEM
    table = run.context.catalog.path_table(parts) if is_system else None
    return None if table is None else TableEntry(name, table, temporary=True)


def _details(entry: Entry, origin: Entry) -> list[tuple[str | None, ...]]:
    """The rows that DESCRIBE EXTENDED adds."""
    rows: list[tuple[str | None, ...]] = [
        ("", "", ""),
        ("# Detailed Table Information", "", ""),
        ("Database", _database(origin), ""),
        ("Table", origin.name, ""),
        ("Type", "VIEW" if isinstance(origin, ViewEntry) else "TABLE", ""),
    ]
    if isinstance(origin, ViewEntry):
        rows.append(("View Text", origin.sql, ""))
    else:
        rows.append(("Provider", origin.table.format, ""))
        if isinstance(origin.table, FileTable):
            rows.append(("Location", f"file:{origin.table.location}", ""))
    if isinstance(entry, TableEntry):
        statistics = entry.table.snapshot().statistics
        rows.append(("Cached", str(isinstance(entry.table, CachedTable)).lower(), ""))
        rows.append(("Statistics", f"{statistics.size} bytes, {statistics.rows} rows", ""))
        placed = entry.table.partitioning
        if placed is not None:
            keys = ", ".join(entry.table.schema.field(column).name for column in placed.columns)
            rows += [("Num Buckets", str(placed.count), ""), ("Bucket Columns", f"[{keys}]", "")]
        rows += [(f"Index {name}", f"[{columns}]", "") for name, columns, _ in indexes_of(entry)]
    return rows


def describe(schema: pa.Schema) -> CommandOutcome:
    """DESCRIBE QUERY: the columns of a schema."""
    rows = [(field.name, ddl(field.type), None) for field in schema]
    return shown(_DESCRIPTION, rows)


def set_option(run: StatementRun, statement: SetOption) -> CommandOutcome:
    """SET: change a setting, or show one setting or all."""
    options = run.context.options
    if statement.key is None:
        rows = options.items()
    elif statement.value is None:
        rows = [(statement.key, options.get(statement.key))]
    else:
        value = statement.value
        text = value if isinstance(value, str) else _zone_of_interval(run, value)
        rows = [(statement.key, options.set(statement.key, text))]
        if run.context.spark is not None:
            run.context.spark.set_option(*rows[0])
    return shown(_SETTINGS, rows)


def _zone_of_interval(run: StatementRun, query: Query) -> str:
    """The name of the time zone of an offset from UTC: the interval that is the only value of the query of
    SET TIME ZONE. Raises ProgrammingError for a word after the interval,
    INVALID_INTERVAL_FORMAT.TIMEZONE_INTERVAL_OUT_OF_RANGE for an offset out of range."""
    if any(value.alias for value in query.tree.expressions):
        raise ProgrammingError("Invalid time zone displacement value.")
    offset = next(run.rows(run.bind(query))).column(0)[0].as_py()
    if not isinstance(offset, timedelta) or abs(offset) > _LONGEST or offset % _SECOND:
        raise spark_error(
            "INVALID_INTERVAL_FORMAT.TIMEZONE_INTERVAL_OUT_OF_RANGE",
            "The interval value must be in the range of [-18, +18] hours with second precision.",
        )
    return str(timezone(offset)).removeprefix("UTC") or "Z"


def use_database(statement: UseDatabase) -> CommandOutcome:
    """USE: do nothing for the default database, the only one. Raises SCHEMA_NOT_FOUND for other databases."""
    if not is_default(name_parts(statement.database)):
        raise no_database(statement.database)
    return NOTHING
