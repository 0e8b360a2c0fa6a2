"""Formats of to_number and to_char for numbers: digits, separators, signs and brackets, as in
``'$99,999.99S'``.

:func:`parse_layout` reads a format, :meth:`NumberLayout.check` refuses the ones that Spark refuses,
:mod:`.number_conversions` reads and writes numbers by a layout.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from enum import Enum
from functools import lru_cache
from typing import Final

import msgspec
import pyarrow as pa

from sqlfront_values.errors import DatabaseError, spark_error
from sqlfront_values.types import MAX_PRECISION, decimal


class Sign(Enum):
    """A part of a layout other than digits. The value is Spark's name of the part in messages."""

    POINT = ". or D"
    """The decimal point."""
    DOLLAR = "$"
    """The dollar sign, which must be there."""
    PLUS_OR_MINUS = "S"
    """A plus or minus sign; optional when a text is read, always written."""
    MINUS = "MI"
    """A minus sign, or a space in its place."""
    OPENING = "PR (opening)"
    """The bracket ``<`` before a negative number."""
    CLOSING = "PR"
    """The bracket ``>`` after a negative number."""


class DigitRun(msgspec.Struct, frozen=True):
    """A run of ``count`` digits in a layout. ``is_exact``: a text must have all of them (the run begins
    with 0 and stands before the point), else a text may have fewer."""

    count: int
    is_exact: bool


class Digits(msgspec.Struct, frozen=True):
    """Runs of digits and the separators between; None stands for a separator."""

    parts: tuple[DigitRun | None, ...]

    @property
    def runs(self) -> tuple[DigitRun, ...]:
        """The runs without the separators."""
        return tuple(part for part in self.parts if part is not None)

    @property
    def count(self) -> int:
        """The number of digits of all runs."""
        return sum(run.count for run in self.runs)


class Unknown(msgspec.Struct, frozen=True):
    """A character that means nothing in a layout."""

    character: str


Part = Sign | Digits | Unknown

_TOKEN: Final = re.compile(r"[09]+|MI|PR|.", re.DOTALL)
_SIGNS: Final = {
    ".": Sign.POINT,
    "D": Sign.POINT,
    "$": Sign.DOLLAR,
    "S": Sign.PLUS_OR_MINUS,
    "MI": Sign.MINUS,
}
_SEPARATORS: Final = frozenset(",G")


def _is_digits(part: Part) -> bool:
    return isinstance(part, Digits)


def _is_one_of(*signs: Sign) -> Callable[[Part], bool]:
    return lambda part: part in signs


#: The order of a layout's parts; each may be missing.
_ORDER: Final[tuple[Callable[[Part], bool], ...]] = (
    _is_one_of(Sign.OPENING),
    _is_one_of(Sign.MINUS, Sign.PLUS_OR_MINUS),
    _is_one_of(Sign.DOLLAR),
    _is_digits,
    _is_one_of(Sign.POINT),
    _is_digits,
    _is_one_of(Sign.DOLLAR),
    _is_one_of(Sign.MINUS, Sign.PLUS_OR_MINUS, Sign.CLOSING),
)
#: Parts that a layout may have once, in the order in which Spark looks for them.
_ONCE: Final = (Sign.POINT, Sign.PLUS_OR_MINUS, Sign.MINUS, Sign.DOLLAR, Sign.CLOSING)


class NumberLayout(msgspec.Struct, frozen=True):
    """A format of numbers: its ``text`` in upper case, and its ``parts`` from left to right."""

    text: str
    parts: tuple[Part, ...]

    @property
    def whole(self) -> int:
        """The number of digits before the decimal point."""
        return sum(part.count for part in self._before() if isinstance(part, Digits))

    @property
    def fraction(self) -> int:
        """The number of digits after the decimal point."""
        return sum(part.count for part in self._after() if isinstance(part, Digits))

    def type(self) -> pa.DataType:
        """The type of the numbers that the layout reads. Raises DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION for
        more than 38 digits."""
        precision = self.whole + self.fraction
        if precision > MAX_PRECISION:
            raise spark_error(
                "DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION",
                f"Decimal precision {precision} exceeds max precision {MAX_PRECISION}.",
            )
        return decimal(precision, self.fraction)

    def check(self) -> None:
        """Raise INVALID_FORMAT, with a sub-condition that says why, if Spark refuses the layout."""
        if not self.parts:
            raise self._invalid("EMPTY", "The number format string cannot be empty.")
        places = {kind: place for place, kind in reversed(list(enumerate(self.parts)))}
        digits = [place for place, part in enumerate(self.parts) if isinstance(part, Digits)]
        if not digits:
            raise self._invalid("WRONG_NUM_DIGIT", "The format string requires at least one number digit.")
        dollar, point = places.get(Sign.DOLLAR, -1), places.get(Sign.POINT, -1)
        if digits[0] < dollar:
            raise self._invalid(
                "CUR_MUST_BEFORE_DIGIT", "Currency characters must appear before digits in the number format."
            )
        if -1 < point < dollar:
            raise self._invalid(
                "CUR_MUST_BEFORE_DEC",
                "Currency characters must appear before any decimal point in the number format.",
            )
        if any(_has_loose_separator(part) for part in self._before() if isinstance(part, Digits)):
            raise self._invalid(
                "CONT_THOUSANDS_SEPS",
                "Thousands separators (, or G) must have digits in between them in the number format.",
            )
        if any(None in part.parts for part in self._after() if isinstance(part, Digits)):
            raise self._invalid(
                "THOUSANDS_SEPS_MUST_BEFORE_DEC",
                "Thousands separators (, or G) may not appear after the decimal point in the number format.",
            )
        self._check_order()

    def _check_order(self) -> None:
        """Raise INVALID_FORMAT if a part repeats that may not, or stands where it may not."""
        counts = Counter(self.parts)
        for sign in _ONCE:
            if counts[sign] > 1:
                raise self._invalid(
                    "WRONG_NUM_TOKEN", f"At most one {sign.value} is allowed in the number format."
                )
        place = 0
        for fits in _ORDER:
            if place < len(self.parts) and fits(self.parts[place]):
                place += 1
        if place < len(self.parts):
            raise self._invalid(
                "UNEXPECTED_TOKEN",
                f"Found the unexpected {_shown(self.parts[place])} in the format string; the structure of "
                f"the format"
                " string must match: `[MI|S]` `[$]` `[0|9|G|,]*` `[.|D]` `[0|9]*` `[$]` `[PR|MI|S]`.",
            )

    def _before(self) -> Sequence[Part]:
        """The parts before the decimal point: all if there is none."""
        return self.parts[: self.parts.index(Sign.POINT)] if Sign.POINT in self.parts else self.parts

    def _after(self) -> Sequence[Part]:
        """The decimal point and the parts after it."""
        return self.parts[self.parts.index(Sign.POINT) :] if Sign.POINT in self.parts else ()

    def _invalid(self, reason: str, message: str) -> DatabaseError:
        return spark_error(f"INVALID_FORMAT.{reason}", f"The format is invalid: '{self.text}'. {message}")


def _has_loose_separator(digits: Digits) -> bool:
    """Return whether a separator has no digits on one of its sides."""
    around = (None, *digits.parts, None)
    return any(
        part is None and (around[place] is None or around[place + 2] is None)
        for place, part in enumerate(digits.parts)
    )


def _shown(part: Part) -> str:
    match part:
        case Sign.OPENING:
            return Sign.CLOSING.value
        case Sign():
            return part.value
        case Digits():
            return "digit sequence"
        case Unknown(character=character):
            return f"character '{character}''"


@lru_cache(maxsize=256)
def parse_layout(text: str) -> NumberLayout:
    """Parse a format of numbers, in any case; :meth:`NumberLayout.check` says whether it is a valid one.

    >>> layout = parse_layout("$9,999.00pr")
    >>> layout.whole, layout.fraction, layout.type()
    (4, 2, Decimal128Type(decimal128(6, 2)))
    """
    parts: list[Part] = []
    run: list[DigitRun | None] = []
    brackets = 0

    def end_run() -> None:
        if run:
            parts.append(Digits(tuple(run)))
            run.clear()

    upper = text.upper()
    for token in _TOKEN.findall(upper):
        if token[0] in "09":
            run.append(DigitRun(len(token), token[0] == "0" and Sign.POINT not in parts))
        elif token in _SEPARATORS:
            run.append(None)
        else:
            end_run()
            if token == "PR":
                brackets += 1
                parts.append(Sign.CLOSING)
            else:
                parts.append(_SIGNS.get(token) or Unknown(token))
    end_run()
    return NumberLayout(upper, (*(Sign.OPENING,) * brackets, *parts))
