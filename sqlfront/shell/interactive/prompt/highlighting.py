"""Colours of SQL text, by the tokens and words of Spark's grammar."""

from collections.abc import Iterator
from functools import cache
from typing import ClassVar, Final

from pygments.lexer import Lexer
from pygments.token import Comment, Error, Keyword, Name, Number, Operator, Punctuation, String, Whitespace
from pygments.token import _TokenType as TokenType

from sqlfront.shell.interactive.completion.functions import spark_functions
from sqlfront.shell.interactive.text.tokens import TextToken, text_tokens
from sqlfront_planner.syntax.grammar import spark_grammar

#: Characters of a text from which on it is not coloured, so that typing stays quick.
_LONGEST = 50_000
#: The styles of classes of tokens. Colours of xterm's palette with a contrast of at least 3 to 1, the least
#: of WCAG 2 for large text, on black as on white.
COLOURS: Final = {
    Keyword: "bold #0087d7",
    Name.Function: "#008787",
    Name.Variable: "#878700",
    Name.Builtin: "bold #d75f00",
    String: "#5f8700",
    Number: "#af5fd7",
    Comment: "italic #878787",
    Error: "#ff0000",
}
_CLASSES = {
    "<string>": String,
    "<quoted>": Name.Variable,
    "<integer>": Number,
    "<decimal>": Number,
    "<long>": Number,
    "<number>": Number,
    "<code>": String,
}


class SparkSqlLexer(Lexer):
    """A lexer of Pygments for Spark's SQL and the shell's commands, over the tokens of Spark's grammar."""

    name = "Spark SQL of sqlfront"
    aliases: ClassVar[list[str]] = []

    def get_tokens_unprocessed(self, text: str) -> Iterator[tuple[int, TokenType, str]]:
        """Yield the parts of a text in order, each with its offset, its class of tokens in Pygments, and its
        text. A very long text is one part."""
        if len(text) > _LONGEST:
            yield 0, Name, text
            return
        place = 0
        tokens = text_tokens(text)
        for position, token in enumerate(tokens):
            if token.start > place:
                yield place, *_between(text[place : token.start])
            following = tokens[position + 1].kind if position + 1 < len(tokens) else ""
            yield token.start, _class_of(token, text, following), text[token.start : token.end]
            place = token.end
        if place < len(text):
            yield place, *_between(text[place:])


def _between(text: str) -> tuple[TokenType, str]:
    """Return the class and the text of the characters between two tokens: comment or blanks."""
    return (Whitespace if text.isspace() else Comment), text


def _class_of(token: TextToken, text: str, following: str) -> TokenType:
    kind = token.kind
    if kind in _CLASSES:
        return _CLASSES[kind]
    if kind == "<unknown>":
        start = text[token.start]
        if start == "\\":
            return Name.Builtin
        return String if start in "'\"$" else Comment if start == "/" else Error
    if not token.is_word:
        return Punctuation if kind in "();,.[]" else Operator
    if following == "(" and kind.lower() in spark_functions():
        return Name.Function
    return Keyword if kind in keywords() else Name


@cache
def keywords() -> frozenset[str]:
    """Return the keywords of Spark's grammar, in capitals."""
    return frozenset(kind for kind in spark_grammar().kinds if kind[0].isalpha())
