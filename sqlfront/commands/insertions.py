"""INSERT INTO a memory table of rows that are in the statement, without a job; plans of statements with
parameters are cached.

A row program computes the rows. If the rows are on several members, only the owner of each row's partition is
asked, and the members with backups of its rows.
"""

import time
from collections.abc import Sequence

from msgspec.structs import replace
from sqlglot import exp

from sqlfront.commands.copies import following
from sqlfront.commands.run import CommandOutcome, StatementRun, details_of, overflow_of
from sqlfront.results.result import Result
from sqlfront.state.plans import InsertPlan
from sqlfront_connectors.memory.keyed_table import KeyedTable
from sqlfront_engine.row_programs.program import NotByRows
from sqlfront_planner.binder import bind_query
from sqlfront_planner.catalog import TableEntry
from sqlfront_planner.planning import plan_rows
from sqlfront_planner.row_compiler.row_plan import RowPlan
from sqlfront_planner.statements.dotted_names import name_parts
from sqlfront_planner.statements.structs import Insert
from sqlfront_planner.table_changes.insertion import assign
from sqlfront_values.errors import NotSupportedError

#: Rows of a statement up to which they are inserted by rows: more are faster by columns, in a job.
MOST_ROWS = 100


def insert_values(run: StatementRun, statement: Insert) -> CommandOutcome | None:
    """Insert the rows of ``INSERT INTO ... VALUES``, and cache the plan if the statement has parameters.
    Return None, and do nothing, if the statement has to run otherwise: by a job, or because the table is no
    memory table. Raises the errors of planning, and of evaluating the rows."""
    context, text = run.context, run.request.text
    if run.source is not None or not _has_few_values(statement) or statement.query.sql != text:
        return None
    catalog, key, version = context.catalog.pinned(), context.plan_key, context.catalog.version
    entry = catalog.lookup(name_parts(statement.name))
    if not isinstance(entry, TableEntry) or not isinstance(entry.table, KeyedTable):
        return None
    table = entry.table
    try:
        binding = bind_query(statement.query, context.catalog, context.bind_settings, run.arguments)
    except NotSupportedError:  # which Spark may support
        return None
    meant = assign(binding.plan, statement.name, table.schema, statement.columns)
    found = plan_rows(replace(binding, plan=meant, titles={}), context.settings, context.target)
    if not isinstance(found, RowPlan) or found.sources or found.tables:
        return None
    asked = details_of(entry).required
    places = tuple(place for place, name in enumerate(table.schema.names) if name in asked)
    plan = InsertPlan(table, entry.name, found, places)
    try:
        count = _insert(run, plan, run.arguments.values)
    except NotByRows:
        return None
    if run.arguments.values and context.is_settled(key):
        binding = replace(binding, lookups={**binding.lookups, **catalog.lookups})
        context.plans.add(text, run.arguments, key, binding, plan, pins=False, catalog_version=version)
    return CommandOutcome(written=count)


def _has_few_values(statement: Insert) -> bool:
    values = statement.query.tree
    return not statement.overwrite and isinstance(values, exp.Values) and len(values.expressions) <= MOST_ROWS


def insert_again(run: StatementRun, plan: InsertPlan, values: Sequence[object]) -> Result | None:
    """Run the cached plan of an INSERT with the ``values`` of its parameters, and return the statement's
    result; None, and nothing is inserted, if the rows need a job."""
    began, context = time.perf_counter(), run.context
    try:
        made = CommandOutcome(written=_insert(run, plan, values))
    except NotByRows:
        return None
    context.plans.sweep(context.catalog)  # cached plans keep old versions of changed tables alive
    return made.result(context, time.perf_counter() - began)


def _insert(run: StatementRun, plan: InsertPlan, values: Sequence[object]) -> int:
    """Insert the rows that the plan's row program computes, and return their number. Raises NotByRows if the
    rows need a job."""
    context = run.context
    query = context.limited("", run.timeout, run.query)
    with following(run, lambda: plan.table), overflow_of(plan.name):
        rows = plan.rows.rows(values, context.settings, query)
        if any(row[place] is None for row in rows for place in plan.required):
            raise NotByRows  # the job raises the error
        plan.table.add_rows(rows, query)
    return len(rows)
