"""Casts from strings to booleans, numbers and binaries, by Spark's rules of reading text.

Plain notation goes through Arrow's parser, column at a time; all other texts (with blanks around, plus signs,
suffixes, hexadecimal floats, text that is refused) are parsed row by row.
"""

import math
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Final

import pyarrow as pa

from sqlfront_values.arrow import kernels as pc
from sqlfront_values.arrow.arrays import from_values
from sqlfront_values.arrow.forms import from_unscaled
from sqlfront_values.casts.decimals import decimal_digits, fitted
from sqlfront_values.casts.numbers import Convert
from sqlfront_values.errors import DatabaseError, NotSupportedError, spark_error
from sqlfront_values.evaluation_errors import invalid_input
from sqlfront_values.java.floats import round_to_single
from sqlfront_values.types import STRING, physical

_CAST: Final = pc.get_function("cast")
_MATCH: Final = pc.get_function("match_substring_regex")
#: Blanks and control characters, which most casts trim.
BLANKS: Final = "".join(map(chr, range(33))) + "\x7f"
#: The characters that Java's String.trim removes.
_JAVA_BLANKS: Final = "".join(map(chr, range(33)))

_PLAIN_INTEGER: Final = pc.MatchSubstringOptions(r"^-?[0-9]{1,18}$")
_PLAIN_DOUBLE: Final = pc.MatchSubstringOptions(r"^-?[0-9]{1,17}(\.[0-9]{1,17})?$")
_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
_DECIMAL: Final = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_DOUBLE: Final = re.compile(r"[+-]?((?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)[fFdD]?")
_HEXADECIMAL: Final = re.compile(
    r"[+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+[fFdD]?"
)
_SPECIAL: Final = re.compile(r"(?i:[+-]?inf(?:inity)?|nan)|[+-]NaN")
_TRUE: Final = frozenset({"t", "true", "y", "yes", "1"})
_FALSE: Final = frozenset({"f", "false", "n", "no", "0"})
#: An exponent of more digits overflows Java's int.
_LARGEST_EXPONENT: Final = 2**31 - 1

Parse = Callable[[str], object]


def row_by_row(
    parse: Parse, target: pa.DataType, *, safe: bool, storage: pa.DataType | None = None
) -> Convert:
    """Make a cast of texts to ``target`` that calls ``parse`` on each text that is not null. A text for which
    ``parse`` raises ValueError is malformed: null if ``safe``, else the cast raises CAST_INVALID_INPUT.

    ``parse`` returns Python values of the type ``storage``, a type of the same bits that is viewed as
    ``target`` at the end (int64 for timestamps); None = of the type ``target`` itself.
    """

    def one(text: str | None) -> object:
        if text is None:
            return None
        try:
            return parse(text)
        except ValueError:
            if safe:
                return None
            raise malformed(text, target) from None

    if storage is None:
        return lambda values: from_values([one(text) for text in values.to_pylist()], target)
    return lambda values: from_values([one(text) for text in values.to_pylist()], storage).view(target)


def malformed(text: str, target: pa.DataType) -> DatabaseError:
    """Build Spark's error CAST_INVALID_INPUT for a text that is not a value of the type ``target``."""
    return invalid_input(f"'{text}'", STRING, target)


def _all_match(values: pa.Array, options: pc.MatchSubstringOptions) -> bool:
    matches = _MATCH.call([values], options)
    return bool(matches.true_count == len(values) - values.null_count)


def string_to_boolean(*, safe: bool) -> Convert:
    """Make the cast of strings to booleans. Between blanks and in any case, t, true, y, yes and 1 are true;
    f, false, n, no and 0 are false. Another text becomes null if ``safe``, else the cast raises
    CAST_INVALID_INPUT."""

    def parse(text: str) -> bool:
        word = text.strip(BLANKS).lower()
        if word in _TRUE:
            return True
        if word in _FALSE:
            return False
        raise ValueError

    return row_by_row(parse, pa.bool_(), safe=safe)


#: Digits of a number at most: Python's ``int`` refuses texts of more than 4,300.
_MOST_DIGITS: Final = 4000


def string_to_integral(target: pa.DataType, *, safe: bool) -> Convert:
    """Make the cast of strings to ``target``, an integral. A text is well-formed if it is, between blanks, an
    optional sign and digits, within the type's bounds. A malformed text becomes null if ``safe``, else the
    cast raises CAST_INVALID_INPUT."""
    bound = 2 ** (target.bit_width - 1)

    def parse(text: str) -> int:
        digits = text.strip(BLANKS)
        if _INTEGER.fullmatch(digits) is None or len(digits) > _MOST_DIGITS:
            raise ValueError
        number = int(digits)
        if not -bound <= number < bound:
            raise ValueError
        return number

    by_row = row_by_row(parse, target, safe=safe)
    to_bigint, to_target = pc.CastOptions.safe(pa.int64()), pc.CastOptions.safe(target)

    def convert(values: pa.Array) -> pa.Array:
        if _all_match(values, _PLAIN_INTEGER):
            try:
                return _CAST.call([_CAST.call([values], to_bigint)], to_target)
            except pa.ArrowInvalid:
                pass
        return by_row(values)

    return convert


def string_to_float(target: pa.DataType, *, safe: bool) -> Convert:
    """Make Spark's cast of strings to ``target``, a float or a double.

    A text is well-formed if it is, between blanks, a floating-point literal of Java (also hexadecimal or with
    the suffix f or d), or inf, infinity or nan in any case. A malformed text becomes null if ``safe``, else
    the cast raises CAST_INVALID_INPUT.
    """
    single = target.bit_width == 32
    by_row = row_by_row(parse_single if single else parse_double, target, safe=safe)
    if single:
        return by_row
    options = pc.CastOptions.safe(target)
    return lambda values: (
        _CAST.call([values], options) if _all_match(values, _PLAIN_DOUBLE) else by_row(values)
    )


def parse_double(text: str) -> float:
    """Parse a double as Spark's cast does. Raises ValueError if the text is malformed.

    >>> parse_double(" 1d "), parse_double("0x1p3"), parse_double("-Infinity")
    (1.0, 8.0, -inf)
    """
    word = text.strip(_JAVA_BLANKS)
    if _DOUBLE.fullmatch(word):
        return float(word.rstrip("fFdD"))
    if _HEXADECIMAL.fullmatch(word):
        return float.fromhex(re.sub(r"([pP][+-]?[0-9]+)[fFdD]$", r"\1", word))
    if _SPECIAL.fullmatch(word):
        return float(word)
    raise ValueError


def parse_single(text: str) -> float:
    """Parse a float as Spark's cast does: to the float nearest to the text, not to the text's double. Raises
    ValueError if the text is malformed."""
    value = parse_double(text)
    nearest = round_to_single(value)
    word = text.strip(_JAVA_BLANKS).rstrip("fFdD")
    if nearest == value or math.isinf(nearest) or _DOUBLE.fullmatch(word) is None:
        return nearest
    # A double exactly between two floats was rounded to the even float; the text tells the correct side.
    other = 2 * value - nearest
    if round_to_single(other) != other or Decimal(word) == Decimal(value):
        return nearest
    return max(nearest, other) if Decimal(word) > Decimal(value) else min(nearest, other)


def string_to_decimal(target: pa.DataType, *, safe: bool) -> Convert:
    """Make Spark's cast of strings to ``target``, a decimal type.

    A text is well-formed if it has, between blanks, digits with an optional point and exponent; the number is
    rounded to the type's scale. A malformed text becomes null if ``safe``, else the cast raises
    CAST_INVALID_INPUT.
    """

    def one(text: str | None) -> int | None:
        if text is None:
            return None
        word = text.strip(_JAVA_BLANKS)
        match = _DECIMAL.fullmatch(word)
        if match is None or abs(int((match[2] or "e0")[1:])) > _LARGEST_EXPONENT:
            if safe:
                return None
            raise malformed(text, target)
        number = Decimal(word)
        _, digits, exponent = number.as_tuple()
        assert isinstance(exponent, int)
        if number and len(digits) + exponent > 38:
            if safe:
                return None
            raise spark_error(
                "NUMERIC_OUT_OF_SUPPORTED_RANGE",
                f"The value {text} cannot be interpreted as a numeric since it has more than 38 digits.",
            )
        if not number or len(digits) + exponent < -target.scale:
            return 0
        return fitted(*decimal_digits(number), target, safe=safe)

    whole = target.precision - target.scale
    fraction = rf"(\.[0-9]{{1,{target.scale}}})?" if target.scale else ""
    plain = pc.MatchSubstringOptions(rf"^-?[0-9]{{1,{whole}}}{fraction}$") if whole else None
    options = pc.CastOptions.safe(physical(target))

    def convert(values: pa.Array) -> pa.Array:
        if plain is not None and _all_match(values, plain):
            return _CAST.call([values], options)
        return from_unscaled([one(text) for text in values.to_pylist()], target)

    return convert


def string_to_binary(values: pa.Array) -> pa.Array:
    """Cast strings to the bytes of their UTF-8; zero-copy."""
    return values.view(pa.binary())


def binary_to_string(values: pa.Array) -> pa.Array:
    """Cast binaries to strings, reading their bytes as UTF-8; zero-copy.

    Raises NotSupportedError if the bytes of a value aren't UTF-8: Spark's strings hold any bytes, strings of
    Arrow (and Python) don't.
    """
    texts = values.view(pa.string())
    try:
        texts.validate(full=True)
    except pa.ArrowInvalid:
        raise NotSupportedError(
            "A string of bytes that are not UTF-8 is not supported.", sqlstate="0A000"
        ) from None
    return texts
