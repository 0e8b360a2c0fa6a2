"""The parts of a document before its root element: the XML declaration and the document type. Both are
skipped; what a document type declares has no effect, since Spark turns document types off."""

import re
from typing import Final

from sqlfront_values.errors import NotSupportedError
from sqlfront_values.functions.xml.typed.markup import NAME, XmlSyntaxError

_DECLARATION: Final = re.compile(
    r"<\?xml[ \t\n\r]+version[ \t\n\r]*=[ \t\n\r]*(['\"])(?P<version>[0-9.]*)\1"
    r"([ \t\n\r]+encoding[ \t\n\r]*=[ \t\n\r]*(['\"])[A-Za-z][A-Za-z0-9._-]*\4)?"
    r"([ \t\n\r]+standalone[ \t\n\r]*=[ \t\n\r]*(['\"])(yes|no)\6)?[ \t\n\r]*\?>"
)
_LITERAL: Final = "(?:\"[^\"]*\"|'[^']*')"
_DOCUMENT_TYPE: Final = re.compile(
    rf"<!DOCTYPE[ \t\n\r]+{NAME.pattern}"
    rf"(?:[ \t\n\r]+(?:SYSTEM[ \t\n\r]+{_LITERAL}|PUBLIC[ \t\n\r]+{_LITERAL}[ \t\n\r]+{_LITERAL}))?"
    r"[ \t\n\r]*(?P<end>\[|>)"
)
#: One part of a document type's declarations, all of which are skipped.
_DOCUMENT_TYPE_PART: Final = re.compile(
    rf"[ \t\n\r]+|%{NAME.pattern};|<\?.*?\?>|<!--.*?-->|<![A-Z](?:[^>\"']|{_LITERAL})*>", re.DOTALL
)
_DOCUMENT_TYPE_END: Final = re.compile(r"\][ \t\n\r]*>")


def behind_declaration(text: str, at: int) -> int:
    """Return the place behind the XML declaration that begins at the place ``at``. Raises XmlSyntaxError for
    a malformed one, NotSupportedError for that of XML 1.1."""
    found = _DECLARATION.match(text, at)
    if found is None:
        raise XmlSyntaxError("malformed XML declaration")
    if found["version"] == "1.1":
        raise NotSupportedError("XML 1.1 is not supported")
    if found["version"] != "1.0":
        raise XmlSyntaxError("unknown version of XML")
    return found.end()


def behind_document_type(text: str, at: int) -> int:
    """Return the place behind the document type that begins at the place ``at``. Raises XmlSyntaxError."""
    found = _DOCUMENT_TYPE.match(text, at)
    if found is None:
        raise XmlSyntaxError("malformed document type")
    if found["end"] == ">":
        return found.end()
    at = found.end()
    while part := _DOCUMENT_TYPE_PART.match(text, at):
        at = part.end()
    end = _DOCUMENT_TYPE_END.match(text, at)
    if end is None:
        raise XmlSyntaxError("malformed document type")
    return end.end()
