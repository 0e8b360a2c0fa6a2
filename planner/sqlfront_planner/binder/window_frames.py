"""Binding of window frames: ``ROWS`` and ``RANGE`` with their bounds, as Spark checks and casts them."""

from typing import Final

import msgspec
import pyarrow as pa
from sqlglot import exp

from sqlfront_planner.binder.collected_calls import WindowOrder
from sqlfront_planner.binder.expressions.arguments import call_function
from sqlfront_planner.binder.expressions.casts import can_cast
from sqlfront_planner.binder.expressions.expression_binder import ExpressionBinder
from sqlfront_planner.binder.trees.handlers import failure, refuse_unknown, unsupported
from sqlfront_planner.types import is_orderable
from sqlfront_values import types
from sqlfront_values.evaluate import evaluate_scalar
from sqlfront_values.expressions import Call, Cast, Column, Expr, FrameUnit, Literal, WindowFrame
from sqlfront_values.functions import registry
from sqlfront_values.types import DATE, INT, TIMESTAMP, TIMESTAMP_NTZ, is_interval, is_numeric, sql_name

#: All rows of the partition.
WHOLE: Final = WindowFrame(FrameUnit.ROWS, None, None)
_RUNNING: Final = WindowFrame(FrameUnit.RANGE, None, 0)
#: Nodes of which a bound's distance may consist. Spark takes no functions and no columns there.
_CONSTANT: Final = (
    exp.Literal, exp.Null, exp.Boolean, exp.Neg, exp.Paren, exp.Interval, exp.IntervalSpan, exp.Var,
    exp.Cast, exp.TryCast, exp.DataType, exp.DataTypeParam, exp.Placeholder, exp.Parameter,
    exp.Add, exp.Sub, exp.Mul,
)  # fmt: skip
#: What Spark expects of the distance of a bound, by the frame's unit.
_EXPECTED: Final = {
    FrameUnit.ROWS: '"INT"',
    FrameUnit.RANGE: '("NUMERIC" or "INTERVAL DAY TO SECOND" or "INTERVAL YEAR TO MONTH" or "INTERVAL")',
}


class _Bound(msgspec.Struct, frozen=True):
    """A bound of a frame. ``distance`` is the signed distance from the current row, negative for PRECEDING;
    it is None for CURRENT ROW, whose ``side`` is 0, and for UNBOUNDED PRECEDING (-1) and FOLLOWING (1)."""

    side: int
    distance: Literal | None = None

    def text(self) -> str:
        """Return the bound's text for messages."""
        if self.distance is not None:
            return str(self.distance.value)
        return ("UNBOUNDED PRECEDING", "CURRENT ROW", "UNBOUNDED FOLLOWING")[self.side + 1]


def window_frame(binder: ExpressionBinder, window: exp.Window, order: tuple[WindowOrder, ...]) -> WindowFrame:
    """Return the frame of a window: the frame in the text; otherwise all rows of the partition up to the
    current row's peers, or all rows of the partition if the window has no order.

    Raises Spark's errors for bounds: DATATYPE_MISMATCH.SPECIFIED_WINDOW_FRAME_UNACCEPTED_TYPE and its like
    for a pair of bounds, DATATYPE_MISMATCH.RANGE_FRAME_INVALID_TYPE and its like for bounds and order."""
    spec = window.args.get("spec")
    if spec is None:
        return _RUNNING if order else WHOLE
    refuse_unknown(spec, frozenset({"kind", "start", "start_side", "end", "end_side"}))
    unit = FrameUnit.ROWS if str(spec.args["kind"]).upper() == "ROWS" else FrameUnit.RANGE
    key = order[0][0].type if unit is FrameUnit.RANGE and len(order) == 1 else None
    start = _bound(binder, spec, spec.args.get("start"), spec.args.get("start_side"), key)
    last = spec.args.get("end")
    end = _Bound(0) if last is None else _bound(binder, spec, last, spec.args.get("end_side"), key)
    _check_pair(binder, unit, start, end, spec)
    if unit is FrameUnit.ROWS:
        return WindowFrame(unit, _rows(start, spec), _rows(end, spec))
    _check_order(order, start, end, spec)
    return WindowFrame(unit, _range(start, order, spec), _range(end, order, spec))


def _bound(
    binder: ExpressionBinder, spec: exp.Expr, value: object, side: object, key: pa.DataType | None
) -> _Bound:
    """Return the bound that ``value`` and ``side`` say in the text. ``key`` is the type of the only key of
    the order of a RANGE frame, to which Spark casts a distance unless the key is a date or timestamp."""
    direction = str(side or "").upper()
    if isinstance(value, str):
        if value.upper() == "CURRENT ROW":
            return _Bound(0)
        return _Bound(-1 if direction == "PRECEDING" else 1)
    assert isinstance(value, exp.Expr)
    if any(isinstance(part, exp.Column | exp.Anonymous) for part in value.walk()):
        raise failure(
            "INVALID_SQL_SYNTAX.INVALID_WINDOW_FRAME_BOUND",
            "Invalid SQL syntax: Frame bound value must be a literal.",
            spec,
        )
    if not all(isinstance(part, _CONSTANT) for part in value.walk()) or any(
        binder.bind(part.this).type != binder.bind(part.expression).type
        for part in value.find_all(exp.Binary)
    ):
        raise unsupported("This bound of a window frame", spec)
    distance = binder.bind(value)
    if direction == "PRECEDING":
        distance = call_function(binder, "negative", [distance], spec)
    kept = key is None or key in (DATE, TIMESTAMP, distance.type)
    if not kept and can_cast(distance.type, key):
        distance = Cast(key, distance)
        binder.context.cast_bounds[id(value)] = value
    known = binder.context.constant(distance, spec)
    if known is None:
        raise unsupported("A window frame whose bound is not constant", spec)
    try:
        amount = evaluate_scalar(known, binder.context.settings.evaluation)
    except OverflowError:
        raise unsupported("This bound of a window frame", spec) from None
    return _Bound(-1 if direction == "PRECEDING" else 1, Literal(known.type, amount))


def _check_pair(
    binder: ExpressionBinder, unit: FrameUnit, start: _Bound, end: _Bound, spec: exp.Expr
) -> None:
    """Raise Spark's errors for the two bounds of a frame, in Spark's order: the types of distances, UNBOUNDED
    on the wrong side, distances of different types, and a lower bound behind the upper one."""
    for bound, name in ((start, "lower"), (end, "upper")):
        distance = bound.distance
        if distance is None:
            continue
        kind = distance.type
        if not (kind == INT if unit is FrameUnit.ROWS else is_numeric(kind) or is_interval(kind)):
            raise failure(
                "DATATYPE_MISMATCH.SPECIFIED_WINDOW_FRAME_UNACCEPTED_TYPE",
                f'The data type of the {name} bound "{sql_name(kind)}" does not match the expected data type '
                f"{_EXPECTED[unit]}.",
                spec,
            )
    if _is_unbounded(start, 1) or _is_unbounded(end, -1):
        raise failure(
            "DATATYPE_MISMATCH.SPECIFIED_WINDOW_FRAME_INVALID_BOUND",
            f'Window frame upper bound "{end.text()}" does not follow the lower bound "{start.text()}".',
            spec,
        )
    if start.distance is None or end.distance is None:
        return
    if start.distance.type != end.distance.type:
        raise failure(
            "DATATYPE_MISMATCH.SPECIFIED_WINDOW_FRAME_DIFF_TYPES",
            f'Window frame bounds "{start.text()}" and "{end.text()}" do not have the same type: '
            f'"{sql_name(start.distance.type)}" <> "{sql_name(end.distance.type)}".',
            spec,
        )
    greater = Call(types.BOOLEAN, "greater", (start.distance, end.distance))
    if evaluate_scalar(greater, binder.context.settings.evaluation):
        raise failure(
            "DATATYPE_MISMATCH.SPECIFIED_WINDOW_FRAME_WRONG_COMPARISON",
            "The lower bound of a window frame must be less than or equal to the upper bound.",
            spec,
        )


def _is_unbounded(bound: _Bound, side: int) -> bool:
    return bound.distance is None and bound.side == side


def _check_order(order: tuple[WindowOrder, ...], start: _Bound, end: _Bound, spec: exp.Expr) -> None:
    """Raise Spark's errors for a RANGE frame and the window's order: no order, several keys below a distance,
    or a key to which the distance can't be added."""
    if not order and not (_is_unbounded(start, -1) and _is_unbounded(end, 1)):
        raise failure(
            "DATATYPE_MISMATCH.RANGE_FRAME_WITHOUT_ORDER",
            "A range window frame cannot be used in an unordered window specification.",
            spec,
        )
    distance = start.distance or end.distance
    if distance is None:
        return
    if len(order) > 1:
        raise failure(
            "DATATYPE_MISMATCH.RANGE_FRAME_MULTI_ORDER",
            "A range window frame with value boundaries cannot be used in a window specification with "
            "multiple order by expressions.",
            spec,
        )
    key = order[0][0].type
    if not _fits(key, distance.type):
        raise failure(
            "DATATYPE_MISMATCH.RANGE_FRAME_INVALID_TYPE",
            f'The data type "{sql_name(key)}" used in the order specification does not support the data type '
            f'"{sql_name(distance.type)}" which is used in the range frame.',
            spec,
        )


def _fits(key: pa.DataType, distance: pa.DataType) -> bool:
    """Return whether Spark adds a distance of that type to an order key of the type ``key``."""
    if key == DATE:
        return distance in (INT, types.DAY_INTERVAL) or types.is_year_month(distance)
    if key in (TIMESTAMP, TIMESTAMP_NTZ):
        return is_interval(distance)
    return bool(key == distance) and is_orderable(key)


def _rows(bound: _Bound, spec: exp.Expr) -> int | None:
    """Return the bound of a ROWS frame as an offset in rows; None for UNBOUNDED."""
    if bound.distance is None:
        return 0 if bound.side == 0 else None
    if not isinstance(bound.distance.value, int):
        raise unsupported("A window frame whose distance is null", spec)
    return bound.distance.value


def _range(bound: _Bound, order: tuple[WindowOrder, ...], spec: exp.Expr) -> int | Expr | None:
    """Return the bound of a RANGE frame: 0 for CURRENT ROW, None for UNBOUNDED, else the expression of the
    key at the bound, over a row of which the order's key is the only column. In a descending order the
    distance counts downwards."""
    if bound.distance is None:
        return 0 if bound.side == 0 else None
    (key, direction), distance = order[0], bound.distance
    operands = (Column(key.type, 0, "key"), _flipped(distance) if direction.descends else distance)
    if key.type == DATE and distance.type == INT:
        return Call(DATE, "date_add", operands)
    if key.type in (DATE, TIMESTAMP, TIMESTAMP_NTZ) or is_interval(key.type):
        return Call(key.type, "add", operands)
    entry = registry.lookup("add")
    assert entry is not None
    kind = entry.result_type(tuple(operand.type for operand in operands))
    if types.is_decimal(kind) and kind.precision == key.type.precision:
        raise unsupported(f"A RANGE frame with a distance over {sql_name(key.type)}", spec)
    return Call(kind, "add", operands)


def _flipped(distance: Literal) -> Expr:
    return Call(distance.type, "negative", (distance,))
