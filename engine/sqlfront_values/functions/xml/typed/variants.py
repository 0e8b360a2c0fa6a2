"""Elements as variants."""

from decimal import Decimal
from typing import Final

from sqlfront_values.functions.csv.values import java_decimal, java_integer
from sqlfront_values.functions.xml.typed.elements import XmlElement, element_of
from sqlfront_values.functions.xml.typed.events import XmlEvents
from sqlfront_values.functions.xml.typed.markup import WHITE
from sqlfront_values.functions.xml.typed.scanner import XmlAttributes
from sqlfront_values.functions.xml.typed.settings import XmlSettings
from sqlfront_values.stacks import deep
from sqlfront_values.variants import building
from sqlfront_values.variants.layout import java_order

_MOST_DIGITS: Final = 38


def variant_of_element(events: XmlEvents, attributes: XmlAttributes, settings: XmlSettings) -> bytes:
    """Return the row (:mod:`sqlfront_values.arrow.variant_rows`) of the variant that an element is, whose
    start with the attributes was read, and move on behind the element's end. Raises XmlSyntaxError and
    VariantSizeError."""
    builder = building.VariantBuilder()
    return builder.row(_encoded(element_of(events, attributes, settings), settings, builder))


def variant_of_text(text: str | None, settings: XmlSettings) -> bytes:
    """Return the row of the variant that the text of an element or attribute is."""
    return building.VariantBuilder().row(_atom(text, settings))


def ignoring_case(name: str) -> bytes:
    """Return the sort key of Java's order of texts that ignores case."""
    lower = name.lower() if name.isascii() else "".join(map(_same_case, name))
    return java_order(lower)


def _same_case(character: str) -> str:
    upper = character.upper()
    return upper.lower() if len(upper) == 1 else character


@deep
def _encoded(element: XmlElement, settings: XmlSettings, builder: building.VariantBuilder) -> bytes:
    """Encode an element: null without attributes and content, its text if it has nothing else, or an object
    of its fields, in which a name that occurs more than once, in any case, is an array."""
    fields: dict[bytes, tuple[str, list[XmlElement | str | None]]] = {}
    for name, text in element.attributes:
        fields.setdefault(ignoring_case(name), (name, []))[1].append(text)
    for part in element.content:
        name = part.name if isinstance(part, XmlElement) else settings.value_tag
        fields.setdefault(ignoring_case(name), (name, []))[1].append(part)
    if not fields:
        return building.NULL
    if all(name == settings.value_tag for name, _ in fields.values()):
        [(_, values)] = fields.values()
        return _value(values[0], settings, builder)
    encoded = []
    for _, (name, values) in sorted(fields.items()):
        number = builder.id_of(name)
        items = [_value(value, settings, builder) for value in values]
        encoded.append((name, number, items[0] if len(items) == 1 else building.array(items)))
    return builder.object(encoded)


def _value(value: XmlElement | str | None, settings: XmlSettings, builder: building.VariantBuilder) -> bytes:
    if isinstance(value, XmlElement):
        return _encoded(value, settings, builder)
    return _atom(value, settings)


def _atom(text: str | None, settings: XmlSettings) -> bytes:
    """Encode a text as a boolean, an integer of 64 bits, a decimal, or else as a text."""
    if text is None or text == settings.null_value:
        return building.NULL
    if settings.trims:
        text = text.strip(WHITE)
    if not text or not settings.infers:
        return building.string(text)
    if text.lower() in ("true", "false"):
        return building.boolean(text.lower() == "true")
    integer = java_integer(text, 64)
    if integer is not None:
        return building.integer(integer)
    number = java_decimal(text.replace(",", ""))
    return building.string(text) if number is None or not _is_storable(number) else building.decimal(number)


def _is_storable(number: Decimal) -> bool:
    """Return whether a variant's decimal holds the number."""
    exponent = number.as_tuple().exponent
    assert isinstance(exponent, int)
    if not -_MOST_DIGITS <= exponent <= _MOST_DIGITS:
        return False
    digits = len(number.as_tuple().digits) + max(exponent, 0) if number else 1
    return digits <= _MOST_DIGITS
