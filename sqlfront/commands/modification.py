"""DELETE and UPDATE on memory tables: all or nothing, and one after the other; ``changes`` runs the
statements."""

from sqlfront.commands.changes import Change, change
from sqlfront.commands.run import CommandOutcome, StatementRun, unsupported_operation
from sqlfront_connectors.memory.keyed_table import KeyedTable
from sqlfront_planner.catalog import TableEntry
from sqlfront_planner.statements.structs import Delete


def modify(run: StatementRun, statement: Change) -> CommandOutcome:
    """DELETE: remove the rows for which the condition is true. UPDATE: give them new values."""
    entry, table = modifiable(run, statement)
    return change(run, statement, entry.name, table)


def modifiable(run: StatementRun, statement: Change) -> tuple[TableEntry, KeyedTable]:
    """The entry and the table whose rows the statement changes. Raises NotSupportedError if the table's rows
    can't be changed."""
    entry = run.entry(statement.name)
    if isinstance(entry, TableEntry) and isinstance(entry.table, KeyedTable):
        return entry, entry.table
    what = "DELETE" if isinstance(statement, Delete) else "UPDATE TABLE"
    raise unsupported_operation(entry, what, "Memory tables do, as long as they are not cached.")
