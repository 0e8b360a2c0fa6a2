"""Binding of calls of ``window``, ``session_window`` and ``window_time``."""

from typing import Final

import pyarrow as pa
from sqlglot import exp

from sqlfront_planner.binder.collected_calls import AggregateOutput, GroupingOutput, WindowOutput
from sqlfront_planner.binder.collected_windows import (
    FixedWindow,
    SessionWindow,
    TimeWindows,
    time_of,
)
from sqlfront_planner.binder.expressions.arguments import CallBinders, function_name
from sqlfront_planner.binder.expressions.calendar_intervals import maker_of, moved
from sqlfront_planner.binder.expressions.expression_binder import Clause, ExpressionBinder, cast_to
from sqlfront_planner.binder.time_windows.markers import Marker, is_window_type, marker_of
from sqlfront_planner.binder.trees.handlers import failure, span, unsupported
from sqlfront_planner.logical import OuterColumn
from sqlfront_values import types
from sqlfront_values.casts.calendar_texts import calendar_interval
from sqlfront_values.errors import Error, ProgrammingError
from sqlfront_values.expressions import Call, Column, Expr, Literal, walk
from sqlfront_values.java.civil import MICROS_PER_DAY
from sqlfront_values.types import BIGINT, INT, STRING, TIMESTAMP, TIMESTAMP_NTZ, VOID

_CLAUSES: Final = frozenset({Clause.SELECT, Clause.GROUP_BY})
_MOST: Final = 2**63 - 1


def bind_window(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
    """Bind ``window(moment, width[, slide[, start]])`` to the column of the windows.

    Raises CANNOT_PARSE_INTERVAL for a text that is no interval, DATATYPE_MISMATCH for a moment of another
    type and for widths out of their bounds, and errors without a condition for widths that are no literals or
    have months, and for a second window in the SELECT."""
    columns = _columns(binder, node)
    width, *others = [_micros(binder, part, node) for part in node.expressions[1:]]
    slide = others[0] if others else width
    first = others[1] if len(others) > 1 else 0
    moment = _operand(binder, node, columns)
    shown = f"window({binder.name(node.expressions[0])}, {width}, {slide}, {first})"
    moment = _moment(columns, moment, shown, node)
    _check_widths(shown, width, slide, first, node)
    return columns.add_window(FixedWindow(moment, width, slide, first), node)


def bind_session_window(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
    """Bind ``session_window(moment, gap)`` to the column of the rows' sessions. The gap is a text, or a call
    of make_interval.

    Raises DATATYPE_MISMATCH for a moment of another type, and an error without a condition for a gap of
    another type or for a second window in the SELECT."""
    columns = _columns(binder, node)
    moment, gap = _operand(binder, node, columns), node.expressions[1]
    maker = maker_of(gap)
    bound = Literal(STRING, None) if maker is not None else binder.bind(gap)
    shown = f"sessionwindow({binder.name(node.expressions[0])}, {binder.name(gap)})"
    moment = _moment(columns, moment, shown, node)
    if maker is not None:
        return columns.add_window(
            SessionWindow(moment, moved(binder, "add", moment, maker, node), False), node
        )
    if bound.type == VOID:
        bound = Literal(STRING, None)
    if bound.type != STRING:
        raise _nameless(
            "1040",
            "Gap duration expression used in session window must be CalendarIntervalType, but got "
            f'"{types.sql_name(bound.type)}".',
            node,
        )
    _check_row(binder, bound, gap)
    known = binder.context.known_value(bound)
    text = known.value if isinstance(known, Literal) and isinstance(known.value, str) else None
    parts = None if text is None else calendar_interval(text)
    if parts is not None and min(parts) < 0 < max(parts):
        raise unsupported("A gap of sessions with parts of both signs", node)
    is_positive = parts is not None and min(parts) >= 0 and any(parts)
    end = Call(moment.type, "session end", (moment, bound if text is None else known))
    return columns.add_window(SessionWindow(moment, end, is_positive), node)


def bind_window_time(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
    """Bind ``window_time(window)`` to the column of the windows' times. Raises an error without a condition
    unless the argument is a column of windows."""
    columns = _columns(binder, node)
    operand = _operand(binder, node, columns)
    shown = binder.name(node.expressions[0])
    if not pa.types.is_struct(operand.type):
        raise _wrong_type(f"window_time({shown})", '"STRUCT"', operand, node)
    _check_window(columns, operand, f"window_time({shown})", node)
    assert isinstance(operand, Column)
    return columns.add_time(operand, f"window_time({shown})")


def _columns(binder: ExpressionBinder, node: exp.Anonymous) -> TimeWindows:
    columns = binder.time_windows
    if columns is None or binder.clause not in _CLAUSES:
        raise unsupported(f"{function_name(node)} in {binder.clause.value}", node)
    if binder.variables or binder.inside_lambda:
        raise unsupported(f"{function_name(node)} in a lambda", node)
    return columns


def _operand(binder: ExpressionBinder, node: exp.Anonymous, columns: TimeWindows) -> Expr:
    """Bind the first argument over the input's row; window_time's may also be the column of windows."""
    used = len(binder.aliases_used)
    part = node.expressions[0]
    operand = binder.bind(part)
    if len(binder.aliases_used) > used:
        raise unsupported(f"An alias of the same SELECT in {function_name(node)}", node)
    _check_row(binder, operand, part)
    return operand if columns.is_window(operand) else columns.written_out(operand, part)


def _check_row(binder: ExpressionBinder, operand: Expr, node: exp.Expr) -> None:
    """Raise INVALID_WHERE_CONDITION for an operand with an aggregate or window function, since Spark filters
    the rows by it. Raises NotSupportedError for a column of the enclosing query."""
    for part in walk(operand):
        if isinstance(part, AggregateOutput | GroupingOutput | WindowOutput):
            raise failure(
                "INVALID_WHERE_CONDITION",
                f'The WHERE condition "({binder.name(node)} IS NOT NULL)" contains invalid expressions: '
                f"{binder.name(node)}.\nRewrite the query to avoid window functions, aggregate functions, "
                "and generator functions in the WHERE clause.",
                node,
            )
        if isinstance(part, OuterColumn):
            raise unsupported("A column of the enclosing query in a window of time", node)


def _moment(columns: TimeWindows, operand: Expr, shown: str, node: exp.Anonymous) -> Expr:
    """Return the timestamp of an operand: of a window its time, of a date or a text a TIMESTAMP."""
    kind = operand.type
    if is_window_type(kind):
        _check_window(columns, operand, shown, node)
        return time_of(columns.written_out(operand, node))
    if kind in (TIMESTAMP, TIMESTAMP_NTZ):
        return operand
    if kind not in (types.DATE, STRING, VOID):
        required = (
            '("(TIMESTAMP OR TIMESTAMP WITHOUT TIME ZONE)" or "STRUCT<start: TIMESTAMP, end: TIMESTAMP>" or '
            '"STRUCT<start: TIMESTAMP_NTZ, end: TIMESTAMP_NTZ>")'
        )
        raise _wrong_type(shown, required, operand, node)
    return cast_to(operand, TIMESTAMP)


def _check_window(columns: TimeWindows, operand: Expr, shown: str, node: exp.Anonymous) -> None:
    """Raise an error without a condition unless the operand is a column of windows; NotSupportedError for a
    column of a table, which may be one for Spark."""
    if isinstance(operand, Column):
        if columns.is_window(operand):
            return
        marker = marker_of(columns.plan, operand)
        if marker is Marker.UNKNOWN:
            raise unsupported("The window of a table's column", node)
        if marker is not None:
            return
    raise _nameless("3101", f"The input is not a correct window column: {shown}", node)


def _wrong_type(shown: str, required: str, operand: Expr, node: exp.Anonymous) -> Error:
    return failure(
        "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE",
        f'Cannot resolve "{shown}" due to data type mismatch: The first parameter requires the {required} '
        f'type, however it has the type "{types.sql_name(operand.type)}".',
        node,
    )


def _nameless(number: str, message: str, node: exp.Expr) -> ProgrammingError:
    """Make an error to which Spark hasn't given a condition yet, but a number."""
    return ProgrammingError(message, condition=f"_LEGACY_ERROR_TEMP_{number}", position=span(node))


def _micros(binder: ExpressionBinder, part: exp.Expr, node: exp.Anonymous) -> int:
    """Return the microseconds of a width, which is a whole number or a text."""
    literal = binder.context.known_value(binder.bind(part))
    value = literal.value if isinstance(literal, Literal) else None
    if isinstance(value, int) and literal.type in (INT, BIGINT):
        return value
    if not isinstance(value, str):
        raise _nameless(
            "1207",
            "The duration and time inputs to window must be an integer, long or string literal.",
            node,
        )
    parts = calendar_interval(value)
    if parts is None:
        raise failure(
            "CANNOT_PARSE_INTERVAL",
            f"Unable to parse '{value}'. Please ensure that the value provided is in a valid format for "
            "defining an interval. You can reference the documentation for the correct format. If the issue "
            "persists, please double check that the input value is not null or empty and try again.",
            node,
        )
    if parts.months:
        raise _nameless("3231", f"Intervals greater than a month is not supported ({value}).", node)
    return parts.days * MICROS_PER_DAY + parts.micros


def _check_widths(shown: str, width: int, slide: int, first: int, node: exp.Anonymous) -> None:
    for name, value in (("window_duration", width), ("slide_duration", slide)):
        if not 0 < value <= _MOST:
            raise failure(
                "DATATYPE_MISMATCH.VALUE_OUT_OF_RANGE",
                f'Cannot resolve "{shown}" due to data type mismatch: The `{name}` must be between (0, '
                f"{_MOST}] (current value = {value}L).",
                node,
            )
    bounds = (
        (slide <= width, f"The `slide_duration`({slide}L) must be <= the `window_duration`({width}L)"),
        (
            abs(first) < slide,
            f"The `abs(start_time)`({abs(first)}L) must be < the `slide_duration`({slide}L)",
        ),
    )
    for is_kept, rule in bounds:
        if not is_kept:
            raise failure(
                "DATATYPE_MISMATCH.PARAMETER_CONSTRAINT_VIOLATION",
                f'Cannot resolve "{shown}" due to data type mismatch: {rule}.',
                node,
            )


TIME_WINDOWS: Final[CallBinders] = {
    "window": (bind_window, 2, 4),
    "session_window": (bind_session_window, 2, 2),
    "window_time": (bind_window_time, 1, 1),
}
