"""DELETE and UPDATE of a memory table in this process: planned once for statements that come again.

The rows that are meant are found as those of a query are, by a program over a few of them or by a job, and
the new version shares all others with the one before.
"""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias, cast

import msgspec
import pyarrow as pa
from msgspec.structs import replace

from sqlfront.commands.caching import refresh_copies
from sqlfront.commands.run import Made, Run, overflow_of, result_of, wrote
from sqlfront.result import Result
from sqlfront_connectors.memory import MemoryTable
from sqlfront_connectors.memory.numbered_table import NumberedTable
from sqlfront_connectors.memory.numbering import numbers_of, places
from sqlfront_connectors.memory.segment import RowNumbers
from sqlfront_engine.arrays import from_values
from sqlfront_engine.query_run import QueryRun
from sqlfront_engine.row_programs.program import NotByRows
from sqlfront_engine.types import physical
from sqlfront_planner import modification
from sqlfront_planner.binder import Arguments, bind_query
from sqlfront_planner.lanes import Lane
from sqlfront_planner.plan import QueryPlan
from sqlfront_planner.plan_cache import with_literals
from sqlfront_planner.planning import plan_logical, plan_small
from sqlfront_planner.row_lowering.row_plan import RowPlan
from sqlfront_planner.statement import Delete, Update, parse

if TYPE_CHECKING:
    from sqlfront.session import Session

Change: TypeAlias = Delete | Update


class ChangePlan(msgspec.Struct, frozen=True, eq=False):
    """How a DELETE or UPDATE is done: ``rows`` gives the rows that it means, with their numbers in the last
    column, UPDATE's as they are to be. ``name`` is the table's."""

    table: MemoryTable
    name: str
    updates: bool
    rows: RowPlan | QueryPlan

    @property
    def lane(self) -> Lane:
        """The way to the rows."""
        return self.rows.lane

    @property
    def reason(self) -> str:
        """Why that."""
        return self.rows.reason


def change(run: Run, statement: Change, name: str, table: MemoryTable) -> Made:
    """Plan and do it; a plan that is worth it is kept for the next of its kind."""
    session, text, updates = run.session, statement.rows.sql, isinstance(statement, Update)
    queries, catalog = session.queries, session.catalog
    key, version = queries.key, catalog.version
    with table.turn():
        arguments = with_literals(text, run.arguments)
        binding = bind_query(statement.rows, catalog, session.bind_settings, arguments)
        modification.check_table(binding.plan, table, name)
        numbered = NumberedTable(table)
        if isinstance(statement, Update):
            meant = modification.changed(binding.plan, numbered, statement.columns, name)
        else:
            meant = modification.deleted(binding.plan, numbered, ())
        rows = plan_small(replace(binding, plan=meant, titles={}), session.settings, session.target)
        plan, values = ChangePlan(table, name, updates, rows), binding.arguments.values
        try:
            count = _publish(run, plan, values)
        except NotByRows:
            rows = plan_logical(meant, session.settings, session.target)
            count = _publish(run, replace(plan, rows=rows), values)
    refresh_copies(run, table)
    if isinstance(rows, RowPlan) and queries.is_settled(key):
        queries.plans.add(text, run.arguments, key, binding, plan, pins=False, catalog_version=version)
    return wrote(None if updates else count)


def change_again(
    session: "Session",
    text: str,
    plan: ChangePlan,
    values: Sequence[object],
    arguments: Arguments,
    timeout: float | None,
    query: QueryRun | None,
) -> Result:
    """Do what was planned for a statement of this shape; plan it anew if that doesn't do for these values."""
    began = time.perf_counter()
    run = Run(session, arguments, timeout, query)
    try:
        count = _publish(run, plan, values)
    except NotByRows:
        statement = parse(text)
        assert isinstance(statement, Change)
        made = change(replace(run, query=query or session.begin(text)), statement, plan.name, plan.table)
    else:
        refresh_copies(run, plan.table)
        made = wrote(None if plan.updates else count)
    session.queries.plans.sweep(session.catalog)  # they hold on to what has changed
    return result_of(session, made, time.perf_counter() - began)


def _publish(run: Run, plan: ChangePlan, values: Sequence[object]) -> int:
    """Make the next version; the number of rows that were meant."""
    table = plan.table
    with overflow_of(plan.name), table.turn():
        snapshot = table.snapshot()
        numbers, stored = _rows(run, plan, values)
        table.replace_rows(snapshot, places(snapshot.segments, numbers), stored)
    return len(numbers)


def _rows(
    run: Run, plan: ChangePlan, values: Sequence[object]
) -> tuple[Sequence[int] | RowNumbers, list[pa.RecordBatch]]:
    """The numbers of the rows that are meant, and the rows that come instead."""
    schema = plan.table.schema
    if isinstance(plan.rows, QueryPlan):
        job = run.session.submit(plan.rows, values, timeout=run.timeout, query=run.query)
        batches = list(job.batches())
        width = list(range(len(schema)))
        return numbers_of(batches), [batch.select(width) for batch in batches] if plan.updates else []
    rows = plan.rows.rows(values, run.session.settings)
    numbers = [cast("int", row[-1]) for row in rows]
    if not rows or not plan.updates:
        return numbers, []
    *columns, _ = zip(*rows, strict=True)
    arrays = [from_values(column, physical(kind)) for column, kind in zip(columns, schema.types, strict=True)]
    return numbers, [pa.RecordBatch.from_arrays(arrays, names=schema.names)]
