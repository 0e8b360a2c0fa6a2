"""Binding of GROUP BY: keys and grouping sets."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import msgspec
from sqlglot import exp

from sqlfront_planner.binder.collected_calls import AggregateOutput, WindowOutput
from sqlfront_planner.binder.expressions.arguments import unresolved_routine
from sqlfront_planner.binder.expressions.expression_binder import ExpressionBinder
from sqlfront_planner.binder.trees.constants import may_be_position
from sqlfront_planner.binder.trees.handlers import (
    failure,
    refuse_unknown,
    unparenthesized,
    unsupported,
)
from sqlfront_planner.expressions.same_meaning import meaning_of
from sqlfront_planner.types import is_orderable
from sqlfront_values import types
from sqlfront_values.errors import too_complex
from sqlfront_values.expressions import Column, Expr, Literal, walk
from sqlfront_values.types import INT

Item = tuple[Expr, exp.Expr]

_SETS: Final = (exp.Rollup, exp.Cube, exp.GroupingSets)
#: The arguments in which sqlglot holds grouping sets that follow the list of GROUP BY without a comma, or
#: stand alone.
_SET_CLAUSES: Final = ("rollup", "cube", "grouping_sets")

#: Elements of a CUBE at most, which then has 4,096 sets: each element doubles the time of planning. A CUBE of
#: 12 columns over three rows takes 0.4 seconds.
_MOST_CUBED: Final = 12
#: Grouping sets times keys at most: each set gives a row of all keys for each row of the input, so that the
#: product bounds the planner's work and the growth of the rows.
_MOST_PLACES: Final = 100_000


class Grouping(msgspec.Struct, frozen=True):
    """The keys and grouping sets of GROUP BY: ``keys`` are the distinct keys over the input's row, ``sets``
    the grouping sets as positions of keys (None: one set of all keys). ``is_all``: the clause was GROUP BY
    ALL."""

    keys: tuple[Expr, ...] = ()
    sets: tuple[tuple[int, ...], ...] | None = None
    is_all: bool = False


def bind_grouping(binder: ExpressionBinder, group: exp.Expr, items: Sequence[Item]) -> Grouping:
    """Bind a GROUP BY clause. ``items`` are the select list's expressions with their nodes, to which
    positions (``GROUP BY 1``) and ALL refer.

    Raises ProgrammingError: GROUP_BY_POS_OUT_OF_RANGE, GROUP_BY_POS_AGGREGATE, GROUP_BY_AGGREGATE.
    """
    refuse_unknown(group, frozenset({"expressions", "rollup", "cube", "grouping_sets", "all"}))
    parts = list(group.expressions)
    if group.args.get("all") is not None and (parts or any(group.args.get(name) for name in _SET_CLAUSES)):
        raise unsupported("GROUP BY ALL or DISTINCT before expressions", group)
    if group.args.get("all"):
        parts = [exp.column("all")]
    if _is_all(parts, binder):
        return _group_by_all(items, group)
    clauses = [clause for name in _SET_CLAUSES for clause in group.args.get(name) or []]
    keys = _Keys(binder, items)
    factors = [_sets_of(part, keys) for part in parts]
    if clauses and parts:
        _refuse_mixture(parts, clauses, group)
        sets = _sets_over(clauses[0], factors, keys)
    elif clauses or any(isinstance(part, _SETS) for part in parts):
        sets = _product([*factors, *(_sets_of(clause, keys) for clause in clauses)])
    else:
        return Grouping(tuple(keys.found))
    if len(sets) * len(keys.found) > _MOST_PLACES:
        raise too_complex()
    return Grouping(tuple(keys.found), tuple(sets))


def _refuse_mixture(parts: Sequence[exp.Expr], clauses: Sequence[exp.Expr], group: exp.Expr) -> None:
    """Raise NotSupportedError if a GROUP BY has several set clauses. One set clause may follow a list of
    plain expressions, as in ``a, b GROUPING SETS (...)`` or ``a, b WITH CUBE``; ``parts`` is that list,
    ``clauses`` are the set clauses after it."""
    if len(clauses) > 1 or any(isinstance(part, _SETS) for part in parts):
        raise unsupported("GROUP BY with several of WITH CUBE, WITH ROLLUP and GROUPING SETS", group)


def _sets_over(
    clause: exp.Expr, factors: list[list[tuple[int, ...]]], keys: "_Keys"
) -> list[tuple[int, ...]]:
    """Return the grouping sets, as positions of keys, of a set clause that follows a list:
    ``GROUP BY a, b GROUPING SETS (...)``, WITH CUBE or WITH ROLLUP. ``factors`` are the grouping sets of each
    item of the list."""
    if isinstance(clause, exp.GroupingSets):
        if any(isinstance(part, _SETS) for part in clause.expressions):
            raise unsupported("A grouping set inside of GROUPING SETS after a list", clause)
        return _sets_of(clause, keys)
    return _with_word(clause.key, factors)


def _group_by_all(items: Sequence[Item], group: exp.Expr) -> Grouping:
    """Return the grouping of GROUP BY ALL, whose keys are the items of the select list without an aggregate.
    Raises UNRESOLVED_ALL_IN_GROUP_BY if an item with an aggregate also reads a column outside of these
    keys."""
    for expression, node in items:
        if any(isinstance(part, WindowOutput) for part in walk(expression)):
            raise unsupported("A window function with GROUP BY ALL", node)
    keys = _without_repeats(expression for expression, _ in items if not _holds_call(expression))
    for expression, _ in items:
        if _holds_call(expression) and _needs_more(expression, keys):
            raise failure(
                "UNRESOLVED_ALL_IN_GROUP_BY",
                "Cannot infer grouping columns for GROUP BY ALL based on the select clause. Please "
                "explicitly specify the "
                "grouping columns.",
                group,
            )
    return Grouping(keys, is_all=True)


def _needs_more(expression: Expr, keys: tuple[Expr, ...]) -> bool:
    if expression in keys:
        return False
    return isinstance(expression, Column) or any(_needs_more(part, keys) for part in expression.children())


def _is_all(parts: Sequence[exp.Expr], binder: ExpressionBinder) -> bool:
    if len(parts) != 1 or not isinstance(parts[0], exp.Column) or len(parts[0].parts) != 1:
        return False
    if parts[0].name.lower() != "all" or binder.scope.resolve(("all",)) is not None:
        return False
    return binder.output is None or "all" not in binder.output.expressions


@dataclass(slots=True)
class _Keys:
    """The distinct keys of a GROUP BY that were found so far (``found``). ``meanings`` has a normal form of
    each key, by which equal keys are recognized."""

    binder: ExpressionBinder
    items: Sequence[Item]
    found: list[Expr]
    meanings: list[Expr]

    def __init__(self, binder: ExpressionBinder, items: Sequence[Item]) -> None:
        self.binder, self.items, self.found, self.meanings = binder, items, [], []

    def place(self, node: exp.Expr) -> int:
        """Return the position of the key that an item of GROUP BY means, after adding the key if it is new.
        The item is an expression or a position of the select list. Raises GROUP_BY_AGGREGATE for an aggregate
        function."""
        expression = self._by_position(node)
        if expression is None:
            expression = self.binder.bind(node)
            if _holds_call(expression):
                raise failure(
                    "GROUP_BY_AGGREGATE",
                    f"Aggregate functions are not allowed in GROUP BY, but found {self.binder.name(node)}.",
                    node,
                )
        if types.holds_variant(expression.type):
            raise failure(
                "GROUP_EXPRESSION_TYPE_IS_NOT_ORDERABLE",
                f'The expression "{self.binder.name(node)}" cannot be used as a grouping expression because'
                f' its data type "{types.sql_name(expression.type)}" is not an orderable data type.',
                node,
            )
        if not is_orderable(expression.type):
            raise unsupported("Grouping by a map", node)
        meaning = meaning_of(expression)
        for place, known in enumerate(self.meanings):
            if known == meaning:
                return place
        self.found.append(expression)
        self.meanings.append(meaning)
        return len(self.found) - 1

    def _by_position(self, node: exp.Expr) -> Expr | None:
        node = unparenthesized(node)
        if not may_be_position(node):
            return None
        literal = self.binder.context.known_value(self.binder.bind(node))
        if not isinstance(literal, Literal) or literal.type != INT:
            return None
        if any(isinstance(shown, exp.Star) for _, shown in self.items):
            raise failure(
                "STAR_GROUP_BY_POS",
                "Star (*) is not allowed in a select list when GROUP BY an ordinal position is used.",
                node,
            )
        place = literal.value
        if not isinstance(place, int) or not 1 <= place <= len(self.items):
            raise failure(
                "GROUP_BY_POS_OUT_OF_RANGE",
                f"GROUP BY position {place} is not in select list (valid range is [1, {len(self.items)}]).",
                node,
            )
        expression, shown = self.items[place - 1]
        if _holds_call(expression):
            raise failure(
                "GROUP_BY_POS_AGGREGATE",
                f"GROUP BY {place} refers to an expression {self.binder.name(shown)} that contains an "
                "aggregate function. "
                "Aggregate functions are not allowed in GROUP BY.",
                node,
            )
        return expression


def _holds_call(expression: Expr) -> bool:
    return any(isinstance(item, AggregateOutput | WindowOutput) for item in walk(expression))


def _sets_of(node: exp.Expr, keys: _Keys) -> list[tuple[int, ...]]:
    """Return the grouping sets, as positions of keys, of one item of GROUP BY; a plain expression gives one
    set of one key."""
    match node:
        case exp.Rollup() | exp.Cube() if not node.expressions:
            raise unresolved_routine(node.key, node)
        case exp.Rollup() | exp.Cube() if any(_is_empty(part) for part in node.expressions):
            raise unsupported(f"An empty set in {node.key.upper()}", node)
        case exp.Rollup():
            groups = [_places(part, keys) for part in node.expressions]
            return [_joined(groups[:count]) for count in range(len(groups), -1, -1)]
        case exp.Cube():
            groups = [_places(part, keys) for part in node.expressions]
            return _subsets(groups)
        case exp.GroupingSets():
            return [places for part in node.expressions for places in _set_of(part, keys)]
        case exp.Tuple() if _is_empty(node):
            raise unsupported("GROUP BY ()", node)
        case exp.Tuple():
            raise unsupported("Grouping by a struct in parentheses", node)
        case _:
            return [_joined([_places(node, keys)])]


def _is_empty(node: exp.Expr) -> bool:
    return isinstance(node, exp.Tuple) and not node.expressions


def _set_of(node: exp.Expr, keys: _Keys) -> list[tuple[int, ...]]:
    """Return the grouping sets, as positions of keys, of an element of GROUPING SETS, which may itself be a
    CUBE, ROLLUP or GROUPING SETS."""
    if isinstance(node, _SETS):
        return _sets_of(node, keys)
    return [_joined([_places(node, keys)])]


def _places(node: exp.Expr, keys: _Keys) -> tuple[int, ...]:
    """Return the positions of the keys of an element of a set clause, which is one expression, or several
    expressions in parentheses."""
    if isinstance(node, exp.Tuple):
        return _joined([(keys.place(part),) for part in node.expressions])
    return (keys.place(node.this if isinstance(node, exp.Paren) else node),)


def _with_word(word: str, factors: list[list[tuple[int, ...]]]) -> list[tuple[int, ...]]:
    """Return the grouping sets of ``GROUP BY a, b WITH CUBE`` if ``word`` is "cube", else of WITH ROLLUP;
    ``factors`` has for each item of the list its only grouping set."""
    groups = [factor[0] for factor in factors]
    if word == "cube":
        return _subsets(groups)
    return [_joined(groups[:count]) for count in range(len(groups), -1, -1)]


def _subsets(groups: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    if len(groups) > _MOST_CUBED:
        raise too_complex()
    counts = range(len(groups), -1, -1)
    return [_joined(chosen) for count in counts for chosen in combinations(groups, count)]


def _product(factors: list[list[tuple[int, ...]]]) -> list[tuple[int, ...]]:
    """Return the grouping sets of a list such as ``GROUP BY a, ROLLUP(b, c)``: a set for each choice of one
    set per item. ``factors`` are the sets of each item. Raises FAILED_TO_PARSE_TOO_COMPLEX for very many
    sets."""
    sets: list[tuple[int, ...]] = [()]
    for factor in factors:
        if len(sets) * len(factor) > _MOST_PLACES:
            raise too_complex()
        sets = [_joined((before, chosen)) for before in sets for chosen in factor]
    return sets


def _joined(groups: Iterable[tuple[int, ...]]) -> tuple[int, ...]:
    """Return the union of groups of positions, without duplicates, in the order of first appearance."""
    return tuple(dict.fromkeys(place for group in groups for place in group))


def _without_repeats(expressions: Iterable[Expr]) -> tuple[Expr, ...]:
    kept: list[Expr] = []
    for expression in expressions:
        if expression not in kept:
            kept.append(expression)
    return tuple(kept)
