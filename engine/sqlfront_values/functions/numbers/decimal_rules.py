"""Result types of decimal arithmetic, shared by the planner (types) and the kernels (values).

Source: Spark's ``DecimalPrecisionTypeCoercion`` and the arithmetic expressions' ``resultDecimalType``, with
``spark.sql.decimalOperations.allowPrecisionLoss=true``, its default. All types are logical (``decimal128``).
"""

from decimal import Decimal
from typing import Final

import pyarrow as pa

from sqlfront_values.errors import InternalError
from sqlfront_values.types import (
    BIGINT,
    DOUBLE,
    FLOAT,
    INT,
    MAX_PRECISION,
    SMALLINT,
    TINYINT,
    decimal,
    is_decimal,
)

#: Digits after the point that an adjustment keeps if possible.
MINIMUM_ADJUSTED_SCALE: Final = 6

_FOR_TYPE: Final[dict[pa.DataType, pa.DataType]] = {
    TINYINT: decimal(3, 0),
    SMALLINT: decimal(5, 0),
    INT: decimal(10, 0),
    BIGINT: decimal(20, 0),
    FLOAT: decimal(14, 7),
    DOUBLE: decimal(30, 15),
}


def adjusted(precision: int, scale: int) -> pa.DataType:
    """Return the decimal type of ``precision`` and ``scale``. If the precision exceeds 38, return a type of
    38 digits that has as many digits before the point as asked for, but keeps at least six (or all, if fewer)
    of the digits after the point.

    >>> adjusted(26, 4), adjusted(77, 20)
    (Decimal128Type(decimal128(26, 4)), Decimal128Type(decimal128(38, 6)))
    """
    if precision <= MAX_PRECISION:
        return decimal(precision, scale)
    digits = precision - scale
    return decimal(MAX_PRECISION, max(MAX_PRECISION - digits, min(scale, MINIMUM_ADJUSTED_SCALE)))


def add_type(left: pa.DataType, right: pa.DataType) -> pa.DataType:
    """Return the result type of ``left + right`` and ``left - right`` for two decimal types."""
    scale = max(left.scale, right.scale)
    return adjusted(max(left.precision - left.scale, right.precision - right.scale) + scale + 1, scale)


def multiply_type(left: pa.DataType, right: pa.DataType) -> pa.DataType:
    """Return the result type of ``left * right`` for two decimal types."""
    return adjusted(left.precision + right.precision + 1, left.scale + right.scale)


def divide_type(left: pa.DataType, right: pa.DataType) -> pa.DataType:
    """Return the result type of ``left / right`` for two decimal types.

    >>> divide_type(decimal(12, 2), decimal(12, 2))
    Decimal128Type(decimal128(27, 15))
    """
    scale = max(MINIMUM_ADJUSTED_SCALE, left.scale + right.precision + 1)
    return adjusted(left.precision - left.scale + right.scale + scale, scale)


def remainder_type(left: pa.DataType, right: pa.DataType) -> pa.DataType:
    """Return the result type of ``left % right`` and ``pmod(left, right)`` for two decimal types."""
    scale = max(left.scale, right.scale)
    return adjusted(min(left.precision - left.scale, right.precision - right.scale) + scale, scale)


def wider_type(left: pa.DataType, right: pa.DataType) -> pa.DataType:
    """Return the least decimal type that holds all values of both decimal types; if that takes more than 38
    digits, a type of 38 digits with fewer digits after the point.

    >>> wider_type(decimal(12, 2), decimal(10, 4)), wider_type(decimal(38, 0), decimal(10, 4))
    (Decimal128Type(decimal128(14, 4)), Decimal128Type(decimal128(38, 0)))
    """
    scale = max(left.scale, right.scale)
    precision = max(left.precision - left.scale, right.precision - right.scale) + scale
    if precision <= MAX_PRECISION:
        return decimal(precision, scale)
    return decimal(MAX_PRECISION, max(0, scale - (precision - MAX_PRECISION)))


def decimal_for(data_type: pa.DataType) -> pa.DataType:
    """Return the decimal type to which Spark casts a number of ``data_type`` if the other operand is a
    decimal (int becomes ``decimal(10,0)``); a decimal type is returned unchanged."""
    return data_type if is_decimal(data_type) else _FOR_TYPE[data_type]


def decimal_for_literal(value: int | Decimal) -> pa.DataType:
    """Return the narrowest decimal type that holds a literal; Spark casts an integer literal to it if the
    other operand is a decimal.

    >>> decimal_for_literal(24), decimal_for_literal(Decimal("0.05"))
    (Decimal128Type(decimal128(2, 0)), Decimal128Type(decimal128(2, 2)))
    """
    _, digits, exponent = Decimal(value).as_tuple()
    if not isinstance(exponent, int):
        raise InternalError(f"{value} is not a finite number")
    count = len(digits) + max(exponent, 0)
    scale = max(-exponent, 0)
    return decimal(max(count, scale, 1), scale)
