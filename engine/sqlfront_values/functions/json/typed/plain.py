"""Values of JSON texts that Python's own scanner reads as Jackson does: many times as fast as token by token.

A text with anything that the two may read differently raises OddTextError; the caller then reads the text
token by token (:mod:`~sqlfront_values.functions.json.typed.converters`, where the rules of the conversions
are). Scanned values are bool, int, str, :class:`Fraction`, a list for an array, and a tuple of pairs for an
object; None is null.
"""

import json
import re
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Final, NoReturn

import pyarrow as pa

from sqlfront_values.casts.parsing import parse_single
from sqlfront_values.errors import NotSupportedError
from sqlfront_values.functions.json.scanner import MAX_DEPTH, MAX_DIGITS, MAX_NAME
from sqlfront_values.functions.json.tokens import from_base64
from sqlfront_values.functions.json.typed.converters import (
    BOUNDS,
    LONG,
    WORDS,
    PartialError,
    Row,
    UnfitError,
    amount_reader,
    decimal_fitter,
)
from sqlfront_values.functions.json.typed.inference import java_decimal
from sqlfront_values.functions.json.typed.moments import date_reader, timestamp_ntz_reader, timestamp_reader
from sqlfront_values.functions.json.typed.settings import JsonSettings
from sqlfront_values.functions.json.values import JsonObject, JsonValue, write_json
from sqlfront_values.java.surrogates import well_formed
from sqlfront_values.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    VOID,
    ddl,
    is_decimal,
    is_interval,
    is_time,
    is_variant,
)

#: A function that makes a value of a type from a scanned value that is not null. Raises UnfitError (or
#: another ValueError, or InvalidOperation) for a value that doesn't fit, PartialError for one that fits in
#: parts.
Fit = Callable[[object], object]

_SPACE: Final = re.compile(r"[ \t\r\n]*")
#: One of the three parts of a number with too many digits.
_LONG_PART: Final = re.compile(f"[0-9]{{{MAX_DIGITS // 3}}}")


class OddTextError(Exception):
    """The signal that a text has to be read token by token."""


class Fraction(str):
    """The text of a number with a point or an exponent."""

    __slots__ = ()


def _odd(text: str) -> NoReturn:
    raise OddTextError


_SCAN: Final = json.JSONDecoder(object_pairs_hook=tuple, parse_float=Fraction, parse_constant=_odd).raw_decode


def scanned(text: str) -> object:
    """Return the first value of the text; the rest of the text is ignored. Raises OddTextError for a text
    that isn't standard JSON, has NaN or an infinity, or may exceed one of Jackson's limits."""
    if len(text) > MAX_DIGITS and not _is_moderate(text):
        raise OddTextError
    start = _SPACE.match(text)
    assert start is not None
    try:
        value, end = _SCAN(text, start.end())
    except (ValueError, RecursionError):
        raise OddTextError from None
    if type(value) not in (tuple, list) and text[end : end + 1].strip(" \t\r\n"):
        raise OddTextError  # a number or a word that may go on
    return value


def _is_moderate(text: str) -> bool:
    """Return whether the text certainly stays within Jackson's limits for the digits of numbers, the length
    of names and the depth of nesting."""
    if _LONG_PART.search(text) or text.count("{") + text.count("[") >= MAX_DEPTH:
        return False
    return len(text) <= MAX_NAME or ("\\" not in text and max(map(len, text.split('"'))) <= MAX_NAME // 3)


class Fits:
    """A maker of functions that convert scanned values into values of a type. ``zone``: the time zone of
    timestamps that state none."""

    def __init__(self, settings: JsonSettings, zone: str) -> None:
        self._settings = settings
        self._zone = zone

    def fit(self, kind: pa.DataType) -> Fit:
        """Return the function for values of the type ``kind``. Raises NotSupportedError for a type that can't
        be read from JSON."""
        if pa.types.is_struct(kind):
            return self._struct(kind)
        if pa.types.is_list(kind):
            return self._array(kind)
        if pa.types.is_map(kind):
            return self._map(kind)
        if kind == STRING:
            return _string
        if kind == VOID:
            return _nothing
        return self._scalar(kind)

    def _scalar(self, kind: pa.DataType) -> Fit:
        if kind == BOOLEAN:
            return _boolean
        if kind in BOUNDS or kind == BIGINT:
            return _integer(kind)
        if kind in (FLOAT, DOUBLE):
            words = WORDS if self._settings.liberties.words_for_numbers else {}
            return _floating(kind, words)
        if is_decimal(kind):
            return _decimal(kind)
        if kind == BINARY:
            return _binary
        if kind == DATE:
            return _texts(date_reader(self._settings))
        if kind == TIMESTAMP:
            return _timestamp(timestamp_reader(self._settings, self._zone))
        if kind == TIMESTAMP_NTZ:
            return _texts(timestamp_ntz_reader(self._settings))
        if is_variant(kind):
            return _never
        if is_interval(kind) or is_time(kind):
            return _texts(amount_reader(kind), empty=True)
        raise NotSupportedError(f"{ddl(kind)} read from JSON")

    def members(
        self, kind: pa.StructType | pa.Schema
    ) -> Callable[[tuple[tuple[str, object], ...]], tuple[Row, bool]]:
        """Return a function that makes the row of an object's members, with the fields of ``kind``: None for
        missing fields and for values that don't fit. It returns the row, and whether all values fitted."""
        fields = {field.name: (index, self.fit(field.type)) for index, field in enumerate(kind)}
        width = len(list(kind))

        def read(members: tuple[tuple[str, object], ...]) -> tuple[Row, bool]:
            row: Row = [None] * width
            is_whole = True
            for name, value in members:
                field = fields.get(name)
                if field is None:
                    continue
                index, fit = field
                if value is None:
                    row[index] = None
                    continue
                try:
                    row[index] = fit(value)
                except PartialError as error:
                    row[index] = error.value
                    is_whole = False
                except (ValueError, InvalidOperation):
                    is_whole = False
            return row, is_whole

        return read

    def _struct(self, kind: pa.StructType) -> Fit:
        read = self.members(kind)

        def struct(value: object) -> object:
            if type(value) is not tuple:
                raise UnfitError
            row, is_whole = read(value)
            if not is_whole:
                raise PartialError(tuple(row))
            return tuple(row)

        return struct

    def _array(self, kind: pa.ListType) -> Fit:
        fit = self.fit(kind.value_type)

        def array(value: object) -> object:
            if type(value) is not list:
                raise UnfitError
            items: list[object] = []
            is_whole = True
            for item in value:
                try:
                    items.append(None if item is None else fit(item))
                except PartialError as error:
                    items.append(error.value)
                    is_whole = False
                except (ValueError, InvalidOperation):
                    # Spark goes on with the tokens behind the item, as if they belonged to the object around.
                    raise OddTextError from None
            if not is_whole:
                raise PartialError(items)
            return items

        return array

    def _map(self, kind: pa.MapType) -> Fit:
        if kind.key_type != STRING:
            raise NotSupportedError(f"{ddl(kind)} read from JSON")
        fit = self.fit(kind.item_type)

        def pairs(value: object) -> object:
            if type(value) is not tuple:
                raise UnfitError
            found: list[tuple[str, object]] = []
            is_whole = True
            bad: Exception | None = None
            for name, item in value:
                try:
                    found.append((well_formed(name), None if item is None else fit(item)))
                except PartialError as error:
                    found.append((well_formed(name), error.value))
                    is_whole = False
                except (ValueError, InvalidOperation) as error:
                    bad = bad or error
            if bad is not None:
                raise UnfitError from bad
            if not is_whole:
                raise PartialError(found)
            return found

        return pairs


def _never(value: object) -> NoReturn:
    raise OddTextError


def _nothing(value: object) -> object:
    if type(value) in (tuple, list):
        raise OddTextError
    return None


def _boolean(value: object) -> object:
    if type(value) is not bool:
        raise UnfitError
    return value


def _integer(kind: pa.DataType) -> Fit:
    low, high = BOUNDS.get(kind, LONG)
    is_byte = kind == TINYINT

    def integer(value: object) -> object:
        if type(value) is not int or not low <= value < high:
            raise UnfitError
        return value - 256 if is_byte and value > 127 else value

    return integer


def _floating(kind: pa.DataType, words: dict[str, float]) -> Fit:
    is_single = kind == FLOAT

    def floating(value: object) -> object:
        given = type(value)
        if given is Fraction or given is int:
            text = str(value)
            return parse_single(text) if is_single else float(text)
        word = words.get(value) if isinstance(value, str) else None
        if word is None:
            raise UnfitError
        return word

    return floating


def _decimal(kind: pa.Decimal128Type) -> Fit:
    fitted = decimal_fitter(kind)

    def number(value: object) -> object:
        if type(value) is int or type(value) is Fraction:
            return fitted(Decimal(value))
        if type(value) is not str or not value:
            raise UnfitError
        return fitted(java_decimal(value))

    return number


def _binary(value: object) -> object:
    if type(value) is not str:
        raise UnfitError
    try:
        return from_base64(value)
    except ValueError:
        raise OddTextError from None


def _texts(read: Callable[[str], int], *, empty: bool = False) -> Fit:
    def text(value: object) -> object:
        if type(value) is not str or not (value or empty):
            raise UnfitError
        return read(value)

    return text


def _timestamp(read: Callable[[str], int]) -> Fit:
    def timestamp(value: object) -> object:
        if type(value) is int and LONG[0] <= value < LONG[1]:
            return (value * 1_000_000 + 2**63) % 2**64 - 2**63
        if type(value) is not str or not value:
            raise UnfitError
        return read(value)

    return timestamp


def _string(value: object) -> object:
    """Return the text of a string; for another value its JSON text as Jackson writes it."""
    if type(value) is str:
        return value if value.isascii() else well_formed(value)
    try:
        return write_json(_json_value(value))
    except RecursionError:
        raise OddTextError from None


def _json_value(value: object) -> JsonValue:
    match value:
        case tuple():
            return JsonObject(tuple((name, _json_value(item)) for name, item in value))
        case list():
            return [_json_value(item) for item in value]
        case Fraction():
            return float(value)
        case None | bool() | int() | str():
            return value
        case _:
            raise OddTextError
