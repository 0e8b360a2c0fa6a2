"""DELETE and UPDATE on memory tables: all or nothing, and one after the other."""

from collections.abc import Callable

from sqlfront.commands.caching import refresh_copies
from sqlfront.commands.run import Made, Run, wrote
from sqlfront.commands.tables import overflow_of
from sqlfront_connectors.memory import MemoryTable
from sqlfront_connectors.memory.spread import SpreadTable
from sqlfront_engine.errors import Error, NotSupportedError
from sqlfront_planner.catalog import Entry, TableEntry
from sqlfront_planner.logical import LogicalPlan
from sqlfront_planner.modification import remaining, updated
from sqlfront_planner.statement import Delete, Update


def delete(run: Run, statement: Delete) -> Made:
    """DELETE: the rows for which the condition is true are gone."""
    table = _modifiable(run.entry(statement.name), "DELETE")

    def rest() -> LogicalPlan:
        return remaining(run.bind(statement.rows), table.schema)

    before, after = _replace(run, table, rest)
    return wrote(before - after)


def update(run: Run, statement: Update) -> Made:
    """UPDATE: the rows for which the condition is true have new values."""
    entry = run.entry(statement.name)
    table = _modifiable(entry, "UPDATE TABLE")

    def changed() -> LogicalPlan:
        return updated(run.bind(statement.rows), statement.columns, entry.name, table.schema)

    with overflow_of(entry):
        _replace(run, table, changed)
    return wrote(None)


def _replace(run: Run, table: MemoryTable | SpreadTable, plan: Callable[[], LogicalPlan]) -> tuple[int, int]:
    """Put the plan's rows in the place of the table's; the numbers of rows before and after. The plan is made
    when it is this writer's turn, so that it reads the version that it replaces."""
    with table.turn():
        before = table.snapshot().statistics.rows
        after = run.store(table, plan(), overwrite=True)
    refresh_copies(run, table)
    return before or 0, after


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
