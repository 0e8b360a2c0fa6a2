"""Rewriting of ``MAX RECURSION LEVEL n`` in WITH RECURSIVE, which sqlglot's parser doesn't know."""

from collections.abc import Sequence
from typing import Final

from sqlglot.tokenizer_core import Token, TokenType

from sqlfront_planner.tokens.marks import RecursionMark
from sqlfront_planner.tokens.tokenizing import replaced

_T = TokenType
_WORDS: Final = ["MAX", "RECURSION", "LEVEL"]


def with_level_marks(tokens: list[Token]) -> list[Token]:
    """Return the tokens without the clauses ``MAX RECURSION LEVEL n``; the name of the common table
    expression before each becomes a :class:`~sqlfront_planner.tokens.marks.RecursionMark` with the number.
    Tokens without such a clause are returned as they are."""
    places = [place for place in range(len(tokens)) if _is_clause(tokens, place)]
    if not places:
        return tokens
    names = {_name_before(tokens, place): tokens[place + 3].text for place in places}
    dropped = {place + offset for place in places for offset in range(4)}
    return [
        replaced(token, token.token_type, RecursionMark.of(token.text, names[place]))
        if place in names
        else token
        for place, token in enumerate(tokens)
        if place not in dropped
    ]


def _is_clause(tokens: Sequence[Token], place: int) -> bool:
    words = [token.text.upper() for token in tokens[place : place + 3]]
    return (
        words == _WORDS
        and tokens[place + 3 : place + 4] != []
        and (tokens[place + 3].token_type == _T.NUMBER and place > 0)
    )


def _name_before(tokens: Sequence[Token], place: int) -> int:
    """Return the position of the name before the clause at ``place`` and before its list of columns."""
    place -= 1
    while tokens[place].token_type == _T.R_PAREN:
        while tokens[place].token_type != _T.L_PAREN:
            place -= 1
        place -= 1
    return place
