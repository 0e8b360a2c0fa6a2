"""Restriction of an aggregation to the groups that a join needs."""

from typing import Final

from msgspec.structs import replace

from sqlfront_engine.join_kinds import JoinKind
from sqlfront_planner.expressions.rewriting import selected, shift
from sqlfront_planner.logical import (
    LogicalAggregate,
    LogicalFilter,
    LogicalJoin,
    LogicalPlan,
    LogicalProject,
    LogicalScan,
    map_inputs,
    walk_plan,
)
from sqlfront_planner.rules.joins.join_graph import (
    EqualityClasses,
    JoinGraph,
    JoinInput,
    build,
    flatten,
    is_join_tree,
    left_deep,
)
from sqlfront_planner.shared_rows import is_repeatable
from sqlfront_planner.statistics.cardinality import Cardinality, table_rows
from sqlfront_values.expressions import Call, Column, columns_used
from sqlfront_values.settings import Settings
from sqlfront_values.stacks import deep
from sqlfront_values.types import BOOLEAN

#: The share of the values that the reducing rows select from, up to which the reduction pays: with more
#: values left the semi-join saves less of the aggregation than it costs,
WORTHWHILE: Final = 0.25
#: and the share of the rows that the aggregation reads, up to which computing the reducing rows may read
#: rows.
MOST_EXTRA: Final = 0.5


def reduce_aggregates(plan: LogicalPlan, settings: Settings) -> LogicalPlan:
    """Let an aggregation read only the groups that a join needs: an aggregation joined on its grouping key
    with a much smaller relation gets a semi join with that relation's keys below it.

    The join drops groups without a partner anyway, so the result doesn't change. The smaller relation is
    computed twice, so it must be cheap: a filtered table, not the result of large joins. The rule limits
    the cost of a decorrelated scalar subquery to the groups that the outer rows need. It runs after
    :func:`push_down_filters` and before :func:`reorder_joins`.
    """
    return _visit(plan, Cardinality())


@deep
def _visit(plan: LogicalPlan, cardinality: Cardinality) -> LogicalPlan:
    if isinstance(plan, LogicalJoin) and is_join_tree(plan):
        graph = flatten(plan)
        relations = tuple(
            replace(relation, plan=_visit(relation.plan, cardinality)) for relation in graph.relations
        )
        reduced = _reduce(replace(graph, relations=relations), cardinality)
        changed = any(
            new.plan is not old.plan for new, old in zip(reduced.relations, graph.relations, strict=True)
        )
        return build(reduced, left_deep(reduced)) if changed else plan
    return map_inputs(plan, lambda child: _visit(child, cardinality))


def _reduce(graph: JoinGraph, cardinality: Cardinality) -> JoinGraph:
    classes = EqualityClasses(graph.predicates)
    relations = []
    for relation in graph.relations:
        if not relation.filters and _aggregation(relation.plan) is not None:
            for place in range(relation.start, relation.start + relation.plan.width):
                for partner, column in _partners(graph, relation, classes.of(place)):
                    plan = _with_semi_join(
                        relation.plan, place - relation.start, partner, column, cardinality
                    )
                    relation = replace(relation, plan=plan)
        relations.append(relation)
    return replace(graph, relations=tuple(relations))


def _partners(graph: JoinGraph, reduced: JoinInput, members: frozenset[int]) -> list[tuple[LogicalPlan, int]]:
    """Return the relations that restrict a column of ``reduced``. ``members`` are the ordinals, in the
    graph's row (the columns of all joined relations), of all columns that must equal this column. A relation
    restricts it by being joined on one of these columns, or by being the right side of a semi join on one of
    them. The pairs are the relation's plan, and the ordinal in this plan of the column with the values."""
    found = []
    for relation in graph.relations:
        own = range(relation.start, relation.start + relation.plan.width)
        if relation is reduced or relation.start == reduced.start:
            continue
        if relation.filters:
            column = _compared(relation, own, members) if relation.kind is JoinKind.SEMI else None
        else:
            column = min((place for place in members if place in own), default=None)
        if column is not None:
            found.append((relation.plan, column - relation.start))
    return found


def _compared(relation: JoinInput, own: range, members: frozenset[int]) -> int | None:
    """Return the column of a semi join's right side that must equal one of the columns ``members``; None if
    no predicate demands that. ``own`` are the columns of the right side. All columns are ordinals of the
    graph's row (the columns of all joined relations)."""
    for predicate in relation.predicates:
        match predicate:
            case Call(function="equal", arguments=(Column() as left, Column() as right)):
                places = {left.ordinal, right.ordinal}
                if places & members and len(inner := [place for place in places if place in own]) == 1:
                    return inner[0]
    return None


def _aggregation(plan: LogicalPlan) -> LogicalAggregate | None:
    """Return the aggregation with keys that the plan is, or that lies directly below filters and
    projections; None if there is none."""
    while isinstance(plan, LogicalFilter | LogicalProject):
        plan = plan.input
    return plan if isinstance(plan, LogicalAggregate) and plan.keys else None


def _with_semi_join(
    plan: LogicalPlan, place: int, partner: LogicalPlan, column: int, cardinality: Cardinality
) -> LogicalPlan:
    """Return the plan whose aggregation reads only rows with a value that ``partner`` has in its column
    ``column``. Return the plan unchanged if its column ``place`` isn't a key of the aggregation, or if the
    semi join would cost more than it saves."""
    match plan:
        case LogicalFilter():
            return plan.with_inputs((_with_semi_join(plan.input, place, partner, column, cardinality),))
        case LogicalProject():
            item = plan.expressions[place]
            if not isinstance(item, Column):
                return plan
            below = _with_semi_join(plan.input, item.ordinal, partner, column, cardinality)
            return plan.with_inputs((below,))
        case LogicalAggregate() if place < len(plan.keys) and _pays(plan, place, partner, cardinality):
            key = plan.keys[place]
            values = selected(partner, [column])
            other = shift(values.row()[0], plan.input.width)
            condition = Call(BOOLEAN, "equal", (key, other))
            return plan.with_inputs((LogicalJoin(plan.input, values, JoinKind.SEMI, condition),))
        case _:
            return plan


def _pays(plan: LogicalAggregate, place: int, partner: LogicalPlan, cardinality: Cardinality) -> bool:
    key = plan.keys[place]
    if not columns_used(key) or not _is_cheap_again(partner):
        return False
    if _rows_read(partner) > MOST_EXTRA * _rows_read(plan.input):
        return False
    return cardinality.rows(partner) <= WORTHWHILE * cardinality.distinct(plan.input, key)


def _rows_read(plan: LogicalPlan) -> float:
    return sum(table_rows(node) for node in walk_plan(plan) if isinstance(node, LogicalScan))


def _is_cheap_again(plan: LogicalPlan) -> bool:
    """Return whether computing the plan twice gives the same rows and costs no more than reading its
    tables: the plan consists of scans, filters, projections and joins."""
    return is_repeatable(plan) and all(
        isinstance(node, LogicalScan | LogicalFilter | LogicalProject | LogicalJoin)
        for node in walk_plan(plan)
    )
