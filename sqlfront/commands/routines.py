"""CREATE FUNCTION and DROP FUNCTION: SQL functions that users make."""

import time
from typing import Final

from sqlfront.commands.copies import callers, let_go
from sqlfront.commands.run import NOTHING, CommandOutcome, StatementRun, check_new_home, check_single_schema
from sqlfront_planner.binder import routine_creation
from sqlfront_planner.binder.names.shown_names import quoted
from sqlfront_planner.binder.names.spark_functions import CALLABLE, TABLES
from sqlfront_planner.catalog import DEFAULT_DATABASE, FoundElsewhere, is_default
from sqlfront_planner.routines import Routine, is_builtin
from sqlfront_planner.statements.create_mode import CreateMode
from sqlfront_planner.statements.dotted_names import name_parts
from sqlfront_planner.statements.routine_structs import CreateFunction, DropFunction
from sqlfront_values.errors import Error, spark_error

_BESIDE_SPARK: Final = "With a Spark session beside, Spark keeps the users' functions"


def create_function(run: StatementRun, statement: CreateFunction) -> CommandOutcome:
    """CREATE FUNCTION: check the function's parameters and body, and add the function to the catalog, a
    temporary one to this session alone. Raises ROUTINE_ALREADY_EXISTS without OR REPLACE or IF NOT EXISTS,
    CYCLIC_FUNCTION_REFERENCE, INVALID_TEMP_OBJ_REFERENCE, and the errors of
    :func:`~sqlfront_planner.binder.routine_creation.checked_routine`. With a Spark session beside, raises
    FoundElsewhere: Spark makes the function."""
    if run.spark is not None:
        raise FoundElsewhere(_BESIDE_SPARK)
    catalog, temporary = run.context.catalog, statement.temporary
    if not temporary:
        check_single_schema(statement.name)
        check_new_home(run, statement.name)
    name = name_parts(statement.name)[-1]
    name = name if temporary else name.lower()
    settings = run.context.bind_settings
    draft = Routine(
        name,
        statement.parameters,
        statement.body,
        None if statement.is_table or not statement.returns else statement.returns[0].type,
        statement.returns if statement.is_table else (),
        temporary,
        statement.comment,
        statement.deterministic,
        statement.data_access,
        settings.time_zone,
        settings.ansi,
        time.time(),
    )
    checked = routine_creation.checked_routine(
        draft, catalog, settings, run.arguments, is_table=statement.is_table
    )
    if not temporary:
        referred = {"VIEW": checked.relations, "FUNCTION": checked.routines, "VARIABLE": checked.variables}
        for kind, names in referred.items():
            if names:
                raise _refers_to_temporary(name, names[0], kind)
    replaces, before = statement.mode is CreateMode.REPLACE, catalog.pinned()
    if not catalog.add_routine(checked.routine, replace=replaces) and statement.mode is not CreateMode.SKIP:
        raise _already_exists(name, temporary=temporary)
    let_go(run, callers(run, name, before))
    return NOTHING


def drop_function(run: StatementRun, statement: DropFunction) -> CommandOutcome:
    """DROP FUNCTION: remove a function of the user from the catalog. Raises ROUTINE_NOT_FOUND unless IF
    EXISTS is given, FORBIDDEN_OPERATION for one of Spark's functions, and EXPECT_PERSISTENT_FUNCTION_NOT_TEMP
    for a temporary function without TEMPORARY."""
    if run.spark is not None:
        raise FoundElsewhere(_BESIDE_SPARK)
    parts = name_parts(statement.name)
    name, qualifier = parts[-1].lower(), tuple(parts[:-1])
    temporary = statement.temporary
    if not temporary and not qualifier:
        own = _present(run, name, temporary=True)
        if own is not None and _present(run, name, temporary=False) is None:
            raise spark_error(
                "EXPECT_PERSISTENT_FUNCTION_NOT_TEMP",
                f"`{name}` is a temporary function. 'DROP FUNCTION' expects a persistent function. Please "
                "use DROP TEMPORARY FUNCTION to drop a temporary function.",
            )
    known = _present(run, name, temporary=temporary) if temporary or _is_home(qualifier) else None
    if (
        (known is None or not temporary)
        and (not qualifier or is_builtin(qualifier))
        and name in CALLABLE | TABLES
    ):
        raise spark_error(
            "FORBIDDEN_OPERATION", f"The operation DROP is not allowed on the FUNCTION: {quoted((name,))}."
        )
    before = run.context.catalog.pinned()
    if known is not None and run.context.catalog.remove_routine(name, temporary=temporary):
        let_go(run, callers(run, name, before))
        return NOTHING
    if statement.if_exists:
        return NOTHING
    if not temporary:
        check_single_schema(statement.name)
        check_new_home(run, statement.name)
    shown = quoted((name,) if temporary else (DEFAULT_DATABASE, name))
    raise spark_error("ROUTINE_NOT_FOUND", f"The routine {shown} cannot be found.")


def _is_home(qualifier: tuple[str, ...]) -> bool:
    return not qualifier or is_default(qualifier)


def _present(run: StatementRun, name: str, *, temporary: bool) -> Routine | None:
    """Return the temporary or the permanent function ``name``, None if there is none."""
    parts = ("session", name) if temporary else (DEFAULT_DATABASE, name)
    return run.context.catalog.routine(parts)


def _already_exists(name: str, *, temporary: bool) -> Error:
    shown = quoted((name,) if temporary else (DEFAULT_DATABASE, name))
    return spark_error(
        "ROUTINE_ALREADY_EXISTS",
        f"Cannot create the routine {shown} because a routine of that name already exists. Choose a "
        "different name, drop or replace the existing routine, or add the IF NOT EXISTS clause to tolerate a "
        "pre-existing routine.",
    )


def _refers_to_temporary(name: str, referred: str, kind: str) -> Error:
    made, used = quoted((DEFAULT_DATABASE, name)), quoted((referred,))
    return spark_error(
        "INVALID_TEMP_OBJ_REFERENCE",
        f"Cannot create the persistent object {made} of the type FUNCTION because it references to the "
        f"temporary object {used} of the type {kind}. Please make the temporary object {used} persistent, or "
        f"make the persistent object {made} temporary.",
    )
