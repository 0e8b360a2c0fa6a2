"""The clause ``IDENTIFIER(expression)``, which stands for the dotted name that a constant string holds.

Before a statement is parsed, the clauses in its text are replaced by the names, as in Spark.
"""

import re
from collections.abc import Sequence
from typing import Final

import msgspec

from sqlfront_planner.statements.dotted_names import name_parts
from sqlfront_planner.syntax.lexer import tokens_of
from sqlfront_values.errors import spark_error

_LIKELY: Final = re.compile(r"\bidentifier\s*(?:\(|/\*|--)", re.IGNORECASE)
_NAME: Final = re.compile(r"\s*(?:`(?:``|[^`])+`|\w+)(?:\s*\.\s*(?:`(?:``|[^`])+`|\w+))*\s*")
#: Blanks around the dots of a name and at its ends, outside of backticks.
_BLANKS: Final = r"(`(?:``|[^`])*`)|\s+"
_PLAIN: Final = re.compile(r"[A-Za-z_]\w*")


class IdentifierClause(msgspec.Struct, frozen=True):
    """One clause in a text. ``start`` and ``end``: its range; ``expression``: the text inside of the
    parentheses; ``before`` and ``within``: the numbers of parameters ``?`` before the clause and in it;
    ``is_call``: a call's arguments follow."""

    start: int
    end: int
    expression: str
    before: int
    within: int
    is_call: bool


def may_have_clauses(sql: str) -> bool:
    """Return whether a text may have such clauses; a quick look, in a microsecond for most texts."""
    return _LIKELY.search(sql) is not None


def identifier_clauses(sql: str) -> list[IdentifierClause]:
    """Return the clauses of a text, in order. A function of the name with a qualifier is no clause.

    >>> [clause.expression for clause in identifier_clauses("SELECT IDENTIFIER('a' || 'b') FROM t")]
    ["'a' || 'b'"]
    """
    tokens = tokens_of(sql)
    kinds, found, parameters, place = [*tokens.kinds, ""], list[IdentifierClause](), 0, 0
    while place < len(tokens.kinds):
        parameters += kinds[place] == "?"
        is_clause = kinds[place : place + 2] == ["IDENTIFIER", "("] and (
            place == 0 or kinds[place - 1] != "."
        )
        end = _closing(kinds, place + 1) if is_clause else None
        if end is None:
            place += 1
            continue
        text = sql[tokens.ends[place + 1] : tokens.starts[end]]
        within = kinds[place:end].count("?")
        found.append(
            IdentifierClause(
                tokens.starts[place], tokens.ends[end], text, parameters, within, kinds[end + 1] == "("
            )
        )
        parameters += within
        place = end + 1
    return found


def _closing(kinds: Sequence[str], opening: int) -> int | None:
    depth = 0
    for place in range(opening, len(kinds)):
        depth += (kinds[place] == "(") - (kinds[place] == ")")
        if depth == 0:
            return place
    return None


def with_names(sql: str, clauses: Sequence[IdentifierClause], names: Sequence[str]) -> str:
    """Return the text with the dotted ``names`` in place of the clauses. Raises PARSE_EMPTY_STATEMENT and
    PARSE_SYNTAX_ERROR for a text that is no name."""
    pieces, place = list[str](), 0
    for clause, name in zip(clauses, names, strict=True):
        pieces += [sql[place : clause.start], _written(name, is_call=clause.is_call)]
        place = clause.end
    return "".join((*pieces, sql[place:]))


def _written(name: str, *, is_call: bool) -> str:
    """Return a dotted name with backticks around its parts; a function's name is plain if it can be."""
    if not name.strip():
        raise spark_error("PARSE_EMPTY_STATEMENT", "Syntax error, unexpected empty statement.")
    if _NAME.fullmatch(name) is None:
        raise spark_error("PARSE_SYNTAX_ERROR", f"Syntax error in the name '{name}'.")
    parts = [
        part if part.strip() != part and "`" in name else part.strip() for part in name_parts(name.strip())
    ]
    quotes = [is_call and _PLAIN.fullmatch(part) is not None for part in parts]
    return ".".join(
        part if plain else "`" + part.replace("`", "``") + "`"
        for part, plain in zip(parts, quotes, strict=True)
    )
