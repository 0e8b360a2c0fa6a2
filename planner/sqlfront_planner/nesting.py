"""How deeply a query's text is nested, and how long it is, before a parser sees it that nests as deeply.

Spark's own parser gives up at some four hundred levels, by FAILED_TO_PARSE_TOO_COMPLEX or for want of stack.
Parentheses that only repeat what stands in them (``(((((1)))))``) are no level: they are left out.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from sqlfront_values.errors import too_complex

_T = TokenType

#: Levels of parentheses, brackets, CASE, operators in front and types within types.
MOST_LEVELS: Final = 400
#: Levels of types within types, in which the parser's time grows faster than their square.
MOST_TYPE_LEVELS: Final = 100
#: So many words of a kind make a statement that is planned within seconds.
_MOST_WORDS: Final = {_T.AND: 20_000, _T.OR: 20_000, _T.UNION: 10_000, _T.JOIN: 1_000, _T.WHEN: 10_000}
#: So many pairs of parentheses directly around each other mean the same as any greater number.
_PAIRS_KEPT: Final = 8

_OPENING: Final = frozenset({_T.L_PAREN, _T.L_BRACKET, _T.L_BRACE})
_CLOSING: Final = frozenset({_T.R_PAREN, _T.R_BRACKET, _T.R_BRACE})
#: Operators before their operand, each of which is a level for the parser.
_PREFIXES: Final = frozenset({_T.NOT, _T.DASH, _T.PLUS, _T.TILDE})
#: What can make a level.
_LEVELS: Final = _OPENING | _PREFIXES | {_T.CASE, _T.LT}
_TYPES: Final = frozenset({_T.ARRAY, _T.MAP, _T.STRUCT})
#: Nodes that are no level of their own beside what they hold.
_FRAMES: Final = (
    exp.Select,
    exp.Subquery,
    exp.From,
    exp.Where,
    exp.Join,
    exp.Table,
    exp.Alias,
    exp.TableAlias,
    exp.Identifier,
    exp.DataType,
    exp.Paren,
    exp.If,
)


def bounded(tokens: list[Token], sql: str) -> list[Token]:
    """The tokens without needless parentheses. Raises FAILED_TO_PARSE_TOO_COMPLEX for those that are nested
    deeper than :data:`MOST_LEVELS`, and for more of them than are planned within seconds."""
    words = Counter([token.token_type for token in tokens])
    if any(words[kind] > most for kind, most in _MOST_WORDS.items()):
        raise too_complex()
    if words[_T.L_PAREN] > _PAIRS_KEPT:
        tokens = _without_repeated_pairs(tokens)
    if sum([words[kind] for kind in _LEVELS]) > MOST_TYPE_LEVELS:
        _refuse_deep(tokens, sql)
    return tokens


def _without_repeated_pairs(tokens: list[Token]) -> list[Token]:
    """Of many pairs of parentheses directly around each other, the outer and the inner ones."""
    partners = _pairs(tokens)
    needless: set[int] = set()
    around = 0
    for place, token in enumerate(tokens):
        end = partners.get(place) if token.token_type == _T.L_PAREN else None
        is_repeated = end is not None and partners.get(place - 1) == end + 1
        around = around + 1 if is_repeated else 0
        if around > _PAIRS_KEPT and partners.get(place + _PAIRS_KEPT) == partners[place] - _PAIRS_KEPT:
            needless |= {place, partners[place]}
    return [token for place, token in enumerate(tokens) if place not in needless] if needless else tokens


def _pairs(tokens: Sequence[Token]) -> dict[int, int]:
    """The position of the closing parenthesis by that of the opening one."""
    pairs: dict[int, int] = {}
    open_ones: list[int] = []
    for place, token in enumerate(tokens):
        if token.token_type == _T.L_PAREN:
            open_ones.append(place)
        elif token.token_type == _T.R_PAREN and open_ones:
            pairs[open_ones.pop()] = place
    return pairs


def _refuse_deep(tokens: Sequence[Token], sql: str) -> None:
    level = types = prefixes = 0
    for place, token in enumerate(tokens):
        kind = token.token_type
        prefixes = prefixes + 1 if kind in _PREFIXES else 0
        if kind in _OPENING or kind == _T.CASE:
            level += 1
        elif kind in _CLOSING or kind == _T.END:
            level -= 1
        elif kind == _T.LT and place and tokens[place - 1].token_type in _TYPES:
            types += 1
        elif kind == _T.GT and types:
            types -= 1
        if level + prefixes > MOST_LEVELS or types > MOST_TYPE_LEVELS:
            error = too_complex(position=(token.start, token.end + 1))
            error.locate(sql)
            raise error


def refuse_deep_tree(tree: exp.Expr, tokens: Sequence[Token]) -> None:
    """Raise FAILED_TO_PARSE_TOO_COMPLEX for a tree that is deeper than its text is nested, as ``a[0][0][0]``
    and ``x::int::int`` are. What is on an operator's left is no deeper than the operator: the binder goes
    along these chains in loops."""
    if len(tokens) <= MOST_LEVELS:
        return
    waiting = [(tree, 0)]
    while waiting:
        node, level = waiting.pop()
        if level > MOST_LEVELS:
            raise too_complex()
        below = level + (not isinstance(node, _FRAMES))
        loops = isinstance(node, exp.Connector | exp.SetOperation | exp.Binary | exp.Coalesce)
        for child in node.iter_expressions():
            if not isinstance(child, exp.Literal):
                waiting.append((child, level if loops and child is node.this else below))
