"""Parsing of a query's text into sqlglot's tree, for texts that Spark's grammar accepts."""

import re
from collections.abc import Mapping
from itertools import pairwise, product
from typing import Final

from sqlglot import exp
from sqlglot.errors import ParseError
from sqlglot.tokenizer_core import Token, TokenType

from sqlfront_planner.statements.query import Query
from sqlfront_planner.syntax import comments
from sqlfront_planner.syntax.lexer import tokens_of
from sqlfront_planner.syntax.recognizer import keywords_as_names
from sqlfront_planner.tokens import nesting, pipes, recursions
from sqlfront_planner.tokens.checks import check
from sqlfront_planner.tokens.inline_rows import with_enclosed_rows
from sqlfront_planner.tokens.laterals import with_lateral_marks
from sqlfront_planner.tokens.rewriting import rewrite
from sqlfront_planner.tokens.tokenizing import parse_tokens, tokenize, unknown_type_at, unread_at
from sqlfront_values.errors import DatabaseError, NotSupportedError
from sqlfront_values.stacks import on_fresh_stack

#: The key in the meta data of the SELECT that represents DELETE, UPDATE, or a part of MERGE.
CHANGES: Final = "changes"
#: The key in the meta data of a column of such a SELECT that is a condition.
CONDITION: Final = "condition"


def lead(sql: str, start: int = 0) -> tuple[int, int] | None:
    """Return the range (start, end) of the first word from offset ``start``, or of the first character if
    that isn't a letter; white space and comments are skipped. None if nothing follows.

    >>> lead("/* a */ select 1"), lead("/* a /* b */ */ select 1")
    ((8, 14), (16, 22))
    """
    while (match := _LEAD.match(sql, start)) is not None:
        end = comments.comment_end(sql, match.start(1)) if match[1] == "/*" else None
        if end is None:
            return match.span(1)
        start = end
    return None


def statement_text(sql: str, start: int) -> str:
    r"""Return the text from offset ``start``, without the semicolons and comments behind the last token.

    >>> statement_text("explain select 1 -- one\n;", 8)
    'select 1'
    """
    tokens = tokens_of(sql, start)
    ends = [end for kind, end in zip(tokens.kinds, tokens.ends, strict=True) if kind != ";"]
    return sql[start : ends[-1] if ends else start]


#: Tokens of a text up to which the text is neither deep nor long, so that no limit has to be checked.
_FEW_TOKENS: Final = 100
#: Tokens of a text up to which the text is searched for keywords used as names: the search takes time by the
#: square of their number.
_MOST_TOKENS_WITH_NAMES: Final = 2_000
_T: Final = TokenType
#: Keywords that sqlglot reads as clauses in any place; the pairs of a preceding token and such a keyword that
#: begin an item of a SELECT; and the tokens that may follow a name there.
_CLAUSES: Final = frozenset(
    {
        _T.ALL, _T.DISTINCT, _T.EXCEPT, _T.FETCH, _T.FROM, _T.INTERSECT, _T.INTO, _T.JOIN, _T.LATERAL,
        _T.SOME, _T.UNION,
    }
)  # fmt: skip
_BEGINNINGS: Final = frozenset(product((_T.SELECT, _T.COMMA), _CLAUSES))
_AFTER_NAME: Final = frozenset({_T.FROM, _T.COMMA, _T.DOT})
_LEAD: Final = re.compile(r"(?:\s|--(?:\\\n|[^\r\n])*)*+([^\W\d]\w*|/\*|\S)")


def parse_query(sql: str, start: int = 0, before: int = 0) -> Query:
    """Parse the query between offset ``start`` and the end of the text, whose syntax must have been checked.
    ``before``: the number of parameters ``?`` in the text before the query.

    Raises NotSupportedError for text that sqlglot can't read, or reads differently from Spark (see
    :mod:`sqlfront_planner.tokens.checks`), and UNSUPPORTED_DATATYPE for an unknown type.
    """
    return query_of(statement_tokens(sql, start), sql, before)


def statement_tokens(sql: str, start: int = 0) -> list[Token]:
    """Return the tokens of the one statement between offset ``start`` and the end of the text, without
    trailing semicolons. Positions count from the start of the text. Raises NotSupportedError for a semicolon
    between statements."""
    blank = re.sub(r"[^\n]", " ", sql[:start]) + sql[start:] if start else sql
    return _single_statement(tokenize(blank), sql)


def query_of(tokens: list[Token], sql: str, before: int = 0) -> Query:
    """Parse tokens of the text ``sql`` into a query; the tokens may be in another order than in the text.
    ``before`` is the number of parameters ``?`` before the query. Raises NotSupportedError for a statement
    that isn't a query and for text that sqlglot can't read or reads differently from Spark, and
    UNSUPPORTED_DATATYPE for an unknown type."""
    first, last = tokens[0], tokens[-1]
    if any(token.token_type is _T.PIPE_GT for token in tokens):
        tokens = pipes.rewrite_pipes(tokens, sql, before)
    if any(token.text.upper() == "RECURSION" for token in tokens):
        tokens = recursions.with_level_marks(tokens)
    if len(tokens) > _FEW_TOKENS:
        tokens = nesting.bounded(tokens, sql)
    if _begins_item_with_keyword(tokens):
        tokens = with_names(tokens, sql) or tokens
    try:
        tree = _tree(tokens, sql, before)
    except NotSupportedError as error:
        named = with_names(tokens, sql)
        if named is None:
            raise
        try:
            tree = _tree(named, sql, before)
        except NotSupportedError:
            raise error from None
    if not isinstance(tree, exp.Query | exp.Values):
        raise unread_at(first, sql)
    return Query(sql, sql[first.start : max(first.start, last.end) + 1], tree)


def _begins_item_with_keyword(tokens: list[Token]) -> bool:
    """Return whether an item of a SELECT may be a name that sqlglot silently reads as the keyword of a
    clause, as in ``SELECT union FROM t``."""
    kinds = [token.token_type for token in tokens]
    if _BEGINNINGS.isdisjoint(pairwise(kinds)):
        return False
    return any(
        (before, kind) in _BEGINNINGS and after in _AFTER_NAME
        for before, kind, after in zip(kinds, kinds[1:], kinds[2:], strict=False)
    )


def _tree(tokens: list[Token], sql: str, before: int) -> exp.Expr | None:
    check(tokens, sql)
    rewritten = rewrite(with_lateral_marks(with_enclosed_rows(tokens)), sql, before)
    try:
        trees = _trees(rewritten, sql)
    except ParseError as error:
        raise _unread(error, rewritten, sql) from None
    tree = trees[0] if trees else None
    if tree is not None and len(rewritten) > _FEW_TOKENS:
        nesting.refuse_deep_tree(tree, rewritten)
    return tree


def _trees(tokens: list[Token], sql: str) -> list[exp.Expr | None]:
    try:
        return parse_tokens(tokens, sql)
    except RecursionError:
        return on_fresh_stack(parse_tokens, tokens, sql)


def with_names(tokens: list[Token], sql: str) -> list[Token] | None:
    """Return the tokens in which each keyword that Spark reads as a name is a quoted name: no word is
    reserved in Spark, but sqlglot reads most keywords as keywords. Return None if no keyword is a name, if
    the text is too long for the search, or if sqlglot has merged such a keyword with a word that isn't a
    name."""
    found = tokens_of(sql)
    if len(found.kinds) > _MOST_TOKENS_WITH_NAMES:
        return None
    places = {found.starts[place]: found.ends[place] for place in keywords_as_names(found)}
    changed: list[Token] = []
    for token in tokens:
        if token.start not in places:
            changed.append(token)
            continue
        start = token.start
        while start in places and places[start] <= token.end + 1:  # sqlglot makes one token of GROUP BY
            end = places[start]
            text = sql[start:end]
            changed.append(Token(TokenType.IDENTIFIER, text, token.line, token.col, start, end - 1, []))
            start = end + len(sql[end : token.end + 1]) - len(sql[end : token.end + 1].lstrip())
        if start <= token.end:
            return None
    return changed if places else None


def _single_statement(tokens: list[Token], sql: str) -> list[Token]:
    """The tokens without trailing semicolons. Raises NotSupportedError for a semicolon before other
    tokens."""
    while tokens and tokens[-1].token_type == TokenType.SEMICOLON:
        tokens = tokens[:-1]
    for token in tokens:
        if token.token_type == TokenType.SEMICOLON:
            raise unread_at(token, sql)
    return tokens


def _unread(error: ParseError, tokens: list[Token], sql: str) -> DatabaseError:
    """Make the error for the token at which sqlglot's parser failed, or for the end of the text if sqlglot
    expects something after the last token."""
    detail = error.errors[0]
    description = str(detail.get("description"))
    if description.startswith("Expected TYPE"):
        return _unknown_type(detail, tokens, sql)
    place = (detail.get("line"), detail.get("col"))
    index = next((index for index, token in enumerate(tokens) if (token.line, token.col) == place), None)
    if index is None:
        return unread_at(None, sql)
    if "Required keyword" in description or (
        index == len(tokens) - 1 and "Unexpected token" not in description
    ):
        index += 1
    return unread_at(tokens[index] if index < len(tokens) else None, sql)


def _unknown_type(detail: Mapping[str, object], tokens: list[Token], sql: str) -> DatabaseError:
    """Make Spark's error UNSUPPORTED_DATATYPE for a word that sqlglot doesn't know as a type; ``detail`` is
    sqlglot's description of its error. Make a NotSupportedError if there is no word where a type is
    expected."""
    place = (detail.get("line"), detail.get("col"))
    token = next((token for token in tokens if (token.line, token.col) == place), None)
    if token is None or token.token_type == TokenType.R_PAREN:
        return unread_at(token, sql)
    return unknown_type_at(token, sql)
