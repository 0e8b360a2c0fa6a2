"""Comments of a query's columns, as in Spark: a column that is unchanged a column of a relation, or a field
inside of one, has the comments of the relation's column or field."""

import pyarrow as pa

from sqlfront.commands.run import StatementRun, details_of
from sqlfront_connectors.arrow import ArrowTable
from sqlfront_connectors.base import Table
from sqlfront_planner.binder import bind_query
from sqlfront_planner.catalog import Entry, TableEntry, ViewEntry
from sqlfront_planner.provenance import ColumnSource, column_source
from sqlfront_planner.relation_details import NO_COMMENTS, ColumnComments, RelationDetails
from sqlfront_planner.statements.structs import Query
from sqlfront_values.errors import Error


def query_comments(run: StatementRun, query: Query) -> tuple[ColumnComments, ...]:
    """Return the comments of the query's columns, in order; empty if no relation of the session has comments
    on columns, or if only Spark can bind the query."""
    catalog = run.context.catalog
    if not any(map(_has_comments, catalog.entries())):
        return ()
    known: dict[int, tuple[Table, RelationDetails]] = {}

    def outlined(entry: Entry) -> Entry:
        """Return a table without rows that has the relation's columns, so that the bound plan shows which
        relations' columns the query reads; ``entry`` itself if the columns of a view aren't known."""
        schema = _columns(entry)
        if schema is None:
            return entry
        table = ArrowTable.of(entry.name, schema, ())
        known[id(table)] = table, details_of(entry)
        return TableEntry(entry.name, table, entry.temporary, entry.parts[:-1])

    try:
        plan = bind_query(query, catalog.mapped(outlined), run.context.bind_settings, run.arguments).plan
    except Error:
        return ()
    return tuple(_comments(column_source(plan, ordinal), known) for ordinal in range(plan.width))


def _has_comments(entry: Entry) -> bool:
    details = details_of(entry)
    return bool(details.column_comments or details.field_comments)


def _columns(entry: Entry) -> pa.Schema | None:
    return entry.columns_at_creation if isinstance(entry, ViewEntry) else entry.table.schema


def _comments(source: ColumnSource | None, known: dict[int, tuple[Table, RelationDetails]]) -> ColumnComments:
    if source is None or id(source.table) not in known:
        return NO_COMMENTS
    table, details = known[id(source.table)]
    return details.comments_at((table.schema.names[source.ordinal], *source.inside))
