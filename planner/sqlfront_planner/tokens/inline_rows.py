"""Rewriting of the tokens of VALUES, before all other rewriting: sqlglot's parser reads the alias behind rows
without parentheses as that of the last row."""

from typing import Final

from sqlglot.tokenizer_core import Token, TokenType

from sqlfront_planner.tokens.tokenizing import replaced

_T = TokenType
_NAMES: Final = frozenset({_T.VAR, _T.IDENTIFIER})
#: Tokens that end an operand; a name behind one of them is an alias.
_OPERAND_ENDS: Final = _NAMES | {
    *(_T.NUMBER, _T.STRING, _T.RAW_STRING, _T.R_PAREN, _T.R_BRACKET, _T.END, _T.NULL, _T.TRUE, _T.FALSE)
}
_OPENING: Final = frozenset({_T.L_PAREN, _T.L_BRACKET})
_CLOSING: Final = frozenset({_T.R_PAREN, _T.R_BRACKET})


def with_enclosed_rows(tokens: list[Token]) -> list[Token]:
    """Return the tokens with ``VALUES 1, 2 AS t(x)`` as ``VALUES 1, (2) AS t(x)``. Tokens without such rows
    are returned as they are."""
    lists = [position for position, token in enumerate(tokens) if token.token_type == _T.VALUES]
    rows = {row for position in lists if (row := _row_before_alias(tokens, position)) is not None}
    if not rows:
        return tokens
    begins, ends = {begin for begin, _ in rows}, {end for _, end in rows}
    enclosed: list[Token] = []
    for position, token in enumerate(tokens):
        if position in ends:
            enclosed.append(replaced(tokens[position - 1], _T.R_PAREN, ")"))
        if position in begins:
            enclosed.append(replaced(token, _T.L_PAREN, "("))
        enclosed.append(token)
    return enclosed


def _row_before_alias(tokens: list[Token], values: int) -> tuple[int, int] | None:
    """Return the positions at which the last row of the list that begins at ``values`` begins and ends, if an
    alias is behind the row and the row has no parentheses of its own; None if not."""
    begin, depth = values + 1, 0
    for position in range(begin, len(tokens)):
        kind = tokens[position].token_type
        if kind in _CLOSING and depth == 0:
            return None
        if depth == 0 and kind == _T.COMMA:
            begin = position + 1
        elif depth == 0 and position > begin and _is_alias(tokens, begin, position):
            is_enclosed = tokens[begin].token_type == _T.L_PAREN
            return None if is_enclosed else (begin, position)
        depth += (kind in _OPENING) - (kind in _CLOSING)
    return None


def _is_alias(tokens: list[Token], begin: int, position: int) -> bool:
    """Return whether the token at ``position`` begins an alias behind the row that begins at ``begin``."""
    kind = tokens[position].token_type
    if kind == _T.ALIAS:
        return True
    is_unit = any(token.token_type == _T.INTERVAL for token in tokens[begin:position])
    return kind in _NAMES and not is_unit and tokens[position - 1].token_type in _OPERAND_ENDS
