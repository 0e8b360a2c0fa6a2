"""Tokens of a text that may be half typed."""

import re
from bisect import bisect_left
from typing import Final

import msgspec

from sqlfront_planner.syntax.lexer import tokens_of

#: Kinds of tokens that an operand of an expression ends with, besides words.
OPERAND_ENDS = frozenset(
    {")", "]", "<quoted>", "<string>", "<integer>", "<decimal>", "<long>", "<number>", "?"}
)

#: The begin of a quote, block of code or comment.
_OPENING: Final = re.compile(r"""['"`]|/\*|\$\w*\$""")


class TextToken(msgspec.Struct, frozen=True):
    """A token: its ``kind`` as :func:`~sqlfront_planner.syntax.lexer.tokens_of` names it (a word in capitals,
    a sign, a class such as ``<string>``), and its half-open range of offsets in the text."""

    kind: str
    start: int
    end: int

    @property
    def is_word(self) -> bool:
        """Whether the token is a word: a keyword, or a name without backticks."""
        return self.kind[0].isalpha() or self.kind[0] == "_" or self.kind == "<word>"


def text_tokens(text: str) -> list[TextToken]:
    """Return the tokens of a text. An unclosed quote or comment is one ``<unknown>`` token up to the end of
    the text, so that nothing in it counts as SQL.

    >>> [token.kind for token in text_tokens("select 'a;")]
    ['SELECT', '<unknown>']
    """
    found = tokens_of(text)
    tokens: list[TextToken] = []
    for kind, start, end in zip(found.kinds, found.starts, found.ends, strict=True):
        if kind == "<unknown>" and opens_quote(text, start):
            tokens.append(TextToken(kind, start, len(text)))
            break
        tokens.append(TextToken(kind, start, end))
    return tokens


def opens_quote(text: str, start: int) -> bool:
    """Return whether the text from the offset ``start`` of an ``<unknown>`` token on is an unclosed quote,
    block of code or comment."""
    return _OPENING.match(text, start) is not None


def position_of(tokens: list[TextToken], offset: int) -> int:
    """Return the number of tokens that end at or before the character ``offset`` of the text."""
    return bisect_left(tokens, offset + 1, key=lambda token: token.end)


def name_of(text: str, token: TextToken) -> str:
    """Return the name that a token of ``text`` stands for, without backticks.

    >>> name_of("`a``b`", TextToken("<quoted>", 0, 6))
    'a`b'
    """
    written = text[token.start : token.end]
    return written[1:-1].replace("``", "`") if token.kind == "<quoted>" else written
