"""DELETE and UPDATE where the rows lie on several members.

A few rows, found by their keys, are asked from their owners and told to the members, without a job. By a job
each member finds those that are meant by their numbers and makes its share of the new version. Where rows
have to move to other members, all of them are stored anew.
"""

from collections.abc import Sequence

from sqlfront.commands.run import Run
from sqlfront_connectors.memory.spread import How, SpreadTable
from sqlfront_connectors.memory.spread_changes import change_rows
from sqlfront_engine.row_programs.program import NotByRows
from sqlfront_planner import modification
from sqlfront_planner.logical import LogicalPlan
from sqlfront_planner.row_lowering.row_plan import RowPlan
from sqlfront_planner.statement import Delete, Update


def moves(table: SpreadTable, statement: Delete | Update, name: str) -> bool:
    """Whether rows with their new values may belong to other members, or all rows do by now."""
    columns = statement.columns if isinstance(statement, Update) else ()
    changed = modification.places(columns, table.schema, name)
    return not table.in_place or not set(changed).isdisjoint(keys_of(table))


def keys_of(table: SpreadTable) -> tuple[int, ...]:
    """The ordinals of the numbered table's columns that say which member has a row."""
    return (len(table.schema),) if table.partitioning is None else table.partitioning.columns


def store_anew(
    run: Run, statement: Delete | Update, name: str, table: SpreadTable, bound: LogicalPlan
) -> int | None:
    """Store all rows, as they are after the statement, in place of the rows that the table has. Returns the
    number of rows that the statement means; None for an UPDATE whose condition is random, since the condition
    is asked once to count the rows and once to change them. The caller has the table's turn."""
    if isinstance(statement, Update):
        matched = modification.matched(bound, table.schema)
        meant = None if matched is None else sum(batch.num_rows for batch in run.rows(matched))
        if meant != 0:
            rows = modification.updated(bound, statement.columns, name, table.schema)
            run.store(table, rows, overwrite=True)
        return meant
    before = table.snapshot().statistics.rows or 0
    return before - run.store(table, modification.remaining(bound, table.schema), overwrite=True)


def change_by_job(run: Run, table: SpreadTable, meant: LogicalPlan, *, updates: bool) -> int:
    """Change the rows that the plan ``meant`` gives, with the columns that say where they are. Returns the
    number of these rows."""
    if updates:
        return run.publish(table, meant, How.UPDATE, keys_of(table))
    before = table.snapshot().statistics.rows or 0
    run.publish(table, meant, How.DELETE, tuple(range(len(keys_of(table)))))
    return before - (table.snapshot().statistics.rows or 0)


def change_by_rows(
    run: Run, table: SpreadTable, plan: RowPlan, values: Sequence[object], *, updates: bool
) -> int:
    """The same for those that a program gives; how many are meant. Raises NotByRows."""
    session = run.session
    query = session.limited("", run.timeout, run.query)
    with table.turn():
        if not table.in_place:
            raise NotByRows
        rows = plan.rows(values, session.settings, query)
        if rows:
            with table.next_version(How.UPDATE if updates else How.DELETE) as version:
                keys = keys_of(table) if updates else tuple(range(len(keys_of(table))))
                change_rows(version, rows, keys, stores=updates, query=query)
    return len(rows)
