"""Texts under Spark's setting ``spark.sql.parser.escapedStringLiterals``: the value of a string literal is
the text between its quotes, with all escapes as they are written.

Spark's lexer doesn't know the setting: it finds the same literals, and a raw string (``r'a'``) loses its
first and last character, so that its value is ``'a``. The setting concerns expressions. Other strings have
the same value as without the setting: those of typed literals (``DATE '...'``), of ESCAPE, and of clauses
such as COMMENT and OPTIONS.
"""

from collections.abc import Iterator
from typing import Final

from sqlfront_planner.syntax.lexer import Tokens, tokens_of

#: Words whose string is no expression.
_BEFORE_OTHERS: Final = frozenset(
    {
        "COMMENT", "DATE", "ESCAPE", "INTERVAL", "LOCATION", "TIME", "TIMESTAMP", "TIMESTAMP_LTZ",
        "TIMESTAMP_NTZ", "X",
    }
)  # fmt: skip
#: Words whose parentheses hold names and values that are no expressions.
_LISTS: Final = frozenset({"DBPROPERTIES", "OPTIONS", "PROPERTIES", "TBLPROPERTIES"})
#: First words of statements whose strings are no expressions.
_COMMANDS: Final = frozenset({"ALTER", "COMMENT", "DESC", "DESCRIBE", "REFRESH", "SET", "SHOW"})


def with_usual_escapes(sql: str) -> str:
    r"""Return the text that means without the setting what ``sql`` means with the setting.

    >>> print(with_usual_escapes(r"SELECT 'a\n', 'it''s', DATE '2024-01-01'"))
    SELECT 'a\\n', 'it\'\'s', DATE '2024-01-01'
    """
    if "\\" not in sql and "''" not in sql and '""' not in sql and "r" not in sql.lower():
        return sql
    tokens = tokens_of(sql)
    if not tokens.kinds or tokens.kinds[0] in _COMMANDS:
        return sql
    parts: list[str] = []
    place = 0
    for start, end in _expressions(tokens):
        parts += (sql[place:start], _usual(sql[start:end]))
        place = end
    return "".join((*parts, sql[place:]))


def _expressions(tokens: Tokens) -> Iterator[tuple[int, int]]:
    """Yield the ranges in the text of the string literals that are expressions."""
    depth, outside, before = 0, 0, ""
    for kind, start, end in zip(tokens.kinds, tokens.starts, tokens.ends, strict=True):
        depth += (kind == "(") - (kind == ")")
        if kind == "(" and before in _LISTS and not outside:
            outside = depth
        outside = outside if depth >= outside else 0
        if kind == "<string>" and not outside and before not in _BEFORE_OTHERS:
            yield start, end
        before = kind


def _usual(literal: str) -> str:
    """Return the literal of the usual form for a literal of the other form. A raw string becomes an ordinary
    one, with a blank that separates it from a quote before."""
    lead, quote = (" ", literal[1]) if literal[0] in "rR" else ("", literal[0])
    value = literal[1:-1].replace("\\", "\\\\").replace(quote, f"\\{quote}")
    return f"{lead}{quote}{value}{quote}"
