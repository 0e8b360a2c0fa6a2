"""MERGE INTO of memory tables and of tables over files.

A job joins the table with the source; its rows say which rows of the table to delete, to replace and to add.
A memory table gets a new version that shares all other rows with the version before; if the rows are spread
over members, each member makes its share. The files of a table over files are replaced by new ones with all
rows, unless the statement only inserts rows.

If the source has few rows that find the table's rows by key, a row program takes the place of the job; its
plan is cached for repeated statements.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import suppress

import numpy as np
import pyarrow as pa
from msgspec.structs import replace

from sqlfront.commands.copies import following, recover
from sqlfront.commands.run import (
    CommandOutcome,
    StatementRun,
    details_of,
    overflow_of,
    unsupported_operation,
)
from sqlfront.results.result import Result
from sqlfront.state.plans import MergePlan
from sqlfront_connectors.files import FileTable
from sqlfront_connectors.memory import MemoryTable
from sqlfront_connectors.memory.keyed_table import KeyedTable
from sqlfront_connectors.memory.numbered_table import NumberedTable
from sqlfront_connectors.memory.segments.row_paths import batch_of
from sqlfront_connectors.memory.spread.next_version import ChangeMode
from sqlfront_connectors.memory.spread.table import SpreadTable, place_anew
from sqlfront_engine.row_actions import FoundRows, Numbers, RowAction, numbers_found
from sqlfront_engine.row_programs.program import NotByRows
from sqlfront_planner.binder import Binding, bind_query
from sqlfront_planner.catalog import TableEntry
from sqlfront_planner.plan import QueryPlan
from sqlfront_planner.planning import plan_small
from sqlfront_planner.row_compiler.row_plan import RowPlan
from sqlfront_planner.statements.merge_structs import Merge, MergeRows
from sqlfront_planner.table_changes import merging, modification
from sqlfront_planner.table_changes.merging import BoundMerge, bound_merge
from sqlfront_planner.table_changes.requirement import required
from sqlfront_values.arrow.arrays import from_numpy, numpy_view
from sqlfront_values.types import BOOLEAN


def merge(run: StatementRun, statement: Merge) -> CommandOutcome:
    """Run a MERGE. The outcome has the number of rows that were updated, deleted and inserted."""
    entry = run.entry(statement.name)
    table = entry.table if isinstance(entry, TableEntry) else None
    if not isinstance(table, KeyedTable | FileTable):
        raise unsupported_operation(
            entry,
            "MERGE INTO TABLE",
            "Memory tables and tables over files do, as long as they are not cached.",
        )
    needed = details_of(entry).required
    with following(run, lambda: table), overflow_of(entry.name):
        if isinstance(table, KeyedTable):
            return CommandOutcome(written=_merge_rows(run, statement, entry.name, table, needed))
        with run.writing(table) as abandoned, table.turn():
            if abandoned:
                recover(run.context, entry)
            return CommandOutcome(written=_merge_files(run, statement, entry.name, table, needed))


def _bound(
    run: StatementRun, statement: Merge, name: str, table: KeyedTable | FileTable
) -> tuple[BoundMerge, Binding]:
    """Bind the statement; all of its parts see the same relations. Return the bound statement, and a binding
    with the dependencies of its plans. The caller has the table's turn."""
    context = run.context
    catalog = context.catalog.with_elsewhere()
    parts = [
        bind_query(query, catalog, context.bind_settings, run.arguments)
        for query in (statement.pairs, statement.source, statement.target)
    ]
    bound = bound_merge(statement, *(part.plan for part in parts))
    modification.check_same_table(bound.target, table, name)
    return bound, _together(parts)


def _together(parts: Sequence[Binding]) -> Binding:
    """Return the first of the bindings, which have the same arguments, with the dependencies of all."""
    return replace(
        parts[0],
        pinned=frozenset().union(*(part.pinned for part in parts)),
        sized=frozenset().union(*(part.sized for part in parts)),
        bounded=frozenset().union(*(part.bounded for part in parts)),
        titles={},
        relations=tuple(dict.fromkeys(name for part in parts for name in part.relations)),
        temporary=tuple(dict.fromkeys(name for part in parts for name in part.temporary)),
        routines=tuple(dict.fromkeys(name for part in parts for name in part.routines)),
        variables=tuple(dict.fromkeys(name for part in parts for name in part.variables)),
        lookups={name: entry for part in parts for name, entry in part.lookups.items()},
        snapshots=tuple(pair for part in parts for pair in part.snapshots),
        repeatable=all(part.repeatable for part in parts),
    )


def _merge_rows(
    run: StatementRun, statement: Merge, name: str, table: KeyedTable, needed: tuple[str, ...]
) -> int:
    """Merge into a memory table; ``needed``: its NOT NULL columns. Return the number of affected rows."""
    with table.turn():
        if isinstance(table, SpreadTable):
            place_anew(table)
        key, catalog_version = run.context.plan_key, run.context.catalog.version
        bound, binding = _bound(run, statement, name, table)
        homes, distinct = table.home_columns, bound.checks_matches
        changes = required(merging.changes(bound, NumberedTable(table), homes), table.schema, needed)
        fetched = run.here(changes)
        if isinstance(table, SpreadTable):
            how = ChangeMode.MERGE if distinct else ChangeMode.MERGE_REPEATED
            with table.next_version(how) as version:
                return run.publish(version, fetched, homes)
        assert isinstance(table, MemoryTable)
        if fetched is not changes:  # rows of Spark's, which a cached plan would keep
            return table.merge_batches(list(run.rows(fetched)), distinct=distinct)
        found = plan_small(replace(binding, plan=changes), run.context.settings, run.context.target)
        if isinstance(found, RowPlan):
            again = MergePlan(table, name, found, changes.schema, distinct)
            with suppress(NotByRows):
                count = _by_rows(run, again, run.arguments.values)
                if statement.pairs.sql == run.request.text:
                    _keep(run, binding, again, key, catalog_version)
                return count
        job = run.submit(found).batches() if isinstance(found, QueryPlan) else run.rows(changes)
        return table.merge_batches(list(job), distinct=distinct)


def _keep(run: StatementRun, binding: Binding, plan: MergePlan, key: object, version: int) -> None:
    """Cache the plan for repeated statements, if the statement has parameters. ``key`` and ``version``: the
    plan key of the session and the catalog's version from before the statement was bound."""
    context, request = run.context, run.request
    if run.arguments.values and context.is_settled(key):
        context.plans.add(
            request.text, run.arguments, key, binding, plan, pins=False, catalog_version=version
        )


def _by_rows(run: StatementRun, plan: MergePlan, values: Sequence[object]) -> int:
    """Make the changes that the plan's row program computes, and return the number of affected rows. The
    caller has the table's turn. Raises NotByRows if the changes need a job."""
    query = run.context.limited("", run.timeout, run.query)
    rows = plan.rows.rows(values, run.context.settings, query)
    return plan.table.merge_batches([batch_of(rows, plan.schema)], distinct=plan.distinct) if rows else 0


def merge_again(run: StatementRun, plan: MergePlan, values: Sequence[object]) -> Result | None:
    """Run the cached plan of a MERGE with the ``values`` of its parameters, and return the statement's
    result; None, and nothing is changed, if the changes need a job."""
    began, context = time.perf_counter(), run.context
    try:
        with following(run, lambda: plan.table), overflow_of(plan.name), plan.table.turn():
            made = CommandOutcome(written=_by_rows(run, plan, values))
    except NotByRows:
        return None
    context.plans.sweep(context.catalog)  # cached plans keep old versions of changed tables alive
    return made.result(context, time.perf_counter() - began)


def _merge_files(
    run: StatementRun, statement: Merge, name: str, table: FileTable, needed: tuple[str, ...]
) -> int:
    """Merge into a table over files; ``needed``: its NOT NULL columns. Return the number of affected rows.
    The caller has the table's turn."""
    bound, _ = _bound(run, statement, name, table)
    plan = run.here(required(merging.all_rows(bound), table.schema, needed))
    rows = _RowsAfter(run.rows(plan), len(table.schema), bound)
    zone = run.context.settings.time_zone
    write = table.begin_insert(overwrite=not bound.only_inserts, time_zone=zone, token=run.token)
    try:
        for batch in rows:
            write.append(batch)
    except BaseException:
        write.abort()
        raise
    if rows.count:
        write.commit()
    else:
        write.abort()
    return rows.count


class _RowsAfter:
    """The rows of a table after a MERGE, from the ``changes`` that :func:`merging.all_rows` plans. ``count``:
    the number of affected rows so far. ``width``: the number of the table's columns."""

    def __init__(self, changes: Iterator[pa.RecordBatch], width: int, merge: BoundMerge) -> None:
        self._changes, self._width = changes, width
        self._found = FoundRows(distinct=merge.checks_matches)
        # Whether a row that stays may come several times.
        self._seen: Numbers = np.zeros(0, np.int64)
        self._repeats = not merge.has(MergeRows.MATCHED)
        self.count = 0

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows. Raises MERGE_CARDINALITY_VIOLATION at the end if a row was found twice."""
        deleted = list[Numbers]()
        for changes in self._changes:
            batch = self._once(changes) if self._repeats else changes
            actions = numpy_view(batch.column(batch.num_columns - 1))
            numbers = numbers_found(batch)
            self._found.add(numbers)
            deleted.append(numbers[actions[actions != RowAction.INSERT] == RowAction.DELETE])
            self.count += int(np.isin(actions, (RowAction.UPDATE, RowAction.INSERT)).sum())
            left = actions != RowAction.DELETE
            rows = batch.select(list(range(self._width)))
            yield rows if left.all() else rows.filter(from_numpy(left, BOOLEAN))
        self._found.check()
        # Without the check, several source rows may delete the same row.
        self.count += len(np.unique(np.concatenate(deleted))) if deleted else 0

    def _once(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the rows of the batch without numbered rows that have come before."""
        numbers = numbers_found(batch)
        new, first = np.unique(numbers, return_index=True)
        is_new = ~np.isin(new, self._seen, assume_unique=True)
        self._seen = np.union1d(self._seen, new[is_new])
        if is_new.all() and len(new) == len(numbers):
            return batch
        kept = numpy_view(batch.column(batch.num_columns - 1)) == RowAction.INSERT
        kept[np.flatnonzero(~kept)[first[is_new]]] = True
        return batch.filter(from_numpy(kept, BOOLEAN))
