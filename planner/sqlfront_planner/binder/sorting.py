"""Binding of ORDER BY: items by position, by name and by expression, and the columns that the sort needs
besides the select list."""

from collections.abc import Sequence

import msgspec
import pyarrow as pa
from sqlglot import exp

from sqlfront_planner import types as coercion
from sqlfront_planner.binder import outer_columns
from sqlfront_planner.binder.expressions.expression_binder import ExpressionBinder
from sqlfront_planner.binder.time_windows import sessions
from sqlfront_planner.binder.trees.constants import may_be_position
from sqlfront_planner.binder.trees.handlers import failure, refuse_unknown, unparenthesized
from sqlfront_planner.binder.trees.sort_orders import sort_order
from sqlfront_planner.expressions.rewriting import is_correlated
from sqlfront_planner.logical import (
    Exists,
    InSubquery,
    LogicalAggregate,
    LogicalPlan,
    LogicalProject,
    LogicalSort,
    ScalarSubquery,
    Subquery,
)
from sqlfront_values import types
from sqlfront_values.expressions import Column, Expr, Literal, SortKey, SortOrder, walk
from sqlfront_values.types import INT


class OrderItem(msgspec.Struct, frozen=True):
    """One item of ORDER BY: an expression over the row before the projection, its sort order, and its node in
    the text."""

    expression: Expr
    order: SortOrder
    node: exp.Expr


def bind_order(binder: ExpressionBinder, node: exp.Expr, outputs: Sequence[Expr]) -> list[OrderItem]:
    """Bind the items of ORDER BY or SORT BY. A whole number means the column of ``outputs`` at that position,
    counted from 1; in ORDER BY ``ALL`` alone means every column of ``outputs``.

    Raises ProgrammingError (ORDER_BY_POS_OUT_OF_RANGE, DATATYPE_MISMATCH.INVALID_ORDERING_TYPE).
    """
    refuse_unknown(node, frozenset({"expressions"}))
    items = []
    is_only = type(node) is exp.Order and len(node.expressions) == 1
    for item in node.expressions:
        order = sort_order(item)
        for expression in _expressions(binder, item.this, outputs, is_only=is_only):
            check_orderable(binder, expression, item.this)
            items.append(OrderItem(expression, order, item.this))
    return items


def check_orderable(binder: ExpressionBinder, expression: Expr, node: exp.Expr) -> None:
    """Raise DATATYPE_MISMATCH.INVALID_ORDERING_TYPE if the expression's values can't be sorted."""
    if not coercion.is_orderable(expression.type):
        raise failure(
            "DATATYPE_MISMATCH.INVALID_ORDERING_TYPE",
            f'Cannot resolve "{binder.name(node)}" due to data type mismatch: The `sortorder` does not '
            f'support ordering on type "{types.sql_name(expression.type)}".',
            node,
        )


def _expressions(
    binder: ExpressionBinder, node: exp.Expr, outputs: Sequence[Expr], *, is_only: bool
) -> Sequence[Expr]:
    """Return the sort expressions that an item of ORDER BY means. ``is_only``: the clause is an ORDER BY
    without other items; elsewhere ALL is the name of a column."""
    is_all = isinstance(node, exp.Var | exp.Column) and node.name.lower() == "all"
    if is_all and is_only and binder.scope.resolve(("all",)) is None:
        return outputs
    if isinstance(node, exp.Var):
        node = exp.column(node.name)
    node = unparenthesized(node)
    if may_be_position(node):
        literal = binder.context.known_value(binder.bind(node))
        if isinstance(literal, Literal) and literal.type == INT:
            place = literal.value
            if not isinstance(place, int) or not 1 <= place <= len(outputs):
                raise failure(
                    "ORDER_BY_POS_OUT_OF_RANGE",
                    f"ORDER BY position {place} is not in select list (valid range is [1, {len(outputs)}]).",
                    node,
                )
            return [outputs[place - 1]]
    expression = binder.bind(node)
    if node.find(exp.Query) is not None:  # an alias may be a subquery
        check_subqueries(expression, outputs, node)
    return [expression]


def check_subqueries(expression: Expr, outputs: Sequence[Expr], node: exp.Expr) -> None:
    """Raise UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY for EXISTS, IN over a query, and a scalar subquery that
    reads the sorted rows; NotSupportedError for the last if the select list has subqueries, too, for which
    Spark has other errors."""
    where = "filters, joins, aggregations, window functions, projections, and UPDATE/MERGE/DELETE commands."
    if any(isinstance(item, Exists | InSubquery) for item in walk(expression)):
        raise failure(
            "UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY.UNSUPPORTED_IN_EXISTS_SUBQUERY",
            f"Unsupported subquery expression: IN/EXISTS predicate subqueries can only be used in {where}",
            node,
        )
    if any(isinstance(item, Subquery) for output in outputs for item in walk(output)):
        outer_columns.refuse_correlated(expression, "in ORDER BY", node)
    elif any(isinstance(item, ScalarSubquery) and is_correlated(item.plan) for item in walk(expression)):
        raise failure(
            "UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY.UNSUPPORTED_CORRELATED_SCALAR_SUBQUERY",
            "Unsupported subquery expression: Correlated scalar subqueries can only be used in filters, "
            "aggregations, projections, and UPDATE/MERGE/DELETE commands.",
            node,
        )


def sorted_plan(
    plan: LogicalPlan, outputs: Sequence[Expr], names: tuple[str, ...], items: Sequence[OrderItem]
) -> LogicalPlan:
    """Project ``plan`` to ``outputs``, called ``names``, and sort the rows by ``items``. A sort expression
    that isn't an output becomes a column for the sort, and is dropped afterwards; literals are ignored."""
    carried = list(outputs)
    keys: list[SortKey] = []
    for item in items:
        if isinstance(item.expression, Literal):
            continue
        if item.expression not in carried:
            carried.append(item.expression)
        place = carried.index(item.expression)
        if all(place != key.ordinal for key in keys):
            keys.append(SortKey(place, item.order))
    hidden = tuple(f"order{place}" for place in range(len(outputs), len(carried)))
    projected = projection(plan, carried, (*names, *hidden))
    if not keys:
        return projected
    ordered = LogicalSort(projected, tuple(keys))
    return projection(ordered, ordered.row()[: len(outputs)], names) if hidden else ordered


def projection(plan: LogicalPlan, expressions: Sequence[Expr], names: tuple[str, ...]) -> LogicalPlan:
    """Return a projection of ``plan`` to the expressions, called ``names``; the plan itself if the
    expressions are its columns in order, under their names."""
    if len(expressions) == plan.width and all(
        isinstance(item, Column) and item.ordinal == column.ordinal and name == column.name
        for item, column, name in zip(expressions, plan.row(), names, strict=True)
    ):
        return plan
    return LogicalProject(plan, tuple(expressions), names)


def distinct_rows(plan: LogicalPlan, names: tuple[str, ...], node: exp.Expr) -> LogicalPlan:
    """Return the plan of the distinct rows of ``plan``, with columns called ``names``. ``node``: the query in
    the text. As in Spark, sessions that overlap are merged, as by GROUP BY."""
    plan, keys = sessions.merge_sessions(plan, plan.row(), (), node)
    return LogicalAggregate(plan, keys, (), names)


def check_rows_comparable(kinds: Sequence[pa.DataType], node: exp.Expr) -> None:
    """Raise UNSUPPORTED_FEATURE.SET_OPERATION_ON_MAP_TYPE, or .SET_OPERATION_ON_VARIANT_TYPE, if values of
    one of the column types ``kinds`` can't be compared, because set operations and DISTINCT compare whole
    rows."""
    for kind in kinds:
        if types.holds_variant(kind) and not types.holds(kind, pa.types.is_map):
            raise failure(
                "UNSUPPORTED_FEATURE.SET_OPERATION_ON_VARIANT_TYPE",
                "The feature is not supported: Cannot have VARIANT type columns in a set operation"
                f' (INTERSECT, EXCEPT, etc.), but the type of a column is "{types.sql_name(kind)}".',
                node,
            )
        if not coercion.is_orderable(kind):
            raise failure(
                "UNSUPPORTED_FEATURE.SET_OPERATION_ON_MAP_TYPE",
                "The feature is not supported: Cannot have MAP type columns in DataFrame which calls set"
                f" operations (INTERSECT, EXCEPT, etc.), but the type of a column is {types.sql_name(kind)}.",
                node,
            )
