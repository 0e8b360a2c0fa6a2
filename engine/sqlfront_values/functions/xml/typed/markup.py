"""The patterns of XML's grammar that the scanner matches."""

import re
from functools import lru_cache
from typing import Final
from xml.parsers import expat


class XmlSyntaxError(ValueError):
    """The error of a text that is not well-formed XML."""


#: The characters that Java's ``trim`` removes, and that make up a text of white space.
WHITE: Final = "".join(map(chr, range(33)))
_CONTROLS: Final = "\x00-\x08\x0b\x0c\x0e-\x1f"
#: The longest text that may be a name, and that may be inside of one; see :func:`name_at`.
NAME: Final = re.compile(r"[A-Za-z_:\u0080-\U0010ffff][A-Za-z0-9_:.\-\u0080-\U0010ffff]*")
NAME_REST: Final = re.compile(r"[A-Za-z0-9_:.\-\u0080-\U0010ffff]*")
SPACE: Final = re.compile(r"[ \t\n\r]*")
CONTROL: Final = re.compile(f"[{_CONTROLS}]")
TEXT: Final = re.compile(f"[^<&{_CONTROLS}]*")
#: The part of an attribute's value up to a quote or a character that isn't taken as it is.
ATTRIBUTE_TEXT: Final = {quote: re.compile(f"[^{quote}<&{_CONTROLS}]*") for quote in ('"', "'")}
ATTRIBUTE_SPACE: Final = re.compile("\r\n|[\t\n\r]")
LINE_END: Final = re.compile("\r\n?")
ENTITIES: Final = {"lt": "<", "gt": ">", "amp": "&", "apos": "'", "quot": '"'}


def name_at(text: str, at: int) -> str:
    """Return the longest name that begins at the place ``at``; empty if none does.

    >>> name_at("<a:b>", 1), name_at("éa×", 0), name_at("1", 0)
    ('a:b', 'éa', '')
    """
    found = NAME.match(text, at)
    return "" if found is None else _cut(found[0], begins=True)


def rest_of_name(text: str, at: int) -> str:
    """Return the characters at the place ``at`` that may be in a name."""
    found = NAME_REST.match(text, at)
    assert found is not None
    return _cut(found[0], begins=False)


def _cut(text: str, *, begins: bool) -> str:
    """Return a match of :data:`NAME` or :data:`NAME_REST` up to the first character that isn't in names."""
    if text.isascii():
        return text
    for place, character in enumerate(text):
        if not character.isascii() and not _is_in_names(character, begins=begins and not place):
            return text[:place]
    return text


@lru_cache(1024)
def _is_in_names(character: str, *, begins: bool) -> bool:
    """Return whether names of XML 1.0 in its fourth edition, which Spark's reader and expat implement, have
    the character. ``begins``: as their first."""
    try:
        expat.ParserCreate().Parse(f"<{character}/>" if begins else f"<a{character}/>", True)
    except expat.ExpatError:
        return False
    return True


def is_character(code: int) -> bool:
    """Return whether XML 1.0 has the character of a code below 0x110000."""
    return code in (9, 10, 13) or 32 <= code < 0xD800 or 0xE000 <= code < 0xFFFE or code > 0xFFFF
