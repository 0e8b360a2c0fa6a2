"""Roots, exponentials and logarithms of doubles, bit by bit as Java's StrictMath gives them.

The results of C libraries differ from machine to machine: ``cbrt(27)`` may be 3.0000000000000004. Each
function here does the operations of ``java.lang.FdLibm`` (OpenJDK 17), a port of Sun's fdlibm 5.3, in the
same order, over numpy arrays; all branches are computed, and ``numpy.where`` takes one. The caller switches
numpy's floating-point warnings off.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

Doubles = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

_LOW_WORD: Final = np.int64(0xFFFFFFFF)
_FRACTION: Final = np.int64(0xFFFFF)
_LEAST_NORMAL: Final = 2.0**-1022
_LN2_HIGH: Final = float.fromhex("0x1.62e42feep-1")
_LN2_LOW: Final = float.fromhex("0x1.a39ef35793c76p-33")
_HALF_LN2: Final = 0x3FD62E42
_THREE_HALVES_LN2: Final = 0x3FF0A2B2


def _constants(*texts: str) -> tuple[float, ...]:
    return tuple(map(float.fromhex, texts))


_CBRT: Final = _constants(
    "0x1.15f15f15f15f1p-1",
    "-0x1.691de2532c834p-1",
    "0x1.6a0ea0ea0ea0fp0",
    "0x1.9b6db6db6db6ep0",
    "0x1.6db6db6db6db7p-2",
)
_EXP: Final = _constants(
    "0x1.555555555553ep-3",
    "-0x1.6c16c16bebd93p-9",
    "0x1.1566aaf25de2cp-14",
    "-0x1.bbd41c5d26bf1p-20",
    "0x1.6376972bea4d0p-25",
)
_EXPM1: Final = _constants(
    "-0x1.11111111110f4p-5",
    "0x1.a01a019fe5585p-10",
    "-0x1.4ce199eaadbb7p-14",
    "0x1.0cfca86e65239p-18",
    "-0x1.afdb76e09c32dp-23",
)
_LOG: Final = _constants(
    "0x1.5555555555593p-1",
    "0x1.999999997fa04p-2",
    "0x1.2492494229359p-2",
    "0x1.c71c51d8e78afp-3",
    "0x1.7466496cb03dep-3",
    "0x1.39a09d078c69fp-3",
    "0x1.2f112df3e5244p-3",
)
_INVERSE_LN2: Final = float.fromhex("0x1.71547652b82fep0")
_INVERSE_LN10: Final = float.fromhex("0x1.bcb7b1526e50ep-2")
_LOG10_2_HIGH: Final = float.fromhex("0x1.34413509f6p-2")
_LOG10_2_LOW: Final = float.fromhex("0x1.9fef311f12b36p-42")
_GREATEST_EXPONENT: Final = float.fromhex("0x1.62e42fefa39efp9")
_LEAST_EXPONENT: Final = float.fromhex("-0x1.74910d52d3051p9")
_LN2: Final = float(np.log(2.0))


def _bits(values: Doubles) -> Integers:
    return np.ascontiguousarray(values).view(np.int64)


def _double(high: Integers, low: Integers | int = 0) -> Doubles:
    """Doubles of their high and low 32 bits."""
    return ((high << 32) | low).view(np.float64)


def cbrt(values: Doubles) -> Doubles:
    """Cube roots; zeros, infinities and NaN are their own.

    >>> cbrt(np.array([27.0, -8.0, 0.001])).tolist()
    [3.0, -2.0, 0.1]
    """
    c, d, e, f, g = _CBRT
    size = np.abs(values)
    scaled = _bits(size * 2.0**54)
    estimate = np.where(
        size < _LEAST_NORMAL,
        _double((scaled >> 32) // 3 + 696219795, scaled & _LOW_WORD),
        _double((_bits(size) >> 32) // 3 + 715094163),
    )
    r = estimate * estimate / size
    s = c + r * estimate
    estimate = estimate * (g + f / (s + e + d / s))
    chopped = _double((_bits(estimate) >> 32) + 1)
    r = size / (chopped * chopped)
    root = chopped + chopped * ((r - chopped) / (chopped + chopped + r))
    return np.where((values == 0) | ~np.isfinite(values), values, np.copysign(root, values))


def exp(values: Doubles) -> Doubles:
    """e to the power of each value.

    >>> exp(np.array([0.0, 1.0, -746.0])).tolist()
    [1.0, 2.7182818284590455, 0.0]
    """
    p1, p2, p3, p4, p5 = _EXP
    count, high, low = _multiples_of_ln2(np.where(np.isnan(values), 0.0, np.clip(values, -800.0, 800.0)))
    rest = high - low
    t = rest * rest
    c = rest - t * (p1 + t * (p2 + t * (p3 + t * (p4 + t * p5))))
    scaled = np.ldexp(1.0 - ((low - (rest * c) / (2.0 - c)) - high), count.astype(np.int32))
    result = np.where(np.abs(values) < 2.0**-28, 1.0 + values, scaled)
    result = np.where(values > _GREATEST_EXPONENT, np.inf, np.where(values < _LEAST_EXPONENT, 0.0, result))
    return np.where(np.isnan(values), values, result)


def _multiples_of_ln2(values: Doubles) -> tuple[Doubles, Doubles, Doubles]:
    """The multiple of ln 2 nearest to each finite value, and what it leaves: the difference of two parts."""
    word = (_bits(values) >> 32) & 0x7FFFFFFF
    sign = np.copysign(1.0, values)
    count = np.where(word < _THREE_HALVES_LN2, sign, np.trunc(_INVERSE_LN2 * values + 0.5 * sign))
    count = np.where(word > _HALF_LN2, count, 0.0)
    return count, values - count * _LN2_HIGH, count * _LN2_LOW


def expm1(values: Doubles) -> Doubles:
    """e to the power of each value, less one.

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
    unit = _double((0x3FF - exponent) << 20)
    result = np.where(exponent < 20, (1.0 - unit) - (e - x), (x - (e + unit)) + 1.0)
    large = (exponent < -1) | (exponent > 56)
    result = (_bits(np.where(large, 1.0 - (e - x), result)) + (exponent << 52)).view(np.float64)
    result = np.where(large, result - 1.0, result)
    above = np.where(x < -0.25, -2.0 * (e - (x + 0.5)), 1.0 + 2.0 * (x - e))
    result = np.where(exponent == 1, above, np.where(exponent == -1, 0.5 * (x - e) - 0.5, result))
    result = np.where(exponent == 0, x - e, result)
    result = np.where(values > _GREATEST_EXPONENT, np.inf, result)
    return np.where((np.abs(values) < 2.0**-54) | np.isnan(values), values, result)


def _exponents(values: Doubles) -> tuple[Integers, Integers, Integers]:
    """The exponent of each positive finite value, the high word's fraction, and the low word."""
    small = values < _LEAST_NORMAL
    bits = _bits(np.where(small, values * 2.0**54, values))
    exponent = (bits >> 52) - 1023 - np.where(small, 54, 0)
    return exponent, (bits >> 32) & _FRACTION, bits & _LOW_WORD


def log(values: Doubles) -> Doubles:
    """Natural logarithms; -inf of zero, NaN below.

    >>> log(np.array([1.0, 3.0, 0.0])).tolist()
    [0.0, 1.0986122886681096, -inf]
    """
    exponent, word, low_word = _exponents(values)
    carry = (word + 0x95F64) & 0x100000
    f = _double(word | (carry ^ 0x3FF00000), low_word) - 1.0
    count = (exponent + (carry >> 20)).astype(np.float64)
    high, low = count * _LN2_HIGH, count * _LN2_LOW
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
    rest = np.where((_FRACTION & (2 + word)) < 3, near - low, rest)
    result = np.where(f == 0, high + low, high - (rest - f))
    return _with_edges(values, result)


def log10(values: Doubles) -> Doubles:
    """Logarithms to base ten; -inf of zero, NaN below.

    >>> log10(np.array([1000.0, 0.01])).tolist()
    [3.0, -2.0]
    """
    exponent, word, low_word = _exponents(values)
    negative = (exponent < 0).astype(np.int64)
    count = (exponent + negative).astype(np.float64)
    fraction = _double(word | ((0x3FF - negative) << 20), low_word)
    return _with_edges(values, count * _LOG10_2_LOW + _INVERSE_LN10 * log(fraction) + count * _LOG10_2_HIGH)


def log2(values: Doubles) -> Doubles:
    """Logarithms to base two, as Spark computes them: a quotient of natural logarithms.

    >>> log2(np.array([8.0, 10.0])).tolist()
    [3.0, 3.3219280948873626]
    """
    return log(values) / _LN2


def log1p(values: Doubles) -> Doubles:
    """Natural logarithms of one more than each value; -inf of minus one, NaN below.

    >>> log1p(np.array([0.0, 1.0, -1.0])).tolist()
    [0.0, 0.6931471805599453, -inf]
    """
    p1, p2, p3, p4, p5, p6, p7 = _LOG
    usual = (values > -1.0) & (values < np.inf)
    x = np.where(usual, values, 0.0)
    near = (_bits(np.abs(x)) >> 32) < np.where(x < 0, 0x3FD2BEC4, 0x3FDA827A)
    large = x >= 2.0**53
    u = np.where(large, x, 1.0 + x)
    bits = _bits(u)
    exponent, word = (bits >> 52) - 1023, (bits >> 32) & _FRACTION
    carry = (word >= 0x6A09E).astype(np.int64)
    count = np.where(near, 0, exponent + carry).astype(np.float64)
    lost = np.where(exponent > 0, 1.0 - (u - x), x - (u - 1.0)) / u
    lost = np.where(large | (count == 0), 0.0, lost)
    f = np.where(near, x, _double(word | ((0x3FF - carry) << 20), bits & _LOW_WORD) - 1.0)
    high, low = count * _LN2_HIGH, count * _LN2_LOW + lost
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


def _with_edges(values: Doubles, logarithms: Doubles) -> Doubles:
    """Logarithms of positive finite values, and those of the others."""
    usual = (values > 0) & (values < np.inf)
    if usual.all():
        return logarithms
    others = np.where(values == 0, -np.inf, np.where(values < 0, np.nan, values))
    return np.where(usual, logarithms, others)


def cosh(values: Doubles) -> Doubles:
    """Hyperbolic cosines.

    >>> cosh(np.array([0.0, 1.0])).tolist()
    [1.0, 1.543080634815244]
    """
    size = np.abs(values)
    word = _bits(size) >> 32
    small, power = expm1(size), exp(size)
    result = np.where(
        word < 0x3FD62E43,
        np.where(word < 0x3C800000, 1.0 + small, 1.0 + (small * small) / (2.0 * (1.0 + small))),
        np.where(word < 0x40360000, 0.5 * power + 0.5 / power, _half_power(size, power)),
    )
    return np.where(np.isnan(values), values, result)


def sinh(values: Doubles) -> Doubles:
    """Hyperbolic sines.

    >>> sinh(np.array([0.0, 128.0])).tolist()
    [0.0, 1.9438542029972977e+55]
    """
    size = np.abs(values)
    word = _bits(size) >> 32
    small = expm1(size)
    quotient = small / (small + 1.0)
    result = np.where(
        word < 0x3FF00000,
        0.5 * (2.0 * small - small * small / (small + 1.0)),
        np.where(word < 0x40360000, 0.5 * (small + quotient), _half_power(size, exp(size))),
    )
    return np.where((word < 0x3E300000) | np.isnan(values), values, np.copysign(result, values))


def _half_power(size: Doubles, power: Doubles) -> Doubles:
    """Half of e to the power of ``size``, also where the power alone overflows."""
    root = exp(0.5 * size)
    return np.where((_bits(size) >> 32) < 0x40862E42, 0.5 * power, 0.5 * root * root)


def tanh(values: Doubles) -> Doubles:
    """Hyperbolic tangents.

    >>> tanh(np.array([0.0, 0.5, 30.0])).tolist()
    [0.0, 0.46211715726000974, 1.0]
    """
    size = np.abs(values)
    power = expm1(np.where(size >= 1.0, 2.0 * size, -2.0 * size))
    result = np.where(size >= 1.0, 1.0 - 2.0 / (power + 2.0), -power / (power + 2.0))
    return np.where(np.isnan(values), values, np.copysign(result, values))


def asinh(values: Doubles) -> Doubles:
    """Inverse hyperbolic sines.

    >>> asinh(np.array([0.0, 1.0])).tolist()
    [0.0, 0.881373587019543]
    """
    size = np.abs(values)
    square = size * size
    root = np.sqrt(square + 1.0)
    result = np.where(size > 2.0, log(2.0 * size + 1.0 / (root + size)), log1p(size + square / (1.0 + root)))
    result = np.where(size > 2.0**28, log(size) + _LN2, result)
    return np.where(size < 2.0**-28, values, np.copysign(result, values))


def acosh(values: Doubles) -> Doubles:
    """Inverse hyperbolic cosines; NaN below one.

    >>> acosh(np.array([1.0, 3.0])).tolist()
    [0.0, 1.7627471740390859]
    """
    above = values - 1.0
    near = log1p(above + np.sqrt(2.0 * above + above * above))
    far = log(2.0 * values - 1.0 / (values + np.sqrt(values * values - 1.0)))
    result = np.where(values > 2.0, far, near)
    result = np.where(values > 2.0**28, log(values) + _LN2, result)
    return np.where(values < 1.0, np.nan, result)
