"""INSERT OVERWRITE DIRECTORY: write a query's rows as the files of a directory."""

from sqlfront.commands.copies import follow_directory, lies_in
from sqlfront.commands.run import CommandOutcome, StatementRun, scans_of
from sqlfront_connectors import registry
from sqlfront_connectors.files.directory import OutputDirectory, absolute_path, holds
from sqlfront_planner.logical import LogicalPlan
from sqlfront_planner.statements.directories import directory_target
from sqlfront_planner.statements.structs import InsertDirectory
from sqlfront_values.errors import NotSupportedError, OperationalError, spark_error


def insert_directory(run: StatementRun, statement: InsertDirectory) -> CommandOutcome:
    """INSERT OVERWRITE DIRECTORY: replace all that is in the directory by the query's rows, all or none. This
    session's tables over the directory are refreshed, and CACHE TABLE's copies that read them refilled. The
    outcome has the number of rows.

    Raises ProgrammingError for a missing or malformed path and for a path that the session may not write,
    UNSUPPORTED_OVERWRITE.PATH for a query that reads the directory,
    NOT_SUPPORTED_COMMAND_WITHOUT_HIVE_SUPPORT for Hive's formats, DATA_SOURCE_NOT_FOUND for an unknown
    format, OperationalError for a directory with this session's own tables, NotSupportedError for a format
    that can't be written and for unknown options, and Spark's errors for columns that the format can't store.
    """
    directory, plan = output_directory(run, statement)
    written = run.store(directory, plan, overwrite=True)
    follow_directory(run, directory.path)
    return CommandOutcome(written=written)


def output_directory(run: StatementRun, statement: InsertDirectory) -> tuple[OutputDirectory, LogicalPlan]:
    """Return the directory to write to, which is unchanged so far, and the plan of the rows that will replace
    its content. Raises the errors of INSERT OVERWRITE DIRECTORY, such as UNSUPPORTED_OVERWRITE.PATH for a
    query that reads the directory."""
    arguments = run.arguments
    target = directory_target(statement, lambda name: arguments.values[arguments.bound_place(name)])
    plan = run.bind(statement.query)
    if target.format is None:
        raise NotSupportedError(
            "INSERT OVERWRITE DIRECTORY with the Hive format is not supported, if you want to enable it, "
            'please set "spark.sql.catalogImplementation" to "hive".',
            condition="NOT_SUPPORTED_COMMAND_WITHOUT_HIVE_SUPPORT",
        )
    path = absolute_path(target.path)
    _check_not_read(plan, path)
    home = run.context.home.made
    if home is not None and holds(path, home):
        raise OperationalError(
            f"{path} is or holds {home}, the directory of this session's tables, which nothing replaces"
        )
    registry.check_format(target.format)
    return OutputDirectory(path, target.format, plan.schema, target.options, run.context.files), plan


def _check_not_read(plan: LogicalPlan, path: str) -> None:
    """Raise UNSUPPORTED_OVERWRITE.PATH if the plan reads files in the directory ``path``. Spark raises this
    error for some such queries only; for the others Spark removes the files and then fails to find them."""
    if any(lies_in(scan.table, path) for scan in scans_of(plan)):
        raise spark_error(
            "UNSUPPORTED_OVERWRITE.PATH",
            f"Can't overwrite the target that is also being read from. The target path is file:{path}.",
        )
