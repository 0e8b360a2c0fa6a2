"""Limits on the nesting and length of a query's text, checked before a parser recurses into the text.

Spark's own parser gives up at some four hundred levels, with FAILED_TO_PARSE_TOO_COMPLEX or for want of
stack. Redundant pairs of parentheses (``(((((1)))))``) are removed and don't count as levels.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from sqlfront_planner.tokens.marks import ShiftRightUnsigned
from sqlfront_values.errors import too_complex

_T = TokenType

#: Levels of parentheses, brackets, CASE, prefix operators and types within types at most: the parser recurses
#: for each level, and the C stack of compiled code has an end.
MOST_LEVELS: Final = 400
#: Levels of types within types at most; the parser's time grows faster than the square of their number.
MOST_TYPE_LEVELS: Final = 100
#: Keywords, by type, at most, so that planning ends within seconds. A JOIN costs the planner most.
_MOST_WORDS: Final = {_T.AND: 20_000, _T.OR: 20_000, _T.UNION: 10_000, _T.JOIN: 1_000, _T.WHEN: 10_000}
#: Directly nested pairs of parentheses that are kept: further pairs change no meaning, and cost the parser a
#: level each.
_PAIRS_KEPT: Final = 8

_OPENING: Final = frozenset({_T.L_PAREN, _T.L_BRACKET, _T.L_BRACE})
_CLOSING: Final = frozenset({_T.R_PAREN, _T.R_BRACKET, _T.R_BRACE})
#: Operators before their operand, each of which is a level for the parser.
_PREFIXES: Final = frozenset({_T.NOT, _T.DASH, _T.PLUS, _T.TILDE})
#: Token types that can open a level.
_LEVELS: Final = _OPENING | _PREFIXES | {_T.CASE, _T.LT}
_TYPES: Final = frozenset({_T.ARRAY, _T.MAP, _T.STRUCT})
#: Nodes of the tree that add no level to the level of their children.
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
    """Return the tokens without redundant parentheses. Raises FAILED_TO_PARSE_TOO_COMPLEX if the tokens are
    nested deeper than :data:`MOST_LEVELS`, or types deeper than :data:`MOST_TYPE_LEVELS`, or if some keyword
    occurs so often that planning would take more than seconds."""
    words = Counter([token.token_type for token in tokens])
    if any(words[kind] > most for kind, most in _MOST_WORDS.items()):
        raise too_complex()
    if words[_T.L_PAREN] > _PAIRS_KEPT:
        tokens = _without_repeated_pairs(tokens)
    if sum([words[kind] for kind in _LEVELS]) > MOST_TYPE_LEVELS:
        _refuse_deep(tokens, sql)
    return tokens


def _without_repeated_pairs(tokens: list[Token]) -> list[Token]:
    """Return the tokens without redundant parentheses: of pairs directly inside of each other, some
    :data:`_PAIRS_KEPT` outermost and innermost pairs stay, and the pairs between are removed."""
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
    """The position of each closing parenthesis, by the position of its opening parenthesis."""
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
    """Raise FAILED_TO_PARSE_TOO_COMPLEX if ``tree``, parsed from ``tokens``, has more than
    :data:`MOST_LEVELS` levels. A tree may be deeper than its text is nested: that of ``a[0][0][0]`` has a
    level for each bracket. The left operand of an operator adds no level, since the binder follows chains of
    operators in loops."""
    if len(tokens) <= MOST_LEVELS:
        return
    waiting = [(tree, 0)]
    while waiting:
        node, level = waiting.pop()
        if level > MOST_LEVELS:
            raise too_complex()
        below = level + (not isinstance(node, _FRAMES))
        loops = isinstance(node, exp.Connector | exp.SetOperation | exp.Binary | ShiftRightUnsigned)
        for child in node.iter_expressions():
            if not isinstance(child, exp.Literal):
                waiting.append((child, level if loops and child is node.this else below))
