"""Mapping of values to numbers, for estimates of ranges."""

from datetime import date, datetime
from decimal import Decimal


def number_of(value: object) -> float | None:
    """Return the value as a number that has the order and distances of the type's values; None for a type
    without such numbers, such as a text.

    >>> number_of(date(1970, 1, 2)), number_of("a")
    (719164.0, None)
    """
    match value:
        case bool() | int() | float() | Decimal():
            return float(value)
        case datetime():
            return value.timestamp()
        case date():
            return float(value.toordinal())
        case _:
            return None
