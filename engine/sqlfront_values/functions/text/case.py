"""Upper and lower case, and initcap, by Unicode's full mappings (``ß`` becomes ``SS``, a final sigma is
kept).

Spark maps by ICU 78 (Unicode 17). Python's mappings are the same except for letters that are newer than the
interpreter's version of Unicode; this module lists these. Arrow's ``utf8_upper`` and ``utf8_lower`` know
one-to-one mappings only, so Arrow maps ASCII texts and Python all other texts.
"""

from collections.abc import Callable
from typing import Final

import pyarrow as pa

from sqlfront_values.arrow import kernels as pc
from sqlfront_values.arrow.forms import TRUE, Datum
from sqlfront_values.functions import growth
from sqlfront_values.functions.registry import Invocation, ScalarFunction, register
from sqlfront_values.functions.rowwise import by_row, columnar, is_ascii, map_values
from sqlfront_values.types import STRING

#: Pairs (lower, upper) of Unicode 15 to 17; ranges are computed from their first pair and their count.
_NEW_PAIRS: Final = (
    *zip(
        (0x19B, 0x264, 0x1C8A, 0xA7CD, 0xA7CF, 0xA7D3, 0xA7D5, 0xA7DB),
        (0xA7DC, 0xA7CB, 0x1C89, 0xA7CC, 0xA7CE, 0xA7D2, 0xA7D4, 0xA7DA),
        strict=True,
    ),
    *((0x10D70 + index, 0x10D50 + index) for index in range(22)),
    *((0x16EBB + index, 0x16EA0 + index) for index in range(25)),
)
_NEW_UPPER: Final = dict(_NEW_PAIRS)
_NEW_LOWER: Final = {upper: lower for lower, upper in _NEW_PAIRS}


def upper_text(text: str) -> str:
    """Convert the text to upper case.

    >>> upper_text("straße")
    'STRASSE'
    """
    return text.upper() if text.isascii() else text.upper().translate(_NEW_UPPER)


def lower_text(text: str) -> str:
    """Convert the text to lower case.

    >>> lower_text("ΑΣ")
    'ας'
    """
    return text.lower() if text.isascii() else text.lower().translate(_NEW_LOWER)


def capitalize_words(text: str) -> str:
    """Convert the first character of each word to title case, all others to lower case; only spaces separate
    words.

    >>> capitalize_words("sPark sql-x")
    'Spark Sql-x'
    """
    return " ".join(map(_capitalize, text.split(" ")))


def _capitalize(word: str) -> str:
    first = word[:1]
    return first.title().translate(_NEW_UPPER) + lower_text(word)[len(lower_text(first)) :]


def upper_array(column: pa.Array) -> pa.Array:
    """Return a plain string column with each text in upper case, by the rules of :func:`upper_text`."""
    return _mapped(column, "ascii_upper", upper_text)


def lower_array(column: pa.Array) -> pa.Array:
    """Return a plain string column with each text in lower case, by the rules of :func:`lower_text`."""
    return _mapped(column, "ascii_lower", lower_text)


def _mapped(column: pa.Array, ascii_kernel: str, text: Callable[[str], str]) -> pa.Array:
    """Return the column with each text converted: ASCII texts by the Arrow kernel ``ascii_kernel``, all other
    texts by the Python function ``text``."""
    mapped = pc.call_function(ascii_kernel, [column])
    if is_ascii(column):
        return mapped
    plain = pc.call_function("coalesce", [pc.call_function("string_is_ascii", [column]), TRUE])
    others = pc.call_function("invert", [plain])
    replaced = map_values(text, column.filter(others), STRING)
    return pc.call_function("replace_with_mask", [mapped, others, replaced])


@columnar
def _upper(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    return upper_array(arguments[0])


@columnar
def _lower(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    return lower_array(arguments[0])


@columnar
def _initcap(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    return by_row(capitalize_words, arguments, invocation)


register(
    ScalarFunction(
        "upper", (STRING,), STRING, _upper, growth=growth.times(3), example=("upper('straße')", "'STRASSE'")
    ),
    ScalarFunction(
        "ucase", (STRING,), STRING, _upper, growth=growth.times(3), example=("ucase('Spark')", "'SPARK'")
    ),
    ScalarFunction(
        "lower", (STRING,), STRING, _lower, growth=growth.times(3), example=("lower('SPARK')", "'spark'")
    ),
    ScalarFunction(
        "lcase", (STRING,), STRING, _lower, growth=growth.times(3), example=("lcase('SPARK')", "'spark'")
    ),
    ScalarFunction(
        "initcap",
        (STRING,),
        STRING,
        _initcap,
        growth=growth.times(3),
        example=("initcap('sPark sql')", "'Spark Sql'"),
    ),
)
