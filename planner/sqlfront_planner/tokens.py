"""Tokens of Spark SQL: where they begin and end, what string literals mean, and the marks that
:mod:`sqlfront_planner.token_rewriting` leaves in them for the binder.

Positions are offsets in the statement's text throughout.
"""

import re
import threading
from typing import Final

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

from sqlfront_planner.syntax.lexer import without_comments
from sqlfront_values.errors import DatabaseError, NotSupportedError, spark_error
from sqlfront_values.java.surrogates import well_formed

SPARK: Final = Dialect.get_or_raise("spark")
#: Stands before the name of a function call.
FUNCTION_MARK: Final = "f$"
#: The right side of ``IS`` in ``IS NOT NULL``.
NOT_NULL_MARK: Final = "$NOT NULL"
#: The kind of a join that was written out, other than a comma's.
EXPLICIT_CROSS: Final = "CROSS JOIN"


# Patterns are compiled when they are needed, which most processes never do.
_BAD_HEX: Final = r"\b[xX]('[^']*[^'0-9a-fA-F][^']*')"
_VARIABLE: Final = r"\$\{\S+?\}"
_ESCAPE: Final = r"(?s)\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([01][0-7]{2})|(.))"
#: From here on a character is two surrogates.
_SUPPLEMENTARY: Final = 0x10000
_ESCAPED: Final = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a", "%": "\\%", "_": "\\_"}


class _Tools(threading.local):
    """Each thread's tokenizer and parser: making them anew takes a fourth of what a short text takes."""

    def __init__(self) -> None:
        self.tokenizer = SPARK.tokenizer()
        self.parser = SPARK.parser()


_TOOLS: Final = _Tools()


def tokenize(sql: str) -> list[Token]:
    """The tokens of a text as sqlglot's Spark tokenizer sees them.

    Raises ProgrammingError (INVALID_TYPED_LITERAL) for hexadecimal digits that are none, NotSupportedError as
    :func:`refuse_unread` and for what else that tokenizer can't read.
    """
    refuse_unread(sql)
    try:
        return _TOOLS.tokenizer.tokenize(without_comments(sql))
    except TokenError as error:
        malformed = re.search(_BAD_HEX, sql)
        if malformed is not None:
            failure = spark_error(
                "INVALID_TYPED_LITERAL",
                f'The value of the typed literal "X" is invalid: {malformed[1]}.',
                position=malformed.span(),
            )
            failure.locate(sql)
            raise failure from None
        raise unread_at(None, sql) from error


def refuse_unread(sql: str) -> None:
    """Raise NotSupportedError for what isn't as it stands: Spark puts the value of a setting in the place of
    ``${name}``, wherever that is."""
    found = re.search(_VARIABLE, sql) if "${" in sql else None
    if found is not None:
        error = NotSupportedError("${...} is not supported.", position=found.span())
        error.locate(sql)
        raise error


def parse_tokens(tokens: list[Token], sql: str) -> list[exp.Expr | None]:
    """The trees of a text's statements, as sqlglot's Spark parser makes them. Raises sqlglot's ParseError."""
    return _TOOLS.parser.parse(tokens, sql)


def unread_at(token: Token | None, sql: str) -> NotSupportedError:
    """The refusal of what Spark's grammar takes and sqlglot's doesn't: at a token, None for the end of the
    text."""
    if token is not None:
        return unsupported_at(token, f"'{sql[token.start : token.end + 1]}' in this place", sql)
    end = len(sql.rstrip())
    error = NotSupportedError("A statement that ends here is not supported.", position=(end, end + 1))
    error.locate(sql)
    return error


def error_at(token: Token, condition: str, message: str, sql: str) -> DatabaseError:
    """Spark's error of that condition, at a token."""
    error = spark_error(condition, message, position=(token.start, token.end + 1))
    error.locate(sql)
    return error


def unsupported_at(token: Token, what: str, sql: str) -> NotSupportedError:
    """What is not supported, at a token."""
    error = NotSupportedError(f"{what} is not supported.", position=(token.start, token.end + 1))
    error.locate(sql)
    return error


def unknown_type_at(token: Token, sql: str) -> DatabaseError:
    """Spark's UNSUPPORTED_DATATYPE for a word where a type is due."""
    return error_at(token, "UNSUPPORTED_DATATYPE", f'Unsupported data type "{token.text.upper()}".', sql)


def unescape(quoted: str) -> str:
    r"""The value of a string literal as written, quotes (and the ``r`` of a raw one) included.

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
    """The character, or the two surrogates that Java makes of a number beyond the last one."""
    if code < _SUPPLEMENTARY:
        return chr(code)
    return chr((code >> 10) + 0xD7C0 & 0xFFFF) + chr((code & 0x3FF) + 0xDC00)


def replaced(token: Token, kind: TokenType, text: str) -> Token:
    """Another token in the same place."""
    return Token(kind, text, token.line, token.col, token.start, token.end, [])
