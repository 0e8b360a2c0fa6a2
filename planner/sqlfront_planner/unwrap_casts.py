"""Comparisons of a cast column with a literal become comparisons of the column itself."""

from decimal import Context, Decimal
from typing import Final

import pyarrow as pa

from sqlfront_engine.expressions import Call, Cast, Column, Expr, Literal
from sqlfront_engine.types import BIGINT, DOUBLE, FLOAT, INT, SMALLINT, TINYINT, is_decimal, is_integral
from sqlfront_planner.rewriting import COMPARISONS

#: Python's default context would round to 28 digits.
_EXACT: Final = Context(prec=80)
_BITS: Final = {TINYINT: 8, SMALLINT: 16, INT: 32, BIGINT: 64}


def unwrap_cast(call: Call) -> Expr:
    """``cast(c as wide) < literal`` as ``c < literal of c's type``, where the cast loses nothing and the
    literal fits.

    Then the comparison works on the column as it is stored, and a source can use it. Allowed for casts that
    keep order and equality: to a wider integer, from an integer to a decimal or double that holds all its
    values, to a decimal with no fewer digits on either side. A literal that the narrow type doesn't have (out
    of range, or between two of its values) is left alone.

    >>> from sqlfront_engine.display import describe
    >>> cast = Cast(BIGINT, Column(INT, 0, "a"))
    >>> describe(unwrap_cast(Call(pa.bool_(), "less", (cast, Literal(BIGINT, 5)))))
    'a#0 < 5'
    >>> describe(unwrap_cast(Call(pa.bool_(), "less", (cast, Literal(BIGINT, 5_000_000_000)))))
    'cast(a#0 as bigint) < 5000000000'
    """
    if call.function not in COMPARISONS and call.function not in ("in", "equal_null_safe"):
        return call
    casts = [item for item in call.arguments if isinstance(item, Cast) and isinstance(item.operand, Column)]
    others = [item for item in call.arguments if isinstance(item, Literal)]
    if len(casts) != 1 or len(casts) + len(others) != len(call.arguments):
        return call
    narrow = casts[0].operand.type
    if not _keeps_values(narrow, casts[0].type):
        return call
    converted = {id(item): _narrowed(item, narrow) for item in others}
    if any(item is None for item in converted.values()):
        return call
    arguments = tuple(
        item.operand if isinstance(item, Cast) else converted[id(item)] or item for item in call.arguments
    )
    return Call(call.type, call.function, arguments)


def _keeps_values(narrow: pa.DataType, wide: pa.DataType) -> bool:
    """True if every value of ``narrow`` has exactly one counterpart in ``wide``, in the same order."""
    if is_integral(narrow):
        if is_integral(wide):
            return _BITS[narrow] <= _BITS[wide]
        if is_decimal(wide):
            return wide.precision - wide.scale >= len(str(1 << (_BITS[narrow] - 1)))
        return (wide == DOUBLE and _BITS[narrow] <= 32) or (wide == FLOAT and _BITS[narrow] <= 16)
    if is_decimal(narrow) and is_decimal(wide):
        whole = narrow.precision - narrow.scale
        return wide.scale >= narrow.scale and wide.precision - wide.scale >= whole
    return False


def _narrowed(literal: Literal, narrow: pa.DataType) -> Literal | None:
    """The literal as one of type ``narrow``, or None if that type doesn't have its value."""
    value = literal.value
    if value is None:
        return Literal(narrow, None)
    if not isinstance(value, int | float | Decimal):
        return None
    if is_decimal(narrow):
        digits = _EXACT.scaleb(Decimal(value), narrow.scale)
        if digits != digits.to_integral_value() or len(str(abs(int(digits)))) > narrow.precision:
            return None
        return Literal(narrow, _EXACT.quantize(Decimal(value), Decimal((0, (1,), -narrow.scale))))
    if value != value or value in (float("inf"), float("-inf")) or value != int(value):
        return None
    number = int(value)
    limit = 1 << (_BITS[narrow] - 1)
    return Literal(narrow, number) if -limit <= number < limit else None
