"""Pushing of filters towards the tables."""

from collections.abc import Sequence
from functools import partial
from itertools import islice
from typing import Final

from msgspec.structs import replace

from sqlfront_engine.join_kinds import JoinKind
from sqlfront_planner.expressions.constant_facts import Equalities, facts, is_fact, restated
from sqlfront_planner.expressions.derived_predicates import implied, unknown_yet
from sqlfront_planner.expressions.rewriting import (
    TRUE,
    filtered,
    is_deterministic,
    is_trivial,
    remap,
    shift,
    substitute,
    without_repeats,
)
from sqlfront_planner.logical import (
    LogicalAggregate,
    LogicalFilter,
    LogicalGenerate,
    LogicalJoin,
    LogicalPlan,
    LogicalProject,
    LogicalScan,
    LogicalSetOperation,
    LogicalSort,
    LogicalWindow,
    SetKind,
    map_inputs,
)
from sqlfront_planner.rules.joins.join_graph import (
    JoinGraph,
    JoinInput,
    build,
    flatten,
    is_join_tree,
    left_deep,
)
from sqlfront_values.expressions import Call, Column, Expr, columns_used, conjunction, conjuncts, walk
from sqlfront_values.settings import Settings
from sqlfront_values.stacks import deep

Parts = tuple[Expr, ...]

#: Nodes by which a condition may grow at most when it moves below one projection: a chain of projections ``a
#: + a`` doubles the condition at each step, so that 50 projections would fill the memory.
_MOST_GROWTH: Final = 2_000


def push_down_filters(plan: LogicalPlan, settings: Settings) -> LogicalPlan:
    """Move every deterministic conjunct below projections, joins, aggregates, windows and set operations,
    into the scan if possible.

    Allowed where dropping an input row drops exactly the output rows made from it: below an Aggregate or
    Window for conditions on the keys only (they drop whole groups), below an outer join for the preserved
    side, below a semi or anti join for the left side. Along the way cross joins get their conditions,
    constants spread over join equalities, and each relation gets the part of an OR that restricts it.

    >>> from sqlfront_planner.testing import example
    >>> print(example(push_down_filters, "select * from (select a + 1 as x from t) where x > 1"))
    Project: a#0 + 1 AS x
      Scan: t [a, b] where (a#0 + 1) > 1
    """
    return _push(plan, ())


@deep
def _push(plan: LogicalPlan, parts: Parts) -> LogicalPlan:
    """Return the plan, filtered by ``parts`` as far down as possible. ``parts`` are deterministic conjuncts
    over the plan's output row."""
    match plan:
        case LogicalFilter():
            own = conjuncts(plan.condition)
            movable = tuple(part for part in own if is_deterministic(part))
            fixed = tuple(part for part in own if not is_deterministic(part))
            return filtered(_push(plan.input, (*movable, *parts)), fixed)
        case LogicalJoin() if is_join_tree(plan):
            return _push_join_tree(plan, parts)
        case LogicalJoin():
            return _push_outer_join(plan, parts)
        case LogicalProject():
            return _push_project(plan, parts)
        case LogicalAggregate():
            return _push_aggregate(plan, parts)
        case LogicalWindow():
            return _push_window(plan, parts)
        case LogicalGenerate():
            return _push_generate(plan, parts)
        case LogicalSort(limit=None, offset=0):
            return _over(plan, parts)
        case LogicalSetOperation():
            return _push_set_operation(plan, parts)
        case LogicalScan(limit=None):
            return _push_scan(plan, parts)
        case _:
            return filtered(_over(plan, ()), parts)


def _over(plan: LogicalPlan, parts: Parts) -> LogicalPlan:
    """Return the node with each of its inputs filtered by all ``parts``."""
    return map_inputs(plan, lambda child: _push(child, parts))


def _push_set_operation(plan: LogicalSetOperation, parts: Parts) -> LogicalPlan:
    """Push filters and known facts (conditions that all rows of a branch satisfy) into the branches. A row of
    an intersection is in every branch, so facts about one branch filter the others; a difference only removes
    rows of the first branch, so its facts filter the others."""
    first, *others = plan.branches
    known = [list(parts) for _ in plan.branches]
    if plan.kind is not SetKind.UNION_ALL:
        for place, other in enumerate(others, 1):
            known[place] += unknown_yet(facts(first), [*parts, *facts(other)])
    if plan.kind in (SetKind.INTERSECT, SetKind.INTERSECT_ALL):
        for other in others:
            known[0] += unknown_yet(facts(other), [*known[0], *facts(first)])
    return plan.with_inputs(
        tuple(_push(branch, tuple(own)) for branch, own in zip(plan.branches, known, strict=True))
    )


def _push_scan(scan: LogicalScan, parts: Parts) -> LogicalPlan:
    parts = tuple([part for part in parts if part != TRUE])
    if not parts:
        return scan
    filters = without_repeats((*scan.filters, *(remap(part, scan.columns) for part in parts)))
    derived = restated(filter(is_fact, filters), Equalities(filters), lambda _: True)
    return scan.with_operands((*filters, *unknown_yet(derived, filters)))


def _push_project(plan: LogicalProject, parts: Parts) -> LogicalPlan:
    fixed = tuple(part for part in parts if not _may_move(part, plan.expressions))
    movable = (part for part in parts if part not in fixed)
    return filtered(_over(plan, tuple(substitute(part, plan.expressions) for part in movable)), fixed)


def _may_move(part: Expr, items: Sequence[Expr]) -> bool:
    """Return whether the condition may move below a projection of the expressions ``items``: the expressions
    that it reads are deterministic, and substituting them doesn't make the condition much larger (stacked
    projections of ``a + a`` double the size each time)."""
    read = [items[place] for place in columns_used(part)]
    if all(map(is_trivial, read)):
        return True
    if not all(map(is_deterministic, read)):
        return False
    growth = 0
    for item in walk(part):
        if isinstance(item, Column) and not is_trivial(items[item.ordinal]):
            growth += sum(1 for _ in islice(walk(items[item.ordinal]), _MOST_GROWTH))
            if growth > _MOST_GROWTH:
                return False
    return True


def _push_aggregate(plan: LogicalAggregate, parts: Parts) -> LogicalPlan:
    """Push the conditions that read only the grouping keys, since they keep or drop entire groups. Without
    keys nothing is pushed, since the aggregation has one row for any input."""
    movable = tuple(
        part
        for part in parts
        if max(columns_used(part), default=len(plan.keys)) < len(plan.keys) and _may_move(part, plan.keys)
    )
    fixed = tuple(part for part in parts if part not in movable)
    return filtered(_over(plan, tuple(substitute(part, plan.keys) for part in movable)), fixed)


def _push_window(plan: LogicalWindow, parts: Parts) -> LogicalPlan:
    """Push the conditions that read only the window's PARTITION BY columns, since they keep or drop all rows
    with the same values in these columns."""
    keys = {item.ordinal for item in plan.partition if isinstance(item, Column)}
    movable = tuple(part for part in parts if (used := columns_used(part)) and used <= keys)
    fixed = tuple(part for part in parts if part not in movable)
    return filtered(_over(plan, movable), fixed)


def _push_generate(plan: LogicalGenerate, parts: Parts) -> LogicalPlan:
    """Push the conditions that read only the input's columns, since they keep or drop all rows made of an
    input row. A condition stays above a nondeterministic generator, as in Spark."""
    width = plan.input.width
    if not all(map(is_deterministic, plan.arguments)):
        return filtered(_over(plan, ()), parts)
    movable = tuple(part for part in parts if max(columns_used(part), default=width) < width)
    fixed = tuple(part for part in parts if part not in movable)
    return filtered(_over(plan, movable), fixed)


def _push_join_tree(plan: LogicalJoin, parts: Parts) -> LogicalPlan:
    spreading = _Spreading(flatten(plan), parts)
    graph = spreading.graph
    relations = tuple(
        replace(
            relation,
            plan=_push(relation.plan, tuple(shift(part, -relation.start) for part in own)),
            predicates=predicates,
        )
        for relation, own, predicates in zip(graph.relations, spreading.own, spreading.filtering, strict=True)
    )
    graph = JoinGraph(relations, tuple(spreading.joint), graph.row)
    return build(graph, left_deep(graph))


class _Spreading:
    """The predicates of a join graph, assigned to the relations. ``own``: for each relation the predicates
    that read this relation only; ``filtering``: for each right side of a semi or anti join the predicates
    that stay in the join; ``joint``: all remaining predicates."""

    def __init__(self, graph: JoinGraph, parts: Parts) -> None:
        self.graph = graph
        self.owners = graph.owners()
        self.own: list[list[Expr]] = [[] for _ in graph.relations]
        self.joint: list[Expr] = []
        predicates = [*graph.predicates, *(remap(part, graph.row) for part in parts)]
        for relation in graph.relations:
            if relation.kind is JoinKind.SEMI:
                predicates += (item for item in relation.predicates if self.is_left_only(item, relation))
        self.predicates = list(without_repeats(predicates))
        self.facts = [
            _facts_of(relation) if relation.kind in (JoinKind.INNER, JoinKind.SEMI) else ()
            for relation in graph.relations
        ]
        for predicate in self.predicates:
            self.place(predicate)
        self.derive()
        for predicate in self.joint:
            self.share(predicate)
        self.filtering = [self.split(index) for index in range(len(graph.relations))]

    def owner(self, used: frozenset[int]) -> int | None:
        """Return the index of the relation that has all these columns (0 if there is no column); None if
        several relations have some of them."""
        owners = {self.owners[place] for place in used} or {0}
        return owners.pop() if len(owners) == 1 else None

    def is_owned(self, index: int, used: frozenset[int]) -> bool:
        return self.owner(used) == index

    def is_left_only(self, predicate: Expr, relation: JoinInput) -> bool:
        return all(
            place < relation.start or place >= relation.start + relation.plan.width
            for place in columns_used(predicate)
        )

    def known(self) -> list[Expr]:
        """Return the facts that hold for all rows that the joins emit. A fact is a condition that compares
        columns with constants."""
        return [*filter(is_fact, self.predicates), *(fact for found in self.facts for fact in found)]

    def derive(self) -> None:
        """Add to each relation the facts (conditions that hold for all rows) about its columns that follow
        from facts about columns that equal them."""
        relations = self.graph.relations
        matched = [part for item in relations if item.kind is JoinKind.SEMI for part in item.predicates]
        equalities = Equalities([*self.predicates, *matched])
        known = self.known()
        for index, relation in enumerate(relations):
            if not relation.filters:
                derived = restated(known, equalities, partial(self.is_place_of, index))
                self.own[index] += unknown_yet(derived, [*self.own[index], *self.facts[index]])

    def is_place_of(self, index: int, place: int) -> bool:
        return self.owners[place] == index

    def place(self, predicate: Expr) -> None:
        owner = self.owner(columns_used(predicate))
        (self.joint if owner is None else self.own[owner]).append(predicate)

    def share(self, predicate: Expr) -> None:
        """If the predicate is an OR over several relations, add to each relation the condition on this
        relation alone that the OR implies."""
        if not (isinstance(predicate, Call) and predicate.function == "or"):
            return
        for index, relation in enumerate(self.graph.relations):
            if not relation.filters:
                share = implied(predicate, partial(self.is_owned, index))
                if share is not None:
                    self.own[index].append(share)

    def split(self, index: int) -> Parts:
        """Move the conditions of a semi or anti join that read only its right side, the relation ``index``,
        to this relation. Return the join's remaining predicates."""
        relation = self.graph.relations[index]
        if relation.kind not in (JoinKind.SEMI, JoinKind.ANTI):
            return relation.predicates
        kept = []
        for predicate in relation.predicates:
            if self.owner(columns_used(predicate)) == index:
                self.own[index].append(predicate)
            elif not (relation.kind is JoinKind.SEMI and self.is_left_only(predicate, relation)):
                kept.append(predicate)
        equalities = Equalities([*self.predicates, *kept])
        derived = restated(self.known(), equalities, partial(self.is_place_of, index))
        self.own[index] += unknown_yet(derived, [*self.own[index], *_facts_of(relation)])
        return tuple(kept)


def _facts_of(relation: JoinInput) -> tuple[Expr, ...]:
    """Return the conditions that hold for all rows of the relation, over the graph's row."""
    return tuple(shift(fact, relation.start) for fact in facts(relation.plan))


def _push_outer_join(plan: LogicalJoin, parts: Parts) -> LogicalPlan:
    """Push conditions through an outer join. In a LEFT join the left side takes conditions from above, the
    right side takes conditions of ON; any other outer join takes none."""
    if plan.kind is not JoinKind.LEFT:
        return filtered(_over(plan, ()), parts)
    width = plan.left.width
    left = [part for part in parts if all(place < width for place in columns_used(part))]
    above = tuple(part for part in parts if part not in left)
    on = () if plan.condition is None else conjuncts(plan.condition)
    right = [part for part in on if is_deterministic(part) and min(columns_used(part), default=0) >= width]
    rest = tuple(part for part in on if part not in right)
    keys = [key.over_both(width) for key in plan.keys]
    known = [*filter(is_fact, (*left, *on)), *facts(plan.left)]
    derived = restated(known, Equalities([*on, *keys]), lambda place: place >= width)
    right += unknown_yet(derived, [*right, *(shift(fact, width) for fact in facts(plan.right))])
    join = replace(
        plan,
        left=_push(plan.left, tuple(left)),
        right=_push(plan.right, tuple(shift(part, -width) for part in right)),
        condition=conjunction(rest),
    )
    return filtered(join, above)
