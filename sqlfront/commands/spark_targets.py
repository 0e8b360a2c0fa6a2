"""Tables of Spark as targets of durable jobs.

A job puts its rows into the files of the table itself, as it does for a table of sqlfront over files, and
then tells Spark of the new files. Spark takes no part in the writing: an INSERT that Spark runs could go on
in Spark after its client has died, and would then add the rows a second time.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pyarrow as pa

from sqlfront.commands.copies import follow_directory
from sqlfront.commands.run import StatementRun, overflow_of
from sqlfront.jobs.spooled_rows import SpooledRows
from sqlfront.state.context import Context
from sqlfront_connectors.files.table import has_files_of, visible_files
from sqlfront_connectors.files.table_files import TableFiles
from sqlfront_engine.durable.target import TargetUnavailableError
from sqlfront_engine.spool.spool_file import SpoolFile
from sqlfront_planner.binder.names.shown_names import quoted
from sqlfront_planner.logical import LogicalPlan
from sqlfront_planner.statements.dotted_names import name_parts
from sqlfront_planner.statements.structs import Insert
from sqlfront_planner.table_changes.insertion import inserted
from sqlfront_planner.table_changes.named_columns import named_columns
from sqlfront_values.errors import NotSupportedError, OperationalError
from sqlfront_values.lazy_modules import lazy_module

if TYPE_CHECKING:
    from sqlfront_connectors.spark import file_tables
    from sqlfront_connectors.spark.link import SparkLink
else:
    file_tables = lazy_module("sqlfront_connectors.spark.file_tables")


def spark_target(run: StatementRun, statement: Insert, rows: LogicalPlan) -> TableFiles | None:
    """Return the table of Spark into which a job puts its rows, when the job is created; None if the INSERT's
    table is one of this session, or unknown. ``statement``: the INSERT of the job. ``rows``: the plan of the
    rows. Raises the error that the INSERT would raise for the rows, NotSupportedError for a table into which
    only Spark can put rows, and ProgrammingError if access to the table's files is denied."""
    if run.spark is None:
        return None
    table = run.spark.table_files(name_parts(statement.name))
    if table is not None:
        run.context.files.check(table.location)
        if statement.overwrite:
            file_tables.check_overwrite(run.spark.link, table)
        _assigned(rows, statement, table)
    return table


class SparkTarget:
    """The target of a job that puts its rows into a table of Spark. ``context``: the context of the session,
    with the settings of the job. ``statement``: the INSERT of the job. ``table``: the table as it was when
    the job was created. ``schema``: the logical schema of the job's rows. In the methods, ``token`` is the id
    of the job."""

    def __init__(self, context: Context, statement: Insert, table: TableFiles, schema: pa.Schema) -> None:
        self._run = StatementRun(context)
        self._statement, self._table, self._schema = statement, table, schema

    def check(self, token: str) -> None:
        """Check that the table can take the job's rows. Raises TargetUnavailableError if Spark can't be asked
        for the table, and OperationalError if the table isn't as it was when the job was created."""
        self._check_unchanged()

    def put(self, token: str, files: tuple[SpoolFile, ...]) -> None:
        """Put the rows of ``files``, in order, into the table: all of them or none. Raises
        TargetUnavailableError if Spark can't be asked for the table, SpoolDamaged for a damaged file, and
        another error if the table can't take the rows."""
        self._check_unchanged()
        source = SpooledRows(f"job {token}", self._schema, files).plan()
        plan = _assigned(source, self._statement, self._table)
        context = self._run.context
        table = self._table.table(context.files)
        with overflow_of(self._statement.name):
            StatementRun(context, token=token).store(table, plan, overwrite=self._statement.overwrite)
        self._follow(token)

    def settle(self, token: str) -> bool:
        """Return whether the table has the rows of the job. If it has them, also tell Spark of the new files,
        since the process that has put the rows there may have died before. Raises TargetUnavailableError if
        Spark can't be reached."""
        if not has_files_of(self._table.location, token, self._run.context.files):
            return False
        self._follow(token)
        return True

    def _check_unchanged(self) -> None:
        """Raise TargetUnavailableError if Spark can't be asked for the table; OperationalError (40001) if the
        table isn't as it was when the job was created."""
        with self._asking() as link:
            present = file_tables.table_files(link, self._table.name)
            if self._statement.overwrite:
                file_tables.check_overwrite(link, self._table)
        if present != self._table:
            raise OperationalError(
                f"the table {quoted(self._table.name)} of Spark, the target of the job, has been altered or"
                " made anew since the job was created; create the job anew",
                sqlstate="40001",
            )

    def _follow(self, token: str) -> None:
        """Have Spark know the partitions of the job's files, and have Spark and this session forget what they
        have cached of the table's former files."""
        with self._asking() as link:
            if self._table.partitioned:
                paths = visible_files(self._table.location, self._run.context.files)
                file_tables.register_partitions(link, self._table, token, paths)
            file_tables.refresh_files(link, self._table)
        follow_directory(self._run, self._table.location)

    @contextmanager
    def _asking(self) -> "Iterator[SparkLink]":
        """A context for calls to Spark, whose value is the link to the Spark session; it starts Spark if
        needed. Raises TargetUnavailableError without a Spark session, and in place of an OperationalError of
        the block."""
        spark = self._run.context.spark
        need = f"the target of the job is the table {quoted(self._table.name)} of Spark"
        if spark is None:
            raise TargetUnavailableError(f"{need}, and this session has no Spark session", sqlstate="08003")
        try:
            spark.start(self._run.request, need)
            yield spark.link
        except OperationalError as error:
            raise TargetUnavailableError(f"{need}: {error.message}", sqlstate=error.sqlstate) from error


def _assigned(rows: LogicalPlan, statement: Insert, table: TableFiles) -> LogicalPlan:
    """Return the plan of ``rows`` as rows of the table, by Spark's rules of store assignment. Raises the
    errors of :func:`~sqlfront_planner.table_changes.insertion.inserted`, and NotSupportedError if the
    statement leaves out a column that has a DEFAULT."""
    plan = inserted(rows, statement, table.schema)
    given = rows.schema.names if statement.by_name else statement.columns
    if given:
        named = {table.schema.names[place] for place in named_columns(table.schema, given)}
        left_out = [name for name in table.defaulted if name not in named]
        if left_out:
            raise NotSupportedError(
                f"a durable job into {quoted(table.name)} of Spark that leaves out the column `{left_out[0]}`"
                " with a DEFAULT"
            )
    return plan
