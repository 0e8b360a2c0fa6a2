"""GROUP BY: its keys, its grouping sets, and the step from the input's row to the groups' row."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

import pyarrow as pa
from sqlglot import exp

from sqlfront_engine.errors import Error
from sqlfront_engine.expressions import AggregateCall, Column, Expr, Literal, columns_used, walk
from sqlfront_engine.types import INT, is_integral
from sqlfront_planner.binder.aggregates import AggregateOutput
from sqlfront_planner.binder.expressions import ExpressionBinder
from sqlfront_planner.binder.outer import replace_outer
from sqlfront_planner.binder.syntax import failure, refuse_unknown, syntax_failure
from sqlfront_planner.binder.windows import WindowOutput
from sqlfront_planner.logical import (
    Aggregate,
    LogicalPlan,
    OuterColumn,
    Project,
    SetKind,
    SetOperation,
    Subquery,
)

Item = tuple[Expr, exp.Expr]


@dataclass(frozen=True, slots=True)
class Grouping:
    """The distinct keys over the input's row, and the grouping sets as places of keys; None: one set of all keys."""

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
        return Grouping(
            _without_repeats(expression for expression, _ in items if not _holds_call(expression))
        )
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
    sets = _product(factors)
    if len(sets) == 1:
        return Grouping(tuple(keys.found))
    return Grouping(tuple(keys.found), tuple(sets))


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
            raise failure(
                "GROUP_EXPRESSION_TYPE_IS_NOT_ORDERABLE",
                f'The expression "{self.binder.name(node)}" cannot be used as a grouping expression because its data type is '
                "not an orderable data type.",
                node,
            )
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
                f"GROUP BY {place} refers to an expression {self.binder.name(shown)} that contains an aggregate function. "
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
    if isinstance(node, exp.Rollup | exp.Cube | exp.GroupingSets):
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


# ---- the groups' row


def grouped_plan(
    plan: LogicalPlan, grouping: Grouping, calls: Sequence[AggregateCall], *, grouped: bool
) -> tuple[LogicalPlan, "GroupRow"]:
    """The plan of the groups: keys, then the calls' values; and the way to it for expressions over the input's row."""
    names = (*(_key_name(key, place) for place, key in enumerate(grouping.keys)), *map(_call_name, calls))
    row = GroupRow(grouping.keys, grouped, names)
    if grouping.sets is None:
        return Aggregate(plan, grouping.keys, tuple(calls), names), row
    branches = tuple(_one_set(plan, grouping, places, calls, names) for places in grouping.sets)
    return SetOperation(SetKind.UNION_ALL, branches), row


def _one_set(
    plan: LogicalPlan,
    grouping: Grouping,
    places: tuple[int, ...],
    calls: Sequence[AggregateCall],
    names: tuple[str, ...],
) -> LogicalPlan:
    """The groups of one grouping set, with nulls for the keys outside of it.

    The empty set groups by a constant: Spark has no row for it where there is no input.
    """
    keys = tuple(grouping.keys[place] for place in places) or (Literal(INT, 0),)
    inner = (
        (*(names[place] for place in places), *names[len(grouping.keys) :])
        if places
        else ("all", *names[len(grouping.keys) :])
    )
    aggregate = Aggregate(plan, keys, tuple(calls), inner)
    columns = aggregate.row()
    values: list[Expr] = [
        columns[places.index(place)] if place in places else Literal(key.type, None)
        for place, key in enumerate(grouping.keys)
    ]
    return Project(aggregate, (*values, *columns[len(keys) :]), names)


def _key_name(key: Expr, place: int) -> str:
    return key.name if isinstance(key, Column) and key.name else f"key{place}"


def _call_name(call: AggregateCall) -> str:
    return call.function


@dataclass(frozen=True, slots=True)
class GroupRow:
    """The row of groups: keys, then the calls' values. ``grouped`` tells a query with GROUP BY from one without."""

    keys: tuple[Expr, ...]
    grouped: bool
    names: tuple[str, ...]

    def over(self, expression: Expr, node: exp.Expr) -> Expr:
        """An expression over the input's row as one over the groups' row; ``node`` is where it stands.

        Raises ProgrammingError (MISSING_AGGREGATION, MISSING_GROUP_BY) if it needs a column that isn't grouped.
        """
        for place, key in enumerate(self.keys):
            if key == expression:
                return Column(key.type, place, self.names[place])
        if isinstance(expression, AggregateOutput):
            place = len(self.keys) + expression.index
            return Column(expression.type, place, self.names[place])
        if isinstance(expression, Column):
            raise self._missing(expression, node)
        if isinstance(expression, Subquery):
            expression = replace_outer(expression, lambda column: self._outer(column, node))
        children = expression.children()
        changed = tuple(self.over(child, node) for child in children)
        if all(new is old for new, old in zip(changed, children, strict=True)):
            return expression
        return expression.with_children(changed)

    def _outer(self, column: OuterColumn, node: exp.Expr) -> OuterColumn:
        """A subquery's view of the groups' row."""
        for place, key in enumerate(self.keys):
            if isinstance(key, Column) and key.ordinal == column.ordinal:
                return OuterColumn(column.type, place, column.name)
        raise self._missing(column, node)

    def _missing(self, column: Column | OuterColumn, node: exp.Expr) -> Error:
        if not self.grouped:
            return failure(
                "MISSING_GROUP_BY",
                f'The query does not include a GROUP BY clause, but "{column.name}" is neither aggregated nor grouped. Add '
                "GROUP BY or turn it into the window functions using OVER clauses.",
                node,
            )
        return failure(
            "MISSING_AGGREGATION",
            f'The non-aggregating expression "{column.name}" is based on columns which are not participating in the GROUP BY '
            "clause.\nAdd the columns or the expression to the GROUP BY, aggregate the expression, or use "
            f'"any_value({column.name})" if you do not care which of the values within a group is returned.',
            node,
        )
