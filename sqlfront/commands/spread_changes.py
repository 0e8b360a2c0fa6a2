"""DELETE and UPDATE of tables whose rows are on several members.

A few rows, found by their keys, are read from their owners, and the change is sent to the members, without a
job. In a job, each member finds the affected rows by their numbers and makes its share of the new version. If
rows have to move to other members, all rows are stored anew.
"""

from collections.abc import Sequence

from sqlfront.commands.run import StatementRun
from sqlfront_connectors.memory.spread.changes import change_rows
from sqlfront_connectors.memory.spread.table import How, SpreadTable
from sqlfront_engine.row_programs.program import NotByRows
from sqlfront_planner.logical import LogicalPlan
from sqlfront_planner.row_lowering.row_plan import RowPlan
from sqlfront_planner.statement import Delete, Update
from sqlfront_planner.table_changes import modification


def moves(table: SpreadTable, statement: Delete | Update, name: str) -> bool:
    """Whether rows may belong to other members with their new values, or rows have to move already."""
    columns = statement.columns if isinstance(statement, Update) else ()
    changed = modification.places(columns, table.schema, name)
    return not table.in_place or not set(changed).isdisjoint(keys_of(table))


def keys_of(table: SpreadTable) -> tuple[int, ...]:
    """The ordinals of the numbered table's columns that determine the member of a row."""
    return (len(table.schema),) if table.partitioning is None else table.partitioning.columns


def store_anew(
    run: StatementRun, statement: Delete | Update, name: str, table: SpreadTable, bound: LogicalPlan
) -> int | None:
    """Store all rows, as they are after the statement, in place of the table's rows. Return the number of
    affected rows; None for an UPDATE whose condition is random, since the condition is evaluated once to
    count the rows and once to change them. The caller holds the table's turn."""
    if isinstance(statement, Update):
        matched = modification.matched(bound, table.schema)
        meant = None if matched is None else sum(batch.num_rows for batch in run.rows(matched))
        if meant != 0:
            rows = modification.updated(bound, statement.columns, name, table.schema)
            run.store(table, rows, overwrite=True)
        return meant
    before = table.snapshot().statistics.rows or 0
    return before - run.store(table, modification.remaining(bound, table.schema), overwrite=True)


def change_by_job(run: StatementRun, table: SpreadTable, meant: LogicalPlan, *, updates: bool) -> int:
    """Change the rows of the plan ``meant``, which includes the columns that locate the rows. Return the
    number of the rows."""
    if updates:
        return run.publish(table, meant, How.UPDATE, keys_of(table))
    before = table.snapshot().statistics.rows or 0
    run.publish(table, meant, How.DELETE, tuple(range(len(keys_of(table)))))
    return before - (table.snapshot().statistics.rows or 0)


def change_by_rows(
    run: StatementRun, table: SpreadTable, plan: RowPlan, values: Sequence[object], *, updates: bool
) -> int:
    """Change the rows that a row program gives. Return their number. Raises NotByRows if the change needs a
    job or rows have to move."""
    context = run.context
    query = context.limited("", run.timeout, run.query)
    with table.turn():
        if not table.in_place:
            raise NotByRows
        rows = plan.rows(values, context.settings, query)
        if rows:
            with table.next_version(How.UPDATE if updates else How.DELETE) as version:
                keys = keys_of(table) if updates else tuple(range(len(keys_of(table))))
                change_rows(version, rows, keys, stores=updates, query=query)
    return len(rows)
