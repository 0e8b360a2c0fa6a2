"""Binding of uniform, randstr and shuffle, whose arguments must be constants."""

from typing import Final

import pyarrow as pa
from sqlglot import exp

from sqlfront_planner.binder.expressions.arguments import (
    CallBinder,
    CallBinders,
    call_function,
    wrong_argument,
)
from sqlfront_planner.binder.expressions.expression_binder import ExpressionBinder, cast_to
from sqlfront_planner.binder.trees.handlers import failure, unsupported
from sqlfront_planner.types import least_common_type
from sqlfront_values import types
from sqlfront_values.evaluate import evaluate_scalar
from sqlfront_values.expressions import Call, Cast, Expr, Literal
from sqlfront_values.functions.numbers.decimal_rules import wider_type
from sqlfront_values.functions.registry import Kind
from sqlfront_values.types import BIGINT, BOOLEAN, DOUBLE, INT, VOID

_SEEDS: Final = (INT, BIGINT, VOID)
_MOST_LENGTH: Final = 2**31 - 1


def _constant(binder: ExpressionBinder, operand: Expr, name: str, kind: str, node: exp.Anonymous) -> Expr:
    """Return the operand with the values of parameters; raise NON_FOLDABLE_INPUT if it reads a row."""
    known = binder.context.constant(operand, node)
    if known is None:
        raise failure(
            "DATATYPE_MISMATCH.NON_FOLDABLE_INPUT",
            f'Cannot resolve "{binder.name(node)}" due to data type mismatch: the input `{name}` should be a'
            f" foldable {kind} expression; however, got a value that depends on the row.",
            node,
        )
    return known


def _seed(binder: ExpressionBinder, operands: list[Expr], place: int, node: exp.Anonymous) -> list[Expr]:
    """Return the seed at ``place`` of the operands, as a list that is empty if there is none."""
    for operand in operands[place:]:
        if operand.type not in _SEEDS:
            raise wrong_argument(binder, place, Kind.INT_OR_BIGINT, operand, node)
    return operands[place:]


def _uniform_type(bounds: list[Expr], node: exp.Anonymous) -> pa.DataType:
    """Return the type of uniform: a decimal's own type beside a whole number; of two decimals the first if it
    holds all values of the second, else the second; of other numbers the wider type."""
    left, right = (bound.type for bound in bounds)
    if VOID in (left, right):
        raise unsupported("uniform of NULL", node)
    decimals = [kind for kind in (left, right) if types.is_decimal(kind)]
    if decimals and not any(map(types.is_fractional, (left, right))):
        is_wider = wider_type(decimals[0], decimals[-1]) == decimals[0]
        return decimals[0] if is_wider else decimals[-1]
    if types.FLOAT in (left, right) and DOUBLE not in (left, right):
        return types.FLOAT
    wider = least_common_type(left, right)
    assert wider is not None  # both are numbers
    return wider


def _uniform(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
    """Bind ``uniform(least, most, seed)`` as ``least + (most - least) * rand(seed)`` in doubles, cast to
    the type of the bounds."""
    operands = binder.bind_all(node.expressions)
    names = ("min", "max", "seed")
    operands = [
        _constant(binder, operand, name, "integer or floating-point", node)
        for operand, name in zip(operands, names, strict=False)
    ]
    for place, operand in enumerate(operands[:2]):
        if not types.is_numeric(operand.type) and operand.type != VOID:
            raise wrong_argument(binder, place, Kind.NUMERIC, operand, node)
    seed = _seed(binder, operands, 2, node)
    kind = _uniform_type(operands[:2], node)
    least, most = (cast_to(operand, DOUBLE) for operand in operands[:2])
    width = Call(DOUBLE, "subtract", (most, least))
    drawn = call_function(binder, "rand", seed, node)
    value = Call(DOUBLE, "add", (least, Call(DOUBLE, "multiply", (width, drawn))))
    if kind == DOUBLE:
        return value
    # For Spark uniform gives no null, although such a cast may.
    return Call(kind, "coalesce", (Cast(kind, value), cast_to(Literal(BOOLEAN, False), kind)))


def _randstr(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
    operands = binder.bind_all(node.expressions)
    operands = [
        _constant(binder, operand, name, "integer", node)
        for operand, name in zip(operands, ("length", "seed"), strict=False)
    ]
    seed = _seed(binder, operands, 1, node)
    length = evaluate_scalar(operands[0], binder.context.settings.evaluation)
    if isinstance(length, int) and length < 0:
        raise failure(
            "DATATYPE_MISMATCH.VALUE_OUT_OF_RANGE",
            f'Cannot resolve "{binder.name(node)}" due to data type mismatch: The `length` must be between'
            f" [0, {_MOST_LENGTH}] (current value = {length}).",
            node,
        )
    return call_function(binder, "randstr", [operands[0], *seed], node)


def _shuffle(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
    operands = binder.bind_all(node.expressions)
    if len(operands) > 1:
        known = binder.context.known_value(operands[1])
        if not isinstance(known, Literal) or known.type not in _SEEDS:
            raise failure(
                "INVALID_PARAMETER_VALUE.LONG",
                "The value of parameter(s) `seed` in `shuffle` is invalid: expects a long literal, but got"
                f' "{binder.name(node.expressions[1])}".',
                node,
            )
        operands[1] = known
    return call_function(binder, "shuffle", operands, node)


def _random(name: str) -> CallBinder:
    """Return the binder of ``rand`` or ``randn``, whose seed must be constant."""

    def bind(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
        operands = binder.bind_all(node.expressions)
        for operand in _seed(binder, operands, 0, node):
            if binder.context.constant(operand, node) is None:
                raise failure(
                    "SEED_EXPRESSION_IS_UNFOLDABLE",
                    f'The seed expression "{binder.name(node.expressions[0])}" of the expression'
                    f' "{binder.name(node)}" must be foldable.',
                    node,
                )
        return call_function(binder, name, operands, node)

    return bind


RANDOM_VALUES: Final[CallBinders] = {
    **{name: (_random(name), 0, 1) for name in ("rand", "randn", "random")},
    "uniform": (_uniform, 2, 3),
    "randstr": (_randstr, 1, 2),
    "shuffle": (_shuffle, 1, 2),
}
