"""Texts of floats in Java's notation: ``1.0``, ``1.0E7``, ``1.0E-4``, ``NaN``, ``Infinity``."""

import math
import struct
from decimal import Decimal
from typing import Final

import numpy as np
import numpy.typing as npt

_SPECIAL: Final = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
#: From this number on no short decimal lies just between two numbers.
_NEVER_BETWEEN: Final = 1e41
#: Numbers below these are subnormal.
_SMALLEST_DOUBLE: Final = 2.2250738585072014e-308
_SMALLEST_SINGLE: Final = 1.1754943508222875e-38


def float_text(value: float, *, single: bool = False) -> str:
    """Format a double (``single``: a float) as Java 17, Spark's default runtime, prints it.

    Numbers from 0.001 up to 10 million are written plainly, others with one digit before the point and an
    exponent. The digits are the shortest that give the number back, except where Java's algorithm errs. A
    whole number of more bits than the type's precision may have one or two digits more. Digits that lie
    exactly in the middle between two floating-point numbers don't give the number back. Next to powers of two
    the number of digits may be wrong.

    >>> float_text(1e7), float_text(9999999.0), float_text(5e-324), float_text(0.1, single=True)
    ('1.0E7', '9999999.0', '4.9E-324', '0.1')
    >>> float_text(2147483648.0, single=True), float_text(2e23)
    ('2.14748365E9', '1.9999999999999998E23')
    """
    text = str(np.float32(value)) if single else repr(value)
    special = _SPECIAL.get(text)
    if special is not None:
        return special
    magnitude = abs(value)
    if 1e-3 <= magnitude < 1e7 or value == 0:
        return _plain(text)
    sign, digits, exponent = Decimal(text).as_tuple()
    assert isinstance(exponent, int)
    figures = "".join(map(str, digits)).rstrip("0") or "0"
    power = len(digits) - 1 + exponent
    precision = 24 if single else 53
    if 2**precision <= magnitude < 2**63:
        figures, power = _whole_digits(int(magnitude), precision)
    elif 2**63 <= magnitude < _NEVER_BETWEEN or _has_uneven_neighbours(magnitude, single=single):
        figures, power = _javas_digits(magnitude, single=single)
    return f"{'-' if sign else ''}{figures[0]}.{figures[1:] or '0'}E{power}"


def _whole_digits(number: int, precision: int) -> tuple[str, int]:
    """Return the significant digits of a whole number as Java prints them, and the power of ten of the first
    digit. Digits beyond a precision of ``precision`` bits are rounded off, trailing zeros are removed."""
    surplus = number.bit_length() - 1 - precision - 1
    dropped = int(surplus * math.log10(2)) if surplus > 1 else 0
    unit = 10**dropped
    kept, rest = divmod(number, unit)
    kept += dropped > 0 and rest >= unit >> 1
    digits = str(kept)
    return digits.rstrip("0"), len(digits) - 1 + dropped


def _javas_digits(magnitude: float, *, single: bool) -> tuple[str, int]:
    """Return the digits that Java prints for a number that is at least 2^63 or below 0.001, and the power of
    ten of the first digit. The code follows the last part of ``FloatingDecimal.dtoa``, whose ``long``
    sometimes overflows."""
    mantissa, exponent = math.frexp(magnitude)
    binary = exponent - 1
    precision = min(24, binary + 150) if single else min(53, binary + 1075)
    fraction = int(math.ldexp(mantissa, 53))
    fraction //= fraction & -fraction
    bits = fraction.bit_length()
    power = math.floor((2 * mantissa - 1.5) * 0.289529654 + 0.176091259 + binary * 0.301029995663981)
    fives, unit_fives, tiny = max(0, -power), max(0, power), max(0, bits - binary - 1)
    # The powers of two in the number, its power of ten and half of the distance to the next number.
    twos, unit_twos = fives + tiny + binary - bits + 1, unit_fives + tiny
    half_twos = fives + tiny + binary - precision - (bits == 1)
    common = min(twos, unit_twos, half_twos)
    twos, unit_twos, half_twos = twos - common, unit_twos - common, half_twos - common
    is_long = bits + twos + _bits_of_fives(fives) < 64 and unit_twos + 1 + _bits_of_fives(unit_fives + 1) < 64
    rest, unit, half = fraction * 5**fives << twos, 5**unit_fives << unit_twos, 5**fives << half_twos
    digits: list[int] = []
    low = high = False
    while len(digits) < 2 or not (low or high):
        digit, rest = divmod(rest, unit)
        rest, half = 10 * rest, 10 * half
        overflows = is_long and half >= 2**63
        reach = _as_long(rest + half) if is_long else rest + half + 1
        low, high = overflows or rest < half, overflows or reach > 10 * unit
        if digits or digit or high:
            digits.append(digit)
        else:
            power -= 1
    beyond = 2 * rest - 10 * unit
    beyond = _as_long(beyond) if is_long else beyond
    rounds_up = high and (not low or beyond > 0 or (beyond == 0 and digits[-1] % 2 == 1))
    text = str(int("".join(map(str, digits))) + rounds_up)
    return text.rstrip("0"), power + (len(text) > len(digits))


def _bits_of_fives(power: int) -> int:
    """Return the number of bits of ``5**power``, as ``FloatingDecimal.dtoa`` estimates it."""
    return 3 * power if power > 26 else (5**power).bit_length() if power else 0


def _has_uneven_neighbours(magnitude: float, *, single: bool) -> bool:
    """Return whether the number is subnormal or a power of two, for which Java misjudges the distance to the
    next numbers. ``magnitude`` is below 2^53 and not whole, or at least 2^63."""
    if 1 <= magnitude < 2**53:
        return False
    return magnitude < (_SMALLEST_SINGLE if single else _SMALLEST_DOUBLE) or math.frexp(magnitude)[0] == 0.5


def _as_long(number: int) -> int:
    """Wrap a whole number to 64 bits, as Java's long does."""
    return (number + 2**63) % 2**64 - 2**63


def _plain(text: str) -> str:
    if "e" in text or "E" in text:
        text = format(Decimal(text), "f")
    return text if "." in text else f"{text}.0"


def round_to_single(value: float) -> float:
    """Return the float nearest to a double (infinite beyond the largest float)."""
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def rounded_products(
    numbers: npt.NDArray[np.float64], factor: float
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """Round ``numbers * factor`` to whole numbers (halves away from zero). Return the rounded numbers, and a
    mask of the doubtful ones.

    A result is doubtful if it may differ from rounding the number's shortest decimal text, because the
    product is near a half, too large to tell, or not finite.

    >>> rounded_products(np.array([1.234, 2.675, 1e300]), 100.0)[1]
    array([False,  True,  True])
    """
    with np.errstate(all="ignore"):
        products = numbers * factor
        whole = np.rint(products)
        distance = np.abs(np.abs(products - whole) - 0.5)
        return whole, ~((distance > 1e-6) & (np.abs(products) < 1e9))
