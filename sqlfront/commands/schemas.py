"""CREATE, DROP and COMMENT ON SCHEMA, and SET CATALOG: a session has the schema ``default`` alone, in one
catalog."""

from sqlfront.commands.run import NOTHING, CommandOutcome, StatementRun, no_database
from sqlfront.information_schema.schemas import SYSTEM_SCHEMAS
from sqlfront_planner.binder.names.shown_names import needs_single_schema, quoted
from sqlfront_planner.catalog import (
    DEFAULT_CATALOG,
    DEFAULT_DATABASE,
    GLOBAL_TEMP,
    FoundElsewhere,
    is_default,
)
from sqlfront_planner.statements.create_mode import CreateMode
from sqlfront_planner.statements.dotted_names import check_permanent, name_parts
from sqlfront_planner.statements.structs import (
    CommentOnSchema,
    CreateSchema,
    DropSchema,
    SetCatalog,
)
from sqlfront_values.errors import NotSupportedError, spark_error


def create_schema(run: StatementRun, statement: CreateSchema) -> CommandOutcome:
    """CREATE SCHEMA: do nothing for a schema that exists, if IF NOT EXISTS is given. Otherwise raise an
    error: SCHEMA_ALREADY_EXISTS, RESERVED_DATABASE_NAME for ``global_temp``, NotSupportedError for a new
    name. With a Spark session beside, raises FoundElsewhere, so that Spark runs the statement."""
    _check_own(run)
    name = _schema(statement.name)
    if name == GLOBAL_TEMP[0]:
        raise spark_error(
            "RESERVED_DATABASE_NAME",
            f"Cannot create the database {quoted((name,))} because the name is reserved for system use.",
        )
    if not _exists(name):
        check_permanent(quoted((name,)))
        raise NotSupportedError(
            f"CREATE SCHEMA {name} is not supported: sqlfront keeps all tables in the schema "
            f"`{DEFAULT_DATABASE}`.",
            sqlstate="0A000",
        )
    if statement.mode is not CreateMode.SKIP:
        raise spark_error(
            "SCHEMA_ALREADY_EXISTS", f"Cannot create schema {quoted((name,))} because it already exists."
        )
    return NOTHING


def drop_schema(run: StatementRun, statement: DropSchema) -> CommandOutcome:
    """DROP SCHEMA: do nothing for an unknown schema, if IF EXISTS is given. Otherwise raise an error:
    SCHEMA_NOT_FOUND, or UNSUPPORTED_FEATURE.DROP_DATABASE for a schema that exists. With a Spark session
    beside, raises FoundElsewhere, so that Spark runs the statement."""
    _check_own(run)
    name = _schema(statement.name)
    if _exists(name):
        kind = "database of system tables" if name in SYSTEM_SCHEMAS else "default database"
        raise spark_error(
            "UNSUPPORTED_FEATURE.DROP_DATABASE",
            f"The feature is not supported: Drop the {kind} {quoted((DEFAULT_CATALOG, name))}.",
        )
    if not statement.if_exists:
        raise no_database(statement.name)
    return NOTHING


def comment_on_schema(run: StatementRun, statement: CommentOnSchema) -> CommandOutcome:
    """COMMENT ON SCHEMA: change the comment of the schema ``default``. Raises SCHEMA_NOT_FOUND for an unknown
    schema, UNSUPPORTED_FEATURE.CATALOG_OPERATION for a schema of system tables. With a Spark session beside,
    raises FoundElsewhere, so that Spark runs the statement."""
    _check_own(run)
    parts = name_parts(statement.name)
    if parts[-1].lower() in SYSTEM_SCHEMAS:
        raise spark_error(
            "UNSUPPORTED_FEATURE.CATALOG_OPERATION",
            f"The feature is not supported: Catalog `{DEFAULT_CATALOG}` does not support COMMENT ON SCHEMA "
            f"{parts[-1]}, which is a schema of system tables.",
        )
    if not is_default(parts):
        raise no_database(statement.name)
    run.context.catalog.comment_on_schema(statement.comment)
    return NOTHING


def set_catalog(run: StatementRun, statement: SetCatalog) -> CommandOutcome:
    """SET CATALOG: do nothing for the only catalog, ``spark_catalog``. Raises CATALOG_NOT_FOUND for another
    name. With a Spark session beside, raises FoundElsewhere, so that Spark runs the statement."""
    _check_own(run)
    if statement.name.lower() != DEFAULT_CATALOG:
        raise spark_error(
            "CATALOG_NOT_FOUND",
            f"The catalog {quoted((statement.name,))} not found; there is `{DEFAULT_CATALOG}`.",
        )
    return NOTHING


def _check_own(run: StatementRun) -> None:
    if run.spark is not None:
        raise FoundElsewhere("Spark keeps the schemas and catalogs of both engines")


def _schema(name: str) -> str:
    """Return the schema of a dotted name, in lower case, without the catalog. Raises
    REQUIRES_SINGLE_PART_NAMESPACE for a name of more parts than a catalog and a schema."""
    parts = name_parts(name)
    inner = parts[1:] if len(parts) > 1 and parts[0].lower() == DEFAULT_CATALOG else parts
    if len(inner) != 1:
        raise spark_error("REQUIRES_SINGLE_PART_NAMESPACE", needs_single_schema(parts))
    return inner[0].lower()


def _exists(name: str) -> bool:
    return name == DEFAULT_DATABASE or name in SYSTEM_SCHEMAS
