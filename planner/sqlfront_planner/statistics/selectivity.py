"""Estimates of the share of rows that pass a condition."""

from collections.abc import Callable, Iterable
from typing import Final

import msgspec

from sqlfront_connectors.base import ColumnStatistics
from sqlfront_planner.expressions.rewriting import MIRRORED
from sqlfront_planner.statistics.number_line import number_of
from sqlfront_values.expressions import Call, Cast, Column, Expr, Literal, Parameter, conjuncts
from sqlfront_values.types import is_numeric

#: Default shares of rows, for conditions without statistics, from the habits of benchmarks and textbooks.
EQUALITY: Final = 0.1
INEQUALITY: Final = 0.33
PATTERN: Final = 0.1
PREFIX: Final = 0.05
OTHER: Final = 0.33

#: The statistics of the input's column at an ordinal, or None.
Lookup = Callable[[int], ColumnStatistics | None]


def selectivity(condition: Expr, column: Lookup) -> float:
    """Estimate the share (0 to 1) of rows for which ``condition`` is true. ``column(ordinal)`` returns the
    statistics of a column of these rows, or None."""
    ranges: dict[int, _Range] = {}
    share = 1.0
    for part in conjuncts(condition):
        bound = _bound(part)
        if bound is None:
            share *= _part(part, column)
        else:
            place, function, value = bound
            ranges.setdefault(place, _Range()).narrow(function, value)
    for place, wanted in ranges.items():
        share *= wanted.share(column(place))
    return share


class _Range(msgspec.Struct):
    """The bounds that a conjunction puts on a column, as numbers. ``unknown``: how many further bounds there
    are whose values aren't known."""

    low: float | None = None
    high: float | None = None
    unknown: int = 0

    def narrow(self, function: str, value: float | None) -> None:
        if value is None:
            self.unknown += 1
        elif function.startswith("greater"):
            self.low = value if self.low is None else max(self.low, value)
        else:
            self.high = value if self.high is None else min(self.high, value)

    def share(self, known: ColumnStatistics | None) -> float:
        least = number_of(known.minimum) if known else None
        most = number_of(known.maximum) if known else None
        share = INEQUALITY**self.unknown
        if least is None or most is None:
            bounds = (self.low is not None) + (self.high is not None)
            return share * (INEQUALITY if bounds == 1 else 0.1 if bounds == 2 else 1.0)
        low = least if self.low is None else max(self.low, least)
        high = most if self.high is None else min(self.high, most)
        if high < low:
            return 0.0
        spread = most - least
        return share * (max((high - low) / spread, 1e-4) if spread > 0 else 1.0)


def _bound(part: Expr) -> tuple[int, str, float | None] | None:
    """Split a comparison of a column with a constant by ``<``, ``<=``, ``>`` or ``>=``: return the column's
    ordinal, the comparison's function, and the constant as a number (None = unknown). Return None for any
    other condition."""
    if not (isinstance(part, Call) and part.function in ("less", "less_equal", "greater", "greater_equal")):
        return None
    function = part.function
    left, right = part.arguments
    if not isinstance(left, Column):
        left, right, function = right, left, MIRRORED[function]
    if not isinstance(left, Column) or not _is_constant(right):
        return None
    return left.ordinal, function, _known(right)


def _is_constant(expression: Expr) -> bool:
    return not isinstance(expression, Column) and all(_is_constant(item) for item in expression.children())


def _known(expression: Expr) -> float | None:
    """Return a constant as a number; for a parameter the number that it had when the plan was made; None =
    unknown."""
    match expression:
        case Literal(value=value):
            return number_of(value)
        case Parameter(sample=sample):
            return sample
        case Cast(operand=Parameter() as operand) if is_numeric(expression.type):
            return operand.sample
        case _:
            return None


def _part(part: Expr, column: Lookup) -> float:
    match part:
        case Literal(value=value):
            return 1.0 if value is True else 0.0
        case Call(function="and"):
            return selectivity(part, column)
        case Call(function="or", arguments=parts):
            return _any(selectivity(item, column) for item in parts)
        case Call(function="not", arguments=(inner,)):
            return 1.0 - selectivity(inner, column)
        case Call(function="in", arguments=(tested, *values)):
            return min(1.0, len(values) * _equality(tested, column))
        case Call(function="equal" | "equal_null_safe", arguments=(left, right)):
            return min(_equality(left, column), _equality(right, column))
        case Call(function="not_equal", arguments=(left, right)):
            return 1.0 - min(_equality(left, column), _equality(right, column))
        case Call(function="is_null" | "is_not_null" as function, arguments=(tested,)):
            nulls = _null_share(tested, column)
            return nulls if function == "is_null" else 1.0 - nulls
        case Call(function="like" | "ilike" | "rlike" | "contains" | "startswith" | "endswith"):
            return _pattern(part)
        case _:
            return OTHER


def _any(shares: Iterable[float]) -> float:
    none = 1.0
    for share in shares:
        none *= 1.0 - share
    return 1.0 - none


def _equality(expression: Expr, column: Lookup) -> float:
    """Return the estimated share of rows in which the expression equals one given value. For a constant the
    share is 1, so that the other side of the comparison decides."""
    if isinstance(expression, Cast):
        return _equality(expression.operand, column)
    if not isinstance(expression, Column):
        return 1.0 if _is_constant(expression) else EQUALITY
    known = column(expression.ordinal)
    return 1.0 / max(known.distinct, 1) if known and known.distinct is not None else EQUALITY


def _null_share(expression: Expr, column: Lookup) -> float:
    known = column(expression.ordinal) if isinstance(expression, Column) else None
    return 0.0 if known is not None and known.nulls == 0 else 0.05


def _pattern(call: Call) -> float:
    pattern = call.arguments[1]
    text = pattern.value if isinstance(pattern, Literal) else None
    if call.function == "like" and isinstance(text, str) and text[:1] not in ("%", "_"):
        return PREFIX
    return PATTERN
