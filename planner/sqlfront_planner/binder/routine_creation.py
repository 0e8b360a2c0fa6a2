"""Checks of a new SQL function: its parameters, their defaults, and its body, which also tells the types that
RETURNS leaves out."""

from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec.structs import replace
from sqlglot import exp

from sqlfront_planner.binder.context import Arguments, BindSettings, StatementContext
from sqlfront_planner.binder.expressions.casts import explicit_cast
from sqlfront_planner.binder.expressions.expression_binder import Clause, ExpressionBinder
from sqlfront_planner.binder.generator_calls import generator_of
from sqlfront_planner.binder.names.routine_arguments import expression_of
from sqlfront_planner.binder.names.shown_names import quoted
from sqlfront_planner.binder.query import QueryBinder
from sqlfront_planner.binder.routines.bodies import body_tree, parameters_of, scalar_body, table_body
from sqlfront_planner.binder.scope import EMPTY_SCOPE, Scope
from sqlfront_planner.binder.trees.handlers import failure
from sqlfront_planner.catalog import Catalog
from sqlfront_planner.routines import Routine, RoutineParameter
from sqlfront_planner.statements.query_parser import parse_query
from sqlfront_planner.tokens.marks import FUNCTION_MARK
from sqlfront_values.errors import Error, ProgrammingError
from sqlfront_values.expressions import Column
from sqlfront_values.functions.aggregates.registry import lookup_aggregate

_INVALID: Final = "User defined function is invalid: "


class CheckedRoutine(msgspec.Struct, frozen=True):
    """A new function with complete types, and the temporary ``relations`` and ``routines`` that its body
    names, and the SQL ``variables``."""

    routine: Routine
    relations: tuple[str, ...]
    routines: tuple[str, ...]
    variables: tuple[str, ...]


def checked_routine(
    routine: Routine, catalog: Catalog, settings: BindSettings, arguments: Arguments, *, is_table: bool
) -> CheckedRoutine:
    """Check a new function, and return it with the types that follow from its body. ``routine`` has the types
    of RETURNS, as far as the statement has them; ``arguments`` have the session's variables; ``is_table``:
    the function is a table function.

    Raises Spark's errors for wrong parameters (DUPLICATE_ROUTINE_PARAMETER_NAMES and others), for wrong
    bodies (USER_DEFINED_FUNCTIONS.*), and the binder's errors for the body."""
    _check_names(routine.name, routine.parameters, "PARAMETER_NAMES", "parameter list")
    _check_names(routine.name, routine.columns, "RETURNS_COLUMNS", "RETURNS clause column list")
    context = StatementContext(catalog.pinned(), settings, arguments, created=routine)
    queries = QueryBinder(context)
    try:
        _check_defaults(queries, routine)
        made = _with_columns(queries, routine) if is_table else _with_type(queries, routine)
    except ProgrammingError as error:
        raise _as_missing(error) from None
    relations, routines = tuple(context.temporary), tuple(context.routines)
    if made.temporary:
        made = replace(made, sees=frozenset(map(str.lower, relations)))
    return CheckedRoutine(made, relations, routines, tuple(context.variables))


def _check_names(name: str, items: Sequence[RoutineParameter], condition: str, place: str) -> None:
    names = [item.name.lower() for item in items]
    repeated = next((each for each in names if names.count(each) > 1), None)
    if repeated is not None:
        what = "name(s)" if condition == "PARAMETER_NAMES" else "column(s)"
        raise failure(
            f"DUPLICATE_ROUTINE_{condition}",
            f"Found duplicate {what} in the {place} of the user-defined routine {name}: "
            f"{quoted((repeated,))}.",
        )


def _check_defaults(queries: QueryBinder, routine: Routine) -> None:
    """Check the defaults of the parameters, behind which no parameter may lack one."""
    before: RoutineParameter | None = None
    for parameter in routine.parameters:
        if parameter.default is None:
            if before is not None:
                raise failure(
                    "USER_DEFINED_FUNCTIONS.NOT_A_VALID_DEFAULT_PARAMETER_POSITION",
                    f"{_INVALID}In routine {quoted((routine.name,))} parameter {quoted((before.name,))} with "
                    f"DEFAULT must not be followed by parameter {quoted((parameter.name,))} without DEFAULT.",
                )
            continue
        before = parameter
        tree = expression_of(parameter.default)
        if tree.find(exp.Query) is not None:
            raise failure(
                "USER_DEFINED_FUNCTIONS.NOT_A_VALID_DEFAULT_EXPRESSION",
                f"{_INVALID}The DEFAULT expression of {quoted((routine.name, parameter.name))} is not "
                "supported because it contains a subquery.",
            )
        _check_plain(tree, parameter.name)
        binder = ExpressionBinder(queries, EMPTY_SCOPE, Clause.SELECT)
        explicit_cast(binder, binder.bind(tree), parameter.type, tree)


def _check_plain(tree: exp.Expr, shown: str) -> None:
    """Raise CANNOT_CONTAIN_COMPLEX_FUNCTIONS if an expression outside of its subqueries has an aggregate, a
    window function or a generator."""
    if is_complex(tree):
        raise failure(
            "USER_DEFINED_FUNCTIONS.CANNOT_CONTAIN_COMPLEX_FUNCTIONS",
            f"{_INVALID}SQL scalar function cannot contain aggregate/window/generate functions: {shown}",
        )


def is_complex(tree: exp.Expr) -> bool:
    """Return whether an expression, outside of its subqueries, has an aggregate, a window function or a
    generator."""
    return any(map(_is_complex, tree.walk(prune=lambda item: isinstance(item, exp.Query))))


def _is_complex(node: exp.Expr) -> bool:
    if isinstance(node, exp.Window) or generator_of(node) is not None:
        return True
    if not isinstance(node, exp.Anonymous):
        return False
    name = node.this if isinstance(node.this, str) else node.this.name
    return lookup_aggregate(str(name).removeprefix(FUNCTION_MARK).lower()) is not None


def _arguments_of(routine: Routine) -> list[Column]:
    """Return columns in place of arguments, of which a check knows the types alone."""
    return [Column(each.type, place, each.name) for place, each in enumerate(routine.parameters)]


def _with_type(queries: QueryBinder, routine: Routine) -> Routine:
    """Bind the body of a scalar function; return the function with the type of its value."""
    tree = body_tree(routine)
    _check_plain(tree, routine.body.strip())
    scope = Scope(parameters_of(routine, _arguments_of(routine)), len(routine.parameters))
    value = scalar_body(queries, routine, scope, tree)
    return replace(routine, returns=value.type)


def _with_columns(queries: QueryBinder, routine: Routine) -> Routine:
    """Bind the body of a table function; return the function with its columns."""
    bound = table_body(queries, routine, parameters_of(routine, _arguments_of(routine)))
    if routine.columns:
        return routine
    _check_named(routine)
    columns = tuple(
        RoutineParameter(name, column.type)
        for name, column in zip(bound.names, bound.plan.row(), strict=True)
    )
    _check_names(routine.name, columns, "RETURNS_COLUMNS", "RETURNS clause column list")
    return replace(routine, columns=columns)


def _check_named(routine: Routine) -> None:
    """Raise SQL_TABLE_UDF_MISSING_COLUMN_NAMES if a column of the query has no name of its own."""
    tree = parse_query(routine.body).tree
    selected = tree.selects if isinstance(tree, exp.Query) else []
    if any(not isinstance(part, exp.Alias | exp.Column | exp.Star) for part in selected):
        raise failure(
            "USER_DEFINED_FUNCTIONS.SQL_TABLE_UDF_MISSING_COLUMN_NAMES",
            f"{_INVALID}The relation returned by the query in the CREATE FUNCTION statement for "
            f"{quoted((routine.name,))} with RETURNS TABLE clause lacks explicit names for one or more "
            "output columns; please rewrite the function body to provide explicit column names or add column "
            "names to the RETURNS TABLE clause, and re-run the command.",
        )


def _as_missing(error: Error) -> Error:
    """Return the error; ROUTINE_NOT_FOUND for a function that the body calls and that doesn't exist, as
    CREATE FUNCTION in Spark has it."""
    if error.condition != "UNRESOLVED_ROUTINE":
        return error
    name = error.message.split("routine ", 1)[1].split(" on ")[0].split(". Did")[0]
    shown = name if "`.`" in name else f"`default`.{name}"
    return failure("ROUTINE_NOT_FOUND", f"The routine {shown} cannot be found.")
