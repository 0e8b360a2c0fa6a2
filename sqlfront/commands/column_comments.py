"""Comments that a query's columns have from the relations that the query reads, as in Spark: a column that
is a relation's column, unchanged, has the comment of that column."""

import pyarrow as pa

from sqlfront.commands.run import StatementRun, details_of
from sqlfront_connectors.arrow import ArrowTable
from sqlfront_connectors.base import Table
from sqlfront_planner.binder import bind_query
from sqlfront_planner.catalog import Entry, TableEntry, ViewEntry
from sqlfront_planner.provenance import table_column
from sqlfront_planner.relation_details import RelationDetails
from sqlfront_planner.statements.structs import Query
from sqlfront_values.errors import Error


def query_comments(run: StatementRun, query: Query) -> tuple[str | None, ...]:
    """The comments of the query's columns, in order; empty if no column of the session has a comment, or only
    Spark can analyse the query."""
    catalog = run.context.catalog
    if not any(details_of(entry).column_comments for entry in catalog.entries()):
        return ()
    known: dict[int, tuple[Table, RelationDetails]] = {}

    def outlined(entry: Entry) -> Entry:
        """The relation as an empty table, so that the plan shows whose columns the query reads."""
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
    return tuple(_comment(table_column(plan, ordinal), known) for ordinal in range(plan.width))


def _columns(entry: Entry) -> pa.Schema | None:
    return entry.columns_at_creation if isinstance(entry, ViewEntry) else entry.table.schema


def _comment(source: tuple[Table, int] | None, known: dict[int, tuple[Table, RelationDetails]]) -> str | None:
    if source is None or id(source[0]) not in known:
        return None
    table, details = known[id(source[0])]
    return details.comment_of(table.schema.names[source[1]])
