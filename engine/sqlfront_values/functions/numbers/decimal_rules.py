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
    """Return the type of ``precision`` and ``scale``. If that is more than 38 digits, the type keeps the
    digits before the point and at least six (or all) of the digits after the point.

    >>> adjusted(26, 4), adjusted(77, 20)
    (Decimal128Type(decimal128(26, 4)), Decimal128Type(decimal128(38, 6)))
    """
    if precision <= MAX_PRECISION:
        return decimal(precision, scale)
    digits = precision - scale
    return decimal(MAX_PRECISION, max(MAX_PRECISION - digits, min(scale, MINIMUM_ADJUSTED_SCALE)))


def add_type(left: pa.DataType, right: pa.DataType) -> pa.DataType:
    """The type of ``left + right`` and ``left - right``."""
    scale = max(left.scale, right.scale)
    return adjusted(max(left.precision - left.scale, right.precision - right.scale) + scale + 1, scale)


def multiply_type(left: pa.DataType, right: pa.DataType) -> pa.DataType:
    """The type of ``left * right``."""
    return adjusted(left.precision + right.precision + 1, left.scale + right.scale)


def divide_type(left: pa.DataType, right: pa.DataType) -> pa.DataType:
    """The type of ``left / right``.

    >>> divide_type(decimal(12, 2), decimal(12, 2))
    Decimal128Type(decimal128(27, 15))
    """
    scale = max(MINIMUM_ADJUSTED_SCALE, left.scale + right.precision + 1)
    return adjusted(left.precision - left.scale + right.scale + scale, scale)


def remainder_type(left: pa.DataType, right: pa.DataType) -> pa.DataType:
    """The type of ``left % right`` and ``pmod(left, right)``."""
    scale = max(left.scale, right.scale)
    return adjusted(min(left.precision - left.scale, right.precision - right.scale) + scale, scale)


def wider_type(left: pa.DataType, right: pa.DataType) -> pa.DataType:
    """Return the least decimal type that holds the values of both; above 38 digits, the digits after the
    point go first.

    >>> wider_type(decimal(12, 2), decimal(10, 4)), wider_type(decimal(38, 0), decimal(10, 4))
    (Decimal128Type(decimal128(14, 4)), Decimal128Type(decimal128(38, 0)))
    """
    scale = max(left.scale, right.scale)
    precision = max(left.precision - left.scale, right.precision - right.scale) + scale
    if precision <= MAX_PRECISION:
        return decimal(precision, scale)
    return decimal(MAX_PRECISION, max(0, scale - (precision - MAX_PRECISION)))


def decimal_for(data_type: pa.DataType) -> pa.DataType:
    """Return the decimal type that a number type is cast to beside a decimal (int becomes ``decimal(10,0)``);
    a decimal type stays."""
    return data_type if is_decimal(data_type) else _FOR_TYPE[data_type]


def decimal_for_literal(value: int | Decimal) -> pa.DataType:
    """The narrowest decimal type of a literal; an integer literal takes this type beside a decimal.

    >>> decimal_for_literal(24), decimal_for_literal(Decimal("0.05"))
    (Decimal128Type(decimal128(2, 0)), Decimal128Type(decimal128(2, 2)))
    """
    _, digits, exponent = Decimal(value).as_tuple()
    if not isinstance(exponent, int):
        raise InternalError(f"{value} is not a finite number")
    count = len(digits) + max(exponent, 0)
    scale = max(-exponent, 0)
    return decimal(max(count, scale, 1), scale)
