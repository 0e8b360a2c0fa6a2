"""DELETE and UPDATE on memory tables: all or nothing, and one after the other; ``changes`` does it."""

from sqlfront.commands.changes import Change, change
from sqlfront.commands.run import Made, Run, unsupported_operation
from sqlfront_connectors.memory import MemoryTable
from sqlfront_connectors.memory.spread import SpreadTable
from sqlfront_planner.catalog import Entry, TableEntry
from sqlfront_planner.statement import Delete


def modify(run: Run, statement: Change) -> Made:
    """DELETE: the rows for which the condition is true are gone. UPDATE: they have new values."""
    entry = run.entry(statement.name)
    table = _modifiable(entry, "DELETE" if isinstance(statement, Delete) else "UPDATE TABLE")
    return change(run, statement, entry.name, table)


def _modifiable(entry: Entry, what: str) -> MemoryTable | SpreadTable:
    if isinstance(entry, TableEntry) and isinstance(entry.table, MemoryTable | SpreadTable):
        return entry.table
    raise unsupported_operation(entry, what, "Memory tables do, as long as they are not cached.")
