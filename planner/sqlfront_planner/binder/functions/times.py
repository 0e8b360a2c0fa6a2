"""Binding of the functions of times of day (TIME), which Spark has only with
``spark.sql.timeType.enabled=true``, but for ``current_time`` and the timestamps of a date and a time."""

from collections.abc import Sequence
from typing import Final

from sqlglot import exp

from sqlfront_planner.binder.expressions.arguments import CallBinder, CallBinders, call_function
from sqlfront_planner.binder.expressions.expression_binder import ExpressionBinder, cast_to
from sqlfront_planner.binder.trees.handlers import failure, unsupported
from sqlfront_planner.coercion import time_refused
from sqlfront_values import types
from sqlfront_values.evaluate import evaluate_scalar
from sqlfront_values.expressions import Expr, RunValue

#: The functions that Spark refuses without the setting, with the least and the greatest number of their
#: arguments.
_FUNCTIONS: Final = {
    "make_time": (3, 3),
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


def check_taken(binder: ExpressionBinder) -> None:
    """Raise UNSUPPORTED_TIME_TYPE unless the session takes TIME (``spark.sql.timeType.enabled``)."""
    if not binder.context.settings.takes_time:
        raise time_refused()


def _function(name: str) -> CallBinder:
    def bind(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
        check_taken(binder)
        return call_function(binder, name, binder.bind_all(node.expressions), node)

    return bind


def _field(name: str) -> CallBinder:
    """Return the binder of ``hour``, ``minute`` or ``second``, also of times."""

    def bind(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
        operand = binder.bind(node.expressions[0])
        if types.is_time(operand.type):
            check_taken(binder)
        return call_function(binder, name, [operand], node)

    return bind


def date_format(binder: ExpressionBinder, operands: Sequence[Expr], node: exp.Expr) -> Expr:
    """Bind ``date_format(value, pattern)`` of a date, timestamp or time."""
    name = "text of a time" if types.is_time(operands[0].type) else "date_format"
    return call_function(binder, name, operands, node)


def _date_format(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
    return date_format(binder, binder.bind_all(node.expressions), node)


def _current_time(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
    """Bind ``current_time(precision)`` or ``localtime(precision)``; without an argument, the precision is
    6."""
    if not node.expressions:
        return RunValue(types.TIME, "current_time")
    operand = binder.bind(node.expressions[0])
    known = binder.context.constant(cast_to(operand, types.INT), node)
    precision = None if known is None else evaluate_scalar(known, binder.context.settings.evaluation)
    if not isinstance(precision, int):
        raise unsupported("A precision of current_time that is null or no constant", node)
    if not 0 <= precision < len(types.TIMES):
        raise failure(
            "DATATYPE_MISMATCH.VALUE_OUT_OF_RANGE",
            f'Cannot resolve "{binder.name(node)}" due to data type mismatch: The `precision` must be'
            f" between [0, {len(types.TIMES) - 1}] (current value = {precision}).",
            node,
        )
    return RunValue(types.TIMES[precision], "current_time")


TIME_FUNCTIONS: Final[CallBinders] = {
    **{name: (_function(name), *counts) for name, counts in _FUNCTIONS.items()},
    **{name: (_field(name), 1, 1) for name in ("hour", "minute", "second")},
    **dict.fromkeys(("current_time", "localtime"), (_current_time, 0, 1)),
    "date_format": (_date_format, 2, 2),
}
