"""CREATE INDEX, DROP INDEX, SHOW INDEXES: secondary indexes of memory tables.

An index belongs to its table, is dropped with the table, and follows every change of the table's rows. An
index of a cached table or view belongs to the copy, and also to the cached table if that is a memory
table.
"""

from typing import Final

import pyarrow as pa

from sqlfront.commands.run import NOTHING, CommandOutcome, StatementRun, shown, unsupported_operation
from sqlfront.state.cached_table import CachedTable
from sqlfront_connectors.base import Table
from sqlfront_connectors.memory.keyed_table import KeyedTable
from sqlfront_connectors.memory.segments.index import IndexDefinition
from sqlfront_planner.catalog import Entry, TableEntry
from sqlfront_planner.statements.create_mode import CreateMode
from sqlfront_planner.statements.structs import CreateIndex, DropIndex, ShowIndexes
from sqlfront_planner.table_changes.named_columns import named_columns
from sqlfront_values.errors import NotSupportedError, spark_error
from sqlfront_values.types import STRING, ddl, is_own

#: The only index type of ``USING``.
FORMAT: Final = "hash"
_INDEXES: Final = pa.schema([("index", STRING), ("columns", STRING), ("type", STRING)])

Indexes = tuple[IndexDefinition, ...]


def create_index(run: StatementRun, statement: CreateIndex) -> CommandOutcome:
    """CREATE INDEX: build an index over all rows of a memory table before any query uses the index. Raises
    INDEX_ALREADY_EXISTS unless IF NOT EXISTS is given, and NotSupportedError for an index type other than
    ``hash``, a column type that can't be indexed, or a relation that can't have indexes."""
    entry = run.entry(statement.name)
    tables = _tables(entry, "CREATE INDEX")
    if statement.format not in (None, FORMAT):
        raise NotSupportedError(
            f"an index of type {statement.format} is not supported; the supported type is {FORMAT}"
        )
    definition = IndexDefinition(statement.index, _ordinals(tables[0].schema, statement.columns, entry.name))

    for table in tables:
        with table.turn():
            present = table.snapshot().indexes
            if _named(present, statement.index) is None:
                table.set_indexes((*present, definition))
            elif table is tables[0] and statement.mode is not CreateMode.SKIP:
                raise spark_error(
                    "INDEX_ALREADY_EXISTS",
                    f"Cannot create the index `{statement.index}` on table `{entry.name}` because it already "
                    "exists.",
                )
    return NOTHING


def drop_index(run: StatementRun, statement: DropIndex) -> CommandOutcome:
    """DROP INDEX: remove an index; its memory is freed when the queries that use the index have ended. Raises
    INDEX_NOT_FOUND unless IF EXISTS is given, NotSupportedError for a relation that can't have indexes."""
    entry = run.entry(statement.name)
    tables = _tables(entry, "DROP INDEX")
    for table in tables:
        with table.turn():
            present = table.snapshot().indexes
            found = _named(present, statement.index)
            if found is not None:
                table.set_indexes(tuple(index for index in present if index is not found))
            elif table is tables[0] and not statement.if_exists:
                known = ", ".join(f"`{index.name}`" for index in present)
                raise spark_error(
                    "INDEX_NOT_FOUND",
                    f"Cannot find the index `{statement.index}` on table `{entry.name}`. "
                    + (f"Its indexes are {known}." if known else "It has none."),
                )
    return NOTHING


def show_indexes(run: StatementRun, statement: ShowIndexes) -> CommandOutcome:
    """SHOW INDEXES: show name, columns and type of each index of a table. Raises NotSupportedError for a
    relation that can't have indexes."""
    entry = run.entry(statement.name)
    _tables(entry, "SHOW INDEXES")
    return shown(_INDEXES, indexes_of(entry))


def indexes_of(entry: Entry) -> list[tuple[str, str, str]]:
    """Return the name, the column names (separated by ", ") and the type of each index of a table, sorted;
    empty for a relation that can't have indexes."""
    found = _indexable(entry)
    return sorted(
        (index.name, ", ".join(table.schema.names[ordinal] for ordinal in index.columns), FORMAT)
        for table in found[:1]
        for index in table.snapshot().indexes
    )


def _named(indexes: Indexes, name: str) -> IndexDefinition | None:
    return next((index for index in indexes if index.name.lower() == name.lower()), None)


def _ordinals(schema: pa.Schema, columns: tuple[str, ...], table: str) -> tuple[int, ...]:
    """The ordinals in ``schema`` of an index's columns. Raises NotSupportedError for a column of a nested
    type, an interval type or of variants."""
    ordinals = named_columns(schema, columns)
    for column, ordinal in zip(columns, ordinals, strict=True):
        kind = schema.field(ordinal).type
        if pa.types.is_nested(kind) or is_own(kind):
            raise NotSupportedError(f"an index on `{table}`.`{column}` of type {ddl(kind)} is not supported")
    return ordinals


def _tables(entry: Entry, what: str) -> tuple[KeyedTable, ...]:
    """Return the memory tables that share the entry's indexes, first the table that queries read; at least
    one table. Raises NotSupportedError, with the statement ``what`` in its message, if the entry can't have
    indexes."""
    found = _indexable(entry)
    if not found:
        raise unsupported_operation(entry, what, "Memory tables do, and cached ones.")
    return found


def _indexable(entry: Entry) -> tuple[KeyedTable, ...]:
    """Return the memory tables that share the entry's indexes: the table itself, or the copy of a cached
    entry and the cached table, if that is a memory table. Empty if the entry can't have indexes."""
    table = entry.table if isinstance(entry, TableEntry) else None
    candidates: list[Table | None] = [table]
    if isinstance(table, CachedTable):
        candidates = [table.copy, table.origin.table if isinstance(table.origin, TableEntry) else None]
    return tuple(each for each in candidates if isinstance(each, KeyedTable))
