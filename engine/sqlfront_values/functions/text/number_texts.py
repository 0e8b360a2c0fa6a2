"""format_number: numbers with grouped digits, by a count of decimals or a pattern of
``java.text.DecimalFormat``."""

import re
from decimal import ROUND_HALF_EVEN, Context, Decimal
from functools import lru_cache
from typing import Final

import msgspec

from sqlfront_values.arrow.forms import Datum
from sqlfront_values.errors import NotSupportedError
from sqlfront_values.functions import growth
from sqlfront_values.functions.registry import Kind, ScalarFunction, register
from sqlfront_values.functions.rowwise import row_kernel
from sqlfront_values.types import STRING

#: Digits that Java's DecimalFormat shows after the point at most (``DOUBLE_FRACTION_DIGITS``).
_MOST_DECIMALS: Final = 340
_EXACT: Final = Context(prec=800, rounding=ROUND_HALF_EVEN)
_PATTERN: Final = re.compile(
    r"(?P<prefix>(?:'[^']*'|[^#0,.;E'])*)(?P<whole>[#,]*[0,]*)(?P<point>\.?)(?P<fraction>0*#*)"
    r"(?P<suffix>(?:'[^']*'|[^#0,.;'])*)"
)
_GROUP: Final = 3
_LONGEST: Final = 309 + 103 + _MOST_DECIMALS


class NumberPattern(msgspec.Struct, frozen=True):
    """The format of a number. ``least_whole`` is the fewest digits before the point, ``least_fraction`` and
    ``most_fraction`` are the fewest and most digits after it, ``group`` is the number of digits in a group (0
    = no groups). ``point`` says whether the point is shown even without digits after it, ``percent`` whether
    the number is multiplied by 100; ``prefix`` and ``suffix`` are the texts around the number."""

    least_whole: int
    least_fraction: int
    most_fraction: int
    group: int
    point: bool
    prefix: str
    suffix: str
    percent: bool

    def text(self, value: Decimal) -> str:
        """Format the number; halves are rounded to even."""
        if self.percent:
            value = value.scaleb(2, _EXACT)
        rounded = _EXACT.abs(value).quantize(Decimal(1).scaleb(-self.most_fraction), context=_EXACT)
        whole, _, fraction = format(rounded, "f").partition(".")
        fraction = fraction.rstrip("0").ljust(self.least_fraction, "0")
        whole = whole.lstrip("0").rjust(self.least_whole, "0")
        if not whole and not fraction:
            whole = "0"
        if self.group:
            head = len(whole) % self.group
            groups = [whole[place : place + self.group] for place in range(head, len(whole), self.group)]
            whole = ",".join([whole[:head], *groups] if head else groups)
        point = "." if fraction or self.point else ""
        sign = "-" if value.is_signed() else ""
        return f"{sign}{self.prefix}{whole}{point}{fraction}{self.suffix}"


@lru_cache(maxsize=128)
def parse_number_pattern(pattern: str) -> NumberPattern:
    """Parse a pattern of ``#``, ``0``, ``,`` and ``.`` with texts around it; an empty pattern counts as
    ``#,##0``. Raises NotSupportedError for an exponent, or a separate pattern for negative numbers.

    >>> parse_number_pattern("#,##0.0#").text(Decimal("1234.5"))
    '1,234.5'
    """
    match = _PATTERN.fullmatch(pattern or "#,##0")
    if match is None:
        raise NotSupportedError(f"the pattern '{pattern}' of format_number")
    whole, fraction = match["whole"], match["fraction"]
    group = len(whole) - 1 - whole.rindex(",") if "," in whole else 0
    least = whole.count("0")
    if match["point"] and "0" not in whole + fraction and whole:
        least = 1
    return NumberPattern(
        least,
        fraction.count("0"),
        len(fraction),
        group,
        bool(match["point"]) and not fraction,
        _unquoted(match["prefix"]),
        _unquoted(match["suffix"]),
        "%" in match["suffix"] or "%" in match["prefix"],
    )


def _unquoted(text: str) -> str:
    return re.sub(r"'([^']*)'", lambda quoted: quoted[1] or "'", text)


def _format_number(value: float | Decimal, how: int | str) -> str | None:
    if isinstance(how, int):
        if how < 0:
            return None
        how = min(how, _MOST_DECIMALS)
        pattern = NumberPattern(1, how, how, _GROUP, False, "", "", False)
    else:
        pattern = parse_number_pattern(how)
    if isinstance(value, float) and not (value == value and abs(value) != float("inf")):
        return "NaN" if value != value else f"{'-' if value < 0 else ''}{pattern.prefix}∞{pattern.suffix}"
    return pattern.text(Decimal(value))


def _size(arguments: tuple[Datum, ...], rows: int) -> int:
    """Return the bytes that ``format_number`` makes at most: for each row those of the longest double in
    groups, and those of the pattern."""
    return growth.spread(arguments[1], rows) + _LONGEST * rows


register(
    ScalarFunction(
        "format_number",
        (Kind.NUMERIC, Kind.INT_OR_STRING),
        STRING,
        row_kernel(_format_number),
        growth=_size,
        can_fail=True,
        exact=(0, 1),
        example=("format_number(12332.123456, 4)", "'12,332.1235'"),
    ),
)
