"""Arithmetic of dates, timestamps and intervals: Spark's operators and their types."""

from collections.abc import Sequence
from typing import Final

import pyarrow as pa
from sqlglot import exp

from sqlfront_planner.binder.context import MovedBy, TimeShift
from sqlfront_planner.binder.expressions.arguments import argument_error
from sqlfront_planner.binder.expressions.expression_binder import ExpressionBinder, cast_to
from sqlfront_planner.binder.trees.handlers import failure, unsupported
from sqlfront_planner.types import DATETIMES, least_common_type
from sqlfront_values import types
from sqlfront_values.errors import Error
from sqlfront_values.expressions import Call, Expr, Literal
from sqlfront_values.types import (
    BIGINT,
    DATE,
    DAY_INTERVAL,
    DAY_TIME_INTERVAL,
    DOUBLE,
    INT,
    STRING,
    TIMESTAMP,
    VOID,
    YEAR_MONTH_INTERVAL,
    is_day_time,
    is_interval,
    is_numeric,
    is_string,
    is_time,
    is_year_month,
)

_SMALL: Final = (types.TINYINT, types.SMALLINT, INT)


def time_arithmetic(
    binder: ExpressionBinder, operator: str, left: Expr, right: Expr, node: exp.Expr
) -> Expr | None:
    """Bind ``left operator right`` if at least one operand is a date or timestamp: an amount is added to it
    or subtracted from it, or the difference of two times is taken. ``operator`` is "add" or "subtract".

    Returns None if Spark has no such operator for times. Raises UNEXPECTED_INPUT_TYPE for an amount of a
    wrong type.
    """
    if not binder.context.coercion.ansi and (is_string(left.type) or is_string(right.type)):
        raise unsupported("A date or timestamp beside a string with ANSI mode off", node)
    swapped = left.type not in DATETIMES and operator == "add"
    if swapped:
        left, right = right, left
    if operator == "subtract" and (is_string(left.type) or is_string(right.type)):
        left, right = cast_to(left, _other_time(left, right)), cast_to(right, _other_time(right, left))
    if VOID in (left.type, right.type):
        return _moved_by_null(binder, operator, left, right, node, swapped=swapped)
    if left.type not in DATETIMES:
        return None
    if is_interval(right.type):
        days = left.type == DATE and right.type == DAY_INTERVAL
        binder.context.moved[id(node)] = TimeShift(node, MovedBy.DAYS if days else MovedBy.INTERVAL, swapped)
        if left.type == DATE and is_day_time(right.type) and not days:
            left = cast_to(left, TIMESTAMP)
        return Call(left.type, operator, (left, right))
    if left.type == DATE and (is_numeric(right.type) or is_string(right.type) or is_time(right.type)):
        binder.context.moved[id(node)] = TimeShift(node, MovedBy.NUMBER, swapped)
        return _move_days(binder, operator, left, right, node)
    if operator == "add" and left.type == DATE and right.type == DATE:
        raise _wrong_second(binder, node, DATE)
    if operator == "subtract" and is_time(right.type):
        raise _wrong_second(binder, node, right.type)
    if operator == "subtract" and right.type in DATETIMES:
        kind = least_common_type(left.type, right.type)
        assert kind is not None
        result = DAY_INTERVAL if kind == DATE else DAY_TIME_INTERVAL
        return Call(result, operator, (cast_to(left, kind), cast_to(right, kind)))
    return None


def _moved_by_null(
    binder: ExpressionBinder, operator: str, left: Expr, right: Expr, node: exp.Expr, *, swapped: bool
) -> Expr:
    """Return the null that a date or timestamp plus or minus NULL gives.

    An added NULL counts as an interval, so that a date becomes a timestamp. In a difference NULL has the
    other operand's type, so that the result is an interval. ``swapped``: NULL is the left operand in the
    text."""
    if operator == "add":
        binder.context.moved[id(node)] = TimeShift(node, MovedBy.INTERVAL, swapped)
        return Literal(TIMESTAMP if left.type == DATE else left.type, None)
    return Literal(DAY_INTERVAL if DATE in (left.type, right.type) else DAY_TIME_INTERVAL, None)


def _other_time(operand: Expr, other: Expr) -> pa.DataType:
    """Return the type to which ``operand``, an operand of a difference, is cast: a string beside a date or
    timestamp gets the type of ``other``; any other operand keeps its type."""
    return other.type if is_string(operand.type) and other.type in DATETIMES else operand.type


def _move_days(binder: ExpressionBinder, operator: str, left: Expr, right: Expr, node: exp.Expr) -> Expr:
    function = "date_add" if operator == "add" else "date_sub"
    if right.type != VOID and right.type not in _SMALL:
        raise argument_error(binder, 1, '("INT" or "SMALLINT" or "TINYINT")', right, node)
    return Call(DATE, function, (left, cast_to(right, INT)))


def interval_arithmetic(
    binder: ExpressionBinder, operator: str, left: Expr, right: Expr, node: exp.Expr
) -> Expr | None:
    """Bind ``left operator right`` if at least one operand is an interval: the sum, difference or quotient of
    two intervals of one kind, or an interval times or divided by a number. ``operator`` is a registry name,
    such as "multiply".

    Returns None if Spark has no such operator for intervals. Raises UNEXPECTED_INPUT_TYPE for two intervals
    that can't be added, subtracted or multiplied.
    """
    if operator in ("add", "subtract"):
        moved = _moved_string(binder, operator, left, right, node)
        if moved is not None:
            return moved
        if not binder.context.coercion.ansi and STRING in (left.type, right.type):
            raise unsupported("A string moved by an interval", node)
        kind = None if STRING in (left.type, right.type) else least_common_type(left.type, right.type)
        if kind is None and is_interval(left.type) and is_interval(right.type):
            raise _wrong_second(binder, node, right.type)
        if kind is None and (operator == "add" or is_day_time(right.type)):
            _refuse_moved(binder, operator, (left, right), node)
        return None if kind is None else Call(kind, operator, (cast_to(left, kind), cast_to(right, kind)))
    if operator == "div" and is_interval(left.type) and is_interval(right.type):
        kind = least_common_type(left.type, right.type)
        return None if kind is None else Call(BIGINT, "div", (cast_to(left, kind), cast_to(right, kind)))
    if operator == "multiply" and is_interval(left.type) and is_interval(right.type):
        raise _wrong_second(binder, node, right.type)
    if operator == "multiply" and is_interval(right.type):
        binder.context.moved[id(node)] = TimeShift(node, MovedBy.FACTOR, swapped=True)
        left, right = right, left
    if operator in ("multiply", "divide") and (is_numeric(right.type) or right.type in (VOID, STRING)):
        number = right if is_numeric(right.type) else cast_to(right, DOUBLE)
        result = YEAR_MONTH_INTERVAL if is_year_month(left.type) else DAY_TIME_INTERVAL
        return Call(result, operator, (left, number))
    if operator in ("multiply", "divide") and is_interval(left.type):
        raise _not_numeric(binder, operator, right, node)
    return None


def _moved_string(
    binder: ExpressionBinder, operator: str, left: Expr, right: Expr, node: exp.Expr
) -> Expr | None:
    """Bind a string moved by an interval of days or shorter units: the string is read as a timestamp, and the
    result is a string again. Returns None for other operands."""
    swapped = operator == "add" and is_day_time(left.type)
    text, interval = (right, left) if swapped else (left, right)
    if not is_string(text.type) or not is_day_time(interval.type):
        return None
    binder.context.moved[id(node)] = TimeShift(node, MovedBy.INTERVAL, swapped)
    return cast_to(Call(TIMESTAMP, operator, (cast_to(text, TIMESTAMP), interval)), STRING)


def _refuse_moved(binder: ExpressionBinder, operator: str, operands: Sequence[Expr], node: exp.Expr) -> None:
    """Raise UNEXPECTED_INPUT_TYPE if one operand is an interval of days or shorter units: Spark takes the
    other operand for a timestamp that the interval moves, and shows it first."""
    intervals = [is_day_time(operand.type) for operand in operands]
    if not any(intervals):
        return
    texts = [binder.name(part) for part in _operands(node)]
    interval, moved = texts[intervals.index(True)], texts[intervals.index(False)]
    given = operands[intervals.index(False)].type
    shown = f"{moved} + {interval}" if operator == "add" else f"{moved} + (- {interval})"
    raise failure(
        "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE",
        f'Cannot resolve "{shown}" due to data type mismatch: The first parameter requires the ("(TIMESTAMP'
        ' OR TIMESTAMP WITHOUT TIME ZONE)" or "(TIMESTAMP_LTZ(P) OR TIMESTAMP_NTZ(P) WITH P IN [7, 9])") type'
        f', however "{moved}" has the type "{types.sql_name(given)}".',
        node,
    )


def _not_numeric(binder: ExpressionBinder, operator: str, factor: Expr, node: exp.Expr) -> Error:
    """Make Spark's error for an interval times or divided by a ``factor`` that is no number; Spark shows the
    interval first."""
    shown = [binder.name(part) for part in _operands(node)]
    moved = binder.context.moved.get(id(node))
    if moved is not None and moved.swapped:
        shown.reverse()
    sign = "*" if operator == "multiply" else "/"
    return failure(
        "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE",
        f'Cannot resolve "({shown[0]} {sign} {shown[1]})" due to data type mismatch: The second parameter'
        f' requires the "NUMERIC" type, however "{shown[1]}" has the type "{types.sql_name(factor.type)}".',
        node,
    )


def _operands(node: exp.Expr) -> list[exp.Expr]:
    """Return both operands of an operator, or of the call of a function such as ``try_add``."""
    return node.expressions if isinstance(node, exp.Anonymous) else [node.this, node.expression]


def _wrong_second(binder: ExpressionBinder, node: exp.Expr, given: pa.DataType) -> Error:
    """Make Spark's error for an operator whose second operand has the type ``given``, a date or interval that
    the first operand can't be combined with."""
    return failure(
        "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE",
        f'Cannot resolve "{binder.name(node)}" due to data type mismatch: The second parameter does not take '
        "the type "
        f'"{types.sql_name(given)}".',
        node,
    )
