"""Binding of the bodies of SQL functions, in which the parameters' names mean the arguments."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from msgspec.structs import replace
from sqlglot import exp

from sqlfront_planner.binder.context import StatementContext
from sqlfront_planner.binder.expressions.casts import explicit_cast
from sqlfront_planner.binder.expressions.expression_binder import Clause, ExpressionBinder
from sqlfront_planner.binder.names.routine_arguments import expression_of
from sqlfront_planner.binder.protocols import Queries
from sqlfront_planner.binder.scope import ONE_ROW, BoundQuery, Scope, ScopeColumn
from sqlfront_planner.binder.trees.handlers import failure, unsupported
from sqlfront_planner.binder.view_zones import refuse_other_zone
from sqlfront_planner.expressions.rewriting import is_deterministic
from sqlfront_planner.logical import LogicalPlan, LogicalProject
from sqlfront_planner.routines import Routine
from sqlfront_planner.statements.query_parser import parse_query
from sqlfront_values.errors import Error, too_complex
from sqlfront_values.expressions import (
    Call,
    Cast,
    Column,
    Expr,
    Literal,
    Parameter,
    RunValue,
    walk,
    walk_computation,
)

#: A body that is a query rather than an expression.
_QUERY: Final = re.compile(r"\s*(?:SELECT|WITH|VALUES|FROM|TABLE)\b", re.IGNORECASE)
#: Nodes of a call's expression from which on planning would take seconds: each use of a parameter repeats the
#: argument, so that nested calls multiply.
_MOST_NODES: Final = 20_000
#: The nodes that a subquery of the body may read as they are, of an argument over the caller's row.
_PLAIN: Final = (Call, Cast, Column, Literal, Parameter, RunValue)


def parameters_of(routine: Routine, operands: Sequence[Expr]) -> tuple[ScopeColumn, ...]:
    """Return the columns by which a body names the arguments ``operands``: by the parameters' names, which
    may have the function's name as qualifier."""
    qualifier = tuple(part.lower() for part in routine.parts)
    return tuple(
        ScopeColumn(parameter.name, operand, qualifier)
        for parameter, operand in zip(routine.parameters, operands, strict=True)
    )


def reads_row(expression: Expr) -> bool:
    """Return whether an argument reads the row of the call, or stands for a value that is known later."""
    return not all(isinstance(item, _PLAIN) and not isinstance(item, Column) for item in walk(expression))


def check_cycle(context: StatementContext, routine: Routine) -> None:
    """Raise CYCLIC_FUNCTION_REFERENCE if the function is called in its own body, perhaps through others."""
    name, chain = ".".join(routine.parts), context.routines_open
    if name in chain:
        shown = " -> ".join((*chain[chain.index(name) :], name))
        raise failure("CYCLIC_FUNCTION_REFERENCE", f"Cyclic function reference detected: {shown}.")


@contextmanager
def opened(context: StatementContext, routine: Routine) -> Iterator[None]:
    """Return a context in which the statement binds the body of ``routine``: names of relations and functions
    mean what the body sees, and literals stay, since positions refer to the body's text. Errors lose their
    positions. While a function is being created, its body sees all temporary relations and functions. Raises
    NotSupportedError for a function made while ANSI mode was otherwise."""
    name = ".".join(routine.parts)
    if routine.ansi != context.settings.ansi:
        raise unsupported("A SQL function that was made in the other ANSI mode")
    before = context.routines_open, context.catalog, context.literals, context.settings
    sees_variables = context.sees_variables
    zone = routine.time_zone or context.zone
    context.routines_open, context.literals = (*context.routines_open, name), {}
    if routine is not context.created:
        context.catalog = context.catalog.seen_by(routine)
        context.sees_variables = sees_variables and routine.temporary
    context.settings = replace(context.settings, time_zone=zone)
    try:
        yield
    except Error as error:
        error.position = None
        raise
    finally:
        context.routines_open, context.catalog, context.literals, context.settings = before
        context.sees_variables = sees_variables


def scalar_body(queries: Queries, routine: Routine, scope: Scope, node: exp.Expr) -> Expr:
    """Bind the body of a scalar function, and return its value, cast to the function's type. ``scope`` has
    the parameters; ``node`` is the call, for messages."""
    context = queries.context
    with opened(context, routine):
        tree = body_tree(routine)
        # The plan of a function that is being created isn't used.
        is_new = routine is context.created
        given = tuple(column for column in scope.columns if is_new or not reads_row(column.expression))
        binder = ExpressionBinder(queries.alone(given), scope, Clause.SELECT)
        value = binder.bind(tree)
        if routine.returns is not None and value.type != routine.returns:
            value = explicit_cast(binder, value, routine.returns, tree)
    _check_zone(context, routine, LogicalProject(ONE_ROW, (value,), ("",)))
    _check_uses(scope.columns, value, tree, node)
    return value


def body_tree(routine: Routine) -> exp.Expr:
    """Return the tree of a scalar function's body; a query becomes a scalar subquery."""
    is_query = _QUERY.match(routine.body) is not None
    return expression_of(f"({routine.body}\n)" if is_query else routine.body)


def table_body(queries: Queries, routine: Routine, parameters: tuple[ScopeColumn, ...]) -> BoundQuery:
    """Bind the query of a table function, whose arguments ``parameters`` read no row; return the query with
    the function's columns."""
    with opened(queries.context, routine):
        bound = queries.alone(parameters).bind(parse_query(routine.body).tree)
        names = tuple(column.name for column in routine.columns) or bound.names
        if routine.columns:
            bound = _with_types(queries, bound, routine)
    _check_zone(queries.context, routine, bound.plan)
    return BoundQuery(bound.plan, names)


def _with_types(queries: Queries, bound: BoundQuery, routine: Routine) -> BoundQuery:
    """Return the query with its columns cast to the types of the function's columns."""
    row = bound.plan.row()
    if len(row) != len(routine.columns):
        raise wrong_width(routine, len(row))
    if all(column.type == made.type for column, made in zip(row, routine.columns, strict=True)):
        return bound
    names = tuple(column.name for column in routine.columns)
    binder = ExpressionBinder(queries, Scope((), 0), Clause.SELECT)
    columns = tuple(
        explicit_cast(binder, column, made.type, exp.column(column.name))
        for column, made in zip(row, routine.columns, strict=True)
    )
    return BoundQuery(LogicalProject(bound.plan, columns, names), names)


def wrong_width(routine: Routine, width: int) -> Error:
    """Make the error for a table function whose query has ``width`` columns, another number than RETURNS."""
    return failure(
        "USER_DEFINED_FUNCTIONS.RETURN_COLUMN_COUNT_MISMATCH",
        "User defined function is invalid: The number of columns produced by the RETURN clause (num: "
        f"`{width}`) does not match the number of column names specified by the RETURNS clause (num: "
        f"`{len(routine.columns)}`) of {routine.name}.",
    )


def _check_zone(context: StatementContext, routine: Routine, plan: LogicalPlan) -> None:
    if routine.time_zone is not None and routine.time_zone != context.zone:
        refuse_other_zone(routine.name, plan)


def _check_uses(parameters: Sequence[ScopeColumn], value: Expr, body: exp.Expr, node: exp.Expr) -> None:
    """Refuse a call whose value can't be written as one expression: Spark computes each argument once, so
    that a nondeterministic argument has one value; and a subquery of the body can read plain columns only."""
    if any(count > _MOST_NODES for count, _ in enumerate(walk_computation(value))):
        raise too_complex()
    has_subquery = body.find(exp.Query) is not None
    for parameter in parameters:
        operand = parameter.expression
        if not is_deterministic(operand) and _may_read_twice(body, parameter.name.lower()):
            raise unsupported("A nondeterministic argument that a SQL function may read twice", node)
        if has_subquery and not all(isinstance(item, _PLAIN) for item in walk(operand)):
            raise unsupported("An aggregate, window or subquery for a SQL function with a subquery", node)


def _may_read_twice(body: exp.Expr, name: str) -> bool:
    """Return whether a body may read the parameter ``name`` several times for one call."""
    uses = sum(item.name.lower() == name for item in body.find_all(exp.Identifier))
    return uses > 1 or (uses == 1 and body.find(exp.Lambda, exp.Query) is not None)
