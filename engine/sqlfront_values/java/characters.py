"""Java's classes of characters (``java.lang.Character``), as far as they differ from Python's."""

import unicodedata
from typing import Final

#: Characters that separate and that ``Character.isWhitespace`` doesn't count: no line may break at them.
_UNBROKEN: Final = frozenset("\u00a0\u2007\u202f")
_CONTROLS: Final = frozenset("\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f")
_SEPARATORS: Final = frozenset({"Zs", "Zl", "Zp"})
_LAST_UNIT: Final = "\uffff"


def is_whitespace(character: str) -> bool:
    """Return whether ``Character.isWhitespace`` says so.

    >>> is_whitespace("\\t"), is_whitespace("\\u00a0"), is_whitespace("\\u2003")
    (True, False, True)
    """
    if character in _CONTROLS:
        return True
    return unicodedata.category(character) in _SEPARATORS and character not in _UNBROKEN


def is_digit(character: str) -> bool:
    """Return whether ``Character.isDigit`` says so for the character as one unit of UTF-16, which it says for
    no half of a pair.

    >>> is_digit("7"), is_digit("\\u0663"), is_digit("\\u00b2"), is_digit("\\U0001d7d8")
    (True, True, False, False)
    """
    return character <= _LAST_UNIT and character.isdecimal()
