"""The patterns of XML's grammar that the scanner matches."""

import re
from functools import lru_cache
from typing import Final
from xml.parsers import expat

#: The characters that Java's ``trim`` removes, and that make up a text of white space.
WHITE: Final = "".join(map(chr, range(33)))
_CONTROLS: Final = "\x00-\x08\x0b\x0c\x0e-\x1f"
#: The longest beginning that may be a name; :func:`is_name` tells for names beyond ASCII.
NAME: Final = re.compile(r"[A-Za-z_:\u0080-\U0010ffff][A-Za-z0-9_:.\-\u0080-\U0010ffff]*")
NAME_REST: Final = re.compile(r"[A-Za-z0-9_:.\-\u0080-\U0010ffff]*")
SPACE: Final = re.compile(r"[ \t\n\r]*")
CONTROL: Final = re.compile(f"[{_CONTROLS}]")
TEXT: Final = re.compile(f"[^<&{_CONTROLS}]*")
#: The part of an attribute's value up to a quote or a character that isn't taken as it is.
ATTRIBUTE_TEXT: Final = {quote: re.compile(f"[^{quote}<&{_CONTROLS}]*") for quote in ('"', "'")}
ATTRIBUTE_SPACE: Final = re.compile("\r\n|[\t\n\r]")
LINE_END: Final = re.compile("\r\n?")
DECLARATION: Final = re.compile(
    r"<\?xml[ \t\n\r]+version[ \t\n\r]*=[ \t\n\r]*(['\"])(?P<version>[0-9.]*)\1"
    r"([ \t\n\r]+encoding[ \t\n\r]*=[ \t\n\r]*(['\"])[A-Za-z][A-Za-z0-9._-]*\4)?"
    r"([ \t\n\r]+standalone[ \t\n\r]*=[ \t\n\r]*(['\"])(yes|no)\6)?[ \t\n\r]*\?>"
)
_LITERAL: Final = "(?:\"[^\"]*\"|'[^']*')"
DOCUMENT_TYPE: Final = re.compile(
    rf"<!DOCTYPE[ \t\n\r]+{NAME.pattern}"
    rf"(?:[ \t\n\r]+(?:SYSTEM[ \t\n\r]+{_LITERAL}|PUBLIC[ \t\n\r]+{_LITERAL}[ \t\n\r]+{_LITERAL}))?"
    r"[ \t\n\r]*(?P<end>\[|>)"
)
#: One part of a document type's declarations, all of which are skipped.
DOCUMENT_TYPE_PART: Final = re.compile(
    rf"[ \t\n\r]+|%{NAME.pattern};|<\?.*?\?>|<!--.*?-->|<![A-Z](?:[^>\"']|{_LITERAL})*>", re.DOTALL
)
DOCUMENT_TYPE_END: Final = re.compile(r"\][ \t\n\r]*>")
ENTITIES: Final = {"lt": "<", "gt": ">", "amp": "&", "apos": "'", "quot": '"'}


def is_name(text: str) -> bool:
    """Return whether a match of :data:`NAME` is a name of XML 1.0 in its fourth edition, which Spark's reader
    and expat implement.

    >>> is_name("a:b"), is_name("é"), is_name("a×")
    (True, True, False)
    """
    return text.isascii() or _is_wide_name(text)


@lru_cache(1024)
def _is_wide_name(text: str) -> bool:
    try:
        expat.ParserCreate().Parse(f"<{text}/>", True)
    except expat.ExpatError:
        return False
    return True


def is_character(code: int) -> bool:
    """Return whether XML 1.0 has the character of a code below 0x110000."""
    return code in (9, 10, 13) or 32 <= code < 0xD800 or 0xE000 <= code < 0xFFFE or code > 0xFFFF
