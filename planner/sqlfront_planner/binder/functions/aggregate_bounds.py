"""Checks of the constant arguments of aggregates whose values have bounds, and of the types of what they
count."""

from collections.abc import Sequence
from typing import Final

import msgspec
from sqlglot import exp

from sqlfront_planner.binder.expressions import arguments as call_arguments
from sqlfront_planner.binder.expressions.expression_binder import ExpressionBinder, cast_to
from sqlfront_planner.binder.trees.handlers import failure
from sqlfront_planner.types import DATETIMES
from sqlfront_values.evaluate import evaluate_scalar
from sqlfront_values.expressions import Expr
from sqlfront_values.types import DOUBLE, VOID, is_interval, is_numeric, is_string, is_time

_HISTOGRAMS: Final = "histogram_numeric"
#: The parameters of count_min_sketch.
_PARAMETERS: Final = ("column", "epsilon", "confidence", "seed")
_MEASURED: Final = (
    '("NUMERIC" or "DATE" or "TIMESTAMP" or "TIMESTAMP_NTZ" or "INTERVAL YEAR TO MONTH" or '
    '"INTERVAL DAY TO SECOND" or "TIME")'
)


class _Bound(msgspec.Struct, frozen=True):
    """A constant argument: its place and name, and its values: more than ``above``, or at least ``least``,
    and less than ``below``. ``shown``: the bounds in messages; ``suffix``: behind a value there."""

    place: int
    name: str
    shown: str
    least: float | None = None
    above: float | None = None
    below: float | None = None
    suffix: str = ""

    def holds(self, value: float) -> bool:
        """Return whether the value lies within the bounds."""
        return (
            (self.least is None or value >= self.least)
            and (self.above is None or value > self.above)
            and (self.below is None or value < self.below)
        )


_BOUNDS: Final = {
    _HISTOGRAMS: (_Bound(1, "nb", "[2, 2147483647]", least=2),),
    "count_min_sketch": (
        _Bound(1, "eps", "(0.0, 1.7976931348623157E308]", above=0, suffix="D"),
        _Bound(2, "confidence", "(0.0, 1.0]", above=0, below=1, suffix="D"),
        _Bound(3, "seed", ""),
    ),
}


def measured(binder: ExpressionBinder, name: str, operands: list[Expr], node: exp.Expr) -> list[Expr]:
    """Return the operands of a call, those of a histogram as numbers, dates, timestamps or intervals. Raises
    DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE for values of another type, and REQUIRED_PARAMETER_NOT_FOUND for
    a count_min_sketch without all of its arguments."""
    if name == "count_min_sketch" and len(operands) < len(_PARAMETERS):
        missing = _PARAMETERS[len(operands)]
        raise call_arguments.missing_parameter(name, missing, node)
    if name != _HISTOGRAMS or not operands:
        return operands
    kind = operands[0].type
    if is_string(kind) or kind == VOID:
        return [cast_to(operands[0], DOUBLE), *operands[1:]]
    if not (is_numeric(kind) or kind in DATETIMES or is_interval(kind) or is_time(kind)):
        raise call_arguments.argument_error(binder, 0, _MEASURED, operands[0], node)
    return operands


def check_bounds(binder: ExpressionBinder, name: str, arguments: Sequence[Expr], node: exp.Expr) -> None:
    """Raise DATATYPE_MISMATCH.UNEXPECTED_NULL or .VALUE_OUT_OF_RANGE for constant arguments that are null or
    out of their bounds."""
    for bound in _BOUNDS.get(name, ()):
        value = evaluate_scalar(arguments[bound.place], binder.context.settings.evaluation)
        if value is None:
            raise failure(
                "DATATYPE_MISMATCH.UNEXPECTED_NULL",
                f'Cannot resolve "{binder.name(node)}" due to data type mismatch: The {bound.name} must not '
                "be null.",
                node,
            )
        if isinstance(value, int | float) and not bound.holds(value):
            raise failure(
                "DATATYPE_MISMATCH.VALUE_OUT_OF_RANGE",
                f'Cannot resolve "{binder.name(node)}" due to data type mismatch: The {bound.name} must be '
                f"between {bound.shown} (current value = {value}{bound.suffix}).",
                node,
            )
