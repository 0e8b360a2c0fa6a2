"""INSERT and TRUNCATE TABLE.

Rows of a memory table that are in the statement itself are inserted without a job, and plans of such
statements with parameters are cached: a row program computes the rows. If the rows are on several members,
only the owner of each row's partition is asked, and the members with backups of its rows.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext

import pyarrow as pa
from msgspec.structs import replace
from sqlglot import exp

from sqlfront.commands.copies import following, give_up, recover, turn_of
from sqlfront.commands.run import (
    NOTHING,
    CommandOutcome,
    StatementRun,
    details_of,
    origin_of,
    overflow_of,
)
from sqlfront.results.result import Result
from sqlfront.state.cached_table import CopyBehind, writable
from sqlfront.state.plans import InsertPlan
from sqlfront_connectors.files import FileTable
from sqlfront_connectors.memory.keyed_table import KeyedTable
from sqlfront_engine.row_programs.program import NotByRows
from sqlfront_planner.binder import bind_query
from sqlfront_planner.binder.names import shown_names
from sqlfront_planner.catalog import Entry, TableEntry
from sqlfront_planner.logical import LogicalPlan, LogicalValues
from sqlfront_planner.planning import plan_rows
from sqlfront_planner.row_compiler.row_plan import RowPlan
from sqlfront_planner.statements.dotted_names import name_parts
from sqlfront_planner.statements.structs import Insert, TruncateTable
from sqlfront_planner.table_changes.insertion import inserted
from sqlfront_planner.table_changes.requirement import required
from sqlfront_values.errors import NotSupportedError, spark_error

#: Rows of a statement up to which they are inserted by rows: more are faster by columns, in a job.
MOST_ROWS = 100


def insert(run: StatementRun, statement: Insert) -> CommandOutcome:
    """INSERT INTO or OVERWRITE: add the query's rows to the table, or replace the table's rows by them, all
    or none; then refill CACHE TABLE's copies of views that read the table. The outcome has the number of rows
    written. Raises TABLE_OR_VIEW_NOT_FOUND for an unknown name, ProgrammingError for a view and for a table
    that takes no rows."""
    made = insert_values(run, statement)
    if made is not None:
        return made

    def rows(schema: pa.Schema) -> LogicalPlan:
        return inserted(run.read(statement.query), statement, schema)

    return _store(run, statement.name, rows, overwrite=statement.overwrite)


def truncate(run: StatementRun, statement: TruncateTable) -> CommandOutcome:
    """TRUNCATE TABLE: remove all rows of the table, at once. Raises EXPECT_TABLE_NOT_VIEW for a view, a
    temporary table included, CANNOT_TRUNCATE_EXTERNAL_TABLE for a table over files that has a LOCATION."""
    entry = run.entry(statement.name)
    origin = origin_of(entry)
    name = shown_names.quoted(name_parts(entry.name))
    if not isinstance(origin, TableEntry) or origin.temporary:
        raise spark_error(
            "EXPECT_TABLE_NOT_VIEW.NO_ALTERNATIVE", f"'TRUNCATE TABLE' expects a table but {name} is a view."
        )
    if isinstance(origin.table, FileTable) and not origin.table.managed:
        raise spark_error(
            "CANNOT_TRUNCATE_EXTERNAL_TABLE",
            f"Operation not allowed: TRUNCATE TABLE on external tables: {name}.",
        )
    _store(run, statement.name, lambda schema: LogicalValues(schema, ()), overwrite=True)
    return NOTHING


def _store(
    run: StatementRun, name: str, rows: Callable[[pa.Schema], LogicalPlan], *, overwrite: bool
) -> CommandOutcome:
    """Add rows to the table ``name``, or with ``overwrite`` put them in place of the table's rows; then
    refill the copies that read the table. ``rows``: plans the rows for the table's schema. The outcome has
    the number of rows."""
    entry = run.entry(name)
    table = writable(entry)
    with following(run, lambda: table):
        try:
            with run.writing(table) as abandoned:
                if abandoned:
                    recover(run.context, entry)
                    entry = run.entry(name)
                    table = writable(entry)
                with _turn(entry, overwrite=overwrite), overflow_of(entry.name):
                    plan = required(rows(table.schema), table.schema, details_of(entry).required)
                    written = run.store(table, plan, overwrite=overwrite)
        except CopyBehind as behind:
            written = behind.rows
            give_up(run, entry, behind.error)
    return CommandOutcome(written=written)


def _turn(entry: Entry, *, overwrite: bool) -> AbstractContextManager[object]:
    """A context for an INSERT into the entry's table that excludes other writers where that is needed: for
    OVERWRITE, whose query may read the table itself, and for a cached table, so that its copy gets the rows
    in the same order as the table."""
    origin = origin_of(entry)
    if isinstance(origin, TableEntry) and (overwrite or origin is not entry):
        return turn_of(origin.table)
    return nullcontext()


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
    meant = inserted(binding.plan, statement, table.schema)
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
