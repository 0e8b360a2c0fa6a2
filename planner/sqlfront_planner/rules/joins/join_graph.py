"""A tree of inner joins as a graph: relations, and the predicates between them, in no order.

The shared part of the rules on joins: :func:`flatten` takes a tree apart, :func:`build` builds a tree of a
given shape. All expressions of a graph are over the *graph's row*: the rows of all relations one after
another, where each relation's columns begin at its ``start``.

Semi and anti joins belong to the graph as *filtering* relations: a filtering relation adds no columns and may
be applied to any part that has the columns of its predicates.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise

import msgspec

from sqlfront_engine.join_kinds import FILTERING_JOINS, JoinKind
from sqlfront_planner.expressions.rewriting import filtered, is_deterministic, remap
from sqlfront_planner.logical import JoinKey, LogicalFilter, LogicalJoin, LogicalPlan, LogicalProject
from sqlfront_values.expressions import Call, Column, Expr, columns_used, conjunction, conjuncts
from sqlfront_values.stacks import LEVELS_OF_A_STACK, on_fresh_stack
from sqlfront_values.types import BOOLEAN


class JoinInput(msgspec.Struct, frozen=True):
    """One input of the joins. A relation of another ``kind`` than INNER filters, by ``predicates`` over the
    graph's row."""

    plan: LogicalPlan
    start: int
    kind: JoinKind = JoinKind.INNER
    predicates: tuple[Expr, ...] = ()

    @property
    def filters(self) -> bool:
        """True for the right side of a semi or anti join."""
        return self.kind in FILTERING_JOINS


class JoinGraph(msgspec.Struct, frozen=True):
    """A graph of joins. ``predicates`` are the inner joins' conjuncts over the graph's row; ``row`` gives for
    each output column its place in the graph's row."""

    relations: tuple[JoinInput, ...]
    predicates: tuple[Expr, ...]
    row: tuple[int, ...]

    def owners(self) -> tuple[int, ...]:
        """The index of the owning relation for each place of the graph's row."""
        return tuple(
            [index for index, relation in enumerate(self.relations) for _ in range(relation.plan.width)]
        )

    def columns(self) -> list[Column]:
        """The column of the owning relation for each place of the graph's row."""
        return [column for relation in self.relations for column in relation.plan.row()]


#: The shape of a join tree: a relation's index, or a pair (left, right).
Shape = int | tuple["Shape", "Shape"]


def is_join_tree(plan: LogicalPlan) -> bool:
    """True if :func:`flatten` finds more than one relation in the plan."""
    while True:
        match plan:
            case LogicalJoin(kind=kind):
                return (kind is JoinKind.INNER or kind in FILTERING_JOINS) and _movable(plan)
            case LogicalFilter(input=child) if is_deterministic(plan.condition):
                plan = child
            case LogicalProject(input=child, expressions=items) if all(
                isinstance(item, Column) for item in items
            ):
                plan = child
            case _:
                return False


def _movable(plan: LogicalPlan) -> bool:
    return all(is_deterministic(operand) for operand in plan.operands())


def flatten(plan: LogicalPlan) -> JoinGraph:
    """Take apart the inner, semi and anti joins at the top of ``plan``, through filters and projections of
    columns; return their graph."""
    builder = _Flattening()
    row = builder.add(plan)
    return JoinGraph(tuple(builder.relations), tuple(builder.predicates), tuple(row))


class _Flattening:
    """A join graph under construction: its relations and predicates, and the width of the graph's row so
    far."""

    def __init__(self) -> None:
        self.relations: list[JoinInput] = []
        self.predicates: list[Expr] = []
        self.width = 0
        self.depth = 0

    def add(self, plan: LogicalPlan) -> list[int]:
        """Add a subtree; return the places of its output columns."""
        if not is_join_tree(plan):
            return self._add_relation(JoinInput(plan, self.width))
        self.depth += 1
        if self.depth % LEVELS_OF_A_STACK:
            places = self._add_tree(plan)
        else:
            places = on_fresh_stack(self._add_tree, plan)
        self.depth -= 1
        return places

    def _add_tree(self, plan: LogicalPlan) -> list[int]:
        match plan:
            case LogicalFilter():
                places = self._add_tree(plan.input)
                self.predicates.extend(remap(part, places) for part in conjuncts(plan.condition))
                return places
            case LogicalProject():
                places = self._add_tree(plan.input)
                return [places[item.ordinal] for item in plan.expressions if isinstance(item, Column)]
            case LogicalJoin():
                return self._add_join(plan)
            case _:
                raise AssertionError("is_join_tree() and flatten() disagree")

    def _add_join(self, join: LogicalJoin) -> list[int]:
        left = self.add(join.left)
        if join.kind is JoinKind.INNER:
            right = self.add(join.right)
            self.predicates.extend(_predicates(join, left, right))
            return [*left, *right]
        right = list(range(self.width, self.width + join.right.width))
        self._add_relation(JoinInput(join.right, self.width, join.kind, _predicates(join, left, right)))
        return left

    def _add_relation(self, relation: JoinInput) -> list[int]:
        self.relations.append(relation)
        self.width += relation.plan.width
        return list(range(relation.start, self.width))


def _predicates(join: LogicalJoin, left: Sequence[int], right: Sequence[int]) -> tuple[Expr, ...]:
    keys = tuple(remap(key.over_both(len(left)), [*left, *right]) for key in join.keys)
    if join.condition is None:
        return keys
    condition = remap(join.condition, [*left, *right])
    return (*keys, condition) if join.kind is JoinKind.NULL_AWARE_ANTI else (*keys, *conjuncts(condition))


class EqualityClasses:
    """Classes of places of a graph's row that its predicates make equal: ``frozenset``s of at least two
    places."""

    def __init__(self, predicates: Iterable[Expr]) -> None:
        self._class: dict[int, frozenset[int]] = {}
        #: The predicates that the classes don't express.
        self.others: tuple[Expr, ...] = tuple(item for item in predicates if not self._learn(item))

    def _learn(self, predicate: Expr) -> bool:
        pair = column_equality(predicate)
        if pair is None:
            return False
        merged = self.of(pair[0]) | self.of(pair[1])
        for place in merged:
            self._class[place] = merged
        return True

    def of(self, place: int) -> frozenset[int]:
        """All places that are equal to ``place``, including ``place``."""
        return self._class.get(place) or frozenset((place,))

    def all(self) -> tuple[frozenset[int], ...]:
        """All classes, in the order of their first places."""
        return tuple(dict.fromkeys(self._class[place] for place in sorted(self._class)))


def column_equality(predicate: Expr) -> tuple[int, int] | None:
    """The two places, if the predicate is just the equality of two columns; else None."""
    if isinstance(predicate, Call) and predicate.function == "equal":
        left, right = predicate.arguments
        if isinstance(left, Column) and isinstance(right, Column) and left.ordinal != right.ordinal:
            return left.ordinal, right.ordinal
    return None


def split_keys(parts: Iterable[Expr], left_width: int) -> tuple[tuple[JoinKey, ...], tuple[Expr, ...]]:
    """Split conjuncts over a concatenated row into join keys and other conjuncts.

    A key is an equality between an expression over the left row only and an expression over the right row
    only.
    """
    keys: list[JoinKey] = []
    rest: list[Expr] = []
    for part in parts:
        key = _key(part, left_width)
        if key is None:
            rest.append(part)
        else:
            keys.append(key)
    return tuple(keys), tuple(rest)


def _key(part: Expr, left_width: int) -> JoinKey | None:
    if not (isinstance(part, Call) and part.function in ("equal", "equal_null_safe")):
        return None
    if not is_deterministic(part):
        return None
    first, second = part.arguments
    sides = [columns_used(first), columns_used(second)]
    if not sides[0] or not sides[1]:
        return None
    if min(sides[0]) >= left_width and max(sides[1]) < left_width:
        first, second, sides = second, first, [sides[1], sides[0]]
    if max(sides[0]) >= left_width or min(sides[1]) < left_width:
        return None
    places = {ordinal: ordinal - left_width for ordinal in sides[1]}
    return JoinKey(first, remap(second, places), part.function == "equal_null_safe")


class _Part(msgspec.Struct):
    """A piece of the tree under construction: its plan, and the position in the plan's row of each available
    place of the graph's row."""

    plan: LogicalPlan
    positions: dict[int, int]

    def shared(self, places: Iterable[int]) -> int | None:
        """The first of the places that the piece has; None if the piece has none of them."""
        return next((place for place in places if place in self.positions), None)


class _Building:
    """A join tree under construction, from the relations of ``graph``. Every predicate is applied as soon as
    its columns are available."""

    def __init__(self, graph: JoinGraph) -> None:
        self.graph = graph
        self.columns = graph.columns()
        equalities = EqualityClasses(graph.predicates)
        self.classes = [sorted(members) for members in equalities.all()]
        self.pending: list[Expr] = list(equalities.others)

    def part(self, shape: Shape) -> _Part:
        rights: list[Shape] = []
        while not isinstance(shape, int):
            shape, right = shape
            rights.append(right)
        part = self.leaf(self.graph.relations[shape])
        for right in reversed(rights):
            if isinstance(right, int) and self.graph.relations[right].filters:
                part = self.filter(part, self.graph.relations[right])
            else:
                part = self.join(part, self.part(right))
        return part

    def leaf(self, relation: JoinInput) -> _Part:
        row, start = relation.plan.row(), relation.start
        stop = start + len(row)
        equalities: list[Expr] = []
        for members in self.classes:
            columns = [row[place - start] for place in members if start <= place < stop]
            equalities += [Call(BOOLEAN, "equal", pair) for pair in pairwise(columns)]
        positions = {place: position for position, place in enumerate(range(start, stop))}
        return _Part(filtered(relation.plan, (*equalities, *self.take(positions))), positions)

    def join(self, left: _Part, right: _Part) -> _Part:
        keys: list[JoinKey] = []
        for members in self.classes:
            on_left, on_right = left.shared(members), right.shared(members)
            if on_left is not None and on_right is not None:
                keys.append(JoinKey(self.column(on_left, left), self.column(on_right, right)))
        width = left.plan.width
        positions = left.positions | {place: width + at for place, at in right.positions.items()}
        more, rest = split_keys(self.take(positions), width)
        plan = LogicalJoin(left.plan, right.plan, JoinKind.INNER, conjunction(rest), (*keys, *more))
        return _Part(plan, positions)

    def filter(self, left: _Part, relation: JoinInput) -> _Part:
        width = left.plan.width
        own = {relation.start + place: width + place for place in range(relation.plan.width)}
        where = self.where(left.positions | own)
        keys, rest = split_keys((remap(item, where) for item in relation.predicates), width)
        plan = LogicalJoin(left.plan, relation.plan, relation.kind, conjunction(rest), keys)
        return _Part(plan, left.positions)

    def where(self, positions: dict[int, int]) -> dict[int, int]:
        """The positions of all available places, and of places that equal an available place."""
        found = dict(positions)
        for members in self.classes:
            stand_in = next((place for place in members if place in positions), None)
            if stand_in is not None:
                found.update((place, positions[stand_in]) for place in members if place not in positions)
        return found

    def column(self, place: int, part: _Part) -> Column:
        """The column at a place of the graph's row, as a column of a part that has it."""
        column = self.columns[place]
        return Column(column.type, part.positions[place], column.name)

    def output(self, part: _Part) -> LogicalPlan:
        """The graph's output row over the complete part; the part's own plan if the rows are equal."""
        places = self.graph.row
        if [part.positions[place] for place in places] == list(range(part.plan.width)):
            return part.plan
        columns = tuple([self.column(place, part) for place in places])
        return LogicalProject(part.plan, columns, tuple([column.name for column in columns]))

    def take(self, positions: dict[int, int]) -> list[Expr]:
        """Remove the pending predicates whose columns are all available, and return the predicates over the
        row of ``positions``."""
        if not self.pending:
            return []
        there = self.where(positions)
        ready = [item for item in self.pending if columns_used(item) <= there.keys()]
        self.pending = [item for item in self.pending if item not in ready]
        return [remap(item, there) for item in ready]


def build(graph: JoinGraph, shape: Shape) -> LogicalPlan:
    """Build the tree of joins of a shape; its output row is the graph's output row. A filtering relation is a
    right child."""
    building = _Building(graph)
    part = building.part(shape)
    assert not building.pending, "a shape must hold all relations"
    return building.output(part)


def left_deep(graph: JoinGraph) -> Shape:
    """The left-deep shape of the relations, in the order of the query."""
    shape: Shape = 0
    for index in range(1, len(graph.relations)):
        shape = (shape, index)
    return shape
