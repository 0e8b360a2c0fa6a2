"""Tokens of Spark SQL: their positions, and the values of string literals.

Positions are offsets in the statement's text throughout.
"""

import re
import threading
from typing import Final

from sqlglot import exp
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

from sqlfront_planner.syntax.lexer import without_comments
from sqlfront_planner.tokens.dialect import SPARK
from sqlfront_values.errors import DatabaseError, NotSupportedError, spark_error
from sqlfront_values.java.surrogates import well_formed

# Patterns are compiled at first use; most processes never use them.
_BAD_HEX: Final = r"\b[xX]('[^']*[^'0-9a-fA-F][^']*')"
_VARIABLE: Final = r"\$\{\S+?\}"
_ESCAPE: Final = r"(?s)\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([01][0-7]{2})|(.))"
#: Code points from here on are two surrogates.
_SUPPLEMENTARY: Final = 0x10000
_ESCAPED: Final = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a", "%": "\\%", "_": "\\_"}


class _Tools(threading.local):
    """The tokenizer and the parser of one thread, made once: making new ones would take a fourth of the
    parsing time of a short text."""

    def __init__(self) -> None:
        self.tokenizer = SPARK.tokenizer()
        self.parser = SPARK.parser()


_TOOLS: Final = _Tools()


def tokenize(sql: str) -> list[Token]:
    """Split a text into tokens with sqlglot's Spark tokenizer.

    Raises ProgrammingError (INVALID_TYPED_LITERAL) for invalid hexadecimal digits, NotSupportedError for
    ``${name}`` and for any other text that the tokenizer can't read.
    """
    refuse_unread(sql)
    try:
        return _TOOLS.tokenizer.tokenize(without_comments(sql))
    except TokenError as error:
        malformed = re.search(_BAD_HEX, sql)
        if malformed is not None:
            raise invalid_hexadecimal(malformed[1], malformed.span(), sql) from None
        raise unread_at(None, sql) from error


def refuse_unread(sql: str) -> None:
    """Raise NotSupportedError for ``${name}``: Spark replaces it with the value of a setting, anywhere in the
    text."""
    found = re.search(_VARIABLE, sql) if "${" in sql else None
    if found is not None:
        error = NotSupportedError("${...} is not supported.", position=found.span())
        error.locate(sql)
        raise error


def parse_tokens(tokens: list[Token], sql: str) -> list[exp.Expr | None]:
    """Parse the tokens of the text ``sql`` with sqlglot's Spark parser into the trees of its statements, None
    for an empty statement. Raises sqlglot's ParseError."""
    return _TOOLS.parser.parse(tokens, sql)


def unread_at(token: Token | None, sql: str) -> NotSupportedError:
    """Make the error for text that Spark's grammar accepts and sqlglot's doesn't. ``token`` is where sqlglot
    fails, None = at the end of the text."""
    if token is not None:
        return unsupported_at(token, f"'{sql[token.start : token.end + 1]}' in this place", sql)
    end = len(sql.rstrip())
    error = NotSupportedError("A statement that ends here is not supported.", position=(end, end + 1))
    error.locate(sql)
    return error


def error_at(token: Token, condition: str, message: str, sql: str) -> DatabaseError:
    """Make Spark's error of the condition ``condition`` at the position of ``token`` in the text ``sql``."""
    error = spark_error(condition, message, position=(token.start, token.end + 1))
    error.locate(sql)
    return error


def unsupported_at(token: Token, what: str, sql: str) -> NotSupportedError:
    """Make the error "``what`` is not supported." at the position of ``token`` in the text ``sql``."""
    error = NotSupportedError(f"{what} is not supported.", position=(token.start, token.end + 1))
    error.locate(sql)
    return error


def unknown_type_at(token: Token, sql: str) -> DatabaseError:
    """Make Spark's error UNSUPPORTED_DATATYPE for ``token``, an unknown word where a type is expected."""
    return error_at(token, "UNSUPPORTED_DATATYPE", f'Unsupported data type "{token.text.upper()}".', sql)


def no_literals_of(word: Token, sql: str) -> DatabaseError:
    """Make Spark's error UNSUPPORTED_TYPED_LITERAL for the name ``word`` before a string, as in ``a 'x'``,
    which looks like the typed literal ``date 'x'``."""
    return error_at(
        word,
        "UNSUPPORTED_TYPED_LITERAL",
        f'Literals of the type "{word.text.upper()}" are not supported. Supported types are "DATE",'
        ' "TIMESTAMP_NTZ", "TIMESTAMP_LTZ", "TIMESTAMP", "INTERVAL", "X", "TIME".',
        sql,
    )


def invalid_hexadecimal(written: str, position: tuple[int, int], sql: str) -> DatabaseError:
    """Make Spark's error INVALID_TYPED_LITERAL for the literal at ``position`` of the text ``sql``, whose
    digits, ``written`` with their quotes, aren't hexadecimal."""
    error = spark_error(
        "INVALID_TYPED_LITERAL",
        f'The value of the typed literal "X" is invalid: {written}.',
        position=position,
    )
    error.locate(sql)
    return error


def unescape(quoted: str) -> str:
    r"""Return the value of a string literal. ``quoted`` is the literal as written, with its quotes (and the
    ``r`` of a raw string).

    >>> unescape("'it''s'"), unescape(r"'a\n\%'"), unescape(r"r'\n'")
    ("it's", 'a\n\\%', '\\n')
    """
    if quoted[0] in "rR":
        return quoted[2:-1]
    quote, body = quoted[0], quoted[1:-1]
    body = body.replace(quote * 2, quote)
    return well_formed(re.sub(_ESCAPE, _unescaped, body)) if "\\" in body else body


def _unescaped(match: re.Match[str]) -> str:
    if match[1]:
        return chr(int(match[1], 16))
    if match[2]:
        return _of_code_point(int(match[2], 16))
    if match[3]:
        return chr(int(match[3], 8))
    return _ESCAPED.get(match[4], match[4])


def _of_code_point(code: int) -> str:
    """Return the character of a code point. For a number beyond the last code point, return the two
    surrogates that Java makes of it."""
    if code < _SUPPLEMENTARY:
        return chr(code)
    return chr((code >> 10) + 0xD7C0 & 0xFFFF) + chr((code & 0x3FF) + 0xDC00)


def replaced(token: Token, kind: TokenType, text: str) -> Token:
    """Copy the token with another type and text; its position in the statement stays."""
    return Token(kind, text, token.line, token.col, token.start, token.end, [])
