"""INSERT OVERWRITE DIRECTORY: a query's rows as the files of a directory."""

from sqlfront.commands.run import CommandOutcome, StatementRun
from sqlfront_connectors.files.directory import OutputDirectory
from sqlfront_planner.statements.structs import InsertDirectory
from sqlfront_values.errors import NotSupportedError


def insert_directory(run: StatementRun, statement: InsertDirectory) -> CommandOutcome:
    """INSERT OVERWRITE DIRECTORY: replace all that is in the directory by the query's rows, all or none. The
    query may read the directory. Raises NOT_SUPPORTED_COMMAND_WITHOUT_HIVE_SUPPORT for Hive's formats, and
    the errors of :class:`~sqlfront_connectors.files.directory.OutputDirectory`."""
    plan = run.bind(statement.query)
    if statement.format is None:
        raise NotSupportedError(
            "INSERT OVERWRITE DIRECTORY with the Hive format is not supported, if you want to enable it, "
            'please set "spark.sql.catalogImplementation" to "hive".',
            condition="NOT_SUPPORTED_COMMAND_WITHOUT_HIVE_SUPPORT",
        )
    directory = OutputDirectory(
        statement.path, statement.format, plan.schema, statement.options, run.context.files
    )
    return CommandOutcome(written=run.store(directory, plan, overwrite=True))
