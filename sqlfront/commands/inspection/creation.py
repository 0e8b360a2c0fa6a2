"""SHOW CREATE TABLE: the statement that makes a table or view anew, in Spark's layout."""

from collections.abc import Iterable, Iterator
from typing import Final

import pyarrow as pa

from sqlfront.commands.inspection.details import quoted_columns
from sqlfront.commands.inspection.names import as_written, known_schema, quoted, relation
from sqlfront.commands.run import CommandOutcome, StatementRun, only_read, origin_of, shown
from sqlfront.information_schema.schemas import is_system_table
from sqlfront_connectors.base import Table
from sqlfront_connectors.files import FileTable
from sqlfront_connectors.memory.keyed_table import KeyedTable
from sqlfront_planner.binder.names import shown_names
from sqlfront_planner.catalog import DEFAULT_CATALOG, DEFAULT_DATABASE, ViewEntry
from sqlfront_planner.relation_details import NO_DETAILS, RelationDetails, Texts, redacted
from sqlfront_planner.statements.dotted_names import name_parts
from sqlfront_planner.statements.field_comments import comment_of, with_comments
from sqlfront_planner.statements.structs import ShowCreateTable
from sqlfront_values.errors import Error, spark_error
from sqlfront_values.types import STRING, ddl

_STATEMENT: Final = pa.schema([("createtab_stmt", STRING)])


def show_create_table(run: StatementRun, statement: ShowCreateTable) -> CommandOutcome:
    """SHOW CREATE TABLE: show the statement that would make the table or view anew. As in Spark, a table is
    named as this statement names it, a view by its own name in lower case. Raises
    EXPECT_PERMANENT_VIEW_NOT_TEMP for a temporary relation, UNSUPPORTED_FEATURE.TABLE_OPERATION for a system
    table, and FoundElsewhere, so that Spark answers, for a relation of Spark."""
    entry, parts = relation(run, statement.name), name_parts(statement.name)
    origin = origin_of(entry)
    if is_system_table(parts):
        raise only_read(parts, "SHOW CREATE TABLE")
    if entry.temporary:
        raise spark_error(
            "EXPECT_PERMANENT_VIEW_NOT_TEMP",
            f"'SHOW CREATE TABLE' expects a permanent view but {shown_names.quoted(parts)} is a temp view.",
        )
    if isinstance(origin, ViewEntry):
        text = view_text(origin, _view_columns(run, origin))
    else:
        name = as_written(statement.name)
        text = table_text(name, origin.table, origin.details, run.context.backups)
    return shown(_STATEMENT, [(text,)])


def _view_columns(run: StatementRun, view: ViewEntry) -> tuple[str, ...]:
    """Return the names of the view's columns; empty if they aren't known, since a table of the view's query
    is gone."""
    if view.columns:
        return view.columns
    try:
        return tuple(known_schema(run, view.name, view).names)
    except Error:
        return ()


def view_text(view: ViewEntry, columns: tuple[str, ...]) -> str:
    """Return the text of CREATE VIEW; ``columns``: the names of the view's columns. Unlike a table's, the
    view's properties are shown with the secrets in them, as by Spark."""
    details = view.details
    shown = [f"{quoted(name)}{_comment(' ', details.comment_of(name))}" for name in columns]
    name = f"{DEFAULT_DATABASE}.{quoted(view.name.lower())}"
    head = f"CREATE VIEW {name}{_listed(shown) if shown else ''}"
    clauses = (*_comment_clause(details), *_properties_clause(details.properties))
    return "\n".join([head, *clauses, "WITH SCHEMA COMPENSATION", f"AS {view.sql}", ""])


def table_text(
    name: tuple[str, str], table: Table, details: RelationDetails = NO_DETAILS, backups: int = 0
) -> str:
    """Return the text of CREATE TABLE for the table. ``name``: the table's schema and name; ``details``: its
    comments and properties; ``backups``: the number of backups of memory tables whose statement doesn't say
    a number."""
    return "\n".join([*_clauses(name, table, details, backups), ""])


def _clauses(name: tuple[str, str], table: Table, details: RelationDetails, backups: int) -> Iterator[str]:
    columns = [_column(field, details) for field in table.schema]
    yield f"CREATE TABLE {DEFAULT_CATALOG}.{'.'.join(map(quoted, name))}{_listed(columns)}"
    yield f"USING {table.format}"
    if isinstance(table, FileTable):
        yield from _file_clauses(table)
    placed = table.partitioning
    if placed is not None:
        yield f"CLUSTERED BY ({quoted_columns([table.schema.field(each).name for each in placed.columns])})"
        yield f"INTO {placed.count} BUCKETS"
    if isinstance(table, KeyedTable) and (table.backups or backups):
        yield f"OPTIONS{_listed(_pairs([('backups', str(table.backups))]))}"
    yield from _comment_clause(details)
    if isinstance(table, FileTable) and not table.managed:
        yield f"LOCATION {_text(f'file:{table.location}')}"
    yield from _properties_clause(redacted(details.properties))


def _column(field: pa.Field, details: RelationDetails) -> str:
    required = " NOT NULL" if field.name in details.required else ""
    comments = details.comments_at((field.name,))
    kind = type_text(with_comments(field.type, comments.inside))
    return f"{quoted(field.name)} {kind}{required}{_comment(' ', comments.text)}"


def _comment_clause(details: RelationDetails) -> Iterator[str]:
    if details.comment is not None:
        yield _comment("", details.comment)


def _properties_clause(properties: Texts) -> Iterator[str]:
    if properties:
        yield f"TBLPROPERTIES{_listed(_pairs(properties))}"


def _pairs(texts: Iterable[tuple[str, str]]) -> Iterator[str]:
    return (f"{_text(key)} = {_text(value)}" for key, value in texts)


def _comment(before: str, comment: str | None) -> str:
    return "" if comment is None else f"{before}COMMENT {_text(comment)}"


def _file_clauses(table: FileTable) -> Iterator[str]:
    options = {key: value for key, value in table.version.options.items() if key.lower() != "path"}
    if options:
        yield f"OPTIONS{_listed(_pairs(redacted(sorted(options.items()))))}"
    if table.partition_columns:
        yield f"PARTITIONED BY ({quoted_columns(table.partition_columns)})"


def _listed(items: Iterable[str]) -> str:
    return f" (\n  {f',{chr(10)}  '.join(items)})"


def _text(value: str) -> str:
    """Return the value as a SQL string literal."""
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def type_text(kind: pa.DataType) -> str:
    """Return the type as SHOW CREATE TABLE writes it.

    >>> type_text(pa.struct([("a b", pa.list_(pa.string()))]))
    'STRUCT<`a b`: ARRAY<STRING COLLATE UTF8_BINARY>>'
    """
    if pa.types.is_struct(kind):
        return f"STRUCT<{', '.join(map(_field_text, kind))}>"
    if pa.types.is_list(kind):
        return f"ARRAY<{type_text(kind.value_type)}>"
    if pa.types.is_map(kind):
        return f"MAP<{type_text(kind.key_type)}, {type_text(kind.item_type)}>"
    name = ddl(kind).upper()
    return f"{name} COLLATE UTF8_BINARY" if name == "STRING" else name


def _field_text(field: pa.Field) -> str:
    return f"{quoted(field.name)}: {type_text(field.type)}{_comment(' ', comment_of(field))}"
