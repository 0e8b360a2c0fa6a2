"""ALTER TABLE ... ADD COLUMN; also DROP and RENAME COLUMN, which every table refuses, as in Spark's own
catalog."""

from collections.abc import Callable
from functools import partial

import pyarrow as pa
from msgspec.structs import replace

from sqlfront.commands.alteration import check_table, own_entry, whole_name
from sqlfront.commands.copies import dependents, is_unknown, let_go
from sqlfront.commands.run import NOTHING, CommandOutcome, StatementRun
from sqlfront.state.cached_table import CachedTable
from sqlfront_connectors.base import TableDefinition
from sqlfront_connectors.files import FileTable
from sqlfront_connectors.memory.keyed_table import KeyedTable
from sqlfront_planner.binder.names.shown_names import quoted
from sqlfront_planner.catalog import TableEntry
from sqlfront_planner.logical import LogicalScan
from sqlfront_planner.relation_details import RelationDetails
from sqlfront_planner.statements.dotted_names import name_parts
from sqlfront_planner.statements.structs import AddColumns, AddedColumn, ChangeColumns
from sqlfront_planner.table_changes.insertion import assign
from sqlfront_planner.table_changes.named_columns import check_unique, named_column
from sqlfront_values.errors import Error, NotSupportedError, spark_error

_ADDING = "ALTER TABLE ... ADD COLUMN"


def add_columns(run: StatementRun, statement: AddColumns) -> CommandOutcome:
    """ADD COLUMN: replace the table in the catalog by a new table with the same rows, and null in the new
    columns. The new columns come last, but before partition columns; FIRST and AFTER don't move them, as in
    Spark. Cached plans of the old table are no longer used. The rows of a memory table are copied. The copy
    of a cached table is dropped.

    Raises EXPECT_TABLE_NOT_VIEW for a view, COLUMN_ALREADY_EXISTS, FIELD_NOT_FOUND for AFTER with an unknown
    column, and UNSUPPORTED_FEATURE.TABLE_OPERATION for a new field inside of a column."""
    while True:
        entry = _table_entry(run, statement.name, _ADDING)
        _check(entry, statement.columns)
        if isinstance(entry.table, CachedTable):
            let_go(run, (entry,))
        elif _add_to(run, entry, statement):
            return NOTHING


def change_columns(run: StatementRun, statement: ChangeColumns) -> CommandOutcome:
    """DROP or RENAME COLUMN: always raise an error. The error is UNSUPPORTED_FEATURE.TABLE_OPERATION, unless
    the relation is a view, or a column is unknown (and IF EXISTS isn't given): these have Spark's errors of
    their own."""
    entry = _table_entry(run, statement.name, f"ALTER TABLE ... {statement.operation}")
    if not statement.if_exists:
        for column in statement.columns:
            named_column(entry.table.schema, name_parts(column)[0])
    raise _unsupported(entry, statement.operation)


def _table_entry(run: StatementRun, name: str, operation: str) -> TableEntry:
    entry = own_entry(run, name)
    check_table(entry, operation)
    assert isinstance(entry, TableEntry)
    return entry


def _check(entry: TableEntry, columns: tuple[AddedColumn, ...]) -> None:
    """Raise Spark's error if one of the ``columns`` can't be added to the table: a field inside of a column,
    a NOT NULL column, AFTER with an unknown column, or a name that the table has already."""
    known = entry.table.schema
    for column in columns:
        if len(parts := name_parts(column.name)) > 1:
            if not pa.types.is_struct(known.field(named_column(known, parts[0])).type):
                raise spark_error(
                    "INVALID_FIELD_NAME",
                    f"Field name {quoted(parts)} is invalid: {quoted(parts[:-1])} is not a struct.",
                )
            raise _unsupported(entry, "ADD COLUMN with qualified column")
        if column.required:
            raise NotSupportedError(
                "ADD COLUMN with NOT NULL is not supported: the rows that are there have no value.",
                condition="_LEGACY_ERROR_TEMP_1052",
            )
        if column.after is not None and column.after.lower() not in map(str.lower, known.names):
            raise spark_error(
                "FIELD_NOT_FOUND", f"No such struct field `{column.after}` in {', '.join(known.names)}."
            )
    check_unique((*known.names, *map(_name, columns)))


def _unsupported(entry: TableEntry, operation: str) -> Error:
    return spark_error(
        "UNSUPPORTED_FEATURE.TABLE_OPERATION",
        f"The feature is not supported: Table {whole_name(entry)} does not support {operation}.",
    )


def _name(column: AddedColumn) -> str:
    return name_parts(column.name)[0]


# ---- the wider table


def _add_to(run: StatementRun, entry: TableEntry, statement: AddColumns) -> bool:
    """Make the table with the added columns, and replace the entry's table by the new one in the catalog.
    Return whether the entry was still in the catalog; if it wasn't, nothing is changed."""
    table, columns = entry.table, statement.columns
    fields = [pa.field(_name(column), column.type) for column in columns]
    if isinstance(table, FileTable) and table.format != "text":  # which has one column
        make: Callable[[], FileTable | KeyedTable] = partial(table.widened, fields)
    elif isinstance(table, KeyedTable):
        make = partial(_copied, run, entry.name, table, fields)
    else:
        raise _unsupported(entry, "ADD COLUMN")
    before = run.context.catalog.pinned()
    with run.writing(table), table.turn():
        wide, done = make(), False
        try:
            done = run.context.catalog.exchange(
                entry, replace(entry, table=wide, details=_details(entry, columns))
            )
        except BaseException as error:
            if isinstance(wide, KeyedTable) and not is_unknown(error):
                wide.drop()
            raise
        if done:
            table.retire()
    if not done and isinstance(wide, KeyedTable):
        wide.drop()
    if done:
        let_go(run, dependents(run, statement.name, before))
    return done


def _copied(run: StatementRun, name: str, table: KeyedTable, fields: list[pa.Field]) -> KeyedTable:
    """Return a new memory table with the rows of ``table`` and the further columns ``fields``, all null; its
    partitioning and indexes are those of ``table``."""
    names, placed = table.schema.names, table.partitioning
    wide = run.memory_table(
        TableDefinition(
            name,
            pa.schema([*table.schema, *fields]),
            clustered_by=() if placed is None else tuple(names[ordinal] for ordinal in placed.columns),
            buckets=None if placed is None else placed.count,
        ),
        table.backups,
    )
    try:
        rows = LogicalScan(name, table, table.snapshot(), tuple(range(len(names))))
        run.store(wide, assign(rows, name, wide.schema, tuple(names)))
        wide.succeed(table)
    except BaseException:
        wide.drop()
        raise
    return wide


def _details(entry: TableEntry, columns: tuple[AddedColumn, ...]) -> RelationDetails:
    return entry.details.with_comments({_name(column): column.comments for column in columns})
