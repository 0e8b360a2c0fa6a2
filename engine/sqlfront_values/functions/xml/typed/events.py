"""Events with a look ahead, and the parts of a text that Spark skips or copies."""

from sqlfront_values.functions.xml.typed.markup import XmlSyntaxError
from sqlfront_values.functions.xml.typed.scanner import (
    XmlAttributes,
    XmlEvent,
    XmlEventKind,
    XmlScanner,
)
from sqlfront_values.functions.xml.typed.settings import XmlSettings


class UnfitXmlError(ValueError):
    """The error of XML that doesn't fit the schema."""


class XmlEvents:
    """The events of a text, under the settings of one call."""

    def __init__(self, text: str, settings: XmlSettings) -> None:
        self._scanner = XmlScanner(text)
        self._settings = settings
        self._peeked: XmlEvent | None = None

    def next(self) -> XmlEvent:
        """Return the next event. Raises XmlSyntaxError."""
        event, self._peeked = self._peeked, None
        return self._scanner.next() if event is None else event

    def peek(self) -> XmlEvent:
        """Return the next event without moving on. Raises XmlSyntaxError."""
        if self._peeked is None:
            self._peeked = self._scanner.next()
        return self._peeked

    def start(self) -> XmlAttributes:
        """Move on behind the start of the root element; return its attributes."""
        event = self.next()
        if event.kind is not XmlEventKind.START:
            raise XmlSyntaxError("no element")
        return event.attributes

    def skip_end(self, name: str) -> None:
        """Move on behind the end of the element whose field is ``name``. Raises UnfitXmlError unless that is
        next, behind white space."""
        while (event := self.next()).is_white():
            pass
        if event.kind is not XmlEventKind.END:
            raise UnfitXmlError("no end")
        self._check_name(event, name)

    def skip_children(self, name: str) -> None:
        """Move on behind the end of the element whose field is ``name``, and whose start was read."""
        names = [name]
        while names:
            event = self.next()
            if event.kind is XmlEventKind.START:
                names.append(self._settings.field_name(event.text))
            elif event.kind is XmlEventKind.END:
                self._check_name(event, names.pop())

    def inner_text(self, name: str) -> str:
        """Return the content of the element whose field is ``name``, with the tags inside of it, and move on
        behind its end. At least one event belongs to the content."""
        parts: list[str] = []
        depth = 0
        while True:
            event = self.next()
            match event.kind:
                case XmlEventKind.START:
                    attributes = [f' {key}="{value}"' for key, value in event.attributes]
                    parts.append(f"<{event.text}{''.join(attributes)}>")
                    depth += 1
                case XmlEventKind.END:
                    parts.append(f"</{event.text}>")
                    depth -= 1
                case XmlEventKind.TEXT:
                    parts.append(event.text)
                case XmlEventKind.END_OF_DOCUMENT:
                    pass
            if depth <= 0 and self.peek().kind is XmlEventKind.END:
                self.skip_end(name)
                return "".join(parts)

    def _check_name(self, event: XmlEvent, name: str) -> None:
        if self._settings.field_name(event.text) != name:
            raise UnfitXmlError("the end of another element")
