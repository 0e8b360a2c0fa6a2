"""to_number, try_to_number and to_char: numbers from and to texts by a layout of digits and signs."""

from collections.abc import Callable
from decimal import Decimal
from typing import Final, assert_never

import msgspec
import pyarrow as pa

from sqlfront_values.arrow.forms import Datum, nulls
from sqlfront_values.errors import DatabaseError, InternalError, spark_error
from sqlfront_values.functions import growth
from sqlfront_values.functions.registry import (
    Invocation,
    Kind,
    PreparedKernel,
    ScalarFunction,
    Signature,
    register,
)
from sqlfront_values.functions.rowwise import by_row, columnar
from sqlfront_values.functions.text.number_layouts import Digits, NumberLayout, Sign, Unknown, parse_layout
from sqlfront_values.java.characters import is_digit, is_whitespace
from sqlfront_values.types import STRING, decimal

#: The type of to_number with a null as its layout: Spark's default decimal.
_WITHOUT_LAYOUT: Final = decimal(10, 0)
_SEPARATOR: Final = ","

# ---- reading


class _Reading(msgspec.Struct):
    """The state of reading one text: the text and the place in it, the digits so far, and the signs seen."""

    text: str
    place: int = 0
    whole: str = ""
    fraction: str = ""
    is_past_point: bool = False
    is_negative: bool = False
    open_brackets: int = 0

    def take(self, *characters: str) -> str | None:
        """Return the next character if it is one of ``characters``, and go past it; else None."""
        following = self.text[self.place : self.place + 1]
        if following not in characters:
            return None
        self.place += 1
        return following

    def take_digits(self, digits: Digits) -> bool:
        """Go past digits, separators and white space. Return whether the layout's ``digits`` have room for
        the digits that were there, group by group from the right."""
        sizes, size = [], 0
        while self.place < len(self.text):
            character = self.text[self.place]
            if is_digit(character):
                size += 1
                if self.is_past_point:
                    self.fraction += character
                else:
                    self.whole += character
            elif character == _SEPARATOR:
                sizes.append(size)
                size = 0
            elif not is_whitespace(character):
                break
            self.place += 1
        sizes = [*sizes, size][::-1]
        runs = digits.runs[::-1]
        if len(sizes) > len(runs):
            return False
        sizes += [0] * (len(runs) - len(sizes))
        return all(
            size == run.count if run.is_exact else size <= run.count
            for size, run in zip(sizes, runs, strict=True)
        )


def read_number(text: str, layout: NumberLayout) -> Decimal | None:
    """Return the number that the text has by the layout; None if the text doesn't match the layout.

    >>> read_number("12,454.8-", parse_layout("99,999.9S"))
    Decimal('-12454.8')
    """
    reading = _Reading(text)
    if not all(_reads(part, reading) for part in layout.parts):
        return None
    if reading.place < len(text) or reading.open_brackets or not reading.whole + reading.fraction:
        return None
    digits = reading.whole + reading.fraction.ljust(layout.fraction, "0")
    return Decimal(f"{'-' if reading.is_negative else ''}{digits}E-{layout.fraction}")


def _reads(part: Sign | Digits | Unknown, reading: _Reading) -> bool:
    """Go past the part in the text; return False if the text doesn't match the part."""
    match part:
        case Digits():
            return reading.take_digits(part)
        case Sign.POINT:
            reading.is_past_point = reading.take(".") is not None or reading.is_past_point
        case Sign.DOLLAR:
            return reading.place >= len(reading.text) or reading.take("$") is not None
        case Sign.PLUS_OR_MINUS:
            reading.is_negative ^= reading.take("+", "-") == "-"
        case Sign.MINUS:
            reading.is_negative ^= reading.take("-") is not None
        case Sign.OPENING:
            reading.open_brackets += reading.take("<") is not None
        case Sign.CLOSING:
            if reading.take(">") is not None:
                reading.is_negative = not reading.is_negative
                reading.open_brackets -= 1
        case Unknown():
            raise InternalError("the binder checks layouts")
        case _:
            assert_never(part)
    return True


# ---- writing


def write_number(number: Decimal, layout: NumberLayout) -> str:
    """Return the number's text by the layout; ``#`` for all digits if the number has more than the layout.

    >>> write_number(Decimal("-12454.8"), parse_layout("99G999D9S"))
    '12,454.8-'
    >>> write_number(Decimal(5), parse_layout("999"))
    '  5'
    """
    whole, fraction = _digits_of(number, layout)
    is_negative = number < 0
    written = _Text()
    is_past_point = False
    for part in layout.parts:
        match part:
            case Digits() if is_past_point:
                written.text += fraction
            case Digits():
                written.add_digits(part, whole)
            case Sign.POINT:
                written.add_point()
                is_past_point = True
            case Sign.DOLLAR:
                written.text += "$"
            case Sign.PLUS_OR_MINUS:
                written.drop_last_point()
                written.add_sign("-" if is_negative else "+")
            case Sign.MINUS if is_negative:
                written.drop_last_point()
                written.add_sign("-")
            case Sign.MINUS:
                written.text += " "
            case Sign.OPENING:
                written.text += "<" if is_negative else ""
            case Sign.CLOSING:
                written.drop_last_point()
                if is_negative:
                    written.add_sign(">")
                else:
                    written.text += "  "
            case Unknown():
                raise InternalError("the binder checks layouts")
            case _:
                assert_never(part)
    written.drop_last_point()
    return "0" if written.text in ("", "+", "-") else written.text


def _digits_of(number: Decimal, layout: NumberLayout) -> tuple[str, str]:
    """Return the digits before and after the point, as many as the layout has: the whole part with spaces in
    front, the fraction with zeros behind; ``#`` if there are too many."""
    whole, _, fraction = format(number.copy_abs(), "f").partition(".")
    whole, fraction = whole.lstrip("0"), fraction.rstrip("0")
    if len(whole) > layout.whole or len(fraction) > layout.fraction:
        whole, fraction = "#" * layout.whole, "#" * layout.fraction
    return whole.rjust(layout.whole), fraction.ljust(layout.fraction, "0")


class _Text:
    """A number's text while it is written. Spaces go before signs that stand on the left, and behind signs
    that stand on the right."""

    def __init__(self) -> None:
        self.text = ""

    def add_digits(self, digits: Digits, whole: str) -> None:
        """Add the digits of the whole part, with the layout's separators between digits."""
        place = 0
        for part in digits.parts:
            if part is None:
                if self.text and is_digit(self.text[-1]):
                    self.text += _SEPARATOR
                else:
                    self._add_space()
                continue
            for character in whole[place : place + part.count]:
                if character != " ":
                    self.text += character
                elif part.is_exact:
                    self.text += "0"
                else:
                    self._add_space()
            place += part.count

    def add_point(self) -> None:
        """Add the point; a space before it becomes a zero."""
        if self.text.endswith(" "):
            self.text = f"{self.text[:-1]}0"
        self.text += "."

    def add_sign(self, sign: str) -> None:
        """Add a sign, before the spaces at the end."""
        text = self.text.rstrip(" ")
        self.text = f"{text}{sign}{self.text[len(text) :]}"

    def drop_last_point(self) -> None:
        """Replace the point by a space if no digit follows it."""
        place = self.text.find(".")
        if place >= 0 and self.text[place + 1 : place + 2] in ("", " "):
            self.text = f"{self.text[:place]} {self.text[place + 1 :]}"

    def _add_space(self) -> None:
        """Add a space, before the signs at the end."""
        text = self.text.rstrip("+-<")
        self.text = f"{text} {self.text[len(text) :]}"


# ---- the functions


def _layout_of(signature: Signature) -> NumberLayout | None:
    """Return the layout that is a call's second argument; None if the argument is null."""
    known = signature.constants[1]
    text = None if known is None else known.as_py()
    return None if text is None else parse_layout(text)


def _prepared(
    signature: Signature, function: Callable[[NumberLayout], Callable[..., object]]
) -> PreparedKernel:
    """Make the kernel of ``function(layout)``, which takes a text or a number; null for a null layout."""
    layout, result = _layout_of(signature), signature.type
    if layout is None:
        return lambda arguments, length: nulls(result)
    convert = function(layout)

    @columnar
    def kernel(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
        return by_row(convert, arguments[:1], invocation)

    types, settings = signature.argument_types, signature.settings
    return lambda arguments, length: kernel(arguments, Invocation(result, types, length, settings))


def _mismatch(text: str, layout: NumberLayout) -> DatabaseError:
    return spark_error(
        "INVALID_FORMAT.MISMATCH_INPUT",
        f'The format is invalid: {layout.text}. The input "STRING" {text} does not match the format.',
    )


def _strict(layout: NumberLayout) -> Callable[[str], Decimal]:
    def convert(text: str) -> Decimal:
        number = read_number(text, layout)
        if number is None:
            raise _mismatch(text, layout)
        return number

    return convert


def _safe(layout: NumberLayout) -> Callable[[str], Decimal | None]:
    return lambda text: read_number(text, layout)


def _writing(layout: NumberLayout) -> Callable[[Decimal], str]:
    return lambda number: write_number(number, layout)


def _layout_type(types: tuple[pa.DataType, ...], constants: tuple[object, ...]) -> pa.DataType:
    (text,) = constants
    if not isinstance(text, str):
        return _WITHOUT_LAYOUT
    layout = parse_layout(text)
    layout.check()
    return layout.type()


def _text_type(types: tuple[pa.DataType, ...], constants: tuple[object, ...]) -> pa.DataType:
    (text,) = constants
    if isinstance(text, str):
        parse_layout(text).check()
    return STRING


def _text_size(arguments: tuple[Datum, ...], rows: int) -> int:
    """Return the bytes that ``to_char`` makes at most: those of the layout, and two for brackets, per row."""
    return growth.spread(arguments[1], rows) + 2 * rows


def _reader(
    name: str, convert: Callable[[NumberLayout], Callable[[str], object]], *, safe: bool
) -> ScalarFunction:
    return ScalarFunction(
        name,
        (STRING, STRING),
        _WITHOUT_LAYOUT,
        prepare=lambda signature: _prepared(signature, convert),
        can_fail=not safe,
        constants=(1,),
        constant_result=_layout_type,
        example=(f"{name}('$1,234.5', '$9,999.99')", "Decimal('1234.50')"),
    )


register(
    _reader("to_number", _strict, safe=False),
    _reader("try_to_number", _safe, safe=True),
    ScalarFunction(
        "to_char",
        (Kind.DECIMAL, STRING),
        STRING,
        prepare=lambda signature: _prepared(signature, _writing),
        constants=(1,),
        constant_result=_text_type,
        growth=_text_size,
        example=("to_char(-1234.5, '9,999.99S')", "'1,234.50-'"),
    ),
)
