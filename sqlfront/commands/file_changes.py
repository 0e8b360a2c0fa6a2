"""DELETE and UPDATE of a table over files: a job reads all rows and computes the rows after the statement,
and new files with these replace the old ones at once. No file changes if the statement affects no row."""

from collections.abc import Iterator

import pyarrow as pa

from sqlfront.commands.changes import Change
from sqlfront.commands.copies import following, recover
from sqlfront.commands.run import CommandOutcome, StatementRun, details_of, overflow_of
from sqlfront_connectors.files import FileTable
from sqlfront_planner.binder import bind
from sqlfront_planner.catalog import TableEntry
from sqlfront_planner.logical import LogicalPlan
from sqlfront_planner.statements.structs import Update
from sqlfront_planner.table_changes import modification
from sqlfront_planner.table_changes.requirement import required
from sqlfront_values.arrow import kernels as pc


def change_files(run: StatementRun, statement: Change, entry: TableEntry, table: FileTable) -> CommandOutcome:
    """Run a DELETE or UPDATE of ``table``, whose catalog entry is ``entry``. The outcome has the number of
    affected rows."""
    with (
        following(run, lambda: table),
        overflow_of(entry.name),
        run.writing(table) as abandoned,
        table.turn(),
    ):
        if abandoned:
            recover(run.context, entry)
        plan = run.here(_all_rows(run, statement, entry, table))
        rows = _RowsAfter(run.rows(plan), removes=not isinstance(statement, Update))
        zone = run.context.settings.time_zone
        write = table.begin_insert(overwrite=True, time_zone=zone, token=run.token)
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
        return CommandOutcome(written=rows.count)


def _all_rows(run: StatementRun, statement: Change, entry: TableEntry, table: FileTable) -> LogicalPlan:
    """Plan all rows of the table, for UPDATE with their values after the statement, and in a last column
    whether the statement affects the row. The caller has the table's turn."""
    context, schema = run.context, table.schema
    bound = bind(statement.rows, context.catalog.with_elsewhere(), context.bind_settings, run.arguments)
    modification.check_table(bound, table, entry.name)
    if not isinstance(statement, Update):
        return modification.marked(bound, schema)
    rows = modification.updated_and_marked(bound, statement.assigned, entry.name, schema)
    return required(rows, schema, details_of(entry).required)


class _RowsAfter:
    """The rows of a table after a DELETE (``removes``) or UPDATE, from the ``rows`` that :func:`_all_rows`
    plans. ``count``: the number of affected rows so far."""

    def __init__(self, rows: Iterator[pa.RecordBatch], *, removes: bool) -> None:
        self._rows, self._removes = rows, removes
        self.count = 0

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows."""
        for batch in self._rows:
            *columns, marks = range(batch.num_columns)
            affected = batch.column(marks)
            self.count += affected.true_count
            rows = batch.select(columns)
            yield rows.filter(pc.invert(affected)) if self._removes else rows
