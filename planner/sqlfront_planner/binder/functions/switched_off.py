"""Functions that Spark refuses by its default settings: those of TIME values and of nanoseconds."""

from typing import Final

from sqlglot import exp

from sqlfront_planner.binder.expressions.arguments import CallBinders, argument_error
from sqlfront_planner.binder.expressions.expression_binder import ExpressionBinder
from sqlfront_planner.binder.trees.handlers import failure
from sqlfront_values import types
from sqlfront_values.expressions import Expr, Literal

#: The functions of TIME values, with the least and the greatest number of their arguments.
_OF_TIME: Final = {
    "make_time": (3, 3),
    "time": (1, 1),
    "time_diff": (3, 3),
    "time_from_micros": (1, 1),
    "time_from_millis": (1, 1),
    "time_from_seconds": (1, 1),
    "time_to_micros": (1, 1),
    "time_to_millis": (1, 1),
    "time_to_seconds": (1, 1),
    "time_trunc": (2, 2),
    "to_time": (1, 2),
    "try_to_time": (1, 2),
}
_NANOSECONDS: Final = '"(TIMESTAMP_LTZ(P) OR TIMESTAMP_NTZ(P) WITH P IN [7, 9])"'
#: The type of a number of nanoseconds since 1970.
_NANOSECOND_COUNT: Final = types.decimal(21, 0)


def _of_time(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
    raise failure("UNSUPPORTED_TIME_TYPE", "The data type TIME is not supported.", node)


def _unix_nanos(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
    operand = binder.bind(node.expressions[0])
    if operand.type == types.VOID:
        return Literal(_NANOSECOND_COUNT, None)
    raise argument_error(binder, 0, _NANOSECONDS, operand, node)


SWITCHED_OFF: Final[CallBinders] = {
    **{name: (_of_time, *counts) for name, counts in _OF_TIME.items()},
    "unix_nanos": (_unix_nanos, 1, 1),
}
