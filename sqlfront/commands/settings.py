"""SET and USE: statements that show or change settings of the session."""

from datetime import timedelta, timezone
from typing import Final

import pyarrow as pa

from sqlfront.commands.run import NOTHING, CommandOutcome, StatementRun, no_database, shown
from sqlfront.information_schema.schemas import SYSTEM_SCHEMAS
from sqlfront_planner.catalog import (
    DEFAULT_CATALOG,
    DEFAULT_DATABASE,
    GLOBAL_TEMP,
    is_default,
    is_session_schema,
)
from sqlfront_planner.statements.dotted_names import name_parts
from sqlfront_planner.statements.structs import Query, ResetOption, SetOption, UseDatabase
from sqlfront_values.errors import Error, NotSupportedError, ProgrammingError, spark_error
from sqlfront_values.types import STRING

#: Offsets of time zones: the longest in Java (``ZoneOffset.MAX``), and their unit.
_LONGEST: Final = timedelta(hours=18)
_SECOND: Final = timedelta(seconds=1)
_SETTINGS: Final = pa.schema([("key", STRING), ("value", STRING)])


def set_option(run: StatementRun, statement: SetOption) -> CommandOutcome:
    """SET: change a setting, show one setting, or show all settings. The outcome has their keys and values.
    Raises UNSUPPORTED_FEATURE.SET_VARIABLE_USING_SET for the name of a variable."""
    options = run.context.options
    if statement.key is None:
        rows = options.items()
    elif statement.value is None:
        rows = [(statement.key, options.get(statement.key))]
    else:
        value = statement.value
        _refuse_variable(run, statement.key)
        if run.context.spark is not None and not options.knows(statement.key):
            raise NotSupportedError(f"SET {statement.key}: the setting is Spark's")
        text = value if isinstance(value, str) else _zone_of_interval(run, value)
        rows = [(statement.key, options.set(statement.key, text))]
        if run.context.spark is not None:
            run.context.spark.set_option(*rows[0])
    return shown(_SETTINGS, rows)


def _refuse_variable(run: StatementRun, key: str) -> None:
    """Raise the error for ``SET name = value`` if a variable has the name."""
    *qualifier, name = key.split(".")
    known = run.context.variables.find(name.strip("`"))
    if known is None or (qualifier and not is_session_schema(tuple(qualifier))):
        return
    shown_name = ".".join(f"`{part.strip('`')}`" for part in (*qualifier, name))
    raise spark_error(
        "UNSUPPORTED_FEATURE.SET_VARIABLE_USING_SET",
        f"The feature is not supported: {shown_name} is a VARIABLE and cannot be updated using the SET"
        f" statement. Use SET VARIABLE {shown_name} = ... instead.",
    )


def reset_option(run: StatementRun, statement: ResetOption) -> CommandOutcome:
    """RESET: set a setting, or all settings whose keys are Spark's, to the values at the session's start; an
    unknown key changes nothing."""
    options, spark = run.context.options, run.context.spark
    for key in list(options.of_spark()) if statement.key is None else [statement.key]:
        options.reset(key)
    if spark is not None:
        spark.reset_option(statement.key)
    return NOTHING


def _zone_of_interval(run: StatementRun, query: Query) -> str:
    """Return the name of the time zone that SET TIME ZONE INTERVAL gives as an offset from UTC; the interval
    is the only value of ``query``. Raises ProgrammingError for a word after the interval,
    INVALID_INTERVAL_FORMAT.TIMEZONE_INTERVAL_OUT_OF_RANGE for an offset beyond 18 hours or with a fraction of
    a second."""
    if any(value.alias for value in query.tree.expressions):
        raise ProgrammingError("Invalid time zone displacement value.")
    offset = next(run.rows(run.bind(query))).column(0)[0].as_py()
    if not isinstance(offset, timedelta) or abs(offset) > _LONGEST or offset % _SECOND:
        raise spark_error(
            "INVALID_INTERVAL_FORMAT.TIMEZONE_INTERVAL_OUT_OF_RANGE",
            "The interval value must be in the range of [-18, +18] hours with second precision.",
        )
    return str(timezone(offset)).removeprefix("UTC") or "Z"


def use_database(statement: UseDatabase) -> CommandOutcome:
    """USE: do nothing for the default schema and for the only catalog. Raises SCHEMA_NOT_FOUND for an unknown
    schema, ProgrammingError for ``global_temp``, UNSUPPORTED_FEATURE.CATALOG_OPERATION for a schema of system
    tables."""
    parts = tuple(part.lower() for part in name_parts(statement.database))
    if is_default(parts) or parts == (DEFAULT_CATALOG,):
        return NOTHING
    if parts == GLOBAL_TEMP:
        raise ProgrammingError(
            "global_temp is a system preserved database, you cannot use it as current database. To access "
            "global temporary views, you should use qualified name with the GLOBAL_TEMP_DATABASE, e.g. "
            "SELECT * FROM global_temp.viewName."
        )
    if parts[-1] in SYSTEM_SCHEMAS:
        raise _no_current(parts[-1])
    raise no_database(statement.database)


def _no_current(schema: str) -> Error:
    """Return the error for USE of a schema of system tables; its hint says how to name a table in the
    schema."""
    error = spark_error(
        "UNSUPPORTED_FEATURE.CATALOG_OPERATION",
        f"The feature is not supported: Catalog `{DEFAULT_CATALOG}` does not support USE {schema}. The "
        f"current schema is always `{DEFAULT_DATABASE}`.",
    )
    error.hint = f"name the schema's tables in full, such as {schema}.{next(iter(SYSTEM_SCHEMAS[schema]))}."
    return error
