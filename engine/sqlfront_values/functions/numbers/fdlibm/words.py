"""The bits of doubles: 32 high bits (sign, exponent, 20 bits of the fraction), and 32 low bits."""

from typing import Final

import numpy as np
import numpy.typing as npt

Doubles = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

LOW_WORD: Final = np.int64(0xFFFFFFFF)
FRACTION: Final = np.int64(0xFFFFF)
LEAST_NORMAL: Final = 2.0**-1022
LN2: Final = float.fromhex("0x1.62e42fefa39efp-1")
LN2_HIGH: Final = float.fromhex("0x1.62e42feep-1")
LN2_LOW: Final = float.fromhex("0x1.a39ef35793c76p-33")


def constants(*texts: str) -> tuple[float, ...]:
    """Return the doubles of texts in hexadecimal notation, such as ``0x1.8p3``."""
    return tuple(map(float.fromhex, texts))


def bits(values: Doubles) -> Integers:
    """Return the 64 bits of each value as an int64."""
    return np.ascontiguousarray(values).view(np.int64)


def double(high: Integers, low: Integers | int = 0) -> Doubles:
    """Build doubles from their high and low 32 bits."""
    return ((high << 32) | low).view(np.float64)


def head(values: Doubles) -> Doubles:
    """Return the values with their low 32 bits set to zero.

    >>> head(np.array([1 / 3])).tolist()
    [0.33333325386047363]
    """
    return (bits(values) & ~LOW_WORD).view(np.float64)


def scaled(values: Doubles, exponent: Integers) -> Doubles:
    """Return values times two to the power of ``exponent``. The values must be normal, and no product may
    exceed the range of doubles; a subnormal product is rounded once.

    >>> scaled(np.array([1.5, 1.5]), np.array([4, -1074])).tolist()
    [24.0, 1e-323]
    """
    small = exponent < -900
    if not small.any():
        return (bits(values) + (exponent << 52)).view(np.float64)
    rest = np.where(small, 2.0**-200, 1.0)
    return (bits(values) + (np.where(small, exponent + 200, exponent) << 52)).view(np.float64) * rest
