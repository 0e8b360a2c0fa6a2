r"""Texts that are safe to print, and the cells that they take on a terminal.

Data must not drive the terminal: control characters, and the characters that turn the direction of a whole
line, are shown as escapes. Letters of right-to-left scripts stay.
"""

import re
from typing import TYPE_CHECKING, Final

from sqlfront.results.boxes import width as spark_width
from sqlfront_values.lazy_modules import lazy_module

if TYPE_CHECKING:
    import wcwidth
else:
    wcwidth = lazy_module("wcwidth")

#: Control characters, marks of direction, separators of lines, invisible operators, surrogates, and the byte
#: order mark.
_UNSAFE: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff]"
)
_SHORT: Final = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\f": "\\f", "\b": "\\b", "\v": "\\v", "\a": "\\a"}
#: Characters whose cells are counted one by one.
_LONG: Final = 4_096
ELLIPSIS: Final = "…"


def visible(text: str) -> str:
    r"""Return the text with escapes in place of characters that are unsafe to print, such as control
    characters.

    >>> visible("a\x1b[31m\n") == r"a\x1b[31m\n"
    True
    """
    if text.isascii() and text.isprintable():
        return text
    return _UNSAFE.sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    character = match[0]
    code = ord(character)
    return _SHORT.get(character) or (f"\\x{code:02x}" if code <= 0xFF else f"\\u{code:04x}")


def cells_of(text: str) -> int:
    """Return the number of cells that a text takes on a terminal; the text is a result of :func:`visible`.
    Without the package wcwidth, characters count as in Spark's ``show``. The count for more than 4,096
    characters is approximate."""
    if text.isascii():
        return len(text)
    if len(text) > _LONG:  # of a huge text only the order of magnitude counts
        return cells_of(text[:_LONG]) + len(text) - _LONG
    try:
        return max(0, wcwidth.wcswidth(text))
    except ImportError:
        return spark_width(text)


def cut(text: str, most: int) -> str:
    """Return the beginning of a text that takes at most ``most`` cells, with an ellipsis for what is cut; the
    text has passed :func:`visible`.

    >>> cut("abcdef", 4), cut("日本語", 4), cut("abc", 3)
    ('abc…', '日…', 'abc')
    """
    if cells_of(text) <= most:
        return text
    low, high = 0, min(len(text), 4 * most + 16)
    while low < high:  # the longest beginning that leaves room for the ellipsis
        middle = (low + high + 1) // 2
        if cells_of(text[:middle]) <= most - 1:
            low = middle
        else:
            high = middle - 1
    return text[:low] + ELLIPSIS if most > 0 else ""


def one_line(text: str, most: int) -> str:
    r"""Return the beginning of any text, on one line of at most ``most`` cells and safe to print; a blank
    stands for each run of white space.

    >>> one_line("of the\n  plane\x00, as painted", 17)
    'of the plane\\x00…'
    """
    # Only the first words are looked at: a comment may be long.
    words = text[: 16 * most].split()
    return cut(visible(" ".join(words)), most)


def padded(text: str, size: int, *, right: bool = False) -> str:
    """Return the text with blanks up to ``size`` cells: behind the text, or before it if ``right``. A longer
    text stays as it is."""
    blanks = " " * (size - cells_of(text))
    return blanks + text if right else text + blanks
