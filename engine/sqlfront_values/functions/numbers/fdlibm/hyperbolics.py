"""Hyperbolic functions and their inverses."""

import numpy as np

from sqlfront_values.functions.numbers.fdlibm.exponentials import exp, expm1
from sqlfront_values.functions.numbers.fdlibm.logarithms import log, log1p
from sqlfront_values.functions.numbers.fdlibm.words import LN2, Doubles, bits


def cosh(values: Doubles) -> Doubles:
    """Return the hyperbolic cosine of each value.

    >>> cosh(np.array([0.0, 1.0])).tolist()
    [1.0, 1.543080634815244]
    """
    size = np.abs(values)
    word = bits(size) >> 32
    small, power = expm1(size), exp(size)
    result = np.where(
        word < 0x3FD62E43,
        np.where(word < 0x3C800000, 1.0 + small, 1.0 + (small * small) / (2.0 * (1.0 + small))),
        np.where(word < 0x40360000, 0.5 * power + 0.5 / power, _half_power(size, power)),
    )
    return np.where(np.isnan(values), values, result)


def sinh(values: Doubles) -> Doubles:
    """Return the hyperbolic sine of each value.

    >>> sinh(np.array([0.0, 128.0])).tolist()
    [0.0, 1.9438542029972977e+55]
    """
    size = np.abs(values)
    word = bits(size) >> 32
    small = expm1(size)
    quotient = small / (small + 1.0)
    result = np.where(
        word < 0x3FF00000,
        0.5 * (2.0 * small - small * small / (small + 1.0)),
        np.where(word < 0x40360000, 0.5 * (small + quotient), _half_power(size, exp(size))),
    )
    return np.where((word < 0x3E300000) | np.isnan(values), values, np.copysign(result, values))


def _half_power(size: Doubles, power: Doubles) -> Doubles:
    """Return half of e to the power of ``size``. ``power`` has e to the power of ``size``, which may have
    overflowed though its half does not."""
    large = (bits(size) >> 32) >= 0x40862E42
    if not large.any():
        return 0.5 * power
    root = exp(0.5 * size)
    return np.where(large, 0.5 * root * root, 0.5 * power)


def tanh(values: Doubles) -> Doubles:
    """Return the hyperbolic tangent of each value.

    >>> tanh(np.array([0.0, 0.5, 30.0])).tolist()
    [0.0, 0.46211715726000974, 1.0]
    """
    size = np.abs(values)
    power = expm1(np.where(size >= 1.0, 2.0 * size, -2.0 * size))
    result = np.where(size >= 1.0, 1.0 - 2.0 / (power + 2.0), -power / (power + 2.0))
    return np.where(np.isnan(values), values, np.copysign(result, values))


def asinh(values: Doubles) -> Doubles:
    """Return the inverse hyperbolic sine of each value.

    >>> asinh(np.array([0.0, 1.0])).tolist()
    [0.0, 0.881373587019543]
    """
    size = np.abs(values)
    square = size * size
    root = np.sqrt(square + 1.0)
    result = np.where(size > 2.0, log(2.0 * size + 1.0 / (root + size)), log1p(size + square / (1.0 + root)))
    result = np.where(size > 2.0**28, log(size) + LN2, result)
    return np.where(size < 2.0**-28, values, np.copysign(result, values))


def acosh(values: Doubles) -> Doubles:
    """Return the inverse hyperbolic cosine of each value; NaN for values less than 1.

    >>> acosh(np.array([1.0, 3.0])).tolist()
    [0.0, 1.7627471740390859]
    """
    above = values - 1.0
    near = log1p(above + np.sqrt(2.0 * above + above * above))
    far = log(2.0 * values - 1.0 / (values + np.sqrt(values * values - 1.0)))
    result = np.where(values > 2.0, far, near)
    result = np.where(values > 2.0**28, log(values) + LN2, result)
    return np.where(values < 1.0, np.nan, result)


def atanh(values: Doubles) -> Doubles:
    """Return the inverse hyperbolic tangent of each value, as Spark computes it; plus or minus infinity for 1
    and -1, NaN for values beyond.

    >>> atanh(np.array([0.5, -1.0])).tolist()
    [0.5493061443340548, -inf]
    """
    return 0.5 * (log1p(values) - log1p(-values))
