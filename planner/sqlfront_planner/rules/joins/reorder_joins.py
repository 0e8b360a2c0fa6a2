"""Reordering of joins to minimize the work."""

from collections.abc import Iterator
from typing import Final, NamedTuple

import msgspec
from msgspec.structs import replace

from sqlfront_connectors.base import ColumnStatistics
from sqlfront_engine.join_kinds import JoinKind
from sqlfront_planner.logical import LogicalPlan, map_inputs
from sqlfront_planner.rules.joins.join_graph import (
    EqualityClasses,
    JoinGraph,
    JoinInput,
    Shape,
    build,
    flatten,
    is_join_tree,
)
from sqlfront_planner.statistics.cardinality import Cardinality, KeySide, joined_values
from sqlfront_planner.statistics.selectivity import selectivity
from sqlfront_values.expressions import Expr, columns_used
from sqlfront_values.settings import Settings
from sqlfront_values.stacks import deep

#: Relations up to which the search is exhaustive: its time grows exponentially; above, the search takes the
#: cheapest next join each time,
MOST_ENUMERATED: Final = 10
#: up to this many relations, since that search takes time by the cube of their number; above, the search
#: joins one relation after the other.
MOST_COMPARED: Final = 40
#: The work per row, relative to a row that is looked up: for a row put into the hash table, and for an output
#: row.
BUILD_COST: Final = 2.0
OUTPUT_COST: Final = 1.0


def reorder_joins(plan: LogicalPlan, settings: Settings) -> LogicalPlan:
    """Give every tree of inner, semi and anti joins the shape with the smallest estimated intermediate
    results, the smaller input of each join on the right.

    Allowed because inner joins are associative and commutative, and a semi or anti join commutes with every
    join that keeps the columns it compares. Trees of any shape are considered (dynamic programming over
    connected sets of relations, Moerkotte and Neumann 2006); relations without a condition between them
    come last. The rule runs after :func:`push_down_filters`, which gives each relation its own conditions.

    >>> from sqlfront_planner.testing import example
    >>> print(example(reorder_joins, "select t.a from u join t on t.a = u.a"))
    Project: a#0
      Join: inner on a#0 = right.a#0
        Scan: t [a, b]
        Scan: u [a, c]
    """
    return _visit(plan, Cardinality())


@deep
def _visit(plan: LogicalPlan, cardinality: Cardinality) -> LogicalPlan:
    if is_join_tree(plan):
        graph = flatten(plan)
        relations = tuple(
            replace(relation, plan=_visit(relation.plan, cardinality)) for relation in graph.relations
        )
        graph = replace(graph, relations=relations)
        return build(graph, best_shape(graph, cardinality))
    return map_inputs(plan, lambda child: _visit(child, cardinality))


def best_shape(graph: JoinGraph, cardinality: Cardinality) -> Shape:
    """Return the cheapest tree of the graph's relations that the search finds, by the estimates of
    ``cardinality``: exhaustively for few relations, greedily for many."""
    search = _Search(graph, cardinality)
    if len(graph.relations) <= MOST_ENUMERATED:
        return search.exhaustive().shape
    return search.greedy().shape if len(graph.relations) <= MOST_COMPARED else search.in_a_row().shape


class _Tree(msgspec.Struct, frozen=True):
    """A candidate for a part of the join tree: the relations in the bit set ``members``, joined in
    ``shape``, with the estimated ``rows`` and ``cost``."""

    members: int
    shape: Shape
    rows: float
    cost: float


class _Edge(msgspec.Struct, frozen=True):
    """A predicate, as seen by the search. A set of relations can evaluate the predicate if the set contains
    at least one relation of each bit set in ``needs``. ``share``: the predicate's selectivity."""

    needs: tuple[int, ...]
    share: float

    def ready(self, members: int) -> bool:
        return all(members & need for need in self.needs)


class _Search:
    """A search for a cheap join tree. Sets of relations are bit sets: bit ``i`` stands for the graph's
    relation ``i``."""

    def __init__(self, graph: JoinGraph, cardinality: Cardinality) -> None:
        self.graph = graph
        self.cardinality = cardinality
        self.owners = graph.owners()
        self.classes = EqualityClasses(graph.predicates)
        self.members = [
            tuple(sorted(members, key=lambda place: self.owners[place])) for members in self.classes.all()
        ]
        self.class_bits = [self._bits(frozenset(places)) for places in self.members]
        self.edges = [
            _Edge(self._needs(predicate), self._share(predicate)) for predicate in self.classes.others
        ]
        self.filters = {
            index: self._filter_needs(relation)
            for index, relation in enumerate(graph.relations)
            if relation.filters
        }
        self.leaves = [
            _Tree(1 << index, index, cardinality.rows(relation.plan), 0.0)
            for index, relation in enumerate(graph.relations)
        ]
        self.sides = [[self._member(place) for place in places] for places in self.members]
        self.known_rows: dict[int, float] = {}
        self.everything = (1 << len(graph.relations)) - 1

    # ---- estimates of predicates

    def _bits(self, places: frozenset[int]) -> int:
        bits = 0
        for place in places:
            bits |= 1 << self.owners[place]
        return bits

    def _needs(self, predicate: Expr) -> tuple[int, ...]:
        """Return the bit sets of which the predicate needs one relation each: for each column that the
        predicate reads, the relations that have the column or an equal column."""
        return tuple({self._bits(self.classes.of(place)) for place in columns_used(predicate)})

    def _share(self, predicate: Expr) -> float:
        return selectivity(predicate, self._statistics)

    def _statistics(self, place: int) -> ColumnStatistics | None:
        relation = self.graph.relations[self.owners[place]]
        return self.cardinality.column(relation.plan, place - relation.start)

    def _member(self, place: int) -> "_Member":
        owner = self.owners[place]
        plan = self.graph.relations[owner].plan
        column = plan.row()[place - self.graph.relations[owner].start]
        side = self.cardinality.key_side(plan, (column,))
        return _Member(side.values, 1 << owner, self.cardinality.unfiltered_rows(plan), side.unique)

    def _filter_needs(self, relation: JoinInput) -> tuple[int, ...]:
        own = range(relation.start, relation.start + relation.plan.width)
        needs = set[int]()
        for predicate in relation.predicates:
            places = (place for place in columns_used(predicate) if place not in own)
            needs.update(self._bits(self.classes.of(place)) for place in places)
        return tuple(needs)

    # ---- the search

    def exhaustive(self) -> _Tree:
        """Return the cheapest tree, built from the cheapest trees of all connected subsets."""
        best: dict[int, _Tree] = {}
        by_size: list[list[int]] = [[] for _ in range(len(self.leaves) + 1)]
        for index, leaf in enumerate(self.leaves):
            best[leaf.members] = leaf
            if index not in self.filters:
                by_size[1].append(leaf.members)
        for size in range(2, len(self.leaves) + 1):
            for first, second in self._pairs(by_size, size):
                tree = self._join(best[first], best[second])
                if tree is None:
                    continue
                known = best.get(tree.members)
                if known is None:
                    by_size[size].append(tree.members)
                if known is None or tree.cost < known.cost:
                    best[tree.members] = tree
        if self.everything in best:
            return best[self.everything]
        return self._cross([best[members] for members in self._largest(best)])

    def _pairs(self, by_size: list[list[int]], size: int) -> Iterator[tuple[int, int]]:
        filters = [1 << index for index in self.filters]
        for first in by_size[size - 1]:
            for second in filters:
                if not first & second:
                    yield first, second
        for smaller in range(1, size // 2 + 1):
            for first in by_size[size - smaller]:
                for second in by_size[smaller]:
                    if not first & second and (smaller * 2 < size or first < second):
                        yield first, second

    def greedy(self) -> _Tree:
        """Return the tree that is built by joining, at each step, the two subtrees whose join has the
        fewest rows."""
        trees = list(self.leaves)
        known: dict[tuple[int, int], _Tree | None] = {}

        def join(first: _Tree, second: _Tree) -> _Tree | None:
            pair = first.members, second.members
            if pair not in known:
                known[pair] = self._join(first, second)
            return known[pair]

        while True:
            candidates = [
                (joined.rows, first, second, joined)
                for first in range(len(trees))
                for second in range(len(trees))
                if first != second and (joined := join(trees[first], trees[second])) is not None
            ]
            if not candidates:
                return self._cross(trees)
            _, first, second, joined = min(candidates, key=lambda item: item[0])
            trees = [tree for index, tree in enumerate(trees) if index not in (first, second)]
            trees.append(joined)

    def in_a_row(self) -> _Tree:
        """Return the tree that begins with the smallest relation and joins the smallest connected relation
        next, again and again. Relations that nothing connects come last, by cross joins."""
        waiting = sorted(self.leaves, key=lambda leaf: (leaf.shape in self.filters, leaf.rows))
        tree, apart = waiting.pop(0), list[_Tree]()
        while waiting:
            joins = (self._join(tree, leaf) for leaf in waiting)
            found = next(((place, joined) for place, joined in enumerate(joins) if joined is not None), None)
            if found is None:
                apart.append(tree)
                tree = waiting.pop(0)
            else:
                del waiting[found[0]]
                tree = found[1]
        return self._cross([*apart, tree])

    def _largest(self, best: dict[int, _Tree]) -> list[int]:
        """Return disjoint sets of relations that together hold all relations, chosen greedily: the largest
        sets with a tree in ``best`` first."""
        chosen: list[int] = []
        covered = 0
        for members in sorted(best, key=lambda members: -members.bit_count()):
            if not members & covered:
                chosen.append(members)
                covered |= members
        return chosen

    def _cross(self, trees: list[_Tree]) -> _Tree:
        """Join all trees to one, by cross joins where no condition connects two trees; the right sides of
        semi and anti joins come last."""
        waiting = [tree for tree in trees if tree.members.bit_count() == 1 and tree.shape in self.filters]
        first, *rest = sorted((tree for tree in trees if tree not in waiting), key=lambda tree: -tree.rows)
        for tree in [*sorted(rest, key=lambda tree: tree.rows), *waiting]:
            first = self._combined(first, tree)
        return first

    def _join(self, first: _Tree, second: _Tree) -> _Tree | None:
        """Return the join of the two trees; None if no predicate connects them, or if the first tree is the
        right side of a semi or anti join."""
        if isinstance(first.shape, int) and first.shape in self.filters:
            return None
        needs = self.filters.get(second.shape) if isinstance(second.shape, int) else None
        if needs is not None:
            return self._combined(first, second) if all(first.members & need for need in needs) else None
        return self._combined(first, second) if self._connected(first.members, second.members) else None

    def _connected(self, first: int, second: int) -> bool:
        if any(bits & first and bits & second for bits in self.class_bits):
            return True
        both = first | second
        return any(
            edge.ready(both) and not edge.ready(first) and not edge.ready(second) for edge in self.edges
        )

    def _combined(self, first: _Tree, second: _Tree) -> _Tree:
        index = second.shape if isinstance(second.shape, int) else -1
        if index in self.filters:
            rows = first.rows * self._filter_share(self.graph.relations[index], first)
            large, small = first, second
        else:
            rows = self._rows(first, second)
            large, small = (first, second) if first.rows >= second.rows else (second, first)
        work = max(large.rows, small.rows) + BUILD_COST * min(large.rows, small.rows) + OUTPUT_COST * rows
        return _Tree(
            first.members | second.members,
            (large.shape, small.shape),
            rows,
            first.cost + second.cost + work,
        )

    def _rows(self, first: _Tree, second: _Tree) -> float:
        """Return the estimated rows of the join of two trees. The estimate is the same for all trees over the
        same relations, whatever their shapes."""
        members = first.members | second.members
        rows = self.known_rows.get(members)
        if rows is None:
            rows = self.known_rows[members] = self._estimate(first, second)
        return rows

    def _estimate(self, first: _Tree, second: _Tree) -> float:
        left, right = _Product(), _Product()
        for bits, sides in zip(self.class_bits, self.sides, strict=True):
            if bits & first.members and bits & second.members:
                left.add(min(side for side in sides if side.bit & first.members))
                right.add(min(side for side in sides if side.bit & second.members))
        rows = first.rows * second.rows
        if left.count:
            rows /= joined_values(left.side(), right.side())
        both = first.members | second.members
        for edge in self.edges:
            if edge.ready(both) and not edge.ready(first.members) and not edge.ready(second.members):
                rows *= edge.share
        return rows

    def _filter_share(self, relation: JoinInput, tree: _Tree) -> float:
        """Return the estimated share of the tree's rows, from 0 to 1, that a semi or anti join with the
        relation keeps."""
        own = range(relation.start, relation.start + relation.plan.width)
        keys: list[Expr] = []
        left = _Product()
        for predicate in relation.predicates:
            pair = columns_used(predicate)
            outer = [place for place in pair if place not in own]
            inner = [place for place in pair if place in own]
            if len(outer) == 1 and len(inner) == 1 and getattr(predicate, "function", "") == "equal":
                keys.append(relation.plan.row()[inner[0] - relation.start])
                left.add(self._member(outer[0]))
        matched = 0.5
        if keys:
            there = self.cardinality.groups(relation.plan, tuple(keys))
            matched = min(1.0, there / max(1.0, left.side().values))
            matched *= 0.7 if len(keys) < len(relation.predicates) else 1.0
        return matched if relation.kind is JoinKind.SEMI else max(0.1, 1.0 - matched)


class _Member(NamedTuple):
    """Estimates of a join column: ``values``, the number of different values; ``bit``, the relation of the
    column as a bit set; ``rows``, the relation's rows without its filters; ``unique``, whether no value seems
    to repeat. The order of the tuples is by the number of values."""

    values: float
    bit: int
    rows: float
    unique: bool


class _Product:
    """The estimates of the key columns on one side of a join, combined to those of one composite key."""

    def __init__(self) -> None:
        self.count = 0
        self._values = 1.0
        self._limit = float("inf")
        self._unique = False

    def add(self, member: _Member) -> None:
        self.count += 1
        self._values *= member.values
        self._limit = min(self._limit, member.rows)
        self._unique = self._unique or member.unique

    def side(self) -> KeySide:
        """Return the estimates of the composite key, which consists of all key columns added. It has at most
        as many different values as the smallest relation among its columns has rows."""
        return KeySide(min(self._values, self._limit), unique=self._unique or self._values >= self._limit)
