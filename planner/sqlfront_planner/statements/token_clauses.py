"""The division of a statement's tokens into clauses and items, outside of brackets."""

from collections.abc import Iterator
from typing import Final

from sqlglot.tokenizer_core import Token, TokenType

_OPENING: Final = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.CASE})
_CLOSING: Final = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET})


def outer_places(tokens: list[Token]) -> Iterator[int]:
    """Yield the positions of the tokens outside of brackets and of CASE ... END; closing brackets and END are
    among them."""
    depth, cases = 0, list[int]()
    for place, token in enumerate(tokens):
        kind = token.token_type
        if kind == TokenType.END and cases and cases[-1] == depth:
            cases.pop()
            depth -= 1
        depth -= kind in _CLOSING
        if depth == 0:
            yield place
        depth += kind in _OPENING
        if kind == TokenType.CASE:
            cases.append(depth)


def find_token(tokens: list[Token], kind: TokenType) -> int | None:
    """Return the position of the first token of the type ``kind`` outside of brackets; None if there is
    none."""
    return next((place for place in outer_places(tokens) if tokens[place].token_type == kind), None)


def split_at_commas(tokens: list[Token]) -> list[list[Token]]:
    """Split the tokens at the commas outside of brackets; return a list of tokens for each part."""
    parts, start = list[list[Token]](), 0
    for place in outer_places(tokens):
        if tokens[place].token_type == TokenType.COMMA:
            parts.append(tokens[start:place])
            start = place + 1
    return [*parts, tokens[start:]]
