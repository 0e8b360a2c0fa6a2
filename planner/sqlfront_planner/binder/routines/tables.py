"""Binding of calls of table functions that users have made, in FROM."""

from sqlglot import exp

from sqlfront_planner.binder.expressions.expression_binder import Clause, ExpressionBinder
from sqlfront_planner.binder.names import routine_names
from sqlfront_planner.binder.names.routine_arguments import assigned
from sqlfront_planner.binder.names.shown_names import quoted
from sqlfront_planner.binder.protocols import Queries
from sqlfront_planner.binder.routines.bodies import check_cycle, parameters_of, table_body
from sqlfront_planner.binder.routines.calls import operand_of
from sqlfront_planner.binder.scope import EMPTY_SCOPE, Relation, relation
from sqlfront_planner.binder.trees.handlers import failure, unsupported
from sqlfront_planner.expressions.rewriting import is_deterministic
from sqlfront_planner.routines import Routine, is_builtin


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


def routine_relation(queries: Queries, routine: Routine, call: exp.Anonymous) -> Relation:
    """Bind a call of a table function whose arguments read no row."""
    check_cycle(queries.context, routine)
    binder = ExpressionBinder(queries, EMPTY_SCOPE, Clause.SELECT)
    operands = [
        operand_of(binder, part, routine, place)
        for place, part in enumerate(assigned(routine, call.expressions, call))
    ]
    if not all(map(is_deterministic, operands)):
        raise unsupported("A nondeterministic argument of a table function", call)
    bound = table_body(queries, routine, parameters_of(routine, operands))
    return Relation(bound.plan, relation(bound.names, bound.plan.row(), routine.parts))
