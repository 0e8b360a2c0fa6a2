"""Floats as Java prints them: ``1.0``, ``1.0E7``, ``1.0E-4``, ``NaN``, ``Infinity``."""

import math
import struct
from decimal import Decimal
from typing import Final

import numpy as np
import numpy.typing as npt

_SPECIAL: Final = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
#: Below these, the shortest digits of a double or float may be fewer than the two that Java prints.
_SMALLEST_DOUBLE: Final = 2.2250738585072014e-308
_SMALLEST_SINGLE: Final = 1.1754943508222875e-38


def float_text(value: float, *, single: bool = False) -> str:
    """A double (``single``: a float) as Java 17, Spark's default runtime, prints it.

    Plain notation from 0.001 up to 10 million, else one digit before the point and an exponent. The digits
    are the shortest that give the number back, except that a whole number of more bits than the type's
    precision is cut off where its digits stop to matter, which may leave one or two more.

    >>> float_text(1e7), float_text(9999999.0), float_text(5e-324), float_text(0.1, single=True)
    ('1.0E7', '9999999.0', '4.9E-324', '0.1')
    >>> float_text(2147483648.0, single=True)
    '2.14748365E9'
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
    if magnitude >= 2 ** (24 if single else 53) and magnitude < 2**63:
        figures, power = _whole_digits(int(magnitude), 24 if single else 53)
    elif len(figures) == 1 and magnitude < (_SMALLEST_SINGLE if single else _SMALLEST_DOUBLE):
        figures, power = _two_digits(magnitude, single=single)
    return f"{'-' if sign else ''}{figures[0]}.{figures[1:] or '0'}E{power}"


def _whole_digits(number: int, precision: int) -> tuple[str, int]:
    """The digits of a whole number without those that lie below its precision (in bits), and its power of
    ten."""
    surplus = number.bit_length() - 1 - precision - 1
    dropped = int(surplus * math.log10(2)) if surplus > 1 else 0
    unit = 10**dropped
    kept, rest = divmod(number, unit)
    kept += dropped > 0 and rest >= unit >> 1
    digits = str(kept)
    return digits.rstrip("0"), len(digits) - 1 + dropped


def _plain(text: str) -> str:
    if "e" in text or "E" in text:
        text = format(Decimal(text), "f")
    return text if "." in text else f"{text}.0"


def _two_digits(magnitude: float, *, single: bool) -> tuple[str, int]:
    """The two digits nearest to a subnormal number, as Java prints them where one digit would do."""
    figures, _, power = f"{magnitude:.1e}".partition("e")
    figures = figures.replace(".", "")
    back = float(f"{figures[0]}.{figures[1]}e{power}")
    same = np.float32(back) == np.float32(magnitude) if single else back == magnitude
    return (figures.rstrip("0") or "0", int(power)) if same else (f"{magnitude:.0e}"[0], int(power))


def round_to_single(value: float) -> float:
    """The float nearest to a double (infinite beyond the largest float)."""
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def rounded_products(
    numbers: npt.NDArray[np.float64], factor: float
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """``numbers * factor`` to whole numbers (halves away from zero), and where that may differ from the same
    done on the shortest decimal digits: near a half, or where the product is too large to tell, or not
    finite.

    >>> rounded_products(np.array([1.234, 2.675, 1e300]), 100.0)[1]
    array([False,  True,  True])
    """
    with np.errstate(all="ignore"):
        products = numbers * factor
        whole = np.rint(products)
        distance = np.abs(np.abs(products - whole) - 0.5)
        return whole, ~((distance > 1e-6) & (np.abs(products) < 1e9))
