"""A test of whether a scan can skip a piece of data: the conjuncts of the filter are compared with the bounds
of a row group, or with the values of a partition directory."""

from collections.abc import Callable

import msgspec

from sqlfront_values.expressions import Call, Column, Expr, Literal
from sqlfront_values.types import is_fractional


class ColumnBounds(msgspec.Struct, frozen=True):
    """The bounds of a column in a piece of data: values lie between ``minimum`` and ``maximum`` (None =
    unknown); ``nulls`` and ``rows`` are counts, None = unknown."""

    minimum: object = None
    maximum: object = None
    nulls: int | None = None
    rows: int | None = None

    @property
    def all_null(self) -> bool:
        """True if every row is known to be null; False if a row has a value, or if ``nulls`` or ``rows`` is
        unknown."""
        return self.nulls is not None and self.nulls == self.rows


BoundsOf = Callable[[int], ColumnBounds | None]

_FLIPPED = {
    "equal": "equal",
    "equal_null_safe": "equal_null_safe",
    "less": "greater",
    "less_equal": "greater_equal",
    "greater": "less",
    "greater_equal": "less_equal",
}


def may_match(condition: Expr, bounds_of: BoundsOf) -> bool:
    """Return False only if no row of a piece of data can make ``condition`` true; True if a row may, or if
    the bounds don't tell. ``bounds_of`` returns the bounds of a column by its ordinal, None = unknown.

    Comparisons of float and double columns always give True: bounds leave out NaN, which Spark orders above
    all values.
    """
    match condition:
        case Call(function="and", arguments=parts):
            return all(may_match(part, bounds_of) for part in parts)
        case Call(function="or", arguments=parts):
            return any(may_match(part, bounds_of) for part in parts)
        case Call(function="is_null", arguments=(Column(ordinal=ordinal),)):
            bounds = bounds_of(ordinal)
            return bounds is None or bounds.nulls != 0
        case Call(function="is_not_null", arguments=(Column(ordinal=ordinal),)):
            bounds = bounds_of(ordinal)
            return bounds is None or not bounds.all_null
        case Call(function="in", arguments=(Column() as column, *values)) if all(
            isinstance(value, Literal) for value in values
        ):
            return any(_compare("equal", column, value, bounds_of) for value in values)  # type: ignore[arg-type]
        case Call(function=name, arguments=(Column() as column, Literal() as literal)) if name in _FLIPPED:
            return _compare(name, column, literal, bounds_of)
        case Call(function=name, arguments=(Literal() as literal, Column() as column)) if name in _FLIPPED:
            return _compare(_FLIPPED[name], column, literal, bounds_of)
        case _:
            return True


def _compare(function: str, column: Column, literal: Literal, bounds_of: BoundsOf) -> bool:
    bounds = bounds_of(column.ordinal)
    if bounds is None or is_fractional(column.type) or column.type != literal.type:
        return True
    value = literal.value
    if function == "equal_null_safe":
        if value is None:
            return bounds.nulls != 0
        function = "equal"
    if value is None or bounds.all_null:
        return False
    try:
        return _overlaps(function, bounds.minimum, bounds.maximum, value)
    except TypeError:
        return True


def _overlaps(function: str, minimum: object, maximum: object, value: object) -> bool:
    match function:
        case "equal":
            return not (_is_less(value, minimum) or _is_less(maximum, value))
        case "less":
            return minimum is None or _is_less(minimum, value)
        case "less_equal":
            return not _is_less(value, minimum)
        case "greater":
            return maximum is None or _is_less(value, maximum)
        case "greater_equal":
            return not _is_less(maximum, value)
        case _:
            return True


def _is_less(left: object, right: object) -> bool:
    """Return whether ``left < right``; False if either is None (unknown). Raises TypeError if the types have
    no order."""
    if left is None or right is None:
        return False
    return bool(left < right)  # type: ignore[operator]
