"""Constraints on one column of a key, and the values that satisfy the constraints in a run."""

import math
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from typing import Final, TypeAlias

import msgspec
import pyarrow as pa

from sqlfront_planner.expressions.preimages import NoSuchValue, UnknownValue, preimage
from sqlfront_values import evaluate
from sqlfront_values.errors import DataError
from sqlfront_values.expressions import Expr, Literal, transform
from sqlfront_values.room import NotConstantError
from sqlfront_values.settings import Settings
from sqlfront_values.types import is_fractional, is_integral

#: Returns the literal for a Parameter or RunValue of this run, and any other expression unchanged.
ToLiteral = Callable[[Expr], Expr]
#: The possible values of a column, without duplicates, None for null.
Values: TypeAlias = tuple[object, ...]


class UnknownInRun(Exception):
    """An error: an expression's value in this run is unknown, because evaluation fails or Python can't
    represent the value."""


class Candidate(msgspec.Struct, frozen=True):
    """A value with which a column is compared, as an expression without columns.

    ``through``: the types that the column is cast to before the comparison, from its type in the table to
    the last; empty: no cast. ``null_safe``: a null expression matches null (``<=>``), else a null
    expression matches nothing.
    """

    expression: Expr
    through: tuple[pa.DataType, ...] = ()
    null_safe: bool = False

    def value(self, literal: ToLiteral, settings: Settings) -> object:
        """Return the only value of the column that is equal to the expression after the casts; None stands
        for null. ``literal`` maps a Parameter or RunValue to the literal with its value in this run. Raises
        NoSuchValue if no value of the column is equal to the expression, UnknownInRun if the expression's
        value is unknown."""
        value = constant(self.expression, literal, settings)
        if value is None:
            if self.null_safe:
                return None
            raise NoSuchValue
        steps = self.through
        try:
            for place in range(len(steps) - 1, 0, -1):
                value = preimage(value, steps[place - 1], steps[place], settings)
        except UnknownValue:
            raise UnknownInRun from None
        return canonical(value) if type(value) is float else value


class OneOf(msgspec.Struct, frozen=True):
    """A constraint: the column has the value of one of the candidates or, with ``or_null``, is null."""

    candidates: tuple[Candidate, ...]
    or_null: bool = False

    @property
    def most(self) -> int | None:
        """The greatest number of values that satisfy the constraint in any run; always known for this
        constraint, so never None."""
        return len(self.candidates) + self.or_null

    def values(self, literal: ToLiteral, settings: Settings) -> Values:
        """Return the column's values in this run that satisfy the constraint, without duplicates; None stands
        for null. Raises UnknownInRun if a candidate's value is unknown."""
        found: dict[object, None] = {None: None} if self.or_null else {}
        for candidate in self.candidates:
            try:
                found[candidate.value(literal, settings)] = None
            except NoSuchValue:
                pass
        return tuple(found)


class ColumnBound(msgspec.Struct, frozen=True):
    """A constraint: the column, an integer or a date, is ``less``, ``less_equal``, ``greater`` or
    ``greater_equal`` (``function``) than the value of ``expression``. Null doesn't satisfy the
    constraint."""

    function: str
    expression: Expr

    def span(self, literal: ToLiteral, settings: Settings) -> "Span":
        """Return the span of the column's values that satisfy the constraint in this run, as integers
        (dates: ``toordinal``). Raises UnknownInRun if the expression's value is unknown."""
        value = constant(self.expression, literal, settings)
        number = value.toordinal() if isinstance(value, date) else value
        match number:
            case None:
                return NOTHING
            case int() | float() | Decimal():
                return _half(self.function, number)
            case _:
                raise UnknownInRun


class NotNull(msgspec.Struct, frozen=True):
    """A constraint: the column is not null."""


Constraint: TypeAlias = OneOf | ColumnBound | NotNull


class Span(msgspec.Struct, frozen=True):
    """All integers from ``low`` to ``high``, both included; None = unbounded. A date counts as its
    ``toordinal``. The span is empty if ``low`` is greater than ``high``."""

    low: int | None = None
    high: int | None = None

    def within(self, other: "Span") -> "Span":
        """Return the intersection with ``other``."""
        lows = [end for end in (self.low, other.low) if end is not None]
        highs = [end for end in (self.high, other.high) if end is not None]
        return Span(max(lows, default=None), min(highs, default=None))

    def holds(self, value: object) -> bool:
        """Return whether ``value``, an integer or a date, is in the span; False for any other value."""
        number = value.toordinal() if isinstance(value, date) else value
        if not isinstance(number, int):
            return False
        return (self.low is None or number >= self.low) and (self.high is None or number <= self.high)


EVERYTHING: Final = Span()
NOTHING: Final = Span(1, 0)


def remaining(
    constraints: tuple[Constraint, ...],
    data_type: pa.DataType,
    literal: ToLiteral,
    settings: Settings,
    most: int,
) -> Values | None:
    """Return the values of a column of type ``data_type`` that satisfy all constraints in a run, None among
    them for null. Return None if the values are unknown or more than ``most``."""
    kept: dict[object, None] | None = None
    span, nullable = EVERYTHING, True
    for constraint in constraints:
        try:
            match constraint:
                case OneOf():
                    found = constraint.values(literal, settings)
                    kept = dict.fromkeys(item for item in found if kept is None or item in kept)
                case ColumnBound():
                    span, nullable = span.within(constraint.span(literal, settings)), False
                case NotNull():
                    nullable = False
        except UnknownInRun:
            pass
    if kept is None:
        return () if nullable is False and is_empty(span) else _all_of(span, data_type, most)
    if nullable:
        return tuple(kept)
    return tuple(item for item in kept if item is not None and (span is EVERYTHING or span.holds(item)))


def is_empty(span: Span) -> bool:
    """Return whether the span is empty."""
    return span.low is not None and span.high is not None and span.low > span.high


def constant(expression: Expr, literal: ToLiteral, settings: Settings) -> object:
    """Evaluate an expression without columns, with the literals that ``literal`` gives for this run. Raises
    UnknownInRun if evaluation fails or Python can't represent the value."""
    bound = expression if isinstance(expression, Literal) else literal(expression)
    if isinstance(bound, Literal):
        return bound.value
    bound = transform(expression, literal)
    try:
        return evaluate.evaluate_scalar(bound, settings)
    except (DataError, OverflowError, NotConstantError):
        raise UnknownInRun from None


def canonical(value: float) -> float:
    """Return the representative of all floats that are equal to ``value`` in SQL: a single NaN, and 0.0 for
    -0.0."""
    return math.nan if value != value else value + 0.0


def is_enumerable(data_type: pa.DataType) -> bool:
    """Return whether the values between two bounds of this type can be enumerated: an integer or a date."""
    return is_integral(data_type) or data_type == pa.date32()


def has_canonical_values(data_type: pa.DataType) -> bool:
    """Return whether values of the type that are equal in SQL are also identical in Python; False for floats,
    which have several zeros and NaNs."""
    return not is_fractional(data_type)


def _all_of(span: Span, data_type: pa.DataType, most: int) -> Values | None:
    if is_integral(data_type):
        # Invariant: a column's type bounds its values; dates have values that Python can't represent.
        limit = 1 << (data_type.bit_width - 1)
        if span is not EVERYTHING:
            span = span.within(Span(-limit, limit - 1))
    if span.low is None or span.high is None or span.high - span.low >= most:
        return None
    numbers = range(span.low, span.high + 1)
    if is_integral(data_type):
        return tuple(numbers)
    return tuple(map(date.fromordinal, numbers))


def _half(function: str, number: int | float | Decimal) -> Span:
    """Return all integers that are ``function`` (``less``, ``less_equal``, ``greater``, ``greater_equal``)
    than ``number``. NaN is greater than all numbers."""
    if number != number or number == math.inf:
        return EVERYTHING if function.startswith("less") else NOTHING
    if number == -math.inf:
        return NOTHING if function.startswith("less") else EVERYTHING
    match function:
        case "less":
            return Span(high=math.ceil(number) - 1)
        case "less_equal":
            return Span(high=math.floor(number))
        case "greater":
            return Span(low=math.floor(number) + 1)
        case _:
            return Span(low=math.ceil(number))
