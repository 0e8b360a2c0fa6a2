"""Checks and rewrites of subqueries that read the enclosing query's row, for clauses in which Spark allows no
such subquery, and for grouping, which changes that row."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import msgspec
from sqlglot import exp

from sqlfront_engine.join_kinds import JoinKind
from sqlfront_planner.binder.trees.handlers import failure, unsupported
from sqlfront_planner.expressions.rewriting import holds_outer_column, is_correlated, map_operands
from sqlfront_planner.logical import (
    LogicalJoin,
    LogicalPlan,
    OuterColumn,
    ScalarSubquery,
    Subquery,
    call_operands,
    distinct_nodes,
    transform_plan,
)
from sqlfront_values.errors import Error
from sqlfront_values.expressions import Expr, columns_used, transform, walk

if TYPE_CHECKING:
    from sqlfront_planner.binder.collected_calls import Aggregates, SelectItem, WindowItem
    from sqlfront_planner.binder.groups.group_by import Grouping


def refuse_correlated(expression: Expr, place: str, node: exp.Expr) -> None:
    """Raise NotSupportedError if the expression has a scalar subquery that reads the enclosing query's row.
    ``place`` names the clause in the message, such as "in ORDER BY"."""
    if any(isinstance(item, ScalarSubquery) and is_correlated(item.plan) for item in walk(expression)):
        raise unsupported(f"A correlated subquery {place}", node)


def misplaced(name: str, node: exp.Expr) -> Error:
    """Make the error for an expression, called ``name``, that reads the enclosing query's row in a clause in
    which Spark has no such expressions."""
    return failure(
        "UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY.CORRELATED_REFERENCE",
        "Unsupported subquery expression: Expressions referencing the outer query are not supported outside "
        f'of WHERE/HAVING clauses: "{name}".',
        node,
    )


def refuse_in_groups(
    plan: LogicalPlan, grouping: "Grouping", aggregates: "Aggregates", items: "Sequence[SelectItem]"
) -> None:
    """Raise Spark's error if a grouping key, an aggregate function or a select list beside groups reads the
    enclosing row, or if grouping sets are made of a ``plan`` that does."""
    for call in aggregates.calls:
        operands = call_operands(call)
        if any(map(holds_outer_column, operands)):
            node = items[0].node
            if any(map(columns_used, operands)):
                raise failure(
                    "UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY.AGGREGATE_FUNCTION_MIXED_OUTER_LOCAL_REFERENCES",
                    "Unsupported subquery expression: Found an aggregate function in a correlated predicate "
                    f"that has both outer and local references, which is not supported: {call.function}.",
                    node,
                )
            raise misplaced(call.function, node)
    for item in items:
        if holds_outer_column(item.expression):
            raise misplaced(item.name, item.node)
    if any(map(holds_outer_column, grouping.keys)):
        raise misplaced("GROUP BY", items[0].node)
    if grouping.sets is not None and is_correlated(plan):
        raise _inaccessible("an input of grouping sets", items[0].node)


def refuse_in_windows(windows: "Sequence[WindowItem]") -> None:
    """Raise Spark's error if a window function, its partitions or its order read the enclosing row."""
    for window in windows:
        order = (expression for expression, _ in window.order)
        if any(map(holds_outer_column, (*window.call.arguments, *window.partition, *order))):
            raise misplaced(window.name, window.node)


def refuse_in_generator(plan: LogicalPlan, arguments: Sequence[Expr], node: exp.Expr) -> None:
    """Raise Spark's error if a generator of the select list reads the enclosing row beside columns of FROM,
    or below a WHERE that does; ``plan`` is the generator's input."""
    if any(map(holds_outer_column, arguments)):
        if plan.width:
            raise misplaced(node.sql("spark"), node)
        if is_correlated(plan):
            raise _inaccessible("an input of a generator", node)


def check_joins(plan: LogicalPlan, node: exp.Expr) -> None:
    """Raise ACCESSING_OUTER_QUERY_COLUMN_IS_NOT_ALLOWED if a subquery's plan reads the enclosing row below a
    join, on a side whose rows the join may fill with nulls or doesn't return."""
    for join in distinct_nodes(plan):
        if isinstance(join, LogicalJoin) and join.kind is not JoinKind.INNER:
            sides = (join.left,) if join.kind in (JoinKind.RIGHT, JoinKind.FULL) else ()
            sides = sides if join.kind is JoinKind.RIGHT else (*sides, join.right)
            if any(map(is_correlated, sides)):
                raise _inaccessible(f"an input of a {join.kind.value.upper()} join", node)


def _inaccessible(place: str, node: exp.Expr) -> Error:
    return failure(
        "UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY.ACCESSING_OUTER_QUERY_COLUMN_IS_NOT_ALLOWED",
        "Unsupported subquery expression: Accessing outer query column is not allowed in this location: "
        f"{place}.",
        node,
    )


def ordinals_read(subquery: Subquery) -> set[int]:
    """Return the ordinals of the enclosing query's columns that a subquery and its operands read."""
    found = set().union(*map(columns_used, subquery.children()))
    for plan in distinct_nodes(subquery.plan):
        for operand in plan.operands():
            found |= {item.ordinal for item in walk(operand) if isinstance(item, OuterColumn)}
    return found


def replace_outer(subquery: Subquery, rewrite: Callable[[OuterColumn], Expr]) -> Subquery:
    """Return the subquery with ``rewrite`` applied to every column of the enclosing row that its plan reads.

    Nested subqueries stay unchanged, since their enclosing rows are rows of this subquery.
    """

    def replace(item: Expr) -> Expr:
        return rewrite(item) if isinstance(item, OuterColumn) else item

    def visit(plan: LogicalPlan) -> LogicalPlan:
        return map_operands(plan, lambda operand: transform(operand, replace))

    return msgspec.structs.replace(subquery, plan=transform_plan(subquery.plan, visit))
