"""Checks of a query's tokens for constructs that sqlglot's parser reads differently from Spark's.

Each check raises NotSupportedError, or the error that Spark raises: for a keyword that Spark reads as a name,
or for a text of which sqlglot drops a part, such as FILTER without WHERE.
"""

from collections.abc import Callable, Sequence
from typing import Final

from sqlglot.tokenizer_core import Token, TokenType

from sqlfront_planner.tokens.tokenizing import no_literals_of, unread_at, unsupported_at

_T = TokenType

_OPERATORS: Final = frozenset(
    {
        _T.AMP, _T.CARET, _T.DASH, _T.DIV, _T.DPIPE, _T.EQ, _T.GT, _T.GTE, _T.LT, _T.LTE, _T.MOD, _T.NEQ,
        _T.NULLSAFE_EQ, _T.PIPE, _T.PLUS, _T.SLASH, _T.STAR, _T.TILDE,
    }
)  # fmt: skip
_SET_WORDS: Final = frozenset({_T.UNION, _T.INTERSECT, _T.EXCEPT, _T.ALL, _T.DISTINCT})


def check(tokens: Sequence[Token], sql: str) -> None:
    """Raise an error for the first construct in a query's tokens that sqlglot would read differently from
    Spark: NotSupportedError, or the error that Spark raises for the text. ``sql`` is the text of which the
    tokens were made."""
    for position, token in enumerate(tokens):
        kind = token.token_type
        wrong = _CHECKS.get(kind) if kind is not _T.VAR else _CHECKS_OF_NAMES.get(token.text.upper())
        if wrong is not None:
            wrong(tokens, position, sql)


def begins_query(tokens: Sequence[Token], position: int) -> bool:
    """Return whether a query may begin at the token ``position``: at the start, after an opening parenthesis,
    or after a set operation."""
    return not position or tokens[position - 1].token_type in _SET_WORDS | {_T.L_PAREN}


def _comma(tokens: Sequence[Token], position: int, sql: str) -> None:
    """Raise NotSupportedError for a comma directly after SELECT or before FROM: Spark then reads SELECT or
    FROM as a name, but sqlglot drops the comma."""
    following = _at(tokens, position + 1)
    if tokens[position - 1].token_type == _T.SELECT:
        raise unread_at(tokens[position], sql)
    if following is not None and following.token_type == _T.FROM:
        raise unread_at(following, sql)


def _select(tokens: Sequence[Token], position: int, sql: str) -> None:
    """Raise NotSupportedError for SELECT with nothing after it: Spark reads a name, sqlglot an empty
    query."""
    if begins_query(tokens, position) and _ends_query(tokens, position + 1):
        raise unread_at(_at(tokens, position + 1), sql)


def _typed_literal(tokens: Sequence[Token], position: int, sql: str) -> None:
    """Raise UNSUPPORTED_TYPED_LITERAL for ``array 'a'``, which looks like the typed literal ``date 'a'``:
    Spark has no array literals."""
    following = _at(tokens, position + 1)
    if following is not None and following.token_type == _T.STRING:
        raise no_literals_of(tokens[position], sql)


def _trim(tokens: Sequence[Token], position: int, sql: str) -> None:
    """Raise UNSUPPORTED_TYPED_LITERAL for ``trim(FROM ' x ')``: Spark reads FROM as the type of a literal
    there, like DATE in ``DATE '2024-01-01'``."""
    following = [token.token_type for token in tokens[position + 1 : position + 4]]
    if following == [_T.L_PAREN, _T.FROM, _T.STRING]:
        raise no_literals_of(tokens[position + 2], sql)


def _current_path(tokens: Sequence[Token], position: int, sql: str) -> None:
    """Raise NotSupportedError for CURRENT_PATH without parentheses, except after AS: Spark reads a
    function call, even if a column has that name."""
    following = _at(tokens, position + 1)
    is_call = following is not None and following.token_type == _T.L_PAREN
    if not is_call and (not position or tokens[position - 1].token_type != _T.ALIAS):
        raise unsupported_at(tokens[position], "CURRENT_PATH", sql)


def _hexadecimal(tokens: Sequence[Token], position: int, sql: str) -> None:
    """Raise NotSupportedError for ``0x1F``, which Spark reads as a name; ``X'1F'`` passes."""
    if sql[tokens[position].start] == "0":
        raise unsupported_at(tokens[position], "A name that begins with 0x", sql)


def _not(tokens: Sequence[Token], position: int, sql: str) -> None:
    """Raise NotSupportedError for NOT (but not ``!``) after an operator: Spark reads NOT as a name there, but
    sqlglot negates the next expression."""
    if position and tokens[position - 1].token_type in _OPERATORS and tokens[position].text != "!":
        raise unread_at(tokens[position], sql)


def _from(tokens: Sequence[Token], position: int, sql: str) -> None:
    """Raise NotSupportedError for a text like ``FROM t INSERT ...`` or ``FROM t SELECT a SELECT b``, in which
    several queries read one relation."""
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
    """Return by how much the token changes the number of open parentheses: 1, -1 or 0."""
    return (token.token_type == _T.L_PAREN) - (token.token_type == _T.R_PAREN)


_Check = Callable[[Sequence[Token], int, str], None]

#: The checks by the type of the token.
_CHECKS: Final[dict[TokenType, _Check]] = {
    _T.ARRAY: _typed_literal,
    _T.MAP: _typed_literal,
    _T.STRUCT: _typed_literal,
    _T.COMMA: _comma,
    _T.FROM: _from,
    _T.HEX_STRING: _hexadecimal,
    _T.NOT: _not,
    _T.SELECT: _select,
}
#: The checks by the name, for tokens that are names.
_CHECKS_OF_NAMES: Final[dict[str, _Check]] = {"CURRENT_PATH": _current_path, "TRIM": _trim}
