"""The entry point of DELETE and UPDATE, which change memory tables and tables over files all or nothing, one
statement at a time; :mod:`sqlfront.commands.changes` and :mod:`sqlfront.commands.file_changes` run the
statements."""

from sqlfront.commands.changes import Change, change
from sqlfront.commands.file_changes import change_files
from sqlfront.commands.run import CommandOutcome, StatementRun, unsupported_operation
from sqlfront_connectors.files import FileTable
from sqlfront_connectors.memory.keyed_table import KeyedTable
from sqlfront_planner.catalog import TableEntry
from sqlfront_planner.statements.structs import Delete


def modify(run: StatementRun, statement: Change) -> CommandOutcome:
    """Run a DELETE, which removes the rows for which the condition is true, or an UPDATE, which gives such
    rows new values. The outcome has the number of affected rows."""
    entry, table = modifiable(run, statement)
    if isinstance(table, FileTable):
        return change_files(run, statement, entry, table)
    return change(run, statement, entry.name, table)


def modifiable(run: StatementRun, statement: Change) -> tuple[TableEntry, KeyedTable | FileTable]:
    """Return the catalog's entry and the table whose rows the statement changes. Raises NotSupportedError for
    other relations, cached tables included."""
    entry = run.entry(statement.name)
    if isinstance(entry, TableEntry) and isinstance(entry.table, KeyedTable | FileTable):
        return entry, entry.table
    what = "DELETE" if isinstance(statement, Delete) else "UPDATE TABLE"
    raise unsupported_operation(
        entry, what, "Memory tables and tables over files do, as long as they are not cached."
    )
