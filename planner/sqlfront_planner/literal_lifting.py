"""Separation of a query's text from its literals, so that texts that differ only in literals share a plan.

:func:`split` takes numbers and strings out of a text by one regular expression, in about a microsecond. The
function knows no grammar: the binder decides from a literal's place in the syntax tree whether its value may
differ from run to run (:mod:`sqlfront_planner.binder.expressions.literals`). All other literals are part of
the plan's key, so a plan is used only for texts of the same meaning.
"""

import re
from typing import Final

import pyarrow as pa
from sqlglot import exp

from sqlfront_planner.binder.trees.constants import INT_DIGITS, number
from sqlfront_planner.tokens.tokenizing import unescape
from sqlfront_values.errors import Error
from sqlfront_values.types import INT, STRING

#: A number or a string in its most common form. The pattern begins with a character set rather than two
#: alternatives, which makes the regular expression find the next match three times faster.
_PLAIN: Final = re.compile(r"""([0-9'](?:(?<=')[^']*'|(?<=\b[0-9])[\w.]*))""")
#: For other texts: also matches non-literals (comments, quoted names) and literals in other forms. Compiled
#: at first use.
_CAREFUL: Final = (
    r"""(?s)((?<!\w)'(?:[^'\\]|\\.)*'|\b[0-9][\w.]*)"""
    r"""|(?:(?<=\w)'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`[^`]*`|--[^\r\n]*|/\*.*?\*/)"""
)
#: The tree for the position of a number that has no tree.
_NOWHERE: Final = exp.Literal.number(0)


def split(text: str) -> tuple[tuple[str, ...], list[str]]:
    """Split the text into the pieces around its literals, and the literals as they are written, both in
    order. There is one piece more than literals; put together in turn, they give the text, except for
    comments.

    >>> split("select a from t where k = 17 and c1 = 'it'")
    (('select a from t where k = ', ' and c1 = ', ''), ['17', "'it'"])
    """
    if not is_plain(text):
        return _split_with_care(text)
    pieces = _PLAIN.split(text)
    return tuple(pieces[::2]), pieces[1::2]


def _split_with_care(text: str) -> tuple[tuple[str, ...], list[str]]:
    """Split a text as :func:`split` does, also with comments, quoted names and escapes. Comments are dropped
    from the pieces; hints (``/*+ ... */``) are not.

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
    """Return whether the text has comments that the pattern can drop, because it finds their ends: no comment
    is nested, and the text has no backslash and no carriage return."""
    if "\\" in text or "\r" in text:
        return False
    opened = text.count("/*")
    return opened == len(re.findall(r"(?s)/\*.*?\*/", text)) if opened else "--" in text


def spaced(skeleton: tuple[str, ...]) -> tuple[str, ...]:
    """Replace white space outside of quoted names by single blanks in a ``skeleton``, the pieces of a text
    around its literals (see :func:`split`).

    >>> spaced(("select a\\n  from t where k =  ", ""))
    ('select a from t where k = ', '')
    """
    text = "0".join(skeleton)
    if (
        "  " not in text and text.isprintable() and text == text.strip()
    ):  # the blank is the only printable white space
        return skeleton
    if '"' in text or "`" in text or "\\" in text or "--" in text:
        return skeleton
    changed = {piece: re.sub(r"\s+", " ", piece) for piece in set(skeleton)}
    pieces = [changed[piece] for piece in skeleton]
    pieces[0] = pieces[0].lstrip()
    pieces[-1] = pieces[-1].rstrip()
    return tuple(pieces)


def is_plain(text: str) -> bool:
    """Return whether the text has no comments, quoted names or escapes, so that a simple regular expression
    finds all literals."""
    return not ('"' in text or "`" in text or "\\" in text or "--" in text or "/*" in text)


def spans(text: str) -> list[tuple[int, int]]:
    """Return the ranges (start, end) in the text of its literals: numbers, and strings in single quotes
    without a prefix, but none in comments or quoted names.

    >>> spans("select `c 1` /* 2 */ from t where k = 17")
    [(38, 40)]
    """
    matches = _PLAIN.finditer(text) if is_plain(text) else re.finditer(_CAREFUL, text)
    return [match.span(1) for match in matches if match[1] is not None]


def plain_literal(text: str) -> tuple[object, pa.DataType] | None:
    """Return the value and type of a literal from :func:`split`, with or without a minus sign; None for a
    number that is invalid in Spark, and for a string with a variable (``${name}``).

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
