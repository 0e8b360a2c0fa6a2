"""The types of elements, and the type that covers several types, by the rules of Spark's inference."""

import re
from collections.abc import Callable, Iterable
from functools import reduce
from typing import Final

import pyarrow as pa

from sqlfront_values.functions.csv.values import java_decimal, java_float, java_integer
from sqlfront_values.functions.json.typed.moments import date_reader, timestamp_reader
from sqlfront_values.functions.xml.typed.elements import XmlElement, element_of
from sqlfront_values.functions.xml.typed.events import XmlEvents
from sqlfront_values.functions.xml.typed.markup import WHITE
from sqlfront_values.functions.xml.typed.settings import XmlSettings
from sqlfront_values.functions.xml.typed.variants import ignoring_case
from sqlfront_values.stacks import deep
from sqlfront_values.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    MAX_PRECISION,
    STRING,
    TIMESTAMP,
    VOID,
    decimal,
    is_decimal,
)
from sqlfront_values.variants.layout import java_order

_LONG_DIGITS: Final = decimal(20, 0)
_CLOCK: Final = re.compile(r"T[0-9]{1,2}|T?[0-9]{1,2}:")


class XmlInference:
    """An inference of types under the settings of one call. ``zone``: the time zone of timestamps that state
    none."""

    def __init__(self, settings: XmlSettings, zone: str) -> None:
        self._settings = settings
        self._is_date = _readable(date_reader(settings, lenient=False))
        is_moment = _readable(timestamp_reader(settings, zone, lenient=False))
        takes_clocks = settings.timestamp_format is None
        self._is_timestamp = _or_clock(is_moment) if takes_clocks else is_moment

    def type_of(self, text: str) -> pa.StructType:
        """Return the type of the root element of an XML text. Raises XmlSyntaxError for a malformed text."""
        events = XmlEvents(text, self._settings)
        element = element_of(events, events.start(), self._settings)
        return _settled(self._fields(element, element.attributes)) or pa.struct([])

    @deep
    def _fields(self, element: XmlElement, attributes: Iterable[tuple[str, str | None]]) -> pa.StructType:
        """Return the struct of an element's attributes, children and own text. A name that occurs more than
        once, in any case, is an array."""
        found: dict[bytes, tuple[str, list[pa.DataType]]] = {}
        for name, text in attributes:
            found.setdefault(ignoring_case(name), (name, []))[1].append(self._of_text(text))
        for part in element.content:
            if isinstance(part, XmlElement):
                name, kind = part.name, self._of_child(part)
            else:
                name, kind = self._settings.value_tag, self._of_text(part)
            found.setdefault(ignoring_case(name), (name, []))[1].append(kind)
        return _struct((name, self._together(kinds)) for name, kinds in found.values())

    def _together(self, kinds: list[pa.DataType]) -> pa.DataType:
        """Return the type of a field that occurs once for each of the types."""
        if len(kinds) == 1:
            return kinds[0]
        return pa.list_(reduce(self._wider, kinds))

    def _of_child(self, element: XmlElement) -> pa.DataType:
        kind = self._of_content(element)
        if not element.attributes:
            return kind
        attributes = [(name, self._of_text(text)) for name, text in element.attributes]
        if pa.types.is_struct(kind):
            return _struct([*((field.name, field.type) for field in kind), *attributes])
        own = [] if kind == VOID else [(self._settings.value_tag, kind)]
        return _struct([*own, *attributes])

    def _of_content(self, element: XmlElement) -> pa.DataType:
        """Return the type of an element without its attributes: that of its text if it has nothing else."""
        if not element.content and not element.begins_with_text:
            return VOID
        kind = self._fields(element, ())
        if not element.begins_with_text:
            return kind
        if not kind.num_fields:
            return VOID
        only = kind.field(0)
        is_text = kind.num_fields == 1 and only.name.lower() == self._settings.value_tag.lower()
        return only.type if is_text and not pa.types.is_nested(only.type) else kind

    # ---- texts

    def _of_text(self, text: str | None) -> pa.DataType:
        if not self._settings.infers:
            return STRING
        if text is not None and self._settings.trims:
            text = text.strip(WHITE)
        if text is None or text == self._settings.null_value:
            return VOID
        return (
            self._number(text)
            or self._moment(text)
            or (BOOLEAN if text.lower() in ("true", "false") else STRING)
        )

    def _number(self, text: str) -> pa.DataType | None:
        unsigned = text[1:] if text.startswith(("+", "-")) else text
        if not unsigned or not (unsigned[0].isdecimal() or unsigned[0] == "."):
            return None
        if unsigned[0] != "." and java_integer(unsigned, 64) is not None:
            return BIGINT
        if unsigned[-1] in "dDfF":
            return None
        exact = self._decimal(text) if self._settings.prefers_decimal else None
        if exact is not None:
            return exact
        return None if java_float(unsigned) is None else DOUBLE

    @staticmethod
    def _decimal(text: str) -> pa.DataType | None:
        number = java_decimal(text.replace(",", ""))
        if number is None:
            return None
        _, digits, exponent = number.as_tuple()
        assert isinstance(exponent, int)
        precision = max(len(digits), -exponent)
        return decimal(precision, -exponent) if exponent <= 0 and precision <= MAX_PRECISION else None

    def _moment(self, text: str) -> pa.DataType | None:
        if self._settings.prefers_date and self._is_date(text):
            return DATE
        return TIMESTAMP if self._is_timestamp(text) else None

    # ---- types that cover two

    def _wider(self, left: pa.DataType, right: pa.DataType) -> pa.DataType:
        """Return the type that covers both types."""
        if left == right or right == VOID:
            return left
        if left == VOID:
            return right
        if pa.types.is_struct(left) and pa.types.is_struct(right):
            return self._wider_struct(left, right)
        if pa.types.is_list(left) or pa.types.is_list(right):
            items = [kind.value_type if pa.types.is_list(kind) else kind for kind in (left, right)]
            return pa.list_(self._wider(items[0], items[1]))
        if pa.types.is_struct(left):
            return self._with_text(left, lambda own: self._wider(own, right))
        if pa.types.is_struct(right):
            return self._with_text(right, lambda own: self._wider(left, own))
        return _wider_atom(left, right)

    def _wider_struct(self, left: pa.StructType, right: pa.StructType) -> pa.StructType:
        found: dict[str, tuple[str, pa.DataType]] = {}
        for field in (*left, *right):
            key = field.name.lower()
            name, kind = found.get(key, (field.name, VOID))
            found[key] = name, self._wider(kind, field.type)
        return _struct(found.values())

    def _with_text(self, kind: pa.StructType, widen: Callable[[pa.DataType], pa.DataType]) -> pa.DataType:
        """Return the type that covers a struct and a text: the struct if it has a field for its own text."""
        place = kind.get_field_index(self._settings.value_tag)
        if place < 0:
            return STRING
        field = kind.field(place)
        return pa.struct([*list(kind)[:place], field.with_type(widen(field.type)), *list(kind)[place + 1 :]])


def _wider_atom(left: pa.DataType, right: pa.DataType) -> pa.DataType:
    kinds = {left, right}
    if kinds == {DATE, TIMESTAMP}:
        return TIMESTAMP
    if not all(kind in (BIGINT, DOUBLE) or is_decimal(kind) for kind in kinds):
        return STRING
    if DOUBLE in kinds:
        return DOUBLE
    exact = [_LONG_DIGITS if kind == BIGINT else kind for kind in (left, right)]
    scale = max(kind.scale for kind in exact)
    whole = max(kind.precision - kind.scale for kind in exact)
    return decimal(whole + scale, scale) if whole + scale <= MAX_PRECISION else DOUBLE


def _struct(fields: Iterable[tuple[str, pa.DataType]]) -> pa.StructType:
    return pa.struct(sorted(fields, key=lambda field: java_order(field[0])))


@deep
def _settled(kind: pa.DataType) -> pa.DataType | None:
    """Return the final type: text for what was always null; None for a struct without fields."""
    if pa.types.is_list(kind):
        item = _settled(kind.value_type)
        return None if item is None else pa.list_(item)
    if pa.types.is_struct(kind):
        fields = [(field.name, _settled(field.type)) for field in kind if field.name]
        kept = [(name, of) for name, of in fields if of is not None]
        return pa.struct(kept) if kept else None
    return STRING if kind == VOID else kind


def _or_clock(is_moment: Callable[[str], bool]) -> Callable[[str], bool]:
    """Return a function that also takes a time of day, a time of the current day to Spark."""

    def check(text: str) -> bool:
        bare = text.strip(WHITE)
        is_clock = _CLOCK.match(bare) is not None
        return is_moment(f"1970-01-01T{bare.removeprefix('T')}" if is_clock else text)

    return check


def _readable(read: Callable[[str], int]) -> Callable[[str], bool]:
    def check(text: str) -> bool:
        try:
            read(text)
        except ValueError:
            return False
        return True

    return check
