"""Roots, powers, and the length of a vector."""

from typing import Final

import numpy as np

from sqlfront_values.functions.numbers.fdlibm.exponentials import EXP
from sqlfront_values.functions.numbers.fdlibm.words import (
    FRACTION,
    LEAST_NORMAL,
    LN2,
    LOW_WORD,
    Doubles,
    bits,
    constants,
    double,
    head,
    scaled,
)

_CBRT: Final = constants(
    "0x1.15f15f15f15f1p-1",
    "-0x1.691de2532c834p-1",
    "0x1.6a0ea0ea0ea0fp0",
    "0x1.9b6db6db6db6ep0",
    "0x1.6db6db6db6db7p-2",
)
_LOG2: Final = constants(
    "0x1.3333333333303p-1",
    "0x1.b6db6db6fabffp-2",
    "0x1.55555518f264dp-2",
    "0x1.17460a91d4101p-2",
    "0x1.d864a93c9db65p-3",
    "0x1.a7e284a454eefp-3",
)
_TWO_THIRDS: Final = float.fromhex("0x1.ec709dc3a03fdp-1")
_TWO_THIRDS_HEAD: Final = float.fromhex("0x1.ec709ep-1")
_TWO_THIRDS_REST: Final = float.fromhex("-0x1.e2fe0145b01f5p-28")
_CENTER_HEAD: Final = float.fromhex("0x1.2b8034p-1")
_CENTER_REST: Final = float.fromhex("0x1.cfdeb43cfd006p-27")
_LN2_HEAD: Final = float.fromhex("0x1.62e43p-1")
_LN2_REST: Final = float.fromhex("-0x1.05c610ca86c39p-29")
_INVERSE_LN2: Final = float.fromhex("0x1.71547652b82fep0")
_INVERSE_LN2_HEAD: Final = float.fromhex("0x1.715476p0")
_INVERSE_LN2_REST: Final = float.fromhex("0x1.4ae0bf85ddf44p-26")
_OVERFLOW_REST: Final = 8.0085662595372944372e-17
_LARGE: Final = float.fromhex("0x1.00000ffffffffp31")
_NEAR_ONE: Final = constants("0x1.fffffp-1", "0x1.00000ffffffffp0")


def cbrt(values: Doubles) -> Doubles:
    """Return the cube root of each value; zeros, infinities and NaN are returned unchanged.

    >>> cbrt(np.array([27.0, -8.0, 0.001])).tolist()
    [3.0, -2.0, 0.1]
    """
    c, d, e, f, g = _CBRT
    size = np.abs(values)
    words = bits(size * 2.0**54)  # of subnormal values
    estimate = np.where(
        size < LEAST_NORMAL,
        double((words >> 32) // 3 + 696219795, words & LOW_WORD),
        double((bits(size) >> 32) // 3 + 715094163),
    )
    r = estimate * estimate / size
    s = c + r * estimate
    estimate = estimate * (g + f / (s + e + d / s))
    chopped = double((bits(estimate) >> 32) + 1)
    r = size / (chopped * chopped)
    root = chopped + chopped * ((r - chopped) / (chopped + chopped + r))
    return np.where((values == 0) | ~np.isfinite(values), values, np.copysign(root, values))


def hypot(x: Doubles, y: Doubles) -> Doubles:
    """Return the length of each vector (x, y), without overflow of intermediate results.

    >>> hypot(np.array([3.0, 1e300, np.inf]), np.array([4.0, 1e300, np.nan])).tolist()
    [5.0, 1.4142135623730952e+300, inf]
    """
    a, b = np.maximum(np.abs(x), np.abs(y)), np.minimum(np.abs(x), np.abs(y))
    infinite = np.isinf(x) | np.isinf(y)
    apart = ((bits(a) >> 32) - (bits(b) >> 32) > 0x3C00000) | (b == 0)
    length = _length(a, b)
    return np.where(infinite, np.inf, np.where(apart, a + b, length))


def _length(a: Doubles, b: Doubles) -> Doubles:
    """Return the length of each vector (a, b) with ``a >= b > 0``."""
    subnormal = b < LEAST_NORMAL
    scale = np.where(b < 2.0**-500, np.where(subnormal, 2.0**1022, 2.0**600), 1.0)
    scale = np.where((bits(a) >> 32) > 0x5F300000, 2.0**-600, scale)
    large, small = a * scale, b * scale
    # fdlibm forgets to scale these high words where b is subnormal.
    large_word = bits(np.where(subnormal, a, large)) >> 32
    small_head = head(np.where(subnormal, b, small))
    large_head, double_head = double(large_word), double(large_word + 0x100000)
    difference = large - small
    rest = large - large_head
    far = large_head * large_head - (small * -small - rest * (large + large_head))
    double_rest = (large + large) - double_head
    small_rest = small - small_head
    near = double_head * small_head - (
        difference * -difference - (double_head * small_rest + double_rest * small)
    )
    return np.sqrt(np.where(difference > small, far, near)) / scale


def power(base: Doubles, exponent: Doubles) -> Doubles:
    """Return each base to the power of its exponent. The result is NaN for a negative base with an exponent
    that is not a whole number, and (unlike in C) for a base of 1 or -1 with an infinite exponent.

    >>> power(np.array([2.0, -8.0, 1.0, 10.0]), np.array([10.0, 1 / 3, np.inf, -2.5])).tolist()
    [1024.0, nan, nan, 0.0031622776601683794]
    """
    size = np.abs(base)
    negative = np.signbit(base)
    whole = np.floor(exponent) == exponent
    half = 0.5 * exponent
    sign = np.where(negative & whole & (np.floor(half) != half), -1.0, 1.0)
    root = (exponent == 0.5) & (base != -np.inf)
    simple = root | (exponent == 2.0) | (np.abs(exponent) == 1.0) | (exponent == 0.0)
    unknown = np.isnan(base) | np.isnan(exponent)
    extreme = (size == 0) | np.isinf(size) | np.isinf(exponent)
    usual = ~(simple | unknown | extreme)
    result = np.where((size > 1.0) == (exponent > 0.0), np.inf, 0.0)
    if usual.any():
        result[usual] = _positive_power(size[usual], exponent[usual])
    unknown |= np.where(extreme, np.isinf(exponent) & (size == 1.0), negative & ~whole)
    result = np.where(unknown, np.nan, sign * result)
    return np.where(simple, _simple_power(base, exponent), result) if simple.any() else result


def _simple_power(base: Doubles, exponent: Doubles) -> Doubles:
    """Return each base to the power of its exponent, for the exponents 2, 1, 0, -1 and 0.5. Results for any
    other exponent are meaningless."""
    result = np.where(exponent == 2.0, base * base, np.where(exponent == 1.0, base, np.sqrt(base + 0.0)))
    return np.where(exponent == 0.0, 1.0, np.where(exponent == -1.0, 1.0 / base, result))


def _positive_power(base: Doubles, exponent: Doubles) -> Doubles:
    """Return each positive finite base to the power of its finite exponent."""
    high, low = _log2(base)
    near = (base >= _NEAR_ONE[0]) & (base <= _NEAR_ONE[1]) & (np.abs(exponent) > _LARGE)
    if near.any():
        near_high, near_low = _log2_near_one(base)
        high, low = np.where(near, near_high, high), np.where(near, near_low, low)
    first = head(exponent)
    return _exp2(first * high, (exponent - first) * high + exponent * low)


def _log2(values: Doubles) -> tuple[Doubles, Doubles]:
    """Return the base-2 logarithm of each positive finite value as a sum of two parts: one with its low 32
    bits zero, and the small rest."""
    l1, l2, l3, l4, l5, l6 = _LOG2
    small = values < LEAST_NORMAL
    words = bits(np.where(small, values * 2.0**53, values))
    exponent, fraction = (words >> 52) - 0x3FF - np.where(small, 53, 0), (words >> 32) & FRACTION
    carry = (fraction >= 0xBB67A).astype(np.int64)
    middle = ((fraction > 0x3988E) & (carry == 0)).astype(np.int64)
    word = fraction | ((0x3FF - carry) << 20)
    x = double(word, words & LOW_WORD)
    center = 1.0 + 0.5 * middle
    u = x - center
    v = 1.0 / (x + center)
    s = u * v
    s_head = head(s)
    sum_head = double(((word >> 1) | 0x20000000) + 0x80000 + (middle << 18))
    s_rest = v * ((u - s_head * sum_head) - s_head * (x - (sum_head - center)))
    z = s * s
    r = z * z * (l1 + z * (l2 + z * (l3 + z * (l4 + z * (l5 + z * l6)))))
    r = r + s_rest * (s_head + s)
    z = s_head * s_head
    t = head(3.0 + z + r)
    t_rest = r - ((t - 3.0) - z)
    u = s_head * t
    v = s_rest * t + t_rest * s
    p = head(u + v)
    high = _TWO_THIRDS_HEAD * p
    low = _TWO_THIRDS_REST * p + (v - (p - u)) * _TWO_THIRDS + middle * _CENTER_REST
    center_log = middle * _CENTER_HEAD
    whole = exponent + carry
    result = head(((high + low) + center_log) + whole)
    return result, low - (((result - whole) - center_log) - high)


def _log2_near_one(values: Doubles) -> tuple[Doubles, Doubles]:
    """Return what :func:`_log2` returns, for values that differ from 1 by less than 2**-20."""
    t = values - 1.0
    w = (t * t) * (0.5 - t * (0.3333333333333333333333 - t * 0.25))
    u = _INVERSE_LN2_HEAD * t
    v = t * _INVERSE_LN2_REST - w * _INVERSE_LN2
    result = head(u + v)
    return result, v - (result - u)


def _exp2(high: Doubles, low: Doubles) -> Doubles:
    """Return two to the power of ``high + low``."""
    p1, p2, p3, p4, p5 = EXP
    exponent = low + high
    over = (exponent > 1024.0) | ((exponent == 1024.0) & (low + _OVERFLOW_REST > exponent - high))
    under = (exponent < -1075.0) | ((exponent == -1075.0) & (low <= exponent - high))
    first = head(np.clip(exponent, -1075.0, 1024.0))
    whole = np.where(np.abs(first) > 0.5, np.trunc(first + np.copysign(0.5, first)), 0.0)
    rest = high - whole
    t = head(low + rest)
    u = t * _LN2_HEAD
    v = (low - (t - rest)) * LN2 + t * _LN2_REST
    z = u + v
    w = v - (z - u)
    t = z * z
    c = z - t * (p1 + t * (p2 + t * (p3 + t * (p4 + t * p5))))
    z = 1.0 - (((z * c) / (c - 2.0) - (w + z * w)) - z)
    return np.where(over, np.inf, np.where(under, 0.0, scaled(z, whole.astype(np.int64))))
