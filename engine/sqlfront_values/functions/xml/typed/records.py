"""Conversion of events into values of a schema's types, as Spark's StaxXmlParser does it.

What doesn't fit its field is null and makes the record malformed. Spark then goes on with the event at which
the conversion stopped, so that the rest of an element may be taken for elements around it. To give the same
result, this module consumes the same events as Spark.

Python values: those of :mod:`sqlfront_values.functions.json.typed.columns`.
"""

from collections.abc import Callable

import pyarrow as pa

from sqlfront_values.errors import NotSupportedError
from sqlfront_values.functions.xml.typed.atoms import Atom, atom
from sqlfront_values.functions.xml.typed.elements import named_attributes
from sqlfront_values.functions.xml.typed.events import UnfitXmlError, XmlEvents
from sqlfront_values.functions.xml.typed.map_order import in_scalas_order
from sqlfront_values.functions.xml.typed.markup import WHITE
from sqlfront_values.functions.xml.typed.scanner import XmlAttributes, XmlEvent, XmlEventKind
from sqlfront_values.functions.xml.typed.settings import XmlSettings
from sqlfront_values.functions.xml.typed.variants import variant_of_element
from sqlfront_values.types import STRING, is_variant

#: A function that converts the element whose start was read, with the name of its field and its attributes,
#: into a value of a type.
Convert = Callable[[XmlEvents, str, XmlAttributes], object]
Row = list[object]


class PartialRecordError(ValueError):
    """The error of an object of which a part doesn't fit. ``row``: its fields, as far as they were read."""

    def __init__(self, row: Row) -> None:
        super().__init__()
        self.row = row


class XmlConverters:
    """A maker of functions that convert elements into values of a type. ``zone``: the time zone of timestamps
    that state none."""

    def __init__(self, settings: XmlSettings, zone: str) -> None:
        self._settings = settings
        self._zone = zone

    def record(self, kind: pa.StructType) -> Callable[[XmlEvents, XmlAttributes], Row]:
        """Return the function that converts an element, whose start with the attributes was read, into the
        fields of the struct type ``kind``. It raises PartialRecordError if a child doesn't fit, ValueError if
        the text, an attribute or the element's own text doesn't."""
        fields = _Fields(kind, self)

        def read(events: XmlEvents, attributes: XmlAttributes) -> Row:
            row: Row = [None] * kind.num_fields
            fields.set_attributes(row, attributes)
            return fields.read(events, row)

        return read

    def atom(self, kind: pa.DataType) -> Atom:
        """Return the function that converts a text into a value of the type."""
        return atom(kind, self._settings, self._zone)

    @property
    def settings(self) -> XmlSettings:
        """The settings of the call."""
        return self._settings

    def child(self, kind: pa.DataType) -> Convert:
        """Return the function that converts a field's element."""
        if pa.types.is_struct(kind):
            return self._with_attributes(kind)
        if is_variant(kind):
            return self._variant
        return self.content(kind)

    def item(self, kind: pa.DataType) -> Convert:
        """Return the function that converts an array's item; of a map its attributes don't count."""
        convert = self.child(kind)
        return (lambda events, name, _: convert(events, name, [])) if pa.types.is_map(kind) else convert

    def content(self, kind: pa.DataType) -> Convert:
        """Return the function that converts the content of an element; attributes count for maps alone."""
        if pa.types.is_struct(kind):
            return self._struct(kind)
        if pa.types.is_map(kind):
            return self._map(kind)
        if pa.types.is_list(kind):
            return _refuse_array
        if is_variant(kind):
            return self._variant_content
        return self._text if kind == STRING else self._plain(kind)

    # ---- types that aren't nested

    def _text(self, events: XmlEvents, name: str, _attributes: XmlAttributes) -> object:
        if events.peek().kind is XmlEventKind.END:
            events.skip_end(name)
            return None if self._settings.null_value == "" else ""
        text = events.inner_text(name)
        if self._settings.trims:
            text = text.strip(WHITE)
        return None if text == self._settings.null_value else text

    def _plain(self, kind: pa.DataType) -> Convert:
        convert = self.atom(kind)

        def plain(events: XmlEvents, name: str, _attributes: XmlAttributes) -> object:
            event = _behind_space(events)
            if event.kind is XmlEventKind.END:
                events.skip_end(name)
                return None
            if event.kind is not XmlEventKind.TEXT:
                raise UnfitXmlError("an element instead of a text")
            value = convert(event.text)
            events.next()
            events.skip_end(name)
            return value

        return plain

    def _variant(self, events: XmlEvents, _name: str, attributes: XmlAttributes) -> object:
        return variant_of_element(events, attributes, self._settings)

    def _variant_content(self, events: XmlEvents, name: str, _attributes: XmlAttributes) -> object:
        if events.peek().kind is XmlEventKind.END:
            events.skip_end(name)
            return None
        return variant_of_element(events, [], self._settings)

    # ---- nested types

    def _struct(self, kind: pa.StructType) -> Convert:
        fields = _Fields(kind, self)

        def struct(events: XmlEvents, name: str, _attributes: XmlAttributes) -> object:
            if events.peek().kind is XmlEventKind.END:
                events.skip_end(name)
                return None
            return tuple(fields.read(events, [None] * kind.num_fields))

        return struct

    def _with_attributes(self, kind: pa.StructType) -> Convert:
        fields = _Fields(kind, self)

        def struct(events: XmlEvents, name: str, attributes: XmlAttributes) -> object:
            row: Row = [None] * kind.num_fields
            found = fields.attributes(attributes)
            if events.peek().kind is XmlEventKind.END:
                events.skip_end(name)
            else:
                row = fields.read(events, row)
            for place, value in found:
                row[place] = value
            return tuple(row)

        return struct

    def _map(self, kind: pa.MapType) -> Convert:
        convert, convert_text = self.content(kind.item_type), self.atom(kind.item_type)
        settings = self._settings

        def entries(events: XmlEvents, attributes: XmlAttributes) -> list[tuple[str, object]]:
            pairs: list[tuple[str, object]] = [
                (settings.attribute_prefix + key, convert_text(text)) for key, text in attributes
            ]
            while True:
                event = events.next()
                if event.kind is XmlEventKind.START:
                    key = settings.field_name(event.text)
                    pairs.append((key, convert(events, key, [])))
                elif event.kind is not XmlEventKind.TEXT:
                    return in_scalas_order(pairs)
                elif not event.is_white():
                    pairs.append((settings.value_tag, convert_text(event.text)))

        def read(events: XmlEvents, name: str, attributes: XmlAttributes) -> object:
            event = _behind_space(events)
            if event.kind is XmlEventKind.END:
                events.skip_end(name)
                return None
            if event.kind is not XmlEventKind.START:
                raise UnfitXmlError("a text instead of elements")
            return entries(events, attributes)

        return read


class _Fields:
    """The fields of a struct type, and what fills them. Names of elements and attributes match in any case;
    of fields whose names differ by case alone, the last counts."""

    def __init__(self, kind: pa.StructType, converters: XmlConverters) -> None:
        settings = converters.settings
        self._settings = settings
        self._places = {field.name.lower(): place for place, field in enumerate(kind)}
        self._atoms = [converters.atom(field.type) for field in kind]
        self._is_array = [pa.types.is_list(field.type) for field in kind]
        self._children = [
            converters.item(field.type.value_type)
            if pa.types.is_list(field.type)
            else converters.child(field.type)
            for field in kind
        ]
        exact = {field.name: place for place, field in enumerate(kind)}
        self._own_text = exact.get(settings.value_tag, -1)
        own_kind = kind.field(self._own_text).type if self._own_text >= 0 else STRING
        own_item = own_kind.value_type if pa.types.is_list(own_kind) else own_kind
        self._convert_own_text = converters.atom(own_item)
        self._wildcard = exact.get(settings.wildcard, -1)
        wildcard_kind = kind.field(self._wildcard).type if self._wildcard >= 0 else STRING
        self._wildcard_fits = wildcard_kind in (STRING, pa.list_(STRING))
        self._any_text = converters.child(STRING)

    def attributes(self, attributes: XmlAttributes) -> list[tuple[int, object]]:
        """Return the places and values of the fields for attributes. Raises NotSupportedError for two of
        one field."""
        found: dict[int, object] = {}
        for name, text in named_attributes(attributes, self._settings):
            place = self._places.get(name.lower(), -1)
            if place in found:
                raise NotSupportedError("XML attributes of one element whose names differ by case alone")
            if place >= 0:
                found[place] = self._atoms[place](text)
        return list(found.items())

    def set_attributes(self, row: Row, attributes: XmlAttributes) -> None:
        """Set the fields for the attributes of a root element."""
        for place, value in self.attributes(attributes):
            row[place] = value

    def read(self, events: XmlEvents, row: Row) -> Row:
        """Read the children of an element, up to its end, into the row's fields, and return the row. Raises
        PartialRecordError if a child doesn't fit."""
        is_whole = True
        while True:
            event = events.next()
            if event.kind is XmlEventKind.START:
                try:
                    self._read_child(events, event, row)
                except ValueError:
                    is_whole = False
            elif event.kind is not XmlEventKind.TEXT:
                break
            elif self._own_text >= 0 and not event.is_white():
                self._put(row, self._own_text, self._convert_own_text(event.text))
        if not is_whole:
            raise PartialRecordError(row)
        return row

    def _read_child(self, events: XmlEvents, event: XmlEvent, row: Row) -> None:
        name = self._settings.field_name(event.text)
        place = self._places.get(name.lower(), -1)
        if place >= 0:
            self._put(row, place, self._children[place](events, name, event.attributes))
        elif self._wildcard >= 0:
            value = self._any_text(events, name, event.attributes)
            if not self._wildcard_fits:
                raise UnfitXmlError("a field for any elements that is no text")
            self._put(row, self._wildcard, value)
        else:
            events.skip_children(name)

    def _put(self, row: Row, place: int, value: object) -> None:
        """Set a field, or append to an array's field."""
        if not self._is_array[place]:
            row[place] = value
            return
        items = row[place]
        if isinstance(items, list):
            items.append(value)
        else:
            row[place] = [value]


def _behind_space(events: XmlEvents) -> XmlEvent:
    """Move on behind white space; return the next event without moving on."""
    while (event := events.peek()).is_white():
        events.next()
    return event


def _refuse_array(_events: XmlEvents, _name: str, _attributes: XmlAttributes) -> object:
    raise NotSupportedError("XML read into arrays of arrays or maps of arrays, which are broken in Spark")
