"""SHOW FUNCTIONS and DESCRIBE FUNCTION."""

from typing import Final

import pyarrow as pa

from sqlfront.commands.inspection.names import checked_database, matches
from sqlfront.commands.run import CommandOutcome, StatementRun, shown
from sqlfront_planner.binder.functions.function_names import function_names
from sqlfront_planner.binder.names.function_texts import function_text
from sqlfront_planner.catalog import FoundElsewhere
from sqlfront_planner.statements.dotted_names import name_parts
from sqlfront_planner.statements.structs import DescribeFunction, FunctionScope, ShowFunctions
from sqlfront_values.errors import spark_error
from sqlfront_values.types import STRING

_FUNCTIONS: Final = pa.schema([("function", STRING)])
_DESCRIPTION: Final = pa.schema([("function_desc", STRING)])
#: The qualifiers of Spark's functions.
_BUILTIN: Final = ((), ("builtin",), ("system", "builtin"))


def show_functions(run: StatementRun, statement: ShowFunctions) -> CommandOutcome:
    """SHOW FUNCTIONS: show the names of the functions that this session can call and that match the
    statement's pattern; SHOW USER FUNCTIONS shows none. With a Spark session beside, raises FoundElsewhere:
    Spark lists the functions of both engines."""
    if run.spark is not None:
        raise FoundElsewhere("Spark lists the functions of both engines")
    checked_database(statement.database)
    known = () if statement.scope == FunctionScope.USER else function_names()
    return shown(_FUNCTIONS, [(name,) for name in known if matches(name, statement.pattern)])


def describe_function(run: StatementRun, statement: DescribeFunction) -> CommandOutcome:
    """DESCRIBE FUNCTION: show Spark's own description of one of Spark's functions, even of a function that
    sqlfront lacks; EXTENDED adds arguments and examples. Raises UNRESOLVED_ROUTINE for an unknown function.
    With a Spark session beside, raises FoundElsewhere: Spark also knows the users' functions."""
    if run.spark is not None:
        raise FoundElsewhere("Spark describes the functions of both engines")
    parts = name_parts(statement.name)
    qualifier, name = tuple(part.lower() for part in parts[:-1]), parts[-1].lower()
    text = function_text(name) if qualifier in _BUILTIN else None
    if text is None:
        written = ".".join(f"`{part}`" for part in parts)
        raise spark_error(
            "UNRESOLVED_ROUTINE",
            f"Cannot resolve routine {written} on search path [`system`.`builtin`, `system`.`session`, "
            "`spark_catalog`.`default`].",
        )
    return shown(_DESCRIPTION, [(line,) for line in text.lines(extended=statement.extended)])
