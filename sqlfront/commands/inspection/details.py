"""Facts about one relation, as DESCRIBE EXTENDED and SHOW TABLE EXTENDED show them."""

from collections.abc import Iterator
from typing import TypeAlias

from sqlfront.commands.indexes import indexes_of
from sqlfront.commands.inspection.names import database_of, known_schema, quoted
from sqlfront.commands.run import StatementRun, origin_of
from sqlfront.results.schema_tree import schema_tree
from sqlfront.state.cached_table import CachedTable
from sqlfront_connectors.base import Table, TableStatistics
from sqlfront_connectors.files import FileTable
from sqlfront_planner.catalog import DEFAULT_CATALOG, DEFAULT_DATABASE, Entry, TableEntry, ViewEntry
from sqlfront_planner.relation_details import RelationDetails, redacted, with_text
from sqlfront_planner.statements.dotted_names import dotted
from sqlfront_values.errors import Error

Fact: TypeAlias = tuple[str, str]


def facts(entry: Entry) -> Iterator[Fact]:
    """Yield the names and values that DESCRIBE EXTENDED shows of a relation, in Spark's order; behind these,
    facts that only sqlfront has: whether the relation is cached, its size, its indexes."""
    origin = origin_of(entry)
    if not entry.temporary:
        yield "Catalog", DEFAULT_CATALOG
    yield "Database", database_of(origin)
    yield "Table", origin.name.lower() if not entry.temporary else origin.name
    if isinstance(origin, ViewEntry):
        yield from _of_view(origin)
    else:
        yield from _of_table(origin.table, origin.details)
    if isinstance(entry, TableEntry):
        yield "Cached", str(isinstance(entry.table, CachedTable)).lower()
        yield from _statistics(entry.table.snapshot().statistics)
        for name, columns, _ in indexes_of(entry):
            yield f"Index {name}", f"[{columns}]"


def _statistics(statistics: TableStatistics) -> Iterator[Fact]:
    """Yield one fact: the size in bytes and, if known, the number of rows, written as by Spark. Yield nothing
    if the size is unknown."""
    if statistics.size is not None:
        rows = "" if statistics.rows is None else f", {statistics.rows} rows"
        yield "Statistics", f"{statistics.size} bytes{rows}"


def _of_view(view: ViewEntry) -> Iterator[Fact]:
    yield "Type", "VIEW"
    if view.details.comment is not None:
        yield "Comment", view.details.comment
    yield "View Text", view.sql
    if not view.temporary:
        yield "View Original Text", view.sql
        yield "View Schema Mode", "COMPENSATION"
        yield "View Catalog and Namespace", f"{DEFAULT_CATALOG}.{DEFAULT_DATABASE}"
    if view.schema is not None:
        listed = ", ".join(f"`{name.replace('`', '``')}`" for name in view.schema.names)
        yield "View Query Output Columns", f"[{listed}]"
    yield from _properties(view.details)


def _properties(details: RelationDetails) -> Iterator[Fact]:
    """Yield the properties as one fact, without the properties that have no text, as in Spark; nothing if no
    property is left."""
    shown = [f"{key}={value}" for key, value in redacted(with_text(details.properties))]
    if shown:
        yield "Table Properties", f"[{', '.join(shown)}]"


def _of_table(table: Table, details: RelationDetails) -> Iterator[Fact]:
    yield "Type", "EXTERNAL" if isinstance(table, FileTable) and not table.managed else "MANAGED"
    yield "Provider", table.format
    placed = table.partitioning
    if placed is not None:
        keys = ", ".join(f"`{table.schema.field(column).name}`" for column in placed.columns)
        yield "Num Buckets", str(placed.count)
        yield "Bucket Columns", f"[{keys}]"
        yield "Sort Columns", "[]"
    if details.comment is not None:
        yield "Comment", details.comment
    yield from _properties(details)
    if isinstance(table, FileTable):
        yield "Location", f"file:{table.location}"
        if table.partition_columns:
            yield "Partition Provider", "Catalog"


def information(run: StatementRun, entry: Entry) -> str:
    """Return the text about a relation in SHOW TABLE EXTENDED: one fact a line, then the tree of the columns,
    which is empty if the columns aren't known."""
    lines = "".join(f"{name}: {value}\n" for name, value in facts(entry))
    try:
        columns = schema_tree(known_schema(run, dotted(entry.parts), entry))
    except Error:
        columns = "root\n"
    return f"{lines}Schema: {columns}\n"


def partition_columns(entry: Entry) -> tuple[str, ...]:
    """Return the names of the columns by whose values the relation's files lie in directories; empty for a
    relation that isn't partitioned."""
    origin = origin_of(entry)
    if isinstance(origin, TableEntry) and isinstance(origin.table, FileTable):
        return origin.table.partition_columns
    return ()


def quoted_columns(names: "tuple[str, ...] | list[str]") -> str:
    """Return the names with commas between them, in backticks where needed."""
    return ", ".join(map(quoted, names))
