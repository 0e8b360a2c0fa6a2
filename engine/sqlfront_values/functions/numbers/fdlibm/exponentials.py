"""Powers of e."""

from typing import Final

import numpy as np

from sqlfront_values.functions.numbers.fdlibm.words import (
    LN2_HIGH,
    LN2_LOW,
    Doubles,
    bits,
    constants,
    double,
    scaled,
)

EXP: Final = constants(
    "0x1.555555555553ep-3",
    "-0x1.6c16c16bebd93p-9",
    "0x1.1566aaf25de2cp-14",
    "-0x1.bbd41c5d26bf1p-20",
    "0x1.6376972bea4d0p-25",
)
_EXPM1: Final = constants(
    "-0x1.11111111110f4p-5",
    "0x1.a01a019fe5585p-10",
    "-0x1.4ce199eaadbb7p-14",
    "0x1.0cfca86e65239p-18",
    "-0x1.afdb76e09c32dp-23",
)
_INVERSE_LN2: Final = float.fromhex("0x1.71547652b82fep0")
_GREATEST_EXPONENT: Final = float.fromhex("0x1.62e42fefa39efp9")
_LEAST_EXPONENT: Final = float.fromhex("-0x1.74910d52d3051p9")
_HALF_LN2: Final = 0x3FD62E42
_THREE_HALVES_LN2: Final = 0x3FF0A2B2


def exp(values: Doubles) -> Doubles:
    """Return e to the power of each value.

    >>> exp(np.array([0.0, 1.0, -746.0])).tolist()
    [1.0, 2.7182818284590455, 0.0]
    """
    p1, p2, p3, p4, p5 = EXP
    count, high, low = _multiples_of_ln2(np.where(np.isnan(values), 0.0, np.clip(values, -746.0, 710.0)))
    rest = high - low
    t = rest * rest
    c = rest - t * (p1 + t * (p2 + t * (p3 + t * (p4 + t * p5))))
    result = scaled(1.0 - ((low - (rest * c) / (2.0 - c)) - high), count.astype(np.int64))
    result = np.where(np.abs(values) < 2.0**-28, 1.0 + values, result)
    result = np.where(values > _GREATEST_EXPONENT, np.inf, np.where(values < _LEAST_EXPONENT, 0.0, result))
    return np.where(np.isnan(values), values, result)


def expm1(values: Doubles) -> Doubles:
    """Return e to the power of each value, minus 1.

    >>> expm1(np.array([0.0, 19.0, -1000.0])).tolist()
    [0.0, 178482299.96318728, -1.0]
    """
    q1, q2, q3, q4, q5 = _EXPM1
    count, high, low = _multiples_of_ln2(np.where(np.isnan(values), 0.0, np.clip(values, -50.0, 710.0)))
    x = high - low
    lost = (high - x) - low
    half = 0.5 * x
    square = x * half
    r = 1.0 + square * (q1 + square * (q2 + square * (q3 + square * (q4 + square * q5))))
    t = 3.0 - r * half
    e = square * ((r - t) / (6.0 - x * t))
    e = (x * (e - lost) - lost) - square
    exponent = count.astype(np.int64)
    unit = double((0x3FF - exponent) << 20)
    result = np.where(exponent < 20, (1.0 - unit) - (e - x), (x - (e + unit)) + 1.0)
    large = (exponent < -1) | (exponent > 56)
    result = (bits(np.where(large, 1.0 - (e - x), result)) + (exponent << 52)).view(np.float64)
    result = np.where(large, result - 1.0, result)
    above = np.where(x < -0.25, -2.0 * (e - (x + 0.5)), 1.0 + 2.0 * (x - e))
    result = np.where(exponent == 1, above, np.where(exponent == -1, 0.5 * (x - e) - 0.5, result))
    result = np.where(exponent == 0, x - e, result)
    result = np.where(values > _GREATEST_EXPONENT, np.inf, result)
    return np.where((np.abs(values) < 2.0**-54) | np.isnan(values), values, result)


def _multiples_of_ln2(values: Doubles) -> tuple[Doubles, Doubles, Doubles]:
    """Split each finite value into ``count * ln 2`` and a remainder. Return ``count``, a whole number, and
    the remainder as two parts, the second to be subtracted from the first."""
    word = (bits(values) >> 32) & 0x7FFFFFFF
    sign = np.copysign(1.0, values)
    count = np.where(word < _THREE_HALVES_LN2, sign, np.trunc(_INVERSE_LN2 * values + 0.5 * sign))
    count = np.where(word > _HALF_LN2, count, 0.0)
    return count, values - count * LN2_HIGH, count * LN2_LOW
