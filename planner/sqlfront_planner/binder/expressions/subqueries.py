"""Binding of subqueries in expressions: scalar, EXISTS, IN."""

import pyarrow as pa
from sqlglot import exp

from sqlfront_planner.binder.expressions.expression_binder import ExpressionBinder, cast_to
from sqlfront_planner.binder.scope import BoundQuery
from sqlfront_planner.binder.trees.handlers import (
    failure,
    handles,
    refuse_unknown,
    unparenthesized,
    unsupported,
)
from sqlfront_planner.logical import Exists, InSubquery, LogicalPlan, LogicalProject, ScalarSubquery
from sqlfront_planner.types import names_of
from sqlfront_values.errors import Error
from sqlfront_values.expressions import Column, Expr
from sqlfront_values.types import BOOLEAN


@handles(exp.Subquery, arguments="this")
def bind_scalar(binder: ExpressionBinder, node: exp.Subquery) -> Expr:
    """Bind ``(SELECT ...)`` as a value: one column, at most one row. Raises INVALID_SUBQUERY_EXPRESSION for a
    query of several columns."""
    bound = _bind(binder, node.this)
    if len(bound.names) != 1:
        raise failure(
            "INVALID_SUBQUERY_EXPRESSION.SCALAR_SUBQUERY_RETURN_MORE_THAN_ONE_OUTPUT_COLUMN",
            f"Invalid subquery: Scalar subquery must return only one column, but got {len(bound.names)}.",
            node,
        )
    return ScalarSubquery(bound.plan.row()[0].type, bound.plan)


@handles(exp.Exists)
def bind_exists(binder: ExpressionBinder, node: exp.Exists) -> Expr:
    """Bind ``EXISTS (SELECT ...)``."""
    return Exists(BOOLEAN, _bind(binder, node.this).plan)


@handles(exp.Any, exp.All)
def bind_quantifier(binder: ExpressionBinder, node: exp.Any | exp.All) -> Expr:
    """Raise NotSupportedError for comparisons such as ``= ANY (SELECT ...)`` and ``= ALL (SELECT ...)``,
    which Spark doesn't have."""
    raise unsupported(node.key.upper(), node)


def in_subquery(binder: ExpressionBinder, node: exp.In, query: exp.Expr) -> Expr:
    """Bind ``a IN (query)`` or ``(a, b) IN (query)``; each value and the query's column beside it are cast to
    their common type. Raises DATATYPE_MISMATCH.IN_SUBQUERY_LENGTH_MISMATCH or
    .IN_SUBQUERY_DATA_TYPE_MISMATCH."""
    left = unparenthesized(node.this)
    nodes = left.expressions if isinstance(left, exp.Tuple) else [left]
    operands = binder.bind_all(nodes)
    if isinstance(query, exp.Subquery):
        refuse_unknown(query, frozenset({"this"}))
        query = query.this
    bound = _bind(binder, query)
    row = bound.plan.row()
    if len(operands) == 1 and len(row) > 1 and pa.types.is_struct(operands[0].type):
        raise unsupported("A struct IN a subquery of several columns", node)
    if len(row) != len(operands):
        raise failure(
            "DATATYPE_MISMATCH.IN_SUBQUERY_LENGTH_MISMATCH",
            "The number of columns in the left hand side of an IN subquery does not match the number of "
            "columns in the "
            f"output of subquery. Left hand side columns(length: {len(operands)}), right hand side "
            "columns(length: "
            f"{len(row)}).",
            node,
        )
    kinds = [
        binder.context.coercion.wider_type(operand.type, column.type)
        for operand, column in zip(operands, row, strict=True)
    ]
    known = [kind for kind in kinds if kind is not None]
    if len(known) < len(kinds):
        raise failure(
            "DATATYPE_MISMATCH.IN_SUBQUERY_DATA_TYPE_MISMATCH",
            "The data type of one or more elements in the left hand side of an IN subquery is not compatible "
            "with the data "
            f"type of the output of the subquery. Left side: [{names_of([item.type for item in operands])}], "
            "right side: "
            f"[{names_of([item.type for item in row])}].",
            node,
        )
    plan = _cast_columns(bound.plan, row, known)
    return InSubquery(
        BOOLEAN, plan, tuple(cast_to(operand, kind) for operand, kind in zip(operands, known, strict=True))
    )


def subquery_in_lambda(node: exp.Expr) -> Error:
    """Make Spark's error for a subquery within a call of a function that takes lambdas."""
    return failure(
        "UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY.HIGHER_ORDER_FUNCTION",
        "Unsupported subquery expression: Subquery expressions are not supported within higher-order"
        " functions. Please remove all subquery expressions from higher-order functions and then try the"
        " query again.",
        node,
    )


def _cast_columns(plan: LogicalPlan, row: tuple[Column, ...], kinds: list[pa.DataType]) -> LogicalPlan:
    if all(column.type == kind for column, kind in zip(row, kinds, strict=True)):
        return plan
    expressions = tuple(cast_to(column, kind) for column, kind in zip(row, kinds, strict=True))
    return LogicalProject(plan, expressions, tuple(column.name for column in row))


def _bind(binder: ExpressionBinder, query: exp.Expr) -> BoundQuery:
    if binder.inside_lambda:
        raise subquery_in_lambda(query)
    return binder.queries.within(query, binder.scope)
