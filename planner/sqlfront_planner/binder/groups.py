"""GROUP BY: its keys and its grouping sets."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import msgspec
import pyarrow as pa
from sqlglot import exp

from sqlfront_engine.expressions import Column, Expr, Literal, columns_used, walk
from sqlfront_engine.types import is_integral
from sqlfront_planner.binder.collected import AggregateOutput, WindowOutput
from sqlfront_planner.binder.expressions import ExpressionBinder
from sqlfront_planner.binder.syntax import failure, refuse_unknown, syntax_failure, unsupported

Item = tuple[Expr, exp.Expr]

_SETS: Final = (exp.Rollup, exp.Cube, exp.GroupingSets)


class Grouping(msgspec.Struct, frozen=True):
    """The distinct keys over the input's row, and the grouping sets as places of keys; None: one set of all
    keys."""

    keys: tuple[Expr, ...] = ()
    sets: tuple[tuple[int, ...], ...] | None = None

    def columns(self) -> frozenset[int]:
        """The input columns that some key reads."""
        return frozenset[int]().union(*(columns_used(key) for key in self.keys))


def bind_grouping(binder: ExpressionBinder, group: exp.Expr, items: Sequence[Item]) -> Grouping:
    """The grouping of a GROUP BY clause; ``items`` are the select list, for positions and ALL.

    Raises ProgrammingError: GROUP_BY_POS_OUT_OF_RANGE, GROUP_BY_POS_AGGREGATE, GROUP_BY_AGGREGATE.
    """
    refuse_unknown(group, frozenset({"expressions", "rollup", "cube", "grouping_sets", "all"}))
    parts = list(group.expressions)
    if group.args.get("all") or _is_all(parts, binder):
        return _group_by_all(items, group)
    if not any(group.args.values()):
        raise syntax_failure("Syntax error at or near end of input.", group)
    keys = _Keys(binder, items)
    factors = [_sets_of(part, keys) for part in parts]
    for word in ("rollup", "cube"):
        for clause in group.args.get(word) or []:
            if clause.expressions:
                factors.append(_sets_of(clause, keys))
            else:
                factors = [_with_word(word, factors)]
    for clause in group.args.get("grouping_sets") or []:
        factors.append(_sets_of(clause, keys))
    if not any(isinstance(part, _SETS) for part in parts) and not _has_sets(group):
        return Grouping(tuple(keys.found))
    return Grouping(tuple(keys.found), tuple(_product(factors)))


def _has_sets(group: exp.Expr) -> bool:
    return any(group.args.get(name) for name in ("rollup", "cube", "grouping_sets"))


def _group_by_all(items: Sequence[Item], group: exp.Expr) -> Grouping:
    """GROUP BY ALL: every item without an aggregate; the others must not need more than these."""
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
    return Grouping(keys)


def _needs_more(expression: Expr, keys: tuple[Expr, ...]) -> bool:
    if expression in keys:
        return False
    return isinstance(expression, Column) or any(_needs_more(part, keys) for part in expression.children())


def _is_all(parts: Sequence[exp.Expr], binder: ExpressionBinder) -> bool:
    if len(parts) != 1 or not isinstance(parts[0], exp.Column) or len(parts[0].parts) != 1:
        return False
    return parts[0].name.lower() == "all" and binder.scope.resolve(("all",)) is None


@dataclass(slots=True)
class _Keys:
    """The keys found so far."""

    binder: ExpressionBinder
    items: Sequence[Item]
    found: list[Expr]

    def __init__(self, binder: ExpressionBinder, items: Sequence[Item]) -> None:
        self.binder, self.items, self.found = binder, items, []

    def place(self, node: exp.Expr) -> int:
        """The place of the key that an item of GROUP BY means."""
        expression = self._by_position(node)
        if expression is None:
            expression = self.binder.bind(node)
            if _holds_call(expression):
                raise failure(
                    "GROUP_BY_AGGREGATE",
                    f"Aggregate functions are not allowed in GROUP BY, but found {self.binder.name(node)}.",
                    node,
                )
        if pa.types.is_map(expression.type):
            raise unsupported("Grouping by a map", node)
        if expression not in self.found:
            self.found.append(expression)
        return self.found.index(expression)

    def _by_position(self, node: exp.Expr) -> Expr | None:
        if not isinstance(node, exp.Literal | exp.Placeholder):
            return None
        literal = self.binder.context.known_value(self.binder.bind(node))
        if not isinstance(literal, Literal) or not is_integral(literal.type):
            return None
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
    """The grouping sets that one item of GROUP BY stands for."""
    match node:
        case exp.Rollup():
            groups = [_places(part, keys) for part in node.expressions]
            return [_joined(groups[:count]) for count in range(len(groups), -1, -1)]
        case exp.Cube():
            groups = [_places(part, keys) for part in node.expressions]
            return _subsets(groups)
        case exp.GroupingSets():
            return [places for part in node.expressions for places in _set_of(part, keys)]
        case exp.Tuple() if not node.expressions:
            raise syntax_failure("Syntax error at or near ')'.", node)
        case _:
            return [_joined([_places(node, keys)])]


def _set_of(node: exp.Expr, keys: _Keys) -> list[tuple[int, ...]]:
    """One element of GROUPING SETS, which may be sets again."""
    if isinstance(node, _SETS):
        return _sets_of(node, keys)
    return [_joined([_places(node, keys)])]


def _places(node: exp.Expr, keys: _Keys) -> tuple[int, ...]:
    """The keys of an element: of several in parentheses, or of one."""
    if isinstance(node, exp.Tuple):
        return _joined([(keys.place(part),) for part in node.expressions])
    return (keys.place(node.this if isinstance(node, exp.Paren) else node),)


def _with_word(word: str, factors: list[list[tuple[int, ...]]]) -> list[tuple[int, ...]]:
    """``GROUP BY a, b WITH ROLLUP``."""
    groups = [factor[0] for factor in factors]
    if word == "cube":
        return _subsets(groups)
    return [_joined(groups[:count]) for count in range(len(groups), -1, -1)]


def _subsets(groups: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    counts = range(len(groups), -1, -1)
    return [_joined(chosen) for count in counts for chosen in combinations(groups, count)]


def _product(factors: list[list[tuple[int, ...]]]) -> list[tuple[int, ...]]:
    """``GROUP BY a, ROLLUP(b, c)``: every choice of one set per item."""
    sets: list[tuple[int, ...]] = [()]
    for factor in factors:
        sets = [_joined((before, chosen)) for before in sets for chosen in factor]
    return sets


def _joined(groups: Iterable[tuple[int, ...]]) -> tuple[int, ...]:
    """All places, each once."""
    return tuple(dict.fromkeys(place for group in groups for place in group))


def _without_repeats(expressions: Iterable[Expr]) -> tuple[Expr, ...]:
    kept: list[Expr] = []
    for expression in expressions:
        if expression not in kept:
            kept.append(expression)
    return tuple(kept)
