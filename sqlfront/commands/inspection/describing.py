"""DESCRIBE of tables, columns, queries and schemas; SHOW COLUMNS and SHOW TBLPROPERTIES."""

from collections.abc import Callable
from itertools import repeat
from typing import Final

import pyarrow as pa

from sqlfront.commands.column_comments import query_comments
from sqlfront.commands.inspection.details import facts, partition_columns
from sqlfront.commands.inspection.names import (
    checked_database,
    known_schema,
    relation,
    schema_of,
    system_schema,
)
from sqlfront.commands.run import CommandOutcome, StatementRun, details_of, no_database, origin_of, shown
from sqlfront.information_schema.schemas import COMMENTS
from sqlfront_engine.process_user import process_user
from sqlfront_planner.catalog import (
    DEFAULT_CATALOG,
    DEFAULT_DATABASE,
    GLOBAL_TEMP,
    Entry,
    FoundElsewhere,
    ViewEntry,
)
from sqlfront_planner.relation_details import NO_COMMENTS, redacted
from sqlfront_planner.statements.dotted_names import dotted, name_parts
from sqlfront_planner.statements.structs import (
    DescribeColumn,
    DescribeQuery,
    DescribeSchema,
    DescribeTable,
    ShowColumns,
    ShowProperties,
)
from sqlfront_values.errors import ProgrammingError, spark_error
from sqlfront_values.types import STRING, ddl

_DESCRIPTION: Final = pa.schema([("col_name", STRING), ("data_type", STRING), ("comment", STRING)])
_COLUMNS: Final = pa.schema([("col_name", STRING)])
_FACTS: Final = pa.schema([("info_name", STRING), ("info_value", STRING)])
_PROPERTIES: Final = pa.schema([("key", STRING), ("value", STRING)])
#: Facts about a column that ANALYZE TABLE computes in Spark: NULL without it.
_ANALYZED: Final = ("min", "max", "num_nulls", "distinct_count", "avg_col_len", "max_col_len", "histogram")


def describe_table(run: StatementRun, statement: DescribeTable) -> CommandOutcome:
    """DESCRIBE TABLE: show the columns and the partition columns, and with EXTENDED further facts about the
    relation. A temporary view has no further facts, as in Spark."""
    entry = relation(run, statement.name)
    schema, details = known_schema(run, statement.name, entry), details_of(entry)
    rows = _columns(schema, details.comment_of)
    partition = partition_columns(entry)
    if partition and not entry.temporary:
        rows += [("# Partition Information", "", ""), ("# col_name", "data_type", "comment")]
        rows += _columns(pa.schema(map(schema.field, partition)), details.comment_of)
    if statement.extended and not _is_temporary_view(entry):
        rows += [("", "", ""), ("# Detailed Table Information", "", "")]
        rows += [(name, value, "") for name, value in facts(entry)]
    return shown(_DESCRIPTION, rows)


def _is_temporary_view(entry: Entry) -> bool:
    return entry.temporary and isinstance(origin_of(entry), ViewEntry)


def _columns(schema: pa.Schema, comment_of: Callable[[str], str | None]) -> list[tuple[str | None, ...]]:
    return [(field.name, ddl(field.type), comment_of(field.name)) for field in schema]


def describe_query(run: StatementRun, statement: DescribeQuery) -> CommandOutcome:
    """DESCRIBE QUERY: show the query's columns, with the comments of the relations' columns."""
    schema = run.bind(statement.query).schema
    comments = query_comments(run, statement.query)
    pairs = zip(schema, comments or repeat(NO_COMMENTS), strict=False)
    return shown(_DESCRIPTION, [(field.name, ddl(field.type), each.text) for field, each in pairs])


def describe_column(run: StatementRun, statement: DescribeColumn) -> CommandOutcome:
    """DESCRIBE of one column: show its name as the statement writes it, its type and comment. EXTENDED adds
    the statistics of ANALYZE TABLE, which are always NULL here. Raises COLUMN_NOT_FOUND."""
    entry = relation(run, statement.name)
    schema = schema_of(run, statement.name, entry)
    field = _named_field(schema, entry, statement.column)
    comment = details_of(entry).comment_of(field.name)
    rows = [
        ("col_name", name_parts(statement.column)[-1]),
        ("data_type", ddl(field.type)),
        ("comment", "NULL" if comment is None else comment),
    ]
    if statement.extended:
        rows += [(name, "NULL") for name in _ANALYZED]
    return shown(_FACTS, rows)


def _named_field(schema: pa.Schema, entry: Entry, column: str) -> pa.Field:
    """Return the column with the dotted name ``column``, which may begin with the relation's name. Raises
    COLUMN_NOT_FOUND, and ProgrammingError for a field inside of a column."""
    *qualifier, name = (part.lower() for part in name_parts(column))
    known = {field.name.lower(): field for field in reversed(list(schema))}
    whole = entry.qualifier
    if name in known and tuple(qualifier) == whole[len(whole) - len(qualifier) :]:
        return known[name]
    if qualifier and qualifier[0] in known:
        raise ProgrammingError(f"DESC TABLE COLUMN does not support nested column: {column}.")
    written = ".".join(f"`{part}`" for part in name_parts(column))
    raise spark_error(
        "COLUMN_NOT_FOUND",
        f"The column {written} cannot be found. Verify the spelling and correctness of "
        'the column name according to the SQL config "spark.sql.caseSensitive".',
    )


def show_columns(run: StatementRun, statement: ShowColumns) -> CommandOutcome:
    """SHOW COLUMNS: show the names of a relation's columns. Raises SHOW_COLUMNS_WITH_CONFLICT_NAMESPACE if
    the statement names two schemas."""
    parts = name_parts(statement.name)
    database = () if statement.database is None else name_parts(statement.database)
    whole = parts if len(parts) > 1 else (*database, *parts)
    name = dotted(whole)
    schema = known_schema(run, name, relation(run, name))
    if database and (len(database) > 1 or whole[-2].lower() != database[0].lower()):
        raise spark_error(
            "SHOW_COLUMNS_WITH_CONFLICT_NAMESPACE",
            f"SHOW COLUMNS with conflicting namespaces: `{database[0]}` != `{whole[-2]}`.",
        )
    return shown(_COLUMNS, [(column,) for column in schema.names])


def show_properties(run: StatementRun, statement: ShowProperties) -> CommandOutcome:
    """SHOW TBLPROPERTIES: show the properties of a table or view, with secrets hidden, in the order of the
    keys. For one key, show its value, or Spark's sentence that the key is missing. A temporary relation has
    no properties. Raises FoundElsewhere, so that Spark answers, for a relation of Spark."""
    entry, key = relation(run, statement.name), statement.key
    if entry.temporary:
        return shown(_PROPERTIES, [])
    properties = redacted(details_of(entry).properties)
    if key is None:
        return shown(_PROPERTIES, properties)
    whole = f"{DEFAULT_CATALOG}.{DEFAULT_DATABASE}.{name_parts(statement.name)[-1]}"
    missing = f"Table {whole} does not have property: {key}"
    return shown(_PROPERTIES, [(key, dict(properties).get(key, missing))])


def describe_schema(run: StatementRun, statement: DescribeSchema) -> CommandOutcome:
    """DESCRIBE SCHEMA: show catalog, name, comment, location and owner of a schema. Raises SCHEMA_NOT_FOUND
    for an unknown schema. With a Spark session beside, raises FoundElsewhere for all schemas except the
    schemas of system tables, so that Spark answers."""
    if system_schema(statement.name) is None and run.spark is not None:
        raise FoundElsewhere("Spark knows the details of its schemas")
    (name,) = checked_database(statement.name)
    if (name,) == GLOBAL_TEMP:
        raise no_database(statement.name)
    warehouse = run.context.config.warehouse if name == DEFAULT_DATABASE else None
    rows = [
        ("Catalog Name", DEFAULT_CATALOG),
        ("Namespace Name", name_parts(statement.name)[-1]),
        ("Comment", COMMENTS.get(name, run.context.catalog.comment)),
        ("Location", "" if warehouse is None else f"file:{warehouse}"),
        ("Owner", process_user()),
    ]
    if statement.extended:
        rows.append(("Properties", ""))
    return shown(_FACTS, rows)
