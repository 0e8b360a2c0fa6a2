"""What sqlglot's parser takes and Spark's refuses, or reads in another way: found on the tokens.

Errors: ProgrammingError (PARSE_SYNTAX_ERROR) for what Spark refuses, as an empty select list;
NotSupportedError for what Spark would read otherwise, or what sqlglot drops a part of, as FILTER without
WHERE.
"""

from collections.abc import Callable, Sequence
from typing import Final

from sqlglot.tokenizer_core import Token, TokenType

from sqlfront_planner.tokens import syntax_error_at, unsupported_at

_T = TokenType

_SET_WORDS: Final = frozenset({_T.UNION, _T.INTERSECT, _T.EXCEPT, _T.ALL, _T.DISTINCT})


def check(tokens: Sequence[Token], sql: str) -> None:
    """Raise the first error in a query's tokens, which the tokenizer made from ``sql``; see the module's
    docstring."""
    for position, token in enumerate(tokens):
        wrong = _CHECKS.get(token.token_type)
        if wrong is not None:
            wrong(tokens, position, sql)


def begins_query(tokens: Sequence[Token], position: int) -> bool:
    """Whether a query may begin at the position."""
    return not position or tokens[position - 1].token_type in _SET_WORDS | {_T.L_PAREN}


def _comma(tokens: Sequence[Token], position: int, sql: str) -> None:
    """One with nothing on one side."""
    following = _at(tokens, position + 1)
    if not position or tokens[position - 1].token_type in (_T.SELECT, _T.L_PAREN, _T.COMMA):
        raise syntax_error_at(tokens[position], sql)
    if following is None or following.token_type in (_T.COMMA, _T.R_PAREN, _T.FROM):
        raise syntax_error_at(following, sql)


def _select(tokens: Sequence[Token], position: int, sql: str) -> None:
    """An empty select list; SELECT may be a name elsewhere."""
    if begins_query(tokens, position) and _ends_query(tokens, position + 1):
        raise syntax_error_at(_at(tokens, position + 1), sql)


def _group_by(tokens: Sequence[Token], position: int, sql: str) -> None:
    if _ends_query(tokens, position + 1):
        raise syntax_error_at(_at(tokens, position + 1), sql)


def _grouping_word(tokens: Sequence[Token], position: int, sql: str) -> None:
    """``WITH ROLLUP`` and ``WITH CUBE`` end a GROUP BY."""
    following = _at(tokens, position + 1)
    ends = position and tokens[position - 1].token_type == _T.WITH
    if ends and following is not None and following.token_type in (_T.COMMA, _T.WITH):
        raise syntax_error_at(following, sql)


def _between(tokens: Sequence[Token], position: int, sql: str) -> None:
    """Its AND has to follow before its parentheses close."""
    depth = 0
    for token in tokens[position + 1 :]:
        depth += _depth(token)
        if depth < 0:
            break
        if depth == 0 and token.token_type == _T.AND:
            return
    raise syntax_error_at(None, sql)


def _rows(tokens: Sequence[Token], position: int, sql: str) -> None:
    """``OFFSET 1 ROWS``."""
    if [token.token_type for token in tokens[max(0, position - 2) : position]] == [_T.OFFSET, _T.NUMBER]:
        raise syntax_error_at(tokens[position], sql)


def _foreign_parameter(tokens: Sequence[Token], position: int, sql: str) -> None:
    """``@x`` and ``$1`` are other dialects'."""
    raise syntax_error_at(tokens[position], sql)


def _filter(tokens: Sequence[Token], position: int, sql: str) -> None:
    after_call = position and tokens[position - 1].token_type == _T.R_PAREN
    opening, first = _at(tokens, position + 1), _at(tokens, position + 2)
    if not after_call or opening is None or opening.token_type != _T.L_PAREN:
        return
    if first is None or first.token_type != _T.WHERE:
        raise unsupported_at(tokens[position], "FILTER without WHERE", sql)


def _hexadecimal(tokens: Sequence[Token], position: int, sql: str) -> None:
    """``0x1F``, which is a name."""
    if sql[tokens[position].start] == "0":
        raise unsupported_at(tokens[position], "A name that begins with 0x", sql)


def _window(tokens: Sequence[Token], position: int, sql: str) -> None:
    """The function of that name; behind the clause's word stands a name."""
    following = _at(tokens, position + 1)
    if following is not None and following.token_type == _T.L_PAREN:
        raise unsupported_at(tokens[position], "The function window", sql)


def _pipe(tokens: Sequence[Token], position: int, sql: str) -> None:
    """sqlglot puts the steps into one SELECT whatever their order."""
    raise unsupported_at(tokens[position], "|>", sql)


def _from(tokens: Sequence[Token], position: int, sql: str) -> None:
    """``FROM t INSERT ...`` and ``FROM t SELECT a SELECT b``, which give one relation to several queries."""
    if position:
        return
    depth = selects = 0
    for token in tokens:
        depth += _depth(token)
        selects += depth == 0 and token.token_type == _T.SELECT
        if depth == 0 and (token.token_type == _T.INSERT or selects > 1):
            raise unsupported_at(token, "FROM before INSERT or before several SELECTs", sql)


def _at(tokens: Sequence[Token], position: int) -> Token | None:
    return tokens[position] if position < len(tokens) else None


def _ends_query(tokens: Sequence[Token], position: int) -> bool:
    token = _at(tokens, position)
    return token is None or token.token_type == _T.R_PAREN


def _depth(token: Token) -> int:
    """How many parentheses are open more after the token."""
    return (token.token_type == _T.L_PAREN) - (token.token_type == _T.R_PAREN)


#: What is looked at where a token of a type stands.
_CHECKS: Final[dict[TokenType, Callable[[Sequence[Token], int, str], None]]] = {
    _T.BETWEEN: _between,
    _T.COMMA: _comma,
    _T.CUBE: _grouping_word,
    _T.FILTER: _filter,
    _T.FROM: _from,
    _T.GROUP_BY: _group_by,
    _T.HEX_STRING: _hexadecimal,
    _T.PARAMETER: _foreign_parameter,
    _T.PIPE_GT: _pipe,
    _T.ROLLUP: _grouping_word,
    _T.ROW: _rows,
    _T.ROWS: _rows,
    _T.SELECT: _select,
    _T.WINDOW: _window,
}
