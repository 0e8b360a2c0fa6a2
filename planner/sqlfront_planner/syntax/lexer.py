"""A lexer that splits a text into the same tokens as Spark's lexer: where several kinds of tokens match, the
longest match is the token."""

import re
from typing import Final

import msgspec

from sqlfront_planner.syntax import comments
from sqlfront_values.errors import too_complex

#: Tokens of a statement at most, so that planning ends within seconds; longer texts are refused while their
#: tokens are found.
MOST_TOKENS: Final = 600_000
#: One pattern per kind; the first match is the longest. A number with a point ends only where no name
#: continues. Compiled at first use; few processes use it.
_TOKEN: Final = r"""(?xs)
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
    """
#: A word that begins with a digit is a number if it matches this pattern.
_INTEGER: Final = r"[0-9]+(?:(?P<number>[eE][0-9]+(?:[bB][dD]|[fFdD])?|[bB][dD]|[fFdDsSyY])|(?P<long>[lL]))?"
#: The tokens of most texts, in capitals: names, integers, strings and signs; an empty match before any other
#: token.
_USUAL: Final = re.compile(
    r"""
    [A-Z_][A-Z0-9_]*+(?!['"])
    |[0-9]+(?![0-9A-Z_.])
    |'[^'\\]*'(?!')
    |<=>|[<>!=]=|<>|\|\||::|[(),%+;?\[\]:]|=(?!>)|<(?!<)|>(?!>)|-(?![->])|/(?!\*)|\*(?!/)|\.(?![0-9])
    |(?=[^ \t\n\r\f\v])
    """,
    re.VERBOSE,
)
_KINDS: Final = {
    "integer": "<integer>",
    "string": "<string>",
    "signed": "<number>",
    "quoted": "<quoted>",
    "code": "<code>",
    "unknown": "<unknown>",
}
#: Other spellings of a kind.
SAME: Final = {"==": "=", "!>": "<=", "!<": ">=", "@v": "@V", "TEMP": "TEMPORARY", "REGEXP": "RLIKE"}
#: The beginning of a comment, or an unusual character.
_ODD: Final = r"--|/\*|[^\n -~]"
#: Words that open a type in angle brackets: within the brackets, ``>>`` is two tokens.
_NESTING: Final = frozenset({"ARRAY", "MAP", "STRUCT"})


class Tokens(msgspec.Struct, frozen=True):
    """The tokens of a text, as three lists of equal length: the name of each token's kind (a word in
    capitals, a sign, or a class such as ``<string>``), and the offsets of its start and end in the text."""

    kinds: list[str]
    starts: list[int]
    ends: list[int]


def tokens_of(sql: str, start: int = 0) -> Tokens:
    """Split the text from offset ``start`` into tokens. An invalid token, such as an unclosed quote, is
    ``<unknown>``; an unclosed comment is ``<unknown>`` up to the end. Raises FAILED_TO_PARSE_TOO_COMPLEX for
    more than :data:`MOST_TOKENS` tokens.

    >>> tokens_of("SELECT a >> 1.5, 'x'").kinds
    ['SELECT', 'A', '>>', '<decimal>', ',', '<string>']
    """
    kinds: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    depth, place, size = 0, start, len(sql)
    match_at = re.compile(_TOKEN).match
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
            kind = SAME.get(word, word)
            depth += kind in _NESTING
        elif kind == "integer":
            kind = "<integer>"
        elif kind == "word":
            kind = _kind_of_word(match["word"])
            depth += kind in _NESTING
        elif kind == "sign":
            kind = SAME.get(match["sign"], match["sign"])
            if depth and kind[0] == ">":
                if kind in (">>", ">>>"):
                    kind, place = ">", begin + 1
                depth -= kind == ">"
        elif kind == "comment":
            end = comments.comment_end(sql, begin)
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


def usual_tokens(sql: str) -> list[str]:
    """Return the tokens of a text, in capitals, faster than :func:`tokens_of`. The list is right only if all
    tokens are of the commonest kinds; if there is any other token, the list contains an empty text.

    >>> usual_tokens("select a <= 1"), usual_tokens("1.5")
    (['SELECT', 'A', '<=', '1'], ['', '', '5'])
    """
    return _USUAL.findall(sql.upper()) if sql.isascii() else [""]


def without_comments(sql: str) -> str:
    """Return the text with comments and unusual white space replaced by blanks, since other parsers read them
    differently. Line breaks and hints stay, and so do all offsets.

    >>> without_comments("SELECT 1 /* /* a */ */ + 2 -- b")
    'SELECT 1               + 2     '
    """
    is_usual = sql.isascii() and sql.isprintable() and "--" not in sql and "/*" not in sql
    if is_usual or re.search(_ODD, sql) is None:
        return sql
    tokens = tokens_of(sql)
    place = 0
    parts: list[str] = []
    for start, end in zip((*tokens.starts, len(sql)), (*tokens.ends, len(sql)), strict=True):
        parts += (re.sub(r"[^\n]", " ", sql[place:start]), sql[start:end])
        place = end
    return "".join(parts)


def _kind_of_word(text: str) -> str:
    """Return the kind of a token that consists of letters, digits and underscores: the word in capitals;
    ``<word>`` for a name that begins with a digit; a class such as ``<integer>`` for a number; ``<unknown>``
    if it has characters that Spark doesn't allow. The grammar decides whether the word is a keyword."""
    if text[0].isdigit():
        number = re.fullmatch(_INTEGER, text)
        return "<word>" if number is None else f"<{number.lastgroup or 'integer'}>"
    if not text.isascii() and not text.replace("_", "").isalnum():
        return "<unknown>"
    word = text.upper()
    return SAME.get(word, word)
