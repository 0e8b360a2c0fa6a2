"""Logarithms of doubles, to several bases."""

from typing import Final

import numpy as np

from sqlfront_values.functions.numbers.fdlibm.words import (
    FRACTION,
    LEAST_NORMAL,
    LN2,
    LN2_HIGH,
    LN2_LOW,
    LOW_WORD,
    Doubles,
    Integers,
    bits,
    constants,
    double,
)

_LOG: Final = constants(
    "0x1.5555555555593p-1",
    "0x1.999999997fa04p-2",
    "0x1.2492494229359p-2",
    "0x1.c71c51d8e78afp-3",
    "0x1.7466496cb03dep-3",
    "0x1.39a09d078c69fp-3",
    "0x1.2f112df3e5244p-3",
)
_INVERSE_LN10: Final = float.fromhex("0x1.bcb7b1526e50ep-2")
_LOG10_2_HIGH: Final = float.fromhex("0x1.34413509f6p-2")
_LOG10_2_LOW: Final = float.fromhex("0x1.9fef311f12b36p-42")


def log(values: Doubles) -> Doubles:
    """Return the natural logarithm of each value; -inf for 0, NaN for negative values.

    >>> log(np.array([1.0, 3.0, 0.0])).tolist()
    [0.0, 1.0986122886681096, -inf]
    """
    exponent, word, low_word = _exponents(values)
    carry = (word + 0x95F64) & 0x100000
    f = double(word | (carry ^ 0x3FF00000), low_word) - 1.0
    count = (exponent + (carry >> 20)).astype(np.float64)
    high, low = count * LN2_HIGH, count * LN2_LOW
    s = f / (2.0 + f)
    z = s * s
    w = z * z
    odd, even = _LOG[0::2], _LOG[1::2]
    r = w * (even[0] + w * (even[1] + w * even[2]))
    r = z * (odd[0] + w * (odd[1] + w * (odd[2] + w * odd[3]))) + r
    half = 0.5 * f * f
    middle = ((word - 0x6147A) | (0x6B851 - word)) > 0
    rest = np.where(middle, half - (s * (half + r) + low), s * (f - r) - low)
    near = f * f * (0.5 - 0.33333333333333333 * f)
    rest = np.where((FRACTION & (2 + word)) < 3, near - low, rest)
    result = np.where(f == 0, high + low, high - (rest - f))
    return _with_edges(values, result)


def log10(values: Doubles) -> Doubles:
    """Return the logarithm of each value to base 10; -inf for 0, NaN for negative values.

    >>> log10(np.array([1000.0, 0.01])).tolist()
    [3.0, -2.0]
    """
    exponent, word, low_word = _exponents(values)
    negative = (exponent < 0).astype(np.int64)
    count = (exponent + negative).astype(np.float64)
    fraction = double(word | ((0x3FF - negative) << 20), low_word)
    return _with_edges(values, count * _LOG10_2_LOW + _INVERSE_LN10 * log(fraction) + count * _LOG10_2_HIGH)


def log2(values: Doubles) -> Doubles:
    """Return the logarithm of each value to base 2, computed as in Spark as a quotient of natural logarithms.

    >>> log2(np.array([8.0, 10.0])).tolist()
    [3.0, 3.3219280948873626]
    """
    return log(values) / LN2


def log1p(values: Doubles) -> Doubles:
    """Return the natural logarithm of each value plus 1; -inf for -1, NaN for values less than -1.

    >>> log1p(np.array([0.0, 1.0, -1.0])).tolist()
    [0.0, 0.6931471805599453, -inf]
    """
    p1, p2, p3, p4, p5, p6, p7 = _LOG
    usual = (values > -1.0) & (values < np.inf)
    x = np.where(usual, values, 0.0)
    near = (bits(np.abs(x)) >> 32) < np.where(x < 0, 0x3FD2BEC4, 0x3FDA827A)
    large = x >= 2.0**53
    u = np.where(large, x, 1.0 + x)
    words = bits(u)
    exponent, word = (words >> 52) - 1023, (words >> 32) & FRACTION
    carry = (word >= 0x6A09E).astype(np.int64)
    count = np.where(near, 0, exponent + carry).astype(np.float64)
    lost = np.where(exponent > 0, 1.0 - (u - x), x - (u - 1.0)) / u
    lost = np.where(large | (count == 0), 0.0, lost)
    f = np.where(near, x, double(word | ((0x3FF - carry) << 20), words & LOW_WORD) - 1.0)
    high, low = count * LN2_HIGH, count * LN2_LOW + lost
    half = 0.5 * f * f
    s = f / (2.0 + f)
    z = s * s
    r = z * (p1 + z * (p2 + z * (p3 + z * (p4 + z * (p5 + z * (p6 + z * p7))))))
    rest = half - (s * (half + r) + low)
    one = ~near & (np.where(carry == 1, (0x100000 - word) >> 2, word) == 0)
    rest = np.where(one, half * (1.0 - 0.66666666666666666 * f) - low, rest)
    result = np.where(one & (f == 0), high + low, high - (rest - f))
    result = np.where(np.abs(x) < 2.0**-29, x - x * x * 0.5, result)
    others = np.where(values == -1.0, -np.inf, np.where(values < -1.0, np.nan, values))
    return np.where(usual, result, others)


def _exponents(values: Doubles) -> tuple[Integers, Integers, Integers]:
    """Split each positive finite value into its binary exponent, the fraction's 20 high bits, and the
    fraction's 32 low bits. Subnormal values are normalised first."""
    small = values < LEAST_NORMAL
    words = bits(np.where(small, values * 2.0**54, values))
    exponent = (words >> 52) - 1023 - np.where(small, 54, 0)
    return exponent, (words >> 32) & FRACTION, words & LOW_WORD


def _with_edges(values: Doubles, logarithms: Doubles) -> Doubles:
    """Return ``logarithms``, the logarithms of ``values``, with the results replaced where a value is not
    positive and finite: -inf for 0, NaN for negative values, infinity and NaN unchanged."""
    usual = (values > 0) & (values < np.inf)
    if usual.all():
        return logarithms
    others = np.where(values == 0, -np.inf, np.where(values < 0, np.nan, values))
    return np.where(usual, logarithms, others)
