"""DELETE and UPDATE of a memory table; their plans are cached for repeated statements.

A row program finds the affected rows if there are few, else a job does, as for a query. The new version of
the table shares all other rows with the version before. In a job on several members, each member finds the
affected rows by their row numbers and makes its share of the new version. If rows have to move to other
members, all rows are stored anew.
"""

import time
from collections.abc import Sequence
from contextlib import suppress
from typing import TypeAlias

from msgspec.structs import replace

from sqlfront.commands.copies import following
from sqlfront.commands.run import CommandOutcome, StatementRun, details_of, overflow_of
from sqlfront.results.result import Result
from sqlfront.state.plans import ChangePlan
from sqlfront_connectors.base import RowValues, TooManyRows
from sqlfront_connectors.memory import MemoryTable
from sqlfront_connectors.memory.keyed_table import KeyedTable, NewValues
from sqlfront_connectors.memory.numbered_table import NumberedTable
from sqlfront_connectors.memory.spread.next_version import ChangeMode
from sqlfront_connectors.memory.spread.table import SpreadTable
from sqlfront_engine.jobs.query_run import QueryRun
from sqlfront_engine.row_programs.program import NotByRows, ProgramRun
from sqlfront_planner.binder import Binding, bind_query
from sqlfront_planner.logical import LogicalPlan
from sqlfront_planner.plan import QueryPlan
from sqlfront_planner.plan_cache import with_literals
from sqlfront_planner.planning import plan_rows, plan_small
from sqlfront_planner.row_compiler.row_plan import RowPlan
from sqlfront_planner.statement import parse
from sqlfront_planner.statements.structs import Delete, Update
from sqlfront_planner.table_changes import modification
from sqlfront_planner.table_changes.keyed import KeyedChange, keyed_change
from sqlfront_planner.table_changes.requirement import required

Change: TypeAlias = Delete | Update


def change(run: StatementRun, statement: Change, name: str, table: KeyedTable) -> CommandOutcome:
    """Plan and run a DELETE or UPDATE of ``table``, which has the ``name``. The plan is cached for repeated
    statements if a row program has found the rows. The outcome has the number of affected rows."""
    context, text = run.context, statement.rows.sql
    catalog, key = context.catalog, context.plan_key
    version = catalog.version
    with following(run, lambda: table), overflow_of(name), table.turn():
        arguments = with_literals(text, run.arguments)
        binding = bind_query(statement.rows, catalog.with_elsewhere(), context.bind_settings, arguments)
        modification.check_table(binding.plan, table, name)
        bound_run = replace(run, request=replace(run.request, arguments=binding.arguments))
        count, plan = _change(bound_run, statement, name, table, binding)
    if plan is not None and context.is_settled(key):
        context.plans.add(text, run.arguments, key, binding, plan, pins=False, catalog_version=version)
    return CommandOutcome(written=count)


def _change(
    run: StatementRun, statement: Change, name: str, table: KeyedTable, binding: Binding
) -> tuple[int, ChangePlan | None]:
    """Change the table ``table``, named ``name``, by the statement, whose query of the affected rows is bound
    in ``binding``. Return the number of affected rows, and the plan whose row program has found the
    rows (None: a job has found the rows, or all rows were stored anew)."""
    if _changes_home(statement, table, binding.plan):
        return _store_anew(run, statement, name, table, binding.plan), None
    context, updates, numbered = run.context, isinstance(statement, Update), NumberedTable(table)
    if isinstance(statement, Update):
        meant = modification.changed(binding.plan, numbered, statement.assigned, name)
        meant = required(meant, table.schema, _required(run, statement, table, binding.plan))
    else:
        meant = modification.deleted(binding.plan, numbered, table.home_columns)
    rows = run.here(meant)
    found = None
    if rows is meant:  # no rows of Spark's, which a cached plan would keep
        plan = plan_rows if table.is_spread else plan_small  # a spread table's job stores the rows, too
        found = plan(replace(binding, plan=meant, titles={}), context.settings, context.target)
    if isinstance(found, RowPlan):
        again = ChangePlan(table, name, updates, found, _keyed(found, table, updates=updates))
        with suppress(NotByRows):
            return _by_rows(run, again, run.arguments.values), again
        found = None
    if not table.in_place:  # a job looks for rows at the owners of their partitions
        return _store_anew(run, statement, name, table, binding.plan), None
    return _by_job(run, table, rows, found, updates=updates), None


def _keyed(found: RowPlan, table: KeyedTable, *, updates: bool) -> KeyedChange | None:
    """Return the change that the members of a cluster can make by the rows' keys alone; None if there is
    none, or if all rows are in this process."""
    if not table.is_spread or table.partitioning is None:
        return None
    return keyed_change(found, table.partitioning.columns, len(table.schema), updates=updates)


def _required(run: StatementRun, statement: Update, table: KeyedTable, bound: LogicalPlan) -> frozenset[str]:
    """Return the names of the NOT NULL columns among the columns that the statement sets. ``bound``: the
    bound plan of the statement's rows."""
    given = modification.assigned(bound, statement.assigned, table.schema)
    names = details_of(run.entry(statement.name)).required
    return frozenset(table.schema.names[place] for place in given).intersection(names)


def _changes_home(statement: Change, table: KeyedTable, bound: LogicalPlan) -> bool:
    """Return whether the statement sets columns that decide which member holds a row, so that all rows have
    to be stored anew. ``bound``: the bound plan of the statement's rows."""
    if isinstance(statement, Delete) or not table.home_columns:
        return False
    changed = modification.assigned(bound, statement.assigned, table.schema)
    return not changed.isdisjoint(table.home_columns)


def change_again(run: StatementRun, plan: ChangePlan, values: Sequence[object]) -> Result:
    """Run the cached plan of a DELETE or UPDATE with the ``values`` of its parameters, and return the
    statement's result. If the affected rows are too many for the row program, or can't be looked up since a
    member is gone, the statement is parsed and planned anew."""
    began, context = time.perf_counter(), run.context
    try:
        with following(run, lambda: plan.table), overflow_of(plan.name):
            count = _by_rows(run, plan, values)
    except NotByRows:
        request = run.request
        statement = parse(request.text)
        assert isinstance(statement, Change)
        query = request.query or context.begin(request.text)
        run = StatementRun(context, replace(request, query=query))
        made = change(run, statement, plan.name, plan.table)
    else:
        made = CommandOutcome(written=count)
    context.plans.sweep(context.catalog)  # cached plans keep old versions of changed tables alive
    return made.result(context, time.perf_counter() - began)


def _by_rows(run: StatementRun, plan: ChangePlan, values: Sequence[object]) -> int:
    """Change the rows that the plan's row program finds, and return their number. Raises NotByRows if the
    change needs a job, or rows can't be looked up since a member is gone."""
    table, context = plan.table, run.context
    query = context.limited("", run.timeout, run.query)

    if plan.keyed is not None:
        count = _by_keys(plan, plan.keyed, plan.keyed.constants.run(values, context.settings), query)
        if count is not None:
            return count

    def find() -> Sequence[RowValues]:
        if not table.takes_row_changes:
            raise NotByRows
        return plan.rows.rows(values, context.settings, query)

    return table.change_found(find, stores=plan.updates, query=query)


def _by_keys(plan: ChangePlan, change: KeyedChange, run: ProgramRun, query: QueryRun | None) -> int | None:
    """Have the table change the rows with the keys of a ``run``, and return their number; None if the table
    can't find them by itself. Raises NotByRows if the change needs a job."""
    new = None if change.places is None else NewValues(change.places, change.new_values(run))
    try:
        count = plan.table.change_keys(change.keys(run), new, query)
    except (OverflowError, TooManyRows):
        raise NotByRows from None
    if query is not None and query.jobs is not None:  # somebody observes the query
        query.rows_by_programs = count
    return count


def _by_job(
    run: StatementRun, table: KeyedTable, meant: LogicalPlan, job: QueryPlan | None, *, updates: bool
) -> int:
    """Change the table by the rows of the plan ``meant``: the affected rows with their new values (UPDATE),
    or the columns that locate them (DELETE). ``job``: the plan of a job that reads the rows, None = not
    planned yet. ``updates``: True for UPDATE, False for DELETE. Return the number of changed rows."""
    if isinstance(table, MemoryTable):
        batches = run.rows(meant) if job is None else run.submit(job).batches()
        return table.change_batches(list(batches), stores=updates)
    assert isinstance(table, SpreadTable)
    home, before = table.home_columns, _count(table)
    how, keys = (ChangeMode.UPDATE, home) if updates else (ChangeMode.DELETE, tuple(range(len(home))))
    with table.next_version(how) as version:
        written = run.publish(version, meant, keys)
    return written if updates else before - _count(table)


def _store_anew(
    run: StatementRun, statement: Change, name: str, table: KeyedTable, bound: LogicalPlan
) -> int:
    """Store all rows of the table anew, as they are after the statement; ``bound`` is the bound plan of the
    statement's rows. The caller has the table's turn. Return the number of affected rows."""
    if isinstance(statement, Update):
        count, not_null = statement.assigned, _required(run, statement, table, bound)
        rows = modification.updated(bound, count, name, table.schema)
        # By the plan of other changes, whose errors don't depend on whether rows are affected.
        affected = modification.changed(bound, table, count, name)
        found = run.rows(run.here(required(affected, table.schema, not_null)))
        meant = sum(batch.num_rows for batch in found)
        if meant:
            run.store(table, run.here(required(rows, table.schema, not_null)), overwrite=True)
        return meant
    kept = run.here(modification.remaining(bound, table.schema))
    return _count(table) - run.store(table, kept, overwrite=True)


def _count(table: KeyedTable) -> int:
    return table.snapshot().statistics.rows or 0
