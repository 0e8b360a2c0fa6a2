"""Binding of calls of SQL functions in expressions, and of calls with a qualified name."""

from typing import Final

from sqlglot import exp

from sqlfront_planner.binder.expressions.casts import explicit_cast
from sqlfront_planner.binder.expressions.expression_binder import Clause, ExpressionBinder
from sqlfront_planner.binder.names import routine_names
from sqlfront_planner.binder.names.routine_arguments import Assigned, assigned
from sqlfront_planner.binder.names.shown_names import quoted
from sqlfront_planner.binder.names.spark_functions import CALLABLE
from sqlfront_planner.binder.routines.bodies import check_cycle, parameters_of, scalar_body
from sqlfront_planner.binder.scope import EMPTY_SCOPE, Scope
from sqlfront_planner.binder.trees.handlers import failure
from sqlfront_planner.routines import Routine, is_builtin
from sqlfront_values.errors import Error
from sqlfront_values.expressions import Expr

#: Spark's operators in whose expressions it calls no SQL function, by the clause.
_REFUSED: Final = {
    Clause.ORDER_BY: "Sort",
    Clause.LIMIT: "GlobalLimit",
    Clause.OFFSET: "Offset",
    Clause.LATERAL_VIEW: "Generate",
    Clause.TABLE_FUNCTION: "Generate",
}


def bind_routine(binder: ExpressionBinder, routine: Routine, node: exp.Anonymous) -> Expr:
    """Bind a call of a SQL function in an expression to the function's body over the arguments.

    Raises the errors of the arguments, NOT_A_SCALAR_FUNCTION for a table function, and
    UNSUPPORTED_SQL_UDF_USAGE in clauses where Spark calls no SQL functions."""
    name = quoted((routine.name,))
    check_cycle(binder.context, routine)
    if routine.is_table:
        raise failure(
            "NOT_A_SCALAR_FUNCTION",
            f"{name} appears as a scalar expression here, but the function was defined as a table function. "
            "Please update the query to move the function call into the FROM clause, or redefine "
            f"{name} as a scalar function instead.",
            node,
        )
    if node.expressions and isinstance(node.expressions[0], exp.Distinct):
        raise failure(
            "INVALID_SQL_SYNTAX.FUNCTION_WITH_UNSUPPORTED_SYNTAX",
            f"Invalid SQL syntax: The function {name} does not support DISTINCT.",
            node,
        )
    if binder.inside_lambda:
        raise failure(
            "UNSUPPORTED_FEATURE.LAMBDA_FUNCTION_WITH_SQL_UDF",
            f"The feature is not supported: Lambda function with SQL UDF {routine.name} in a higher order "
            "function.",
            node,
        )
    if binder.clause is Clause.VALUES:
        raise failure(
            "INVALID_INLINE_TABLE.CANNOT_EVALUATE_EXPRESSION_IN_INLINE_TABLE",
            f'Invalid inline table. Cannot evaluate the expression "{binder.name(node)}" in inline table '
            "definition.",
            node,
        )
    if binder.clause in _REFUSED:
        raise misplaced(routine, _REFUSED[binder.clause], node)
    operands = [
        operand_of(binder, part, routine, place)
        for place, part in enumerate(assigned(routine, routine_names.with_columns(binder, node), node))
    ]
    scope = Scope(parameters_of(routine, operands), binder.scope.width)
    return scalar_body(binder.queries, routine, scope, node)


def refuse_in(binder: ExpressionBinder, node: exp.Expr, operator: str) -> None:
    """Raise UNSUPPORTED_SQL_UDF_USAGE if the node, an expression of Spark's ``operator``, calls a SQL
    function."""
    for call in node.find_all(exp.Anonymous):
        name = routine_names.dotted_call(call)[0]
        if name[0].lower() not in CALLABLE and (routine := routine_names.find_routine(binder, name)):
            raise misplaced(routine, operator, call)


def misplaced(routine: Routine, operator: str, node: exp.Expr) -> Error:
    """Make the error for a SQL function in a clause of Spark's ``operator``."""
    return failure(
        "UNSUPPORTED_SQL_UDF_USAGE",
        f"Using SQL function {quoted((routine.name,))} in {operator} is not supported.",
        node,
    )


def operand_of(binder: ExpressionBinder, argument: Assigned, routine: Routine, place: int) -> Expr:
    """Bind the argument of the parameter at ``place``, and cast it to the parameter's type."""
    node, is_default = argument
    if is_default:
        binder = ExpressionBinder(binder.queries.alone(), EMPTY_SCOPE, Clause.SELECT)
        literals, binder.context.literals = binder.context.literals, {}
        try:
            return explicit_cast(binder, binder.bind(node), routine.parameters[place].type, node)
        finally:
            binder.context.literals = literals
    return explicit_cast(binder, binder.bind(node), routine.parameters[place].type, node)


def qualified_call(binder: ExpressionBinder, node: exp.Dot) -> Expr:
    """Bind a call with a qualified name: ``builtin.abs(1)``, or a user's ``session.f(1)`` or
    ``spark_catalog.default.f(1)``. Raises UNRESOLVED_ROUTINE for any other name."""
    parts, call = routine_names.dotted_call(node)
    if is_builtin(parts[:-1]):
        return binder.bind(call)
    routine = routine_names.find_routine(binder, parts)
    if routine is None:
        raise routine_names.unresolved(parts, node)
    return bind_routine(binder, routine, call)
