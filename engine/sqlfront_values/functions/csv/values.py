"""Conversion of CSV fields' texts into values. Numbers and booleans are parsed as Java does, dates and
timestamps as Spark's casts do or by a pattern. A text that doesn't parse becomes null."""

import re
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from typing import Final

import numpy as np
import pyarrow as pa

from sqlfront_values.arrow import kernels as pc
from sqlfront_values.arrow.arrays import from_values, scalar
from sqlfront_values.casts import compile_cast
from sqlfront_values.casts.parsing import parse_single
from sqlfront_values.casts.texts import try_cast
from sqlfront_values.errors import NotSupportedError
from sqlfront_values.functions.csv.settings import CsvSettings
from sqlfront_values.functions.time.texts import parse_instants
from sqlfront_values.settings import DEFAULT_SETTINGS
from sqlfront_values.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    ddl,
    is_decimal,
    is_interval,
    is_time,
    physical,
)

_WHITE: Final = "".join(map(chr, range(33)))
_INTEGER: Final = b"+-0123456789"
_DECIMAL: Final = b"+-.0123456789"
_NUMBER: Final = b"+-.0123456789eE"
#: The texts that Java's Double.parseDouble reads, without the white space around.
_JAVA_FLOAT: Final = re.compile(
    r"[+-]?(NaN|Infinity|(([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"
    r"|0[xX]([0-9a-fA-F]+\.?|[0-9a-fA-F]*\.[0-9a-fA-F]+)[pP][+-]?[0-9]+)[fFdD]?)"
)
_JAVA_DECIMAL: Final = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_NTZ: Final = (
    r"^[\x00-\x20]*[+-]?[0-9]{4,7}(-[0-9]{1,2}(-[0-9]{1,2}"
    r"([ T]([0-9]{1,2}:[0-9]{1,2}(:[0-9]{1,2}(\.[0-9]*)?)?)?)?)?)?[\x00-\x20]*$"
)
_ZONE_LETTERS: Final = frozenset("VvzOXxZ")
_INTEGER_BITS: Final = {pa.int8(): 8, pa.int16(): 16, pa.int32(): 32, pa.int64(): 64}
#: Powers of ten beyond which a decimal is zero or too large, whatever its digits; bounds the memory of an
#: exact number.
_EXTREME: Final = 5000


def values(texts: pa.Array, kind: pa.DataType, settings: CsvSettings, zone: str) -> pa.Array:
    """Convert the texts into values of the type ``kind``, in physical form; null where a text is null or
    doesn't parse. ``zone``: the session's time zone. Raises NotSupportedError for a type that CSV files can't
    have."""
    if kind in (STRING, BINARY):
        return texts if kind == STRING else texts.cast(BINARY)
    if kind == DATE:
        return _dates(texts, settings, zone)
    if kind == TIMESTAMP:
        return _timestamps(texts, settings, zone)
    if kind == TIMESTAMP_NTZ:
        return _ntz(texts, settings, zone)
    if kind in _INTEGER_BITS:
        bits = _INTEGER_BITS[kind]
        return _mixed(texts, kind, _INTEGER, lambda text: java_integer(text, bits))
    if kind in (DOUBLE, FLOAT):
        words = (settings.not_a_number, settings.infinity, settings.negative_infinity)
        plain = b"" if any(not set(word.encode()) - set(_NUMBER) for word in words) else _NUMBER
        return _mixed(texts, kind, plain, lambda text: _float(text, kind, settings))
    if kind == BOOLEAN:
        return _one_by_one(texts, kind, java_boolean)
    if is_decimal(kind):
        return _mixed(texts, kind, _DECIMAL, lambda text: fitted_decimal(text, kind.precision, kind.scale))
    if is_interval(kind) or is_time(kind):
        return try_cast(texts, kind)
    raise NotSupportedError(f"CSV: columns of type {ddl(kind)}")


def _mixed(texts: pa.Array, kind: pa.DataType, plain: bytes, parse: Callable[[str], object]) -> pa.Array:
    """Convert the texts into values of the type ``kind``; null where a text doesn't parse. The engine's cast,
    which agrees with Java for these characters, converts texts made of the characters ``plain`` only;
    ``parse`` converts all other texts."""
    if consists_of(texts, plain):
        return try_cast(texts, kind)
    if not plain:
        return _one_by_one(texts, kind, parse)
    odd = pc.fill_null(pc.match_substring_regex(texts, f"[^{re.escape(plain.decode())}]"), False)
    cast = try_cast(pc.if_else(odd, scalar(None, STRING), texts), kind)
    others = _one_by_one(pc.if_else(odd, texts, scalar(None, STRING)), kind, parse)
    return pc.if_else(odd, others, cast)


def _one_by_one(texts: pa.Array, kind: pa.DataType, parse: Callable[[str], object]) -> pa.Array:
    """Convert the texts into values of the type ``kind`` by ``parse``, which is called once for each distinct
    text and returns None for a text that doesn't parse."""
    coded = texts.dictionary_encode()
    found = from_values([parse(text) for text in coded.dictionary.to_pylist()], kind).cast(physical(kind))
    return found.take(coded.indices)


def consists_of(texts: pa.Array, characters: bytes) -> bool:
    """Return whether the texts consist of the given characters only."""
    _, offsets, data = texts.buffers()
    if data is None or not len(texts):
        return True
    bounds = np.frombuffer(offsets, np.int32)[texts.offset : texts.offset + len(texts) + 1]
    known = np.zeros(256, np.bool_)
    known[list(characters)] = True
    return bool(known[np.frombuffer(data, np.uint8)[bounds[0] : bounds[-1]]].all())


def java_integer(text: str, bits: int) -> int | None:
    """Parse an integer of ``bits`` bits as Integer.parseInt and similar methods do; None for an invalid text,
    or a number out of range.

    >>> java_integer("+7", 8), java_integer("128", 8), java_integer(" 7", 8)
    (7, None, None)
    """
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not digits.isdecimal():
        return None
    # Python's ``int`` refuses texts of more than 4,300 digits; a number of 400 exceeds every bound as well.
    number = int(text) if len(digits) < 400 else 1 << 400
    return number if -(1 << bits - 1) <= number < 1 << bits - 1 else None


def java_boolean(text: str) -> bool | None:
    """Parse ``true`` and ``false``, in any case of letters; None for another text."""
    return {"TRUE": True, "FALSE": False}.get(text.upper())


def java_float(text: str) -> float | None:
    """Parse a number as Double.parseDouble does: with a suffix, in hexadecimal, between white space; None for
    an invalid text.

    >>> java_float(" 1.5d "), java_float("0x1p3"), java_float("inf")
    (1.5, 8.0, None)
    """
    bare = text.strip(_WHITE)
    if not _JAVA_FLOAT.fullmatch(bare):
        return None
    unsigned = bare.lstrip("+-")
    if unsigned[:2] in ("0x", "0X"):
        try:
            return float.fromhex(bare.rstrip("fFdD") if bare[-1] in "fFdD" and "p" in bare.lower() else bare)
        except OverflowError:
            return float("-inf" if bare.startswith("-") else "inf")
    return float(bare if unsigned in ("NaN", "Infinity") else bare.rstrip("fFdD"))


def _float(text: str, kind: pa.DataType, settings: CsvSettings) -> float | None:
    if text == settings.not_a_number:
        return float("nan")
    if text == settings.negative_infinity:
        return float("-inf")
    if text == settings.infinity:
        return float("inf")
    return java_float(text) if kind == DOUBLE else java_single(text)


def java_single(text: str) -> float | None:
    """Parse a number as Float.parseFloat does, in the forms of :func:`java_float`; None for an invalid text.
    Raises NotSupportedError for a number in hexadecimal."""
    number = java_float(text)
    if number is None:
        return None
    bare = text.strip(_WHITE).rstrip("fFdD")
    if "x" in bare.lower():
        raise NotSupportedError("Hexadecimal texts of the type FLOAT are not supported")
    return number if bare.lstrip("+-") in ("NaN", "Infinity") else parse_single(bare)


def java_decimal(text: str) -> Decimal | None:
    """Parse a decimal of any number of digits as BigDecimal does; None for an invalid text."""
    found = _JAVA_DECIMAL.fullmatch(text)
    if not found:
        return None
    try:
        return Context(prec=max(len(text), 1), Emax=10**9, Emin=-(10**9)).create_decimal(text)
    except InvalidOperation:
        return None


def fitted_decimal(text: str, precision: int, scale: int) -> Decimal | None:
    """Return the decimal in ``text``, of which Spark ignores the commas, rounded half up to ``scale`` digits;
    None if the text is not a decimal or needs more than ``precision`` digits."""
    number = java_decimal(text.replace(",", ""))
    if number is None:
        return None
    if number == 0 or number.adjusted() < -_EXTREME:
        return Decimal(0).scaleb(-scale)
    if number.adjusted() > _EXTREME:
        return None
    rounded = number.quantize(
        Decimal(1).scaleb(-scale), ROUND_HALF_UP, Context(prec=len(text) + 2 * _EXTREME)
    )
    return rounded if rounded.adjusted() + 1 + scale <= precision or rounded == 0 else None


def _patterned(texts: pa.Array, pattern: str, kind: pa.DataType, zone: str) -> pa.Array:
    """Parse the texts as values of ``kind``, a date or timestamp type, by one of Spark's patterns; null for
    texts that don't parse. Raises NotSupportedError if ``kind`` is TIMESTAMP_NTZ and the pattern has a time
    zone."""
    if kind == TIMESTAMP:
        return parse_instants(texts, pattern, kind, zone, safe=True)
    if kind == TIMESTAMP_NTZ and _ZONE_LETTERS & set(pattern):
        raise NotSupportedError(f"CSV: timestampNTZFormat {pattern} with a time zone")
    local = parse_instants(texts, pattern, TIMESTAMP_NTZ, zone, safe=True)
    return local if kind == TIMESTAMP_NTZ else _days(local)


def _days(local: pa.Array) -> pa.Array:
    """Return the dates of a column of TIMESTAMP_NTZ values, by dropping the time of day."""
    return compile_cast(TIMESTAMP_NTZ, DATE, safe=False, settings=DEFAULT_SETTINGS)(local)


def _with_gmt(texts: pa.Array, kind: pa.DataType, zone: str) -> pa.Array:
    """Cast the texts to ``kind`` in the time zone ``zone``. A text that fails, and contains ``GMT``, is cast
    again without it, as in 2000-01-01T00:00GMT+01:00. Null where both casts fail."""
    found = try_cast(texts, kind, zone)
    odd = pc.and_(pc.is_null(found), pc.fill_null(pc.match_substring(texts, "GMT"), False))
    if not pc.any(odd).as_py():
        return found
    without = pc.replace_substring(texts, "GMT", "", max_replacements=1)
    return pc.if_else(odd, try_cast(without, kind, zone), found)


def _dates(texts: pa.Array, settings: CsvSettings, zone: str) -> pa.Array:
    if settings.date_format is None:
        return _with_gmt(texts, DATE, zone)
    return _patterned(texts, settings.date_format, DATE, zone)


def _timestamps(texts: pa.Array, settings: CsvSettings, zone: str) -> pa.Array:
    if settings.timestamp_format is None:
        return _with_gmt(texts, TIMESTAMP, zone)
    return _patterned(texts, settings.timestamp_format, TIMESTAMP, zone)


def _ntz(texts: pa.Array, settings: CsvSettings, zone: str) -> pa.Array:
    if settings.ntz_format is None:
        bare = pc.if_else(pc.match_substring_regex(texts, _NTZ), texts, scalar(None, STRING))
        return try_cast(bare, TIMESTAMP_NTZ, zone)
    return _patterned(texts, settings.ntz_format, TIMESTAMP_NTZ, zone)


def readable(text: str, kind: pa.DataType, settings: CsvSettings, pattern: str | None) -> bool:
    """Return whether a text can be read as a value of ``kind``, a date or timestamp type. ``pattern``:
    Spark's pattern of the text; None = the text must be one that Spark's cast accepts."""
    texts = from_values([text], STRING)
    if pattern is not None:
        return not _patterned(texts, pattern, kind, "UTC").null_count
    if kind == TIMESTAMP_NTZ:
        return not _ntz(texts, settings, "UTC").null_count
    return not try_cast(texts, kind, "UTC").null_count


def matches_all(texts: pa.Array, pattern: str) -> bool:
    """Return whether every text matches the regular expression ``pattern``. The array has no nulls."""
    return bool(pc.all(pc.match_substring_regex(texts, pattern)).as_py())
