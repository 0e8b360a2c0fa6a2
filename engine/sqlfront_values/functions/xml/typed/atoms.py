"""Conversion of the text of an element or attribute into a value of a type that isn't nested.

Python values: those of :mod:`sqlfront_values.functions.json.typed.columns`.
"""

import re
from collections.abc import Callable
from typing import Final

import pyarrow as pa

from sqlfront_values.errors import DatabaseError, DataError, NotSupportedError, ProgrammingError
from sqlfront_values.functions.csv.values import fitted_decimal, java_float, java_integer, java_single
from sqlfront_values.functions.json.typed.converters import amount_reader
from sqlfront_values.functions.json.typed.moments import (
    Reader,
    date_reader,
    timestamp_ntz_reader,
    timestamp_reader,
)
from sqlfront_values.functions.xml.typed.events import UnfitXmlError
from sqlfront_values.functions.xml.typed.markup import WHITE
from sqlfront_values.functions.xml.typed.settings import XmlSettings
from sqlfront_values.functions.xml.typed.variants import variant_of_text
from sqlfront_values.java.floats import round_to_single
from sqlfront_values.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    VOID,
    is_decimal,
    is_time,
    is_variant,
    time,
)

#: A function that converts a text, None for null. It raises UnfitXmlError, or another ValueError, for a text
#: that doesn't fit the type.
Atom = Callable[[str | None], object]
_Read = Callable[[str], object]

_BOOLEANS: Final = {"true": True, "1": True, "false": False, "0": False}
#: Bytes as Spark shows them.
_BYTES: Final = re.compile(r"\[?((?:[0-9A-Fa-f]{2}(?: [0-9A-Fa-f]{2})*)?)\]?")
_TIME_DIGITS: Final = 6
_BITS: Final = {TINYINT: 8, SMALLINT: 16, INT: 32, BIGINT: 64}
#: As much of a text as java.text.NumberFormat takes for a number.
_NUMBER_START: Final = re.compile(r"(-?)([0-9,]*)(?:\.([0-9]*))?(?:E(-?[0-9]+))?")


class OddError(UnfitXmlError):
    """The error of a text that doesn't fit, with which Spark's query fails where the text is the root
    element's own or an attribute's of it. ``failure``: the query's error."""

    def __init__(self, failure: DatabaseError) -> None:
        super().__init__(str(failure))
        self.failure = failure


def atom(kind: pa.DataType, settings: XmlSettings, zone: str) -> Atom:
    """Return the function that converts a text into a value of the type ``kind``; of types that no text fits,
    nested ones among them, it takes null alone. ``zone``: the time zone of timestamps that state none."""
    read, null, trims = _reader(kind, settings, zone), settings.null_value, settings.trims

    def convert(text: str | None) -> object:
        if text is None:
            return None
        if trims:
            text = text.strip(WHITE)
        return None if text == null else read(text)

    return convert


def _reader(kind: pa.DataType, settings: XmlSettings, zone: str) -> _Read:
    if kind == STRING:
        return lambda text: text
    if kind in (INT, BIGINT):
        return _signed(_integer(kind), settings.null_value, _BITS[kind])
    if kind in (TINYINT, SMALLINT):
        return _integer(kind)
    if kind in (FLOAT, DOUBLE):
        return _signed(_float(kind), settings.null_value, None)
    if kind == BOOLEAN:
        return _boolean
    if is_decimal(kind):
        return _decimal(kind)
    if kind == DATE:
        return _moment(lambda: date_reader(settings, lenient=False))
    if kind == TIMESTAMP:
        return _moment(lambda: timestamp_reader(settings, zone, lenient=False))
    if kind == TIMESTAMP_NTZ:
        read = _moment(lambda: timestamp_ntz_reader(settings))
        return read if settings.timestamp_ntz_format else _or_odd(read)
    if is_time(kind):
        # As in Spark, the precision of the schema's type doesn't count.
        return amount_reader(time(_TIME_DIGITS))
    if is_variant(kind):
        return lambda text: variant_of_text(text, settings)
    if kind == BINARY:
        return _binary
    if kind == VOID:
        return lambda text: None
    return _refuse


def _refuse(_text: str) -> object:
    raise UnfitXmlError("no text fits the type")


def _moment(reader: Callable[[], Reader]) -> _Read:
    """Return the reader of dates or timestamps. To Spark, no text fits a pattern that is malformed."""
    try:
        return reader()
    except ProgrammingError:
        return _refuse


def _or_odd(read: _Read) -> _Read:
    def odd(text: str) -> object:
        try:
            return read(text)
        except ValueError:
            failure = NotSupportedError(
                f"'{text}' as a TIMESTAMP_NTZ in a root element, an internal error in Spark"
            )
            raise OddError(failure) from None

    return odd


def _boolean(text: str) -> bool:
    value = _BOOLEANS.get(text.lower())
    if value is None:
        raise UnfitXmlError(text)
    return value


def _binary(text: str) -> bytes:
    found = _BYTES.fullmatch(text)
    if found is None:
        raise UnfitXmlError(text)
    return bytes.fromhex(found[1])


def _integer(kind: pa.DataType) -> Callable[[str], int]:
    bits = _BITS[kind]

    def read(text: str) -> int:
        value = java_integer(text, bits)
        if value is None:
            raise UnfitXmlError(text)
        return value

    return read


def _float(kind: pa.DataType) -> Callable[[str], float]:
    is_single = kind == FLOAT
    parse = java_single if is_single else java_float

    def read(text: str) -> float:
        value = parse(text)
        if value is not None:
            return value
        number = _number_start(text)
        return round_to_single(number) if is_single else number

    return read


def _number_start(text: str) -> float:
    """Return the number that a text begins with."""
    if text.startswith("NaN"):
        return float("nan")
    if text.startswith(("∞", "-∞")):
        return float("-inf" if text[0] == "-" else "inf")
    found = _NUMBER_START.match(text)
    assert found is not None
    sign, whole, fraction, power = found.groups()
    digits = whole.replace(",", "")
    if not digits and not fraction:
        raise OddError(DataError(f'Unparseable number: "{text}"'))
    return float(f"{sign}{digits or 0}.{fraction or 0}e{power or 0}")


def _signed(read: Callable[[str], int | float], null: str | None, bits: int | None) -> _Read:
    """Return a function that reads a number behind at most one sign, which Spark takes off before it reads
    the rest: the number may have a sign of its own, and the text of nulls means zero. ``bits``: of
    integers."""

    def signed(text: str) -> int | float:
        sign = text[:1]
        if sign not in ("+", "-"):
            return read(text)
        rest = text[1:]
        number = read("0") if rest == null else read(rest)
        if sign == "+":
            return number
        return number if bits is not None and number == -(1 << (bits - 1)) else -number

    return signed


def _decimal(kind: pa.Decimal128Type) -> _Read:
    precision, scale = kind.precision, kind.scale

    def read(text: str) -> object:
        value = fitted_decimal(text, precision, scale)
        if value is None:
            raise UnfitXmlError(text)
        return value

    return read
