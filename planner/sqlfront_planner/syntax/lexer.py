"""The tokens of a text as Spark's lexer finds them: of all kinds that fit, the longest."""

import re
from typing import Final

import msgspec

from sqlfront_engine.errors import too_complex
from sqlfront_planner.syntax.comments import comment_end

#: So many tokens make a statement that is planned within seconds.
MOST_TOKENS: Final = 600_000
#: The kinds by a pattern each; the first that fits is the longest. A number with a point ends where no name
#: goes on.
_TOKEN: Final = re.compile(
    r"""
    \x20*(?:
    (?P<name>(?![rR]['"])[A-Za-z_][A-Za-z0-9_]*+(?!\w))
    |(?P<integer>[0-9]+(?![\w.]))
    |(?P<space>[ \t\n\f\r\x0b\xa0\u1680\u2000-\u200a\u2028\u202f\u205f\u3000]+|--(?:\\\n|[^\r\n])*\r?\n?)
    |(?P<string>[rR]'[^']*'|[rR]"[^"]*"|'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*")
    |(?P<fraction>
        (?:[0-9]+\.[0-9]*|\.[0-9]+)(?P<exponent>[eE][+-]?[0-9]+)?(?P<suffix>[bB][dD]|[fFdD])?(?![A-Za-z0-9_]))
    |(?P<signed>[0-9]+[eE][+-][0-9]+(?:[bB][dD]|[fFdD])?)
    |(?P<word>\w+)
    |(?P<quoted>`(?:[^`]|``)*`)
    |(?P<comment>/\*(?!\+))
    |(?P<code>\$(?P<tag>\w*)\$.*?\$(?P=tag)\$)
    |(?P<sign>/\*\+|\*/|@[vV]|<=>|>>>|[<>=!]=|![<>]|<>|<<|>>|\|\||\|>|::|->|=>|[;(),.\[\]!<>=+\-*/%~&|^:@?])
    |(?P<unknown>.)
    )
    """,
    re.VERBOSE | re.DOTALL,
)
#: A word that begins with a digit is a number if it is one of these.
_INTEGER: Final = re.compile(
    r"[0-9]+(?:(?P<number>[eE][0-9]+(?:[bB][dD]|[fFdD])?|[bB][dD]|[fFdDsSyY])|(?P<long>[lL]))?"
)
_KINDS: Final = {
    "integer": "<integer>",
    "string": "<string>",
    "signed": "<number>",
    "quoted": "<quoted>",
    "code": "<code>",
    "unknown": "<unknown>",
}
#: Other spellings.
_SAME: Final = {"==": "=", "!>": "<=", "!<": ">=", "@v": "@V", "TEMP": "TEMPORARY", "REGEXP": "RLIKE"}
#: A comment or a character that isn't usual.
_ODD: Final = re.compile(r"--|/\*|[^\n -~]")
_NO_LINE: Final = re.compile(r"[^\n]")
#: Words that open a type in angle brackets: until these close, ``>>`` is two of them.
_NESTING: Final = frozenset({"ARRAY", "MAP", "STRUCT"})


class Tokens(msgspec.Struct, frozen=True):
    """The tokens of a text by their kinds' names (a word in capitals, a sign, a class as ``<string>``), and
    the places where each begins and ends."""

    kinds: list[str]
    starts: list[int]
    ends: list[int]


def tokens_of(sql: str, start: int = 0) -> Tokens:
    """The tokens from offset ``start``. What is no token, a quote that isn't closed among them, is
    ``<unknown>``; so is a comment that isn't closed, up to the end. Raises FAILED_TO_PARSE_TOO_COMPLEX for
    more than :data:`MOST_TOKENS`.

    >>> tokens_of("SELECT a >> 1.5, 'x'").kinds
    ['SELECT', 'A', '>>', '<decimal>', ',', '<string>']
    """
    kinds: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    depth, place, size = 0, start, len(sql)
    match_at = _TOKEN.match
    while place < size and len(kinds) <= MOST_TOKENS:
        match = match_at(sql, place)
        assert match is not None
        assert match.lastgroup is not None
        kind = match.lastgroup
        begin, place = match.span(kind)
        if kind == "space":
            continue
        if kind == "name":
            word = match["name"].upper()
            kind = _SAME.get(word, word)
            depth += kind in _NESTING
        elif kind == "integer":
            kind = "<integer>"
        elif kind == "word":
            kind = _kind_of_word(match["word"])
            depth += kind in _NESTING
        elif kind == "sign":
            kind = _SAME.get(match["sign"], match["sign"])
            if depth and kind[0] == ">":
                if kind in (">>", ">>>"):
                    kind, place = ">", begin + 1
                depth -= kind == ">"
        elif kind == "comment":
            end = comment_end(sql, begin)
            if end is not None:
                place = end
                continue
            kind, place = "<unknown>", size
        elif kind == "fraction":
            kind = "<number>" if match["exponent"] or match["suffix"] else "<decimal>"
        else:
            kind = _KINDS[kind]
        kinds.append(kind)
        starts.append(begin)
        ends.append(place)
    if len(kinds) > MOST_TOKENS:
        raise too_complex()
    return Tokens(kinds, starts, ends)


def without_comments(sql: str) -> str:
    """The text with blanks for its comments and odd spaces, so that everything stays in its place: other
    parsers know other comments. Hints stay.

    >>> without_comments("SELECT 1 /* /* a */ */ + 2 -- b")
    'SELECT 1               + 2     '
    """
    if _ODD.search(sql) is None:
        return sql
    tokens = tokens_of(sql)
    place = 0
    parts: list[str] = []
    for start, end in zip((*tokens.starts, len(sql)), (*tokens.ends, len(sql)), strict=True):
        parts += (_NO_LINE.sub(" ", sql[place:start]), sql[start:end])
        place = end
    return "".join(parts)


def _kind_of_word(text: str) -> str:
    """A keyword, or what else the word is; the grammar says which words are keywords."""
    if text[0].isdigit():
        number = _INTEGER.fullmatch(text)
        return "<word>" if number is None else f"<{number.lastgroup or 'integer'}>"
    if not text.isascii() and not text.replace("_", "").isalnum():
        return "<unknown>"
    word = text.upper()
    return _SAME.get(word, word)
