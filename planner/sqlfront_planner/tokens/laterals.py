"""Rewriting of the tokens of LATERAL, before all other rewriting: sqlglot's parser needs AS before the
columns of a LATERAL VIEW, and adds TRUE to a join without ON."""

from typing import Final

from sqlglot.tokenizer_core import Token, TokenType

from sqlfront_planner.tokens.tokenizing import replaced

_T = TokenType
_NAMES: Final = frozenset({_T.VAR, _T.IDENTIFIER})


def with_lateral_marks(tokens: list[Token]) -> list[Token]:
    """Return the tokens with ``LATERAL VIEW f(x) t a`` as ``LATERAL VIEW f(x) t AS a``, and beside LATERAL
    with ``ON TRUE`` as ``ON (TRUE)``, so that the tree tells it from a join without ON. Tokens without
    LATERAL are returned as they are."""
    if not any(token.token_type == _T.LATERAL for token in tokens):
        return tokens
    columns = {_first_column(tokens, position) for position in range(len(tokens))}
    marked: list[Token] = []
    for position, token in enumerate(tokens):
        if position in columns:
            marked.append(replaced(token, _T.ALIAS, "AS"))
        if token.token_type == _T.TRUE and position and tokens[position - 1].token_type == _T.ON:
            marked += [replaced(token, _T.L_PAREN, "("), token, replaced(token, _T.R_PAREN, ")")]
        else:
            marked.append(token)
    return marked


def _first_column(tokens: list[Token], position: int) -> int | None:
    """Return the position of the first name of a column behind the name of the LATERAL VIEW that begins at
    ``position``, if there is no AS between the two names; None if there is none."""
    kinds = [token.token_type for token in tokens[position : position + 2]]
    if kinds != [_T.LATERAL, _T.VIEW]:
        return None
    position += 2
    depth = 0
    for index in range(position, len(tokens)):
        kind = tokens[index].token_type
        depth += (kind == _T.L_PAREN) - (kind == _T.R_PAREN)
        if depth == 0 and kind == _T.R_PAREN:
            following = {token.token_type for token in tokens[index + 1 : index + 3]}
            is_pair = len(tokens) > index + 2 and following <= _NAMES
            return index + 2 if is_pair else None
    return None
