"""Inverse trigonometric functions."""

from typing import Final

import numpy as np

from sqlfront_values.functions.numbers.fdlibm.words import Doubles, constants, head

_PI: Final = float.fromhex("0x1.921fb54442d18p1")
_PI_LOW: Final = float.fromhex("0x1.1a62633145c07p-53")
#: For the intervals from 0, 0.4375, 0.6875, 1.1875 and 2.4375 on: x is (a x + b) / (c x + d), and the angle
#: between the two is the sum of a double and a small double.
_ANGLE_STARTS: Final = (0.4375, 0.6875, 1.1875, 2.4375)
_ANGLE_A: Final = np.array([1.0, 2.0, 1.0, 1.0, 0.0])
_ANGLE_B: Final = np.array([0.0, -1.0, -1.0, -1.5, -1.0])
_ANGLE_C: Final = np.array([0.0, 1.0, 1.0, 1.5, 1.0])
_ANGLE_D: Final = np.array([1.0, 2.0, 1.0, 1.0, 0.0])
_ANGLE_HIGH: Final = np.array(
    constants(
        "0x0p0",
        "0x1.dac670561bb4fp-2",
        "0x1.921fb54442d18p-1",
        "0x1.f730bd281f69bp-1",
        "0x1.921fb54442d18p0",
    )
)
_ANGLE_LOW: Final = np.array(
    constants(
        "0x0p0",
        "0x1.a2b7f222f65e2p-56",
        "0x1.1a62633145c07p-55",
        "0x1.007887af0cbbdp-56",
        "0x1.1a62633145c07p-54",
    )
)
_ATAN: Final = constants(
    "0x1.555555555550dp-2",
    "-0x1.999999998ebc4p-3",
    "0x1.24924920083ffp-3",
    "-0x1.c71c6fe231671p-4",
    "0x1.745cdc54c206ep-4",
    "-0x1.3b0f2af749a6dp-4",
    "0x1.10d66a0d03d51p-4",
    "-0x1.dde2d52defd9ap-5",
    "0x1.97b4b24760debp-5",
    "-0x1.2b4442c6a6c2fp-5",
    "0x1.0ad3ae322da11p-6",
)
_ASIN_ABOVE: Final = constants(
    "0x1.5555555555555p-3",
    "-0x1.4d61203eb6f7dp-2",
    "0x1.9c1550e884455p-3",
    "-0x1.48228b5688f3bp-5",
    "0x1.9efe07501b288p-11",
    "0x1.23de10dfdf709p-15",
)
_ASIN_BELOW: Final = constants(
    "-0x1.33a271c8a2d4bp1",
    "0x1.02ae59c598ac8p1",
    "-0x1.6066c1b8d0159p-1",
    "0x1.3b8c5b12e9282p-4",
)
_NEAR_ONE: Final = float.fromhex("0x1.f3333p-1")


def atan(values: Doubles) -> Doubles:
    """Return the arc tangent of each value, in radians.

    >>> atan(np.array([0.0, 1.0, -np.inf])).tolist()
    [0.0, 0.7853981633974483, -1.5707963267948966]
    """
    size = np.minimum(np.abs(values), 2.0**66)
    interval = np.digitize(size, _ANGLE_STARTS)
    x = (size * _ANGLE_A[interval] + _ANGLE_B[interval]) / (size * _ANGLE_C[interval] + _ANGLE_D[interval])
    z = x * x
    w = z * z
    odd, even = _ATAN[0::2], _ATAN[1::2]
    s = w * (even[0] + w * (even[1] + w * (even[2] + w * (even[3] + w * even[4]))))
    s = z * (odd[0] + w * (odd[1] + w * (odd[2] + w * (odd[3] + w * (odd[4] + w * odd[5]))))) + s
    angle = _ANGLE_HIGH[interval] - ((x * s - _ANGLE_LOW[interval]) - x)
    return np.copysign(angle, values)


def atan2(y: Doubles, x: Doubles) -> Doubles:
    """Return the angle of each point (x, y), in radians from minus pi to pi.

    >>> atan2(np.array([1.0, 0.0, np.inf]), np.array([1.0, -1.0, 5.0])).tolist()
    [0.7853981633974483, 3.141592653589793, 1.5707963267948966]
    """
    infinite, left = np.isinf(x), np.signbit(x)
    angle = np.where(y == 0, 0.0, atan(np.abs(y / x)))
    angle = np.where(left, _PI - (angle - _PI_LOW), angle)
    angle = np.where((x == 0) & (y != 0), _PI / 2, angle)
    endless = np.where(infinite, np.where(left, 3.0 * (_PI / 4), _PI / 4), _PI / 2)
    angle = np.where(np.isinf(y), endless, angle)
    return np.where(np.isnan(x) | np.isnan(y), np.nan, np.copysign(angle, y))


def asin(values: Doubles) -> Doubles:
    """Return the arc sine of each value, in radians; NaN for values outside of -1 to 1.

    >>> asin(np.array([0.5, -0.9])).tolist()
    [0.5235987755982989, -1.1197695149986342]
    """
    size = np.abs(values)
    t = np.where(size < 0.5, size * size, (1.0 - size) * 0.5)
    r = _asin_ratio(t)
    s = np.sqrt(t)
    w = head(s)
    c = (t - w * w) / (s + w)
    middle = _PI / 4 - ((2.0 * s * r - (_PI_LOW / 2 - 2.0 * c)) - (_PI / 4 - 2.0 * w))
    outer = _PI / 2 - (2.0 * (s + s * r) - _PI_LOW / 2)
    angle = np.where(size < 0.5, size + size * r, np.where(size < _NEAR_ONE, middle, outer))
    return np.copysign(angle, values)


def acos(values: Doubles) -> Doubles:
    """Return the arc cosine of each value, in radians; NaN for values outside of -1 to 1.

    >>> acos(np.array([0.5, -1.0 + 2.0**-53])).tolist()
    [1.0471975511965979, 3.141592638688632]
    """
    size = np.abs(values)
    z = np.where(size < 0.5, values * values, (1.0 - size) * 0.5)
    r = _asin_ratio(z)
    s = np.sqrt(z)
    w = head(s)
    c = np.where(z == 0, 0.0, (z - w * w) / (s + w))
    right = 2.0 * (w + (r * s + c))
    left = _PI - 2.0 * (s + (r * s - _PI_LOW / 2))
    middle = _PI / 2 - (values - (_PI_LOW / 2 - values * r))
    return np.where(size < 0.5, middle, np.where(values < 0, left, right))


def _asin_ratio(t: Doubles) -> Doubles:
    """Return an approximation of (asin(x) - x) / x from ``t``, the square of x."""
    p0, p1, p2, p3, p4, p5 = _ASIN_ABOVE
    q1, q2, q3, q4 = _ASIN_BELOW
    above = t * (p0 + t * (p1 + t * (p2 + t * (p3 + t * (p4 + t * p5)))))
    return above / (1.0 + t * (q1 + t * (q2 + t * (q3 + t * q4))))
