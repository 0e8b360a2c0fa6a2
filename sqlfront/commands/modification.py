"""DELETE and UPDATE on memory tables: all or nothing, and one after the other.

The rows that a statement means are found by their numbers; the new version shares all others with the one
before. Where rows have to move to other members, all of them are stored anew.
"""

from sqlfront.commands.caching import refresh_copies
from sqlfront.commands.run import Made, Run, wrote
from sqlfront.commands.tables import overflow_of
from sqlfront_connectors.memory import MemoryTable
from sqlfront_connectors.memory.numbered_table import NumberedTable
from sqlfront_connectors.memory.numbering import numbers_of, places
from sqlfront_connectors.memory.spread import How, SpreadTable
from sqlfront_engine.errors import Error, NotSupportedError
from sqlfront_planner import modification
from sqlfront_planner.catalog import Entry, TableEntry
from sqlfront_planner.logical import LogicalPlan
from sqlfront_planner.statement import Delete, Update


def delete(run: Run, statement: Delete) -> Made:
    """DELETE: the rows for which the condition is true are gone."""
    table = _modifiable(run.entry(statement.name), "DELETE")
    with table.turn():
        before = table.snapshot().statistics.rows or 0
        bound, keys = run.bind(statement.rows), _keys(table)
        if _moves(table):
            run.store(table, modification.remaining(bound, table.schema), overwrite=True)
        else:
            plan = modification.deleted(bound, NumberedTable(table, table.snapshot()), keys)
            _change(run, table, plan, How.DELETE, tuple(range(len(keys))))
        after = table.snapshot().statistics.rows or 0
    refresh_copies(run, table)
    return wrote(before - after)


def update(run: Run, statement: Update) -> Made:
    """UPDATE: the rows for which the condition is true have new values."""
    entry = run.entry(statement.name)
    table = _modifiable(entry, "UPDATE TABLE")
    with overflow_of(entry), table.turn():
        bound, columns = run.bind(statement.rows), statement.columns
        if _moves(table, modification.places(columns, table.schema, entry.name)):
            rows = modification.updated(bound, columns, entry.name, table.schema)
            run.store(table, rows, overwrite=True)
        else:
            numbered = NumberedTable(table, table.snapshot())
            plan = modification.changed(bound, numbered, columns, entry.name)
            _change(run, table, plan, How.UPDATE, _keys(table))
    refresh_copies(run, table)
    return wrote(None)


def _change(
    run: Run, table: MemoryTable | SpreadTable, plan: LogicalPlan, how: How, keys: tuple[int, ...]
) -> None:
    """Publish the version that the plan's rows, with their numbers, make of the present one. ``keys``: the
    clustering columns among the plan's."""
    if isinstance(table, SpreadTable):
        run.publish(table, plan, how, keys)
        return
    snapshot, batches = table.snapshot(), list(run.rows(plan))
    gone = places(snapshot.segments, numbers_of(batches))
    width = list(range(len(table.schema)))
    stored = [batch.select(width) for batch in batches] if how is How.UPDATE else []
    table.replace_rows(snapshot, gone, stored)


def _moves(table: MemoryTable | SpreadTable, columns: tuple[int, ...] = ()) -> bool:
    """Whether rows with new values in these columns may belong to other members, or all rows do by now."""
    if not isinstance(table, SpreadTable):
        return False
    return not table.in_place or not set(columns).isdisjoint(_keys(table))


def _keys(table: MemoryTable | SpreadTable) -> tuple[int, ...]:
    """The ordinals of the numbered table's columns that say which member has a row."""
    if table.partitioning is not None:
        return table.partitioning.columns
    return (len(table.schema),) if isinstance(table, SpreadTable) else ()


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
