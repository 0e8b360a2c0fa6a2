"""Inverse casts: the value of a narrower type that a cast turns into a given value of the wider type."""

import struct
from collections.abc import Callable
from datetime import datetime
from decimal import Context, Decimal
from typing import Final

import pyarrow as pa

from sqlfront_values import evaluate
from sqlfront_values.errors import DataError, NotSupportedError
from sqlfront_values.expressions import Cast, Literal
from sqlfront_values.settings import Settings
from sqlfront_values.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    is_decimal,
    is_integral,
)

#: Decimal digits up to which decimals become distinct doubles (IEEE 754's DBL_DIG).
_DOUBLE_DIGITS: Final = 15
#: The magnitude from which on bigints are rounded when they become doubles: a double has 53 bits.
_EXACT_DOUBLES: Final = 1 << 53
#: A context with twice the 38 digits of the longest decimal and some more; Python's default context would
#: round to 28 digits.
_EXACT: Final = Context(prec=80)


class NoSuchValue(Exception):
    """The error of :func:`preimage` if the cast turns no value of the narrower type into the given value."""


class UnknownValue(Exception):
    """The error of :func:`preimage` if it can't be determined which value of the narrower type, if any, the
    cast turns into the given value."""


def keeps_order(narrow: pa.DataType, wide: pa.DataType) -> bool:
    """Return whether a cast from the numeric type ``narrow`` to ``wide`` maps every value to a value of its
    own, in the same order.

    >>> from sqlfront_values.types import INT
    >>> keeps_order(INT, BIGINT), keeps_order(BIGINT, DOUBLE), keeps_order(INT, STRING)
    (True, False, False)
    """
    if is_integral(narrow):
        if is_integral(wide):
            return bool(narrow.bit_width <= wide.bit_width)
        if is_decimal(wide):
            return bool(wide.precision - wide.scale >= len(str(1 << (narrow.bit_width - 1))))
        most = {DOUBLE: 32, FLOAT: 16}.get(wide, 0)
        return bool(narrow.bit_width <= most)
    if is_decimal(narrow) and is_decimal(wide):
        whole = narrow.precision - narrow.scale
        return wide.scale >= narrow.scale and wide.precision - wide.scale >= whole
    return False


def keeps_equality(narrow: pa.DataType, wide: pa.DataType) -> bool:
    """Return whether every value of ``narrow`` can be cast to ``wide``, only null becomes null, and distinct
    values stay distinct, except perhaps values for which :func:`preimage` can't determine which value was
    cast (it raises UnknownValue).

    >>> from sqlfront_values.types import INT
    >>> keeps_equality(INT, STRING), keeps_equality(STRING, INT), keeps_equality(TIMESTAMP, DATE)
    (True, False, False)
    """
    if narrow == wide or keeps_order(narrow, wide):
        return True
    if wide == DOUBLE:
        return narrow in (FLOAT, BIGINT) or (is_decimal(narrow) and narrow.precision <= _DOUBLE_DIGITS)
    if wide == STRING:
        return is_integral(narrow) or narrow == BOOLEAN
    # Midnight's clock time determines the date; two clock times may be one instant, where clocks skip an
    # hour.
    return narrow == DATE and wide in (TIMESTAMP, TIMESTAMP_NTZ)


def is_always_known(narrow: pa.DataType, wide: pa.DataType) -> bool:
    """Return whether a cast between these types can always be reversed: for every value of ``wide``,
    :func:`preimage` finds the value of ``narrow`` or that there is none, and never raises UnknownValue."""
    return narrow != DATE and (narrow, wide) != (BIGINT, DOUBLE)


def preimage(value: object, narrow: pa.DataType, wide: pa.DataType, settings: Settings) -> object:
    """Return the only value of ``narrow`` that a cast to ``wide`` turns into ``value``, which must not be
    null.

    The types must satisfy :func:`keeps_equality`. Raises NoSuchValue if the cast turns no value into
    ``value``; raises UnknownValue if the cast isn't exact for such values, or if Python can't represent the
    result.

    >>> from sqlfront_values.types import INT
    >>> preimage(Decimal("5.0"), INT, pa.decimal128(11, 1), Settings())
    5
    """
    if narrow == wide:
        return value
    if is_decimal(narrow) or is_integral(narrow):
        if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
            if (
                (narrow, wide) == (BIGINT, DOUBLE)
                and isinstance(value, float)
                and abs(value) >= _EXACT_DOUBLES
            ):
                raise UnknownValue
            return _number(value, narrow)
    elif narrow == FLOAT and isinstance(value, float):
        return _single(value)
    found = _reversed(value, narrow, settings)
    again = evaluate.evaluate_scalar(Cast(wide, Literal(narrow, found)), settings)
    if again != value:
        raise NoSuchValue
    return found


def narrowed(literal: Literal, narrow: pa.DataType) -> Literal | None:
    """Return the number as a literal of the numeric type ``narrow``; None if the type can't hold the value
    exactly, or if the literal is no number. A null gives a null of the type."""
    value = literal.value
    if value is None:
        return Literal(narrow, None)
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return None
    try:
        return Literal(narrow, _number(value, narrow))
    except NoSuchValue:
        return None


def _number(value: int | float | Decimal, narrow: pa.DataType) -> int | Decimal:
    """Return the number as a value of the integral or decimal type ``narrow``. Raises NoSuchValue if the type
    can't hold the number exactly."""
    if isinstance(value, float):
        if value != value or value in (float("inf"), float("-inf")):
            raise NoSuchValue
        if is_decimal(narrow):
            # ``repr`` gives the shortest text of the double, so a decimal of few digits comes back unchanged.
            exact = _scaled(Decimal(repr(value)), narrow)
            if float(exact) != value:
                raise NoSuchValue
            return exact
    if is_decimal(narrow):
        return _scaled(Decimal(value), narrow)
    number = int(value)
    limit = 1 << (narrow.bit_width - 1)
    if value != number or not -limit <= number < limit:
        raise NoSuchValue
    return number


def _scaled(value: Decimal, narrow: pa.DataType) -> Decimal:
    digits = _EXACT.scaleb(value, narrow.scale)
    if digits != digits.to_integral_value() or len(str(abs(int(digits)))) > narrow.precision:
        raise NoSuchValue
    return _EXACT.quantize(value, Decimal((0, (1,), -narrow.scale)))


def _single(value: float) -> float:
    try:
        found: float = struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        raise NoSuchValue from None
    if found != value and value == value:
        raise NoSuchValue
    return found


def _reversed(value: object, narrow: pa.DataType, settings: Settings) -> object:
    """Cast the value to ``narrow``, the type from which a cast has made it. Raises NoSuchValue if the cast
    gives no value, UnknownValue if Python can't represent the result."""
    convert = _BACK.get(type(value))
    if convert is None:
        raise NoSuchValue
    try:
        found = evaluate.evaluate_scalar(Cast(narrow, Literal(convert(value), value), safe=True), settings)
    except OverflowError:
        raise UnknownValue from None
    except (DataError, NotSupportedError):
        found = None
    if found is None:
        raise NoSuchValue
    return found


def _instant_type(value: object) -> pa.DataType:
    return TIMESTAMP if isinstance(value, datetime) and value.tzinfo is not None else TIMESTAMP_NTZ


_BACK: Final[dict[type, Callable[[object], pa.DataType]]] = {
    str: lambda value: STRING,
    datetime: _instant_type,
}
