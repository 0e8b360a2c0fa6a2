"""Binding of time_bucket: a constant width, a timestamp, and a constant origin of the buckets."""

from datetime import datetime, timedelta
from typing import Final

from sqlglot import exp

from sqlfront_planner.binder.expressions.arguments import CallBinders, argument_error
from sqlfront_planner.binder.expressions.expression_binder import ExpressionBinder, cast_to
from sqlfront_planner.binder.trees.handlers import failure
from sqlfront_values import types
from sqlfront_values.evaluate import evaluate_scalar
from sqlfront_values.expressions import Call, Expr, Literal
from sqlfront_values.types import TIMESTAMP, TIMESTAMP_NTZ, VOID

_INTERVALS: Final = '("INTERVAL DAY TO SECOND" or "INTERVAL YEAR TO MONTH")'
_TIMESTAMPS: Final = '"(TIMESTAMP OR TIMESTAMP WITHOUT TIME ZONE)"'
_EPOCH: Final = datetime(1970, 1, 1)


def _time_bucket(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
    width, instant, *rest = binder.bind_all(node.expressions)
    if not types.is_interval(width.type) and width.type != VOID:
        raise argument_error(binder, 0, _INTERVALS, width, node)
    if instant.type not in (TIMESTAMP, TIMESTAMP_NTZ, VOID):
        raise argument_error(binder, 1, _TIMESTAMPS, instant, node)
    kind = TIMESTAMP if instant.type == VOID else instant.type
    origin = rest[0] if rest else cast_to(Literal(TIMESTAMP_NTZ, _EPOCH), kind)
    if origin.type not in (kind, VOID):
        raise argument_error(binder, 2, f'"{types.sql_name(kind)}"', origin, node)
    if width.type == VOID:
        width = Literal(types.DAY_TIME_INTERVAL, None)
    known = _constant(binder, width, "bucketSize", node)
    _check_positive(binder, known, node)
    origin = _constant(binder, cast_to(origin, kind), "origin", node)
    return Call(kind, "time_bucket", (known, cast_to(instant, kind), origin))


def _constant(binder: ExpressionBinder, operand: Expr, name: str, node: exp.Anonymous) -> Expr:
    known = binder.context.constant(operand, node)
    if known is None:
        raise failure(
            "DATATYPE_MISMATCH.NON_FOLDABLE_INPUT",
            f'Cannot resolve "{binder.name(node)}" due to data type mismatch: the input `{name}` should be a'
            f' foldable "{types.sql_name(operand.type)}" expression; however, got a value that depends on the'
            " row.",
            node,
        )
    return known


def _check_positive(binder: ExpressionBinder, width: Expr, node: exp.Anonymous) -> None:
    value = evaluate_scalar(width, binder.context.settings.evaluation)
    if value is None:
        return
    amount = value // timedelta(microseconds=1) if isinstance(value, timedelta) else value
    if isinstance(amount, int) and amount <= 0:
        raise failure(
            "DATATYPE_MISMATCH.VALUE_OUT_OF_RANGE",
            f'Cannot resolve "{binder.name(node)}" due to data type mismatch: The `bucketSize` must be'
            f" between (0, inf) (current value = {binder.name(node.expressions[0])}).",
            node,
        )


TIME_BUCKETS: Final[CallBinders] = {"time_bucket": (_time_bucket, 2, 3)}
