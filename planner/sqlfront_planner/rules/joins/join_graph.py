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
    """One relation in a join graph: a plan whose columns begin at ``start`` in the graph's row (the columns
    of all relations, one after another). For a semi or anti join (``kind``) the relation is the right side,
    and ``predicates`` are the join's conditions over the graph's row; for an inner join the conditions are in
    the graph."""

    plan: LogicalPlan
    start: int
    kind: JoinKind = JoinKind.INNER
    predicates: tuple[Expr, ...] = ()

    @property
    def filters(self) -> bool:
        """Whether the relation is the right side of a semi or anti join, which filters rows and adds no
        columns."""
        return self.kind in FILTERING_JOINS


class JoinGraph(msgspec.Struct, frozen=True):
    """A tree of joins without its order. The graph's row consists of the columns of all relations, one after
    another. ``predicates`` are the inner joins' conjuncts over the graph's row; ``row`` has for each output
    column of the tree its position in the graph's row."""

    relations: tuple[JoinInput, ...]
    predicates: tuple[Expr, ...]
    row: tuple[int, ...]

    def owners(self) -> tuple[int, ...]:
        """Return, for each column of the graph's row, the index of the relation that has the column."""
        return tuple(
            [index for index, relation in enumerate(self.relations) for _ in range(relation.plan.width)]
        )

    def columns(self) -> list[Column]:
        """Return, for each column of the graph's row, the column as an expression over its relation's
        row."""
        return [column for relation in self.relations for column in relation.plan.row()]


#: The shape of a join tree: a relation's index, or a pair (left, right).
Shape = int | tuple["Shape", "Shape"]


def is_join_tree(plan: LogicalPlan) -> bool:
    """Return whether the plan is a join that :func:`flatten` can take apart, perhaps below filters and
    projections of columns."""
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
    """Return the graph of the inner, semi and anti joins at the top of ``plan``. Filters between the joins
    become predicates; projections of columns disappear. A plan without such joins gives a graph of one
    relation."""
    builder = _Flattening()
    row = builder.add(plan)
    return JoinGraph(tuple(builder.relations), tuple(builder.predicates), tuple(row))


class _Flattening:
    """A join graph under construction: the relations and predicates, and the width of the graph's row, so
    far."""

    def __init__(self) -> None:
        self.relations: list[JoinInput] = []
        self.predicates: list[Expr] = []
        self.width = 0
        self.depth = 0

    def add(self, plan: LogicalPlan) -> list[int]:
        """Add the relations and predicates of a subtree; return the positions of the subtree's output
        columns in the graph's row."""
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
    """The classes of columns that the predicates make equal: each class is a ``frozenset`` of at least two
    positions in the graph's row. ``others`` are the predicates that aren't the equality of two columns."""

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
        """Return the positions of all columns that equal the column at ``place``, including ``place``."""
        return self._class.get(place) or frozenset((place,))

    def all(self) -> tuple[frozenset[int], ...]:
        """Return all classes, ordered by the lowest position in each."""
        return tuple(dict.fromkeys(self._class[place] for place in sorted(self._class)))


def column_equality(predicate: Expr) -> tuple[int, int] | None:
    """Return the ordinals of the two columns if the predicate is ``column = column``; else None."""
    if isinstance(predicate, Call) and predicate.function == "equal":
        left, right = predicate.arguments
        if isinstance(left, Column) and isinstance(right, Column) and left.ordinal != right.ordinal:
            return left.ordinal, right.ordinal
    return None


def split_keys(parts: Iterable[Expr], left_width: int) -> tuple[tuple[JoinKey, ...], tuple[Expr, ...]]:
    """Split conjuncts of a join's condition into join keys and all other conjuncts. The conjuncts are over
    the left row followed by the right row. ``left_width``: the number of columns of the left row.

    A key is an equality between an expression over the left row only and an expression over the right row
    only."""
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
    """A subtree of the join tree under construction: its plan, and the ordinals in the plan's row by
    positions in the graph's row."""

    plan: LogicalPlan
    positions: dict[int, int]

    def shared(self, places: Iterable[int]) -> int | None:
        """Return the first of ``places``, positions in the graph's row, that the subtree's row has; None if
        it has none of them."""
        return next((place for place in places if place in self.positions), None)


class _Building:
    """The construction of a join tree from the relations of ``graph``. Every predicate is applied in the
    lowest subtree that has its columns."""

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
        """Return ``positions`` (ordinals of a subtree's row by positions in the graph's row), extended by
        the columns that equal an available column."""
        found = dict(positions)
        for members in self.classes:
            stand_in = next((place for place in members if place in positions), None)
            if stand_in is not None:
                found.update((place, positions[stand_in]) for place in members if place not in positions)
        return found

    def column(self, place: int, part: _Part) -> Column:
        """Return a column as an expression over the row of ``part``, a part of the join tree that has the
        column. ``place``: the position of the column among the columns of all relations of the graph."""
        column = self.columns[place]
        return Column(column.type, part.positions[place], column.name)

    def output(self, part: _Part) -> LogicalPlan:
        """Return the plan of ``part``, the complete tree, with exactly the output columns of the graph, by
        a projection where necessary."""
        places = self.graph.row
        if [part.positions[place] for place in places] == list(range(part.plan.width)):
            return part.plan
        columns = tuple([self.column(place, part) for place in places])
        return LogicalProject(part.plan, columns, tuple([column.name for column in columns]))

    def take(self, positions: dict[int, int]) -> list[Expr]:
        """Remove the pending predicates whose columns are all available in a subtree with the columns
        ``positions``. Return these predicates as expressions over the subtree's row."""
        if not self.pending:
            return []
        there = self.where(positions)
        ready = [item for item in self.pending if columns_used(item) <= there.keys()]
        self.pending = [item for item in self.pending if item not in ready]
        return [remap(item, there) for item in ready]


def build(graph: JoinGraph, shape: Shape) -> LogicalPlan:
    """Build the tree of joins that ``shape`` describes: a relation's index in the graph, or a pair of shapes,
    the left and the right side of a join. The tree has the graph's output columns. The right side of a semi
    or anti join must be a right child in the shape."""
    building = _Building(graph)
    part = building.part(shape)
    assert not building.pending, "a shape must hold all relations"
    return building.output(part)


def left_deep(graph: JoinGraph) -> Shape:
    """Return the shape of the join tree in which every join has one relation on the right, in the order of
    the query. A shape is a relation's index in the graph, or a pair of shapes, the left and the right side of
    a join."""
    shape: Shape = 0
    for index in range(1, len(graph.relations)):
        shape = (shape, index)
    return shape
