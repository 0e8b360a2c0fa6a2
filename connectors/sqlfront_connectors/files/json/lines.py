"""A reader of lines that each hold a plain JSON object, by the scanner of Python's standard library. The
reader handles values that Arrow can't put into columns of one type, such as numbers read as strings. JSON
that only Jackson accepts by its options (such as single quotes or comments) is not plain.

A line that isn't plain, or has a value that doesn't fit its column's type, is rejected; the careful reader
(:mod:`~sqlfront_connectors.files.json.reading`) then reads the line.
"""

import json
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Final, NoReturn, TypeVar

import pyarrow as pa

from sqlfront_values.casts.parsing import parse_single
from sqlfront_values.functions.json.typed.converters import Row, UnfitError, decimal_fitter
from sqlfront_values.functions.json.typed.moments import date_reader, timestamp_ntz_reader, timestamp_reader
from sqlfront_values.functions.json.typed.settings import JsonSettings
from sqlfront_values.java.surrogates import well_formed
from sqlfront_values.types import (
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    VALUE_BITS,
    is_decimal,
)

#: A function that makes a field's value from the scanned value and its text. Raises ValueError if the value
#: does not fit.
Fit = Callable[[object, str], object]

_NAME: Final = re.compile(r'[ \t]*"([^"\\\x00-\x1f]*)"[ \t]*:[ \t]*')
_NEXT: Final = re.compile(r"[ \t]*([,}])")


def _members(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise UnfitError
    return members


def _no_word(text: str) -> NoReturn:
    raise UnfitError(text)


_SCAN: Final = json.JSONDecoder(object_pairs_hook=_members, parse_constant=_no_word).raw_decode


class LineReader:
    """A reader that turns lines, each of one plain JSON object, into rows of ``schema``, which lacks the
    column for the text of malformed records. ``zone``: the time zone of timestamps without a zone."""

    def __init__(self, schema: pa.Schema, settings: JsonSettings, zone: str) -> None:
        self._settings = settings
        self._zone = zone
        self._width = len(schema)
        self._fields = {field.name: (index, self._fit(field.type)) for index, field in enumerate(schema)}

    def row(self, line: str) -> Row | None:
        """Return the row of the object in the line: the values of the schema's fields, None for null and for
        missing fields. Return None if the line isn't plain JSON or a value doesn't fit its type: the caller
        then has to read the line token by token."""
        row: Row = [None] * self._width
        try:
            self._fill(row, line)
        except (ValueError, OverflowError, RecursionError):
            return None
        return row

    def _fill(self, row: Row, line: str) -> None:
        found = 0
        place = 1
        delimiter = "," if line != "{}" else "}"
        while delimiter == ",":
            name = _NAME.match(line, place)
            if name is None:
                raise UnfitError
            value, end = _SCAN(line, name.end())
            field = self._fields.get(name[1])
            if field is not None:
                index, fit = field
                if found & 1 << index:
                    raise UnfitError
                found |= 1 << index
                if value is not None:
                    row[index] = fit(value, line[name.end() : end])
            following = _NEXT.match(line, end)
            if following is None:
                raise UnfitError
            delimiter, place = following[1], following.end()
        if len(line) != max(place, 2):
            raise UnfitError

    def _fit(self, kind: pa.DataType) -> Fit:
        if kind == STRING:
            return lambda value, text: well_formed(value) if isinstance(value, str) else text
        if kind == FLOAT:
            return _single
        if is_decimal(kind):
            fitted = decimal_fitter(kind)
            return lambda value, text: fitted(Decimal(text)) if type(value) in (int, float) else _unfit()
        inner = self._inner(kind)
        return lambda value, text: inner(value)

    def _inner(self, kind: pa.DataType) -> Callable[[object], object]:
        """Return a function that converts a value of the scanner into a value of the type ``kind``, without
        the value's text in the file (values inside of arrays and objects come without their text). The
        function raises UnfitError if the value doesn't fit the type."""
        if kind == STRING:
            return lambda value: well_formed(_of(str, value))
        if kind == BOOLEAN:
            return lambda value: _of(bool, value)
        if kind in VALUE_BITS:
            bound = 1 << VALUE_BITS[kind]
            return lambda value: value if -bound <= _of(int, value) < bound else _unfit()
        if kind == DOUBLE:
            return lambda value: value if type(value) is float else float(_of(int, value))
        if kind == DATE:
            read = date_reader(self._settings)
        elif kind == TIMESTAMP:
            read = timestamp_reader(self._settings, self._zone)
        elif kind == TIMESTAMP_NTZ:
            read = timestamp_ntz_reader(self._settings)
        else:
            return self._nested(kind)
        return lambda value: read(_of(str, value) or _unfit())

    def _nested(self, kind: pa.DataType) -> Callable[[object], object]:
        if pa.types.is_list(kind):
            item = _nullable(self._inner(kind.value_type))
            return lambda value: [item(one) for one in _of(list, value)]
        if pa.types.is_struct(kind):
            parts = [(field.name, _nullable(self._inner(field.type))) for field in kind]

            def struct(value: object) -> object:
                members = _of(dict, value)
                return tuple(part(members.get(name)) for name, part in parts)

            return struct
        return lambda value: _unfit()


def _single(value: object, text: str) -> float:
    """Return the number as the nearest single-precision float. ``value``: the scanned value; ``text``: its
    text in the file, from which a fraction is rounded directly to single precision. Raises UnfitError if
    ``value`` is not a number."""
    return parse_single(text) if type(value) is float else parse_single(str(_of(int, value)))


def _nullable(fit: Callable[[object], object]) -> Callable[[object], object]:
    return lambda value: None if value is None else fit(value)


Found = TypeVar("Found")


def _of(wanted: type[Found], value: object) -> Found:
    """Return the value if its class is exactly ``wanted`` (True is not an integer). Raises UnfitError
    otherwise."""
    if type(value) is not wanted:
        raise UnfitError
    return value


def _unfit() -> NoReturn:
    raise UnfitError
