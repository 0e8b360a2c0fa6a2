"""Binding of calls of table functions that users have made, in FROM."""

from sqlglot import exp

from sqlfront_planner.binder.expressions.expression_binder import Clause, ExpressionBinder
from sqlfront_planner.binder.names import routine_names
from sqlfront_planner.binder.names.routine_arguments import assigned
from sqlfront_planner.binder.names.shown_names import quoted
from sqlfront_planner.binder.protocols import Queries
from sqlfront_planner.binder.routines.bodies import check_cycle, parameters_of, table_body
from sqlfront_planner.binder.routines.calls import operand_of
from sqlfront_planner.binder.scope import Relation, Scope, relation
from sqlfront_planner.binder.trees.handlers import failure, unsupported
from sqlfront_planner.expressions.rewriting import columns_to_outer, is_deterministic
from sqlfront_planner.logical import OuterColumn
from sqlfront_planner.routines import Routine, is_builtin
from sqlfront_values.expressions import walk


def table_routine(queries: Queries, node: exp.Expr) -> tuple[Routine, exp.Anonymous] | None:
    """Return the user's table function that an item of FROM calls, and the call; None if the item calls
    another function. ``node`` is a table, or what follows LATERAL. Raises NOT_A_TABLE_FUNCTION for a scalar
    function, UNRESOLVABLE_TABLE_VALUED_FUNCTION for an unknown function with a qualified name."""
    if isinstance(node, exp.Table):
        call = node.this
        assert isinstance(call, exp.Anonymous)
        qualifier = tuple(part.name for part in node.parts[:-1])
        parts = (*qualifier, *routine_names.dotted_call(call)[0])
    else:
        parts, call = routine_names.dotted_call(node)
    if is_builtin(parts[:-1]):
        raise unsupported("A table function with a qualified name", node)
    context = queries.context
    routine = routine_names.found_in(context.catalog, parts, context.routines)
    if routine is None:
        if len(parts) == 1:
            return None
        raise failure(
            "UNRESOLVABLE_TABLE_VALUED_FUNCTION",
            f"Could not resolve {quoted(parts)} to a table-valued function.",
            node,
        )
    if not routine.is_table:
        raise failure(
            "NOT_A_TABLE_FUNCTION",
            f"{quoted((routine.name,))} appears as a table function here, but the function was defined as a "
            "scalar function. Please update the query to move the function call outside the FROM clause, or "
            f"redefine {quoted((routine.name,))} as a table function instead.",
            node,
        )
    return routine, call


def routine_relation(
    queries: Queries, routine: Routine, call: exp.Anonymous, left: Scope | None = None
) -> Relation:
    """Bind a call of a table function. ``left``: the row that the arguments may read behind LATERAL; in the
    function's rows its columns are those of an enclosing row. Without it, the arguments may read the row of
    the query around this subquery."""
    check_cycle(queries.context, routine)
    scope = Scope((), 0, queries.enclosing) if left is None else left
    binder = ExpressionBinder(queries, scope, Clause.SELECT)
    operands = [
        operand_of(binder, part, routine, place)
        for place, part in enumerate(assigned(routine, call.expressions, call))
    ]
    if not all(map(is_deterministic, operands)):
        raise unsupported("A nondeterministic argument of a table function", call)
    if left is not None:
        if any(isinstance(item, OuterColumn) for operand in operands for item in walk(operand)):
            raise unsupported("A column of a query further out as an argument of a table function", call)
        operands = [columns_to_outer(operand) for operand in operands]
    bound = table_body(queries, routine, parameters_of(routine, operands))
    return Relation(bound.plan, relation(bound.names, bound.plan.row(), routine.parts))
