"""A query's text without its literals: texts that differ in nothing else share a plan.

:func:`split` takes numbers and strings out of a text by one regular expression, in about a microsecond. It
knows no grammar: whether a literal may differ from run to run is for the binder to say
(:mod:`sqlfront_planner.binder.literals`), which has the place of each in the syntax tree. All others are part
of the plan's key, so that a plan is only ever used for a text that means the same.
"""

import re
from typing import Final

import pyarrow as pa
from sqlglot import exp

from sqlfront_planner.binder.constants import INT_DIGITS, number
from sqlfront_planner.tokens import unescape
from sqlfront_values.errors import Error
from sqlfront_values.types import INT, STRING

#: A number, or a string, as most texts have them. It begins with a set of characters and not with two
#: alternatives, so that the regular expression finds the next of them three times faster.
_PLAIN: Final = re.compile(r"""([0-9'](?:(?<=')[^']*'|(?<=\b[0-9])[\w.]*))""")
#: Other texts take a closer look at what isn't a literal (comments, quoted names), or one that is written
#: otherwise; compiled when it is needed.
_CAREFUL: Final = (
    r"""(?s)((?<!\w)'(?:[^'\\]|\\.)*'|\b[0-9][\w.]*)"""
    r"""|(?:(?<=\w)'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`[^`]*`|--[^\r\n]*|/\*.*?\*/)"""
)
#: Where a number stands that is looked at without its tree.
_NOWHERE: Final = exp.Literal.number(0)


def split(text: str) -> tuple[tuple[str, ...], list[str]]:
    """The text without its literals, and the literals as written, in order. The text follows from both.

    >>> split("select a from t where k = 17 and c1 = 'it'")
    (('select a from t where k = ', ' and c1 = ', ''), ['17', "'it'"])
    """
    if not is_plain(text):
        return _split_with_care(text)
    pieces = _PLAIN.split(text)
    return tuple(pieces[::2]), pieces[1::2]


def _split_with_care(text: str) -> tuple[tuple[str, ...], list[str]]:
    """The same for any text: comments are no part of what is left, hints are.

    >>> _split_with_care("select a /* 17 */ from t where k = 17 -- b")
    (('select a   from t where k = ', ''), ['17'])
    """
    pieces: list[str] = []
    literals: list[str] = []
    piece, place, cuts = "", 0, _has_plain_comments(text)
    for match in re.finditer(_CAREFUL, text):
        found = match[0]
        if match[1] is not None:
            pieces.append(piece + text[place : match.start()])
            literals.append(found)
            piece = ""
        elif cuts and (found.startswith("--") or (found.startswith("/*") and found[2:3] != "+")):
            piece += text[place : match.start()] + " "
        else:
            continue
        place = match.end()
    piece += text[place:]
    pieces.append(piece.rstrip() if cuts else piece)
    return tuple(pieces), literals


def _has_plain_comments(text: str) -> bool:
    """Whether there are comments, and their ends are where the pattern sees them: none is in another, none is
    continued, and no raw string ends in a backslash."""
    if "\\" in text or "\r" in text:
        return False
    opened = text.count("/*")
    return opened == len(re.findall(r"(?s)/\*.*?\*/", text)) if opened else "--" in text


def spaced(skeleton: tuple[str, ...]) -> tuple[str, ...]:
    """A skeleton with one blank for any white space, where that is none of a quoted name.

    >>> spaced(("select a\\n  from t where k =  ", ""))
    ('select a from t where k = ', '')
    """
    text = "0".join(skeleton)
    if (
        "  " not in text and text.isprintable() and text == text.strip()
    ):  # but for blanks no space is printable
        return skeleton
    if '"' in text or "`" in text or "\\" in text or "--" in text:
        return skeleton
    changed = {piece: re.sub(r"\s+", " ", piece) for piece in set(skeleton)}
    pieces = [changed[piece] for piece in skeleton]
    pieces[0] = pieces[0].lstrip()
    pieces[-1] = pieces[-1].rstrip()
    return tuple(pieces)


def is_plain(text: str) -> bool:
    """Whether literals are as they seem: there are no comments, quoted names or escapes."""
    return not ('"' in text or "`" in text or "\\" in text or "--" in text or "/*" in text)


def spans(text: str) -> list[tuple[int, int]]:
    """Where the literals of :func:`split` stand in the text.

    >>> spans("select `c 1` /* 2 */ from t where k = 17")
    [(38, 40)]
    """
    matches = _PLAIN.finditer(text) if is_plain(text) else re.finditer(_CAREFUL, text)
    return [match.span(1) for match in matches if match[1] is not None]


def plain_literal(text: str) -> tuple[object, pa.DataType] | None:
    """The value and type of a literal as :func:`split` gives it, with a minus before it or not; None for a
    number that is none in Spark, and for a string that isn't as it stands (``${name}``).

    >>> plain_literal("-17"), plain_literal("'it''s'")[0], plain_literal("9" * 39), plain_literal("'${x}'")
    ((-17, DataType(int32)), "it's", None, None)
    """
    if text[-1] == "'":
        return None if "${" in text else (unescape(text), STRING)
    if len(text) <= INT_DIGITS and text.isascii() and text.lstrip("-").isdigit():
        return int(text), INT
    try:
        literal = number(text, _NOWHERE)
    except Error:
        return None
    return literal.value, literal.type
