"""Table functions in FROM: ``range``."""

from sqlglot import exp

from sqlfront_planner.binder.expressions.arguments import check_count, function_name
from sqlfront_planner.binder.expressions.casts import can_cast
from sqlfront_planner.binder.expressions.expression_binder import Clause, ExpressionBinder
from sqlfront_planner.binder.names import spark_functions
from sqlfront_planner.binder.names.shown_names import quoted
from sqlfront_planner.binder.protocols import Queries
from sqlfront_planner.binder.relations.range_table import RangeTable
from sqlfront_planner.binder.scope import EMPTY_SCOPE
from sqlfront_planner.binder.trees.handlers import failure, unsupported
from sqlfront_values.errors import Error
from sqlfront_values.evaluate import evaluate_scalar
from sqlfront_values.expressions import Cast
from sqlfront_values.types import BIGINT, sql_name


def table_function(queries: Queries, call: exp.Anonymous, node: exp.Expr) -> RangeTable:
    """Return the table that a call of a table function means, such as ``range(10)``; ``node`` is the item of
    FROM, for messages. The arguments must be constant.

    Raises WRONG_NUM_ARGS, UNEXPECTED_INPUT_TYPE, FAILED_FUNCTION_CALL; NotSupportedError for Spark's other
    table functions; NOT_A_TABLE_FUNCTION and UNRESOLVABLE_TABLE_VALUED_FUNCTION for any other name.
    """
    name = function_name(call)
    if name != "range":
        raise _no_such_function(name, call)
    check_count("range", len(call.expressions), 1, 4, node)
    numbers = [_constant(queries, argument, place) for place, argument in enumerate(call.expressions)]
    start, end = (0, numbers[0]) if len(numbers) == 1 else (numbers[0], numbers[1])
    step = numbers[2] if len(numbers) > 2 else 1
    if step == 0:
        raise failure(
            "FAILED_FUNCTION_CALL",
            "Failed preparing of the function `range` for call. Please, double check function's arguments.",
            node,
        )
    return RangeTable(start, end, step)


def _no_such_function(name: str, call: exp.Anonymous) -> Error:
    if name in spark_functions.IN_FROM:
        return unsupported(f"The table function {name}", call)
    if name in spark_functions.CALLABLE:
        return failure(
            "NOT_A_TABLE_FUNCTION",
            f"{quoted((name,))} appears as a table function here, but it is a scalar function. Move the call"
            " outside the FROM clause.",
            call,
        )
    return failure(
        "UNRESOLVABLE_TABLE_VALUED_FUNCTION",
        f"Could not resolve {quoted((name,))} to a table-valued function.",
        call,
    )


def _constant(queries: Queries, node: exp.Expr, place: int) -> int:
    """Evaluate the argument at position ``place`` (from 0) of ``range`` as a bigint. Raises
    UNEXPECTED_INPUT_TYPE for null and for a type that can't be cast, NON_FOLDABLE_ARGUMENT for an expression
    that isn't constant."""
    binder = ExpressionBinder(queries, EMPTY_SCOPE, Clause.RANGE)
    bound = binder.bind(node)
    known = None if queries.context.reads_variable(bound) else queries.context.constant(bound, node)
    if known is None:
        raise failure(
            "NON_FOLDABLE_ARGUMENT",
            f"The function `range` requires the parameter {place + 1} to be a foldable expression of the type"
            ' "BIGINT", but the actual argument is not.',
            node,
        )
    value = None
    if can_cast(known.type, BIGINT):
        value = evaluate_scalar(Cast(BIGINT, known), queries.context.settings.evaluation)
    if not isinstance(value, int):
        raise failure(
            "UNEXPECTED_INPUT_TYPE",
            f'Parameter {place + 1} of function `range` requires the "BIGINT" type, however it is null or '
            f'of another type ("{sql_name(known.type)}").',
            node,
        )
    return value
