"""DELETE and UPDATE of a memory table: planned once for repeated statements.

The affected rows are found as a query's rows are, by a row program or by a job; the new version shares all
other rows with the version before. ``spread_changes`` has the differences for tables on several members.
"""

import time
from collections.abc import Sequence
from typing import TypeAlias, cast

import pyarrow as pa
from msgspec.structs import replace

from sqlfront.commands import spread_changes
from sqlfront.commands.caching import following
from sqlfront.commands.run import Made, StatementRun, overflow_of, result_of, wrote
from sqlfront.lanes import jobs
from sqlfront.results.result import Result
from sqlfront.state.plans import ChangePlan
from sqlfront_connectors.memory import MemoryTable
from sqlfront_connectors.memory.keyed_table import KeyedTable
from sqlfront_connectors.memory.numbered_table import NumberedTable
from sqlfront_connectors.memory.segments.numbering import numbers_of, places
from sqlfront_connectors.memory.segments.row_paths import batch_of
from sqlfront_connectors.memory.segments.segment import RowNumbers
from sqlfront_connectors.memory.spread.table import SpreadTable
from sqlfront_engine.row_programs.program import NotByRows
from sqlfront_planner.binder import Binding, bind_query
from sqlfront_planner.logical import LogicalPlan
from sqlfront_planner.plan import QueryPlan
from sqlfront_planner.plan_cache import with_literals
from sqlfront_planner.planning import plan_logical, plan_rows, plan_small
from sqlfront_planner.row_lowering.row_plan import RowPlan
from sqlfront_planner.statement import Delete, Update, parse
from sqlfront_planner.table_changes import modification

Change: TypeAlias = Delete | Update


def change(run: StatementRun, statement: Change, name: str, table: KeyedTable) -> Made:
    """Plan and run the statement; cache the plan for repeated statements where that pays."""
    context, text, updates = run.context, statement.rows.sql, isinstance(statement, Update)
    catalog, key = context.catalog, context.plan_key
    version = catalog.version
    with following(run, lambda: table), overflow_of(name), table.turn():
        arguments = with_literals(text, run.arguments)
        binding = bind_query(statement.rows, catalog, context.bind_settings, arguments)
        modification.check_table(binding.plan, table, name)
        bound_run = replace(run, request=replace(run.request, arguments=binding.arguments))
        if isinstance(table, SpreadTable):
            count, rows = _change_spread(bound_run, statement, name, table, binding)
        else:
            assert isinstance(table, MemoryTable)
            count, rows = _change_here(bound_run, statement, name, table, binding)
    if rows is not None and context.is_settled(key):
        plan = ChangePlan(table, name, updates, rows)
        context.plans.add(text, run.arguments, key, binding, plan, pins=False, catalog_version=version)
    return wrote(count)


def _change_here(
    run: StatementRun, statement: Change, name: str, table: MemoryTable, binding: Binding
) -> tuple[int, RowPlan | None]:
    """Return the number of affected rows, and the row program that has found the rows."""
    context, values = run.context, run.arguments.values
    meant = _meant(statement, name, table, binding)
    rows = plan_small(replace(binding, plan=meant, titles={}), context.settings, context.target)
    plan = ChangePlan(table, name, isinstance(statement, Update), rows)
    try:
        return _publish(run, plan, values), rows if isinstance(rows, RowPlan) else None
    except NotByRows:
        rows = plan_logical(meant, context.settings, context.target)
        return _publish(run, replace(plan, rows=rows), values), None


def _change_spread(
    run: StatementRun, statement: Change, name: str, table: SpreadTable, binding: Binding
) -> tuple[int | None, RowPlan | None]:
    """Return the number of affected rows of a table on several members (None: unknown), and the row program
    that has found the rows."""
    if spread_changes.moves(table, statement, name):
        return spread_changes.store_anew(run, statement, name, table, binding.plan), None
    context, updates = run.context, isinstance(statement, Update)
    meant = _meant(statement, name, table, binding)
    rows = plan_rows(replace(binding, plan=meant, titles={}), context.settings, context.target)
    if rows is not None:
        try:
            return _publish(run, ChangePlan(table, name, updates, rows), run.arguments.values), rows
        except NotByRows:
            pass
    return spread_changes.change_by_job(run, table, meant, updates=updates), None


def _meant(statement: Change, name: str, table: KeyedTable, binding: Binding) -> LogicalPlan:
    """The logical plan of the affected rows of a :class:`ChangePlan`."""
    numbered = NumberedTable(table)
    if isinstance(statement, Update):
        return modification.changed(binding.plan, numbered, statement.columns, name)
    keys = spread_changes.keys_of(table) if isinstance(table, SpreadTable) else ()
    return modification.deleted(binding.plan, numbered, keys)


def change_again(run: StatementRun, plan: ChangePlan, values: Sequence[object]) -> Result:
    """Run a cached plan for a statement of the same shape; plan the statement anew if the plan doesn't serve
    these values."""
    began, context = time.perf_counter(), run.context
    try:
        with following(run, lambda: plan.table), overflow_of(plan.name):
            count = _publish(run, plan, values)
    except NotByRows:
        request = run.request
        statement = parse(request.text)
        assert isinstance(statement, Change)
        query = request.query or context.begin(request.text)
        run = StatementRun(context, replace(request, query=query))
        made = change(run, statement, plan.name, plan.table)
    else:
        made = wrote(count)
    context.plans.sweep(context.catalog)  # cached plans keep old versions of changed tables alive
    return result_of(context, made, time.perf_counter() - began)


def _publish(run: StatementRun, plan: ChangePlan, values: Sequence[object]) -> int:
    """Publish the next version of the table; return the number of affected rows."""
    table = plan.table
    if isinstance(table, SpreadTable):
        assert isinstance(plan.rows, RowPlan)
        return spread_changes.change_by_rows(run, table, plan.rows, values, updates=plan.updates)
    assert isinstance(table, MemoryTable)
    with table.turn():
        snapshot = table.snapshot()
        numbers, stored = _rows(run, plan, values)
        table.replace_rows(snapshot, places(snapshot.segments, numbers), stored)
    return len(numbers)


def _rows(
    run: StatementRun, plan: ChangePlan, values: Sequence[object]
) -> tuple[Sequence[int] | RowNumbers, list[pa.RecordBatch]]:
    """The numbers of the affected rows, and the replacing rows."""
    schema = plan.table.schema
    if isinstance(plan.rows, QueryPlan):
        job = jobs.submit(run.context, plan.rows, values, timeout=run.timeout, query=run.query)
        batches = list(job.batches())
        width = list(range(len(schema)))
        return numbers_of(batches), [batch.select(width) for batch in batches] if plan.updates else []
    rows = plan.rows.rows(values, run.context.settings)
    numbers = [cast("int", row[-1]) for row in rows]
    return numbers, [batch_of(rows, schema)] if rows and plan.updates else []
