"""From a query's text to sqlglot's tree, with the errors that Spark's parser would raise."""

import re
from collections.abc import Mapping
from typing import Final

from sqlglot import exp
from sqlglot.errors import ParseError
from sqlglot.tokenizer_core import Token, TokenType

from sqlfront_engine.errors import DatabaseError, spark_error
from sqlfront_planner.statements import Query
from sqlfront_planner.token_checks import check
from sqlfront_planner.token_rewriting import rewrite
from sqlfront_planner.tokens import parse_tokens, syntax_error_at, tokenize, unknown_type_at

#: What the SELECT that stands for DELETE or UPDATE has in its meta data.
CHANGES: Final = "changes"


def lead(sql: str, start: int = 0) -> tuple[int, int] | None:
    """The range of the first word from ``start``, or of the first character if that isn't a letter; comments
    are skipped. None if there is nothing.

    >>> lead("/* a */ select 1"), lead("/* a /* b */ */ select 1")
    ((8, 14), (16, 22))
    """
    while (match := _LEAD.match(sql, start)) is not None:
        end = _comment_end(sql, match.start(1)) if match[1] == "/*" else None
        if end is None:
            return match.span(1)
        start = end
    return None


_LEAD: Final = re.compile(r"(?:\s|--[^\n]*(?:\n|$))*+([^\W\d]\w*|/\*|\S)")


def _comment_end(sql: str, start: int) -> int | None:
    """Where a bracketed comment ends, which may hold others; None if it doesn't."""
    depth, place = 1, start + 2
    while depth:
        closing, opening = sql.find("*/", place), sql.find("/*", place)
        if closing < 0:
            return None
        opens = 0 <= opening < closing
        depth, place = depth + (1 if opens else -1), (opening if opens else closing) + 2
    return place


def parse_query(sql: str, start: int = 0) -> Query:
    """The query that the text holds from offset ``start`` to its end.

    Raises ProgrammingError (PARSE_SYNTAX_ERROR, PARSE_EMPTY_STATEMENT), NotSupportedError
    (UNSUPPORTED_DATATYPE, and see :mod:`sqlfront_planner.token_checks`).
    """
    return query_of(statement_tokens(sql, start), sql)


def statement_tokens(sql: str, start: int = 0) -> list[Token]:
    """The tokens of the one statement that the text holds from offset ``start`` to its end; there is at least
    one."""
    blank = re.sub(r"[^\n]", " ", sql[:start]) + sql[start:] if start else sql
    return _single_statement(tokenize(blank), sql)


def query_of(tokens: list[Token], sql: str) -> Query:
    """The query that the tokens make; they need not stand in the text's order. Raises as
    :func:`parse_query`."""
    check(tokens, sql)
    rewritten = rewrite(tokens, sql)
    try:
        tree = _tree(rewritten, sql)
    except ParseError as error:
        tree = _with_last_word_as_name(rewritten, sql)
        if tree is None:
            raise _syntax_error(error, rewritten, sql) from None
    if not isinstance(tree, exp.Query | exp.Values):
        raise syntax_error_at(tokens[0], sql)
    return Query(sql, sql[tokens[0].start : max(tokens[0].start, tokens[-1].end) + 1], tree)


def _tree(tokens: list[Token], sql: str) -> exp.Expr | None:
    trees = parse_tokens(tokens, sql)
    return trees[0] if trees else None


def _with_last_word_as_name(tokens: list[Token], sql: str) -> exp.Expr | None:
    """``SELECT * FROM t WHERE``: no word is reserved in Spark, so one that ends the text may be an alias."""
    last = tokens[-1]
    if last.token_type not in _LAST_WORDS:
        return None
    name = Token(TokenType.VAR, sql[last.start : last.end + 1], last.line, last.col, last.start, last.end, [])
    try:
        return _tree([*tokens[:-1], name], sql)
    except ParseError:
        return None


_LAST_WORDS: Final = frozenset(
    {TokenType.FROM, TokenType.WHERE, TokenType.UNION, TokenType.LIMIT, TokenType.HAVING, TokenType.OFFSET}
)


def _single_statement(tokens: list[Token], sql: str) -> list[Token]:
    """The tokens without trailing semicolons."""
    while tokens and tokens[-1].token_type == TokenType.SEMICOLON:
        tokens = tokens[:-1]
    for place, token in enumerate(tokens):
        if token.token_type == TokenType.SEMICOLON:
            raise syntax_error_at(tokens[place + 1], sql)
    if not tokens:
        raise spark_error("PARSE_EMPTY_STATEMENT", "Syntax error, unexpected empty statement.")
    return tokens


def _syntax_error(error: ParseError, tokens: list[Token], sql: str) -> DatabaseError:
    """Spark's PARSE_SYNTAX_ERROR for sqlglot's error: at the token that it names, or, where something is
    missing after the last one, at the end."""
    detail = error.errors[0]
    description = str(detail.get("description"))
    if description.startswith("Expected TYPE"):
        return _unknown_type(detail, tokens, sql)
    place = (detail.get("line"), detail.get("col"))
    index = next((index for index, token in enumerate(tokens) if (token.line, token.col) == place), None)
    if index is None:
        return syntax_error_at(None, sql)
    if "Required keyword" in description or (
        index == len(tokens) - 1 and "Unexpected token" not in description
    ):
        index += 1
    return syntax_error_at(tokens[index] if index < len(tokens) else None, sql)


def _unknown_type(detail: Mapping[str, object], tokens: list[Token], sql: str) -> DatabaseError:
    """Spark's UNSUPPORTED_DATATYPE for the word that sqlglot doesn't know as a type."""
    place = (detail.get("line"), detail.get("col"))
    token = next((token for token in tokens if (token.line, token.col) == place), None)
    if token is None or token.token_type == TokenType.R_PAREN:
        return syntax_error_at(token, sql)
    return unknown_type_at(token, sql)
