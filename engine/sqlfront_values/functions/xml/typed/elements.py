"""Elements as trees, for what is found out about a whole element: its type, and the variant it is."""

import msgspec

from sqlfront_values.functions.xml.typed.events import XmlEvents
from sqlfront_values.functions.xml.typed.markup import WHITE
from sqlfront_values.functions.xml.typed.scanner import XmlAttributes, XmlEventKind
from sqlfront_values.functions.xml.typed.settings import XmlSettings


class XmlElement(msgspec.Struct):
    """An element. ``name``: the name of its field. ``attributes``: pairs of a field's name and a text, None
    where the text is that of nulls. ``content``: the elements and texts in their order, without texts of
    white space. ``begins_with_text``: whether a text, even of white space, follows on the element's start."""

    name: str
    attributes: list[tuple[str, str | None]]
    content: list["XmlElement | str"]
    begins_with_text: bool


def element_of(events: XmlEvents, attributes: XmlAttributes, settings: XmlSettings) -> XmlElement:
    """Return the element whose start, with the attributes, was read, and move on behind its end. Raises
    XmlSyntaxError."""
    root = XmlElement("", named_attributes(attributes, settings), [], False)
    inside = [root]
    is_first = True
    while inside:
        event = events.next()
        here = inside[-1]
        match event.kind:
            case XmlEventKind.START:
                name = settings.field_name(event.text)
                element = XmlElement(name, named_attributes(event.attributes, settings), [], False)
                here.content.append(element)
                inside.append(element)
            case XmlEventKind.TEXT:
                here.begins_with_text = here.begins_with_text or is_first
                if not event.is_white():
                    here.content.append(event.text)
            case XmlEventKind.END | XmlEventKind.END_OF_DOCUMENT:
                inside.pop()
        is_first = event.kind is XmlEventKind.START
    return root


def named_attributes(attributes: XmlAttributes, settings: XmlSettings) -> list[tuple[str, str | None]]:
    """Return the attributes by the names of their fields, with None for the text of nulls; the last of one
    name counts."""
    if not attributes or not settings.with_attributes:
        return []
    found: dict[str, str | None] = {}
    for name, text in attributes:
        value = text.strip(WHITE) if settings.trims else text
        key = settings.attribute_prefix + settings.field_name(name)
        found[key] = None if value == settings.null_value else value
    return list(found.items())
