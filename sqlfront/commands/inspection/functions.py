"""SHOW FUNCTIONS and DESCRIBE FUNCTION."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

import pyarrow as pa

from sqlfront.commands.inspection.names import checked_database, matches
from sqlfront.commands.run import CommandOutcome, StatementRun, shown
from sqlfront_planner.binder.functions.function_names import function_names
from sqlfront_planner.binder.names.function_texts import function_text
from sqlfront_planner.catalog import FoundElsewhere
from sqlfront_planner.routines import Routine, RoutineParameter
from sqlfront_planner.statements.dotted_names import name_parts
from sqlfront_planner.statements.structs import DescribeFunction, FunctionScope, ShowFunctions
from sqlfront_values.errors import spark_error
from sqlfront_values.types import STRING, ddl

_FUNCTIONS: Final = pa.schema([("function", STRING)])
_DESCRIPTION: Final = pa.schema([("function_desc", STRING)])
#: The format of a moment, as Java's Date shows it.
_CREATED: Final = "%a %b %d %H:%M:%S UTC %Y"
#: The qualifiers of Spark's functions.
_BUILTIN: Final = ((), ("builtin",), ("system", "builtin"))


def show_functions(run: StatementRun, statement: ShowFunctions) -> CommandOutcome:
    """SHOW FUNCTIONS: show the names of the functions that this session can call and that match the
    statement's pattern; SHOW USER FUNCTIONS shows those that users have made. With a Spark session beside,
    raises FoundElsewhere: Spark lists the functions of both engines."""
    if run.spark is not None:
        raise FoundElsewhere("Spark lists the functions of both engines")
    checked_database(statement.database)
    found = [] if statement.scope == FunctionScope.USER else list(function_names())
    names = [name for name in found if matches(name, statement.pattern)]
    if statement.scope != FunctionScope.SYSTEM:
        known = run.context.catalog.routines()
        names += [".".join(each.parts).lower() for each in known if matches(each.name, statement.pattern)]
    return shown(_FUNCTIONS, [(name,) for name in sorted(names)])


def describe_function(run: StatementRun, statement: DescribeFunction) -> CommandOutcome:
    """DESCRIBE FUNCTION: show Spark's own description of one of Spark's functions, even of a function that
    sqlfront lacks, or describe a user's function; EXTENDED adds arguments and examples, or body and settings.
    Raises UNRESOLVED_ROUTINE for an unknown function.
    With a Spark session beside, raises FoundElsewhere: Spark also knows the users' functions."""
    if run.spark is not None:
        raise FoundElsewhere("Spark describes the functions of both engines")
    parts = name_parts(statement.name)
    qualifier, name = tuple(part.lower() for part in parts[:-1]), parts[-1].lower()
    text = function_text(name) if qualifier in _BUILTIN else None
    routine = run.context.catalog.routine(parts) if text is None else None
    if routine is not None:
        return shown(_DESCRIPTION, [(line,) for line in _lines(routine, extended=statement.extended)])
    if text is None:
        written = ".".join(f"`{part}`" for part in parts)
        raise spark_error(
            "UNRESOLVED_ROUTINE",
            f"Cannot resolve routine {written} on search path [`system`.`builtin`, `system`.`session`, "
            "`spark_catalog`.`default`].",
        )
    return shown(_DESCRIPTION, [(line,) for line in text.lines(extended=statement.extended)])


def _lines(routine: Routine, *, extended: bool) -> list[str]:
    """Return the lines by which Spark describes a user's function."""
    single = [] if routine.returns is None else [ddl(routine.returns).upper()]
    shown = {
        "Function": [".".join(routine.parts)],
        "Type": ["TABLE" if routine.is_table else "SCALAR"],
        "Input": _columns(routine.parameters, extended=extended) or ["()"],
        "Returns": single or _columns(routine.columns, extended=extended),
    }
    if extended:
        if routine.comment is not None:
            shown["Comment"] = [routine.comment]
        shown["Deterministic"] = [str(routine.deterministic).lower()]
        shown["Data Access"] = [routine.data_access]
        zone = [] if routine.time_zone is None else [f"spark.sql.session.timeZone={routine.time_zone}"]
        shown["Configs"] = [f"spark.sql.ansi.enabled={str(routine.ansi).lower()}", *zone]
        shown["Create Time"] = [datetime.fromtimestamp(routine.created, UTC).strftime(_CREATED)]
        shown["Body"] = [routine.body]
    width = max(map(len, shown)) + 2
    return [
        (f"{label}:" if place == 0 else "").ljust(width) + text
        for label, texts in shown.items()
        for place, text in enumerate(texts)
    ]


def _columns(items: Sequence[RoutineParameter], *, extended: bool) -> list[str]:
    """Return a line for each parameter or column: name and type, with EXTENDED default and comment, too."""
    names, kinds = [each.name for each in items], [ddl(each.type).upper() for each in items]
    lines = []
    for item, name, kind in zip(items, names, kinds, strict=True):
        text = f"{name.ljust(max(map(len, names)))} {kind.ljust(max(map(len, kinds)))}"
        if extended and item.default is not None:
            text += f" DEFAULT {item.default}"
        lines.append(text if not extended or item.comment is None else f"{text} '{item.comment}'")
    return lines
