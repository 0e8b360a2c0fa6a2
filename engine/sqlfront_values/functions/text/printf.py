"""format_string, with the rules of ``java.util.Formatter`` over Spark's values.

A format is parsed once into texts and :class:`Specifier`. Spark passes its internal values to the formatter:
dates are days and timestamps microseconds since 1970, and decimals can only be printed as text. Parts of
Java's formatter without a counterpart here are refused by name: dates (``%t``), hashes (``%h``), and the
texts of arrays, maps, structs and binaries.
"""

import re
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import lru_cache
from typing import Final

import msgspec
import pyarrow as pa

from sqlfront_values.arrow import kernels as pc
from sqlfront_values.arrow.arrays import scalar
from sqlfront_values.arrow.forms import Datum, plain
from sqlfront_values.casts import compile_cast
from sqlfront_values.errors import DataError, NotSupportedError
from sqlfront_values.functions import growth
from sqlfront_values.functions.registry import Invocation, Kind, ScalarFunction, register
from sqlfront_values.functions.rowwise import by_row, columnar, is_ascii, nulls
from sqlfront_values.java.floats import float_text
from sqlfront_values.settings import DEFAULT_SETTINGS
from sqlfront_values.types import (
    BOOLEAN,
    DATE,
    FLOAT,
    STRING,
    ddl,
    is_integral,
    is_interval,
    is_string,
    is_year_month,
)

_SPECIFIER: Final = re.compile(r"%(\d+\$|<)?([-#+ 0,(]*)(\d+)?(?:\.(\d+))?([a-zA-Z%])")
_CONVERSIONS: Final = frozenset("sSdxXofeEgGbBcC%n")
#: The flags that each conversion takes.
_FLAGS: Final = {
    "s": "-",
    "b": "-",
    "c": "-",
    "d": "-+ 0,(",
    "x": "-#0",
    "o": "-#0",
    "f": "-#+ 0,(",
    "e": "-#+ 0(",
    "g": "-+ 0,(",
    "%": "-",
    "n": "",
}
#: Digits enough for any double in plain notation, before the point and after.
_EXACT: Final = Context(prec=400, rounding=ROUND_HALF_UP)
#: Digits after the point unless the format says otherwise, as in Java's Formatter.
_DEFAULT_PRECISION: Final = 6
#: Rows from which on columns of the texts of each part take less time than the texts of single rows.
_MANY_ROWS: Final = 16
_JOIN: Final = pc.function("binary_join_element_wise", "JoinOptions", null_handling="emit_null")


class Specifier(msgspec.Struct, frozen=True):
    """A specifier ``%...`` of a format: the argument's index, from 0 (None for ``%%`` and ``%n``, which take
    no argument), the flags, the least width in characters (0 = any), the precision (None = not given), and
    the letter of the conversion."""

    index: int | None
    flags: str
    width: int
    precision: int | None
    conversion: str


@lru_cache(maxsize=256)
def parse_format(text: str) -> tuple[str | Specifier, ...]:
    """Parse a format into texts and specifiers, in order; the last part is a text. Raises DataError, with
    Java's message, for a malformed format.

    >>> parse_format("a%2$5d")
    ('a', Specifier(index=1, flags='', width=5, precision=None, conversion='d'), '')
    """
    parts: list[str | Specifier] = []
    place, ordinary, last = 0, 0, -1
    while (percent := text.find("%", place)) >= 0:
        parts.append(text[place:percent])
        match = _SPECIFIER.match(text, percent)
        if match is None or match[5] not in _CONVERSIONS:
            raise _unknown(text, percent, match)
        index: int | None = None
        if match[5] not in "%n":
            if match[1] is None:
                index, ordinary = ordinary, ordinary + 1
            else:
                index = last if match[1] == "<" else int(match[1][:-1]) - 1
            last = index
        parts.append(_checked(match, index))
        place = match.end()
    return (*parts, text[place:])


def _unknown(text: str, percent: int, match: re.Match[str] | None) -> DataError | NotSupportedError:
    if match is not None and match[5] in "htTH":
        return NotSupportedError(f"the conversion %{match[5]} of format_string")
    return DataError(
        f"Conversion = '{match[5] if match is not None else text[percent + 1 : percent + 2] or '%'}'"
    )


def _checked(match: re.Match[str], index: int | None) -> Specifier:
    _, flags, width, precision, conversion = match.groups(default="")
    wrong = set(flags) - set(_FLAGS[conversion.lower()])
    if wrong:
        raise DataError(f"Conversion = {conversion}, Flags = {''.join(sorted(wrong))}")
    if not width and ("-" in flags or "0" in flags):
        raise DataError(match[0])
    if {"-", "0"} <= set(flags) or {"+", " "} <= set(flags):
        raise DataError(f"Flags = '{flags}'")
    if precision and conversion.lower() in "dxoc":
        raise DataError(precision)
    return Specifier(index, flags, int(width or 0), int(precision) if precision else None, conversion)


def format_values(text: str, types: tuple[pa.DataType, ...], values: tuple[object, ...]) -> str:
    """Format the values by the format ``text``; ``types`` are the values' logical types. Raises DataError for
    a malformed format, a missing value, or a value that does not fit its conversion."""
    result = ""
    for part in parse_format(text):
        if isinstance(part, str):
            result += part
        elif part.index is None:
            result += _constant(part)
        elif not 0 <= part.index < len(values):
            raise _missing(part)
        else:
            result += _print(part, values[part.index], types[part.index])
    return result


def _constant(specifier: Specifier) -> str:
    """Return the text of a specifier that takes no argument."""
    return "\n" if specifier.conversion == "n" else _padded("%", specifier)


def _missing(specifier: Specifier) -> DataError:
    return DataError(f"Format specifier '%{specifier.conversion}'")


def _print(specifier: Specifier, value: object, data_type: pa.DataType) -> str:
    conversion = specifier.conversion.lower()
    if conversion == "b":
        text = "false" if value is None else _text(value, data_type) if isinstance(value, bool) else "true"
        text = text[: specifier.precision]
    elif value is None:
        text = "null"[: specifier.precision]
    elif conversion == "s":
        text = _text(value, data_type)[: specifier.precision]
    elif conversion == "c":
        text = chr(_integer(value, specifier))
    elif conversion in "dxo":
        return _upper(_integer_text(specifier, _integer(value, specifier), data_type), specifier)
    else:
        return _upper(_float(specifier, value, data_type), specifier)
    return _upper(_padded(text, specifier), specifier)


def _upper(text: str, specifier: Specifier) -> str:
    return text.upper() if specifier.conversion.isupper() else text


def _padded(text: str, specifier: Specifier) -> str:
    """Return the text padded with spaces to the specifier's width: at the end if the flags have ``-``, else
    in front. The width counts units of UTF-16, as in Java; an emoji has two units."""
    width = specifier.width - sum(character > "\uffff" for character in text)
    return text.ljust(width) if "-" in specifier.flags else text.rjust(width)


def _text(value: object, data_type: pa.DataType) -> str:
    """Return the text that ``%s`` prints for a value. Raises NotSupportedError for arrays, maps, structs and
    binaries."""
    match value:
        case bool():
            return str(value).lower()
        case float():
            return float_text(value, single=data_type == FLOAT)
        case Decimal():
            return format(value, "f")
        case str() | int():
            return str(value)
        case _:
            raise NotSupportedError(f"format_string of a value of type {ddl(data_type)}")


def _integer(value: object, specifier: Specifier) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise _mismatch(specifier, value)


def _mismatch(specifier: Specifier, value: object) -> DataError:
    return DataError(f"{specifier.conversion} != {type(value).__name__}")


def _integer_text(specifier: Specifier, value: int, data_type: pa.DataType) -> str:
    if specifier.conversion == "d":
        return _signed(str(abs(value)), value < 0, specifier)
    if value < 0:
        value += 1 << (data_type.bit_width if is_integral(data_type) else 64)
    prefix = ""
    if "#" in specifier.flags:
        prefix = "0" if specifier.conversion == "o" else "0x"
    digits = format(value, specifier.conversion.lower())
    if "0" in specifier.flags:
        digits = digits.rjust(specifier.width - len(prefix), "0")
    return _padded(prefix + digits, specifier)


def _signed(digits: str, negative: bool, specifier: Specifier) -> str:
    """Return the digits of a number with grouping, sign or parentheses, and zeros or spaces in front, as the
    specifier's flags and width say."""
    flags = specifier.flags
    if "," in flags:
        whole, point, rest = digits.partition(".")
        digits = f"{int(whole):,}{point}{rest}"
    before, after = "", ""
    if negative:
        before, after = ("(", ")") if "(" in flags else ("-", "")
    elif "+" in flags or " " in flags:
        before = "+" if "+" in flags else " "
    if "0" in flags:
        digits = digits.rjust(specifier.width - len(before) - len(after), "0")
    return _padded(before + digits + after, specifier)


def _float(specifier: Specifier, value: object, data_type: pa.DataType) -> str:
    if not isinstance(value, float):
        raise _mismatch(specifier, value)
    if value != value or value in (float("inf"), float("-inf")):
        name = "NaN" if value != value else "Infinity"
        plain = msgspec.structs.replace(specifier, flags=specifier.flags.replace("0", "").replace(",", ""))
        return _signed(name, value < 0, plain)
    # Java rounds the shortest digits that give the double back, halves up.
    magnitude = Decimal(repr(abs(value)))
    negative = value < 0 or (value == 0 and str(value).startswith("-"))
    precision = _DEFAULT_PRECISION if specifier.precision is None else specifier.precision
    match specifier.conversion.lower():
        case "f":
            digits = _fixed(magnitude, precision)
        case "e":
            digits = _scientific(magnitude, precision)
        case _:
            digits = _general(magnitude, precision or 1)
    return _signed(digits, negative, specifier)


def _fixed(value: Decimal, precision: int) -> str:
    return format(value.quantize(Decimal(1).scaleb(-precision), context=_EXACT), "f")


def _scientific(value: Decimal, precision: int) -> str:
    if value == 0:
        return f"{_fixed(value, precision)}e+00"
    exponent = value.adjusted()
    mantissa = _fixed(value.scaleb(-exponent, _EXACT), precision)
    if mantissa.startswith("10"):
        exponent += 1
        mantissa = _fixed(value.scaleb(-exponent, _EXACT), precision)
    return f"{mantissa}e{'-' if exponent < 0 else '+'}{abs(exponent):02}"


def _general(value: Decimal, precision: int) -> str:
    if value == 0:
        return _fixed(value, precision - 1)
    rounded = Decimal(_scientific(value, precision - 1))
    if Decimal("0.0001") <= rounded < Decimal(10) ** precision:
        return _fixed(value, max(precision - 1 - rounded.adjusted(), 0))
    return _scientific(value, precision - 1)


@columnar
def _format_string(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    types = invocation.argument_types[1:]
    text, *values = arguments
    if isinstance(text, pa.Scalar) and not text.is_valid:
        return nulls(invocation)
    inner = tuple(_inner(*pair) for pair in zip(values, types, strict=True))
    if isinstance(text, pa.Scalar) and invocation.length >= _MANY_ROWS:
        return _by_part(text.as_py(), types, inner, invocation)

    def one(text: str | None, *values: object) -> str | None:
        return None if text is None else format_values(text, types, values)

    return by_row(one, (text, *inner), invocation, null_aware=True)


def _by_part(
    text: str, types: tuple[pa.DataType, ...], values: tuple[Datum, ...], invocation: Invocation
) -> pa.Array:
    """Format the values by the format ``text``: the column of the texts of each part, joined."""
    parts: list[Datum] = []
    for part in parse_format(text):
        if isinstance(part, str) or part.index is None:
            parts.append(scalar(part if isinstance(part, str) else _constant(part), STRING))
        elif not 0 <= part.index < len(values):
            raise _missing(part)
        else:
            parts.append(_column(part, values[part.index], types[part.index], invocation))
    if not any(isinstance(part, pa.Array) for part in parts):
        return pa.repeat(scalar("".join(part.as_py() for part in parts), STRING), invocation.length)
    return _JOIN.call([*parts, scalar("", STRING)])


def _column(specifier: Specifier, values: Datum, data_type: pa.DataType, invocation: Invocation) -> Datum:
    """Return the texts that a specifier prints for the values of a column or scalar."""
    quick = _cast(specifier, values, data_type)
    if quick is not None:
        return quick
    return by_row(lambda value: _print(specifier, value, data_type), (values,), invocation, null_aware=True)


def _cast(specifier: Specifier, values: Datum, data_type: pa.DataType) -> pa.Array | None:
    """Return the texts of the values if they are those of the values' cast to strings, with spaces or zeros
    in front at most; else None."""
    is_number = is_integral(data_type)
    conversion, flags = specifier.conversion, specifier.flags
    if conversion not in "sd" or specifier.precision is not None or isinstance(values, pa.Scalar):
        return None
    if not (is_number or (conversion == "s" and (is_string(data_type) or data_type == BOOLEAN))):
        return None
    if values.null_count or flags not in ("", "0") or (flags and pc.any(pc.less(values, 0)).as_py()):
        return None
    texts = compile_cast(data_type, STRING, safe=False, settings=DEFAULT_SETTINGS)(plain(values))
    if not specifier.width:
        return texts
    return pc.ascii_lpad(texts, specifier.width, flags or " ") if is_ascii(texts) else None


def _inner(datum: Datum, data_type: pa.DataType) -> Datum:
    """Return a column or scalar of dates, timestamps or intervals as the integers that Spark has for them
    inside; any other datum unchanged."""
    if not (pa.types.is_temporal(data_type) or is_interval(data_type)):
        return datum
    storage = pa.int32() if data_type == DATE or is_year_month(data_type) else pa.int64()
    return pa.repeat(datum, 1).view(storage)[0] if isinstance(datum, pa.Scalar) else datum.view(storage)


register(
    *(
        ScalarFunction(
            name,
            (STRING, Kind.ANY),
            STRING,
            _format_string,
            variadic=True,
            optional=1,
            null_propagating=False,
            can_fail=True,
            growth=growth.formatted,
            example=(f"{name}('%s has %05.1f', 'x', 2.5D)", "'x has 002.5'"),
        )
        for name in ("format_string", "printf")
    ),
)
