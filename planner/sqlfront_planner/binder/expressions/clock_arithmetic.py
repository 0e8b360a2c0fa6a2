"""Arithmetic of times of day (TIME): a time moved by an interval, and the difference of two times."""

from typing import Final

import pyarrow as pa
from sqlglot import exp

from sqlfront_planner.binder.context import MovedBy, TimeShift
from sqlfront_planner.binder.expressions.expression_binder import ExpressionBinder, cast_to
from sqlfront_planner.coercion import time_refused
from sqlfront_planner.types import finer_time
from sqlfront_values.expressions import Call, Expr, Literal
from sqlfront_values.types import (
    INTERVALS,
    TIME,
    VOID,
    IntervalType,
    TimeType,
    is_day_time,
    is_string,
    is_time,
)

#: The type of the difference of two times.
_DIFFERENCE: Final = INTERVALS["HOUR", "SECOND"]


def clock_arithmetic(
    binder: ExpressionBinder, operator: str, left: Expr, right: Expr, node: exp.Expr
) -> Expr | None:
    """Bind ``left operator right`` if at least one operand is a time: a day-time interval is added to it or
    subtracted from it, or the difference of two times is taken. ``operator`` is "add" or "subtract". Returns
    None if Spark has no such operator for times. Raises UNSUPPORTED_TIME_TYPE in a session that doesn't take
    TIME."""
    swapped = operator == "add" and not is_time(left.type)
    if swapped:
        left, right = right, left
    result = _result(operator, left.type, right.type, with_strings=binder.context.coercion.ansi)
    if result is None:
        return None
    if not binder.context.settings.takes_time:
        raise time_refused()
    binder.context.moved[id(node)] = TimeShift(node, MovedBy.INTERVAL, swapped)
    if VOID in (left.type, right.type):
        return Literal(result, None)
    if operator == "subtract" and not is_day_time(right.type):
        return Call(result, operator, (_as_time(left), _as_time(right)))
    return Call(result, operator, (left, right))


def _result(
    operator: str, left: pa.DataType, right: pa.DataType, *, with_strings: bool
) -> pa.DataType | None:
    """Return the type of the operation's result; None if there is no such operation. In a sum, ``left`` is
    the time. ``with_strings``: whether a string beside a time counts as a time."""
    if isinstance(left, TimeType) and isinstance(right, IntervalType) and is_day_time(right):
        return finer_time(left, TIME) if right.last == "SECOND" else left
    if operator == "add":
        return left if is_time(left) and right == VOID else None
    taken = (is_time(kind) or kind == VOID or (with_strings and is_string(kind)) for kind in (left, right))
    return _DIFFERENCE if all(taken) else None


def _as_time(operand: Expr) -> Expr:
    return operand if is_time(operand.type) else cast_to(operand, TIME)
