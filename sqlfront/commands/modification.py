"""DELETE and UPDATE on memory tables: all or nothing, and one after the other.

Where the rows lie on several members, each of them finds those that are meant by their numbers and makes its
share of the new version. Where rows have to move to other members, all of them are stored anew.
"""

from sqlfront.commands.caching import refresh_copies
from sqlfront.commands.changes import change
from sqlfront.commands.run import Made, Run, overflow_of, wrote
from sqlfront_connectors.memory import MemoryTable
from sqlfront_connectors.memory.numbered_table import NumberedTable
from sqlfront_connectors.memory.spread import How, SpreadTable
from sqlfront_engine.errors import Error, NotSupportedError
from sqlfront_planner import modification
from sqlfront_planner.catalog import Entry, TableEntry
from sqlfront_planner.statement import Delete, Update


def delete(run: Run, statement: Delete) -> Made:
    """DELETE: the rows for which the condition is true are gone."""
    entry = run.entry(statement.name)
    table = _modifiable(entry, "DELETE")
    if isinstance(table, MemoryTable):
        return change(run, statement, entry.name, table)
    with table.turn():
        before = table.snapshot().statistics.rows or 0
        bound, keys = run.bind(statement.rows), _keys(table)
        modification.check_table(bound, table, entry.name)
        if _moves(table):
            run.store(table, modification.remaining(bound, table.schema), overwrite=True)
        else:
            plan = modification.deleted(bound, NumberedTable(table), keys)
            run.publish(table, plan, How.DELETE, tuple(range(len(keys))))
        after = table.snapshot().statistics.rows or 0
    refresh_copies(run, table)
    return wrote(before - after)


def update(run: Run, statement: Update) -> Made:
    """UPDATE: the rows for which the condition is true have new values."""
    entry = run.entry(statement.name)
    table = _modifiable(entry, "UPDATE TABLE")
    if isinstance(table, MemoryTable):
        return change(run, statement, entry.name, table)
    with overflow_of(entry.name), table.turn():
        bound, columns = run.bind(statement.rows), statement.columns
        modification.check_table(bound, table, entry.name)
        if _moves(table, modification.places(columns, table.schema, entry.name)):
            rows = modification.updated(bound, columns, entry.name, table.schema)
            run.store(table, rows, overwrite=True)
        else:
            plan = modification.changed(bound, NumberedTable(table), columns, entry.name)
            run.publish(table, plan, How.UPDATE, _keys(table))
    refresh_copies(run, table)
    return wrote(None)


def _moves(table: SpreadTable, columns: tuple[int, ...] = ()) -> bool:
    """Whether rows with new values in these columns may belong to other members, or all rows do by now."""
    return not table.in_place or not set(columns).isdisjoint(_keys(table))


def _keys(table: SpreadTable) -> tuple[int, ...]:
    """The ordinals of the numbered table's columns that say which member has a row."""
    return (len(table.schema),) if table.partitioning is None else table.partitioning.columns


def _modifiable(entry: Entry, what: str) -> MemoryTable | SpreadTable:
    if isinstance(entry, TableEntry) and isinstance(entry.table, MemoryTable | SpreadTable):
        return entry.table
    raise _refused(entry, what)


def _refused(entry: Entry, what: str) -> Error:
    return NotSupportedError(
        f"The feature is not supported: Table `{entry.name}` does not support {what}. "
        "Memory tables do, as long as they are not cached.",
        condition="UNSUPPORTED_FEATURE.TABLE_OPERATION",
        sqlstate="0A000",
    )
