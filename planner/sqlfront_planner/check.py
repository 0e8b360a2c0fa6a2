"""The invariants of a logical plan, checked after every rule in tests and never in production."""

from collections.abc import Sequence

from sqlfront_engine.join_kinds import FILTERING_JOINS
from sqlfront_planner.lateral_joins import LogicalLateralJoin
from sqlfront_planner.logical import (
    LogicalAggregate,
    LogicalFilter,
    LogicalGenerate,
    LogicalJoin,
    LogicalLimit,
    LogicalPlan,
    LogicalProject,
    LogicalScan,
    LogicalSetOperation,
    LogicalSort,
    LogicalValues,
    LogicalWindow,
    OuterColumn,
    SetKind,
    Subquery,
)
from sqlfront_planner.recursion import LogicalRecursion
from sqlfront_values.errors import InternalError
from sqlfront_values.expression_text import describe
from sqlfront_values.expressions import Column, Expr, walk
from sqlfront_values.stacks import deep
from sqlfront_values.types import BOOLEAN


@deep
def check(plan: LogicalPlan, outer: Sequence[Column] = ()) -> LogicalPlan:
    """Return ``plan`` if it is well-formed: every column reference names an existing column of equal type,
    conditions are boolean, keys and branches agree in type, the lengths of name lists match. Otherwise raise
    InternalError.

    ``outer`` is the enclosing query's row, which :class:`OuterColumn` may read.
    """
    for child in plan.inputs():
        check(child, outer)
    for operand, row in zip(plan.operands(), _rows_read(plan), strict=True):
        _check_expression(plan, operand, row, outer)
    _check_shape(plan)
    if len(plan.row()) != plan.width:
        raise InternalError(f"{plan.label}: width {plan.width}, but {len(plan.row())} columns")
    return plan


def _rows_read(plan: LogicalPlan) -> list[tuple[Column, ...]]:
    """Return, for each expression that the node evaluates, the row that the expression's columns refer to; in
    the order of ``plan.operands()``."""
    match plan:
        case LogicalScan(table=table):
            fields = enumerate(table.schema)
            row = tuple(Column(field.type, place, field.name) for place, field in fields)
            return [row] * len(plan.filters)
        case LogicalValues():
            return [()] * len(plan.operands())
        case LogicalLateralJoin():
            return [plan.input.row(), plan.row()][: len(plan.operands())]
        case LogicalJoin():
            left, right = plan.left.row(), plan.right.row()
            both = (*left, *(Column(item.type, len(left) + item.ordinal, item.name) for item in right))
            return [*([left, right] * len(plan.keys)), *([both] if plan.condition is not None else [])]
        case _:
            count = len(plan.operands())
            return [plan.inputs()[0].row()] * count if count else []


def _check_expression(
    plan: LogicalPlan, expression: Expr, row: Sequence[Column], outer: Sequence[Column]
) -> None:
    for item in walk(expression):
        if isinstance(item, Column | OuterColumn):
            source = row if isinstance(item, Column) else outer
            if not 0 <= item.ordinal < len(source) or source[item.ordinal].type != item.type:
                there = ", ".join(f"{describe(column)} {column.type}" for column in source)
                what = f"{describe(item)} {item.type} in {describe(expression)}"
                raise InternalError(f"{plan.label}: {what} is none of [{there}]")
        elif isinstance(item, Subquery):
            check(item.plan, row)


def _check_shape(plan: LogicalPlan) -> None:
    match plan:
        case LogicalFilter(condition=condition):
            _require_boolean(plan, condition)
        case LogicalJoin(condition=condition):
            if condition is not None:
                _require_boolean(plan, condition)
            if any(key.left.type != key.right.type for key in plan.keys):
                raise InternalError("Join: the two sides of a key differ in type")
            if plan.kind in FILTERING_JOINS and plan.width != plan.left.width:
                raise InternalError("Join: a filtering join must give the left row")
        case LogicalLateralJoin(condition=condition):
            if condition is not None:
                _require_boolean(plan, condition)
        case LogicalProject():
            _require_names(plan, plan.names, len(plan.expressions))
        case LogicalAggregate():
            _require_names(plan, plan.names, len(plan.keys) + len(plan.calls))
        case LogicalGenerate():
            _require_names(plan, plan.names, len(plan.types))
        case LogicalWindow():
            _require_names(plan, plan.names, len(plan.calls))
        case LogicalSort(keys=keys):
            if any(not 0 <= key.ordinal < plan.input.width for key in keys):
                raise InternalError("Sort: a key is not a column of the input")
            _require_counts(plan, plan.limit, plan.offset)
        case LogicalLimit():
            _require_counts(plan, plan.count, plan.offset)
        case LogicalSetOperation(kind=kind, branches=branches):
            types = [[column.type for column in branch.row()] for branch in branches]
            if any(other != types[0] for other in types[1:]):
                raise InternalError(f"{kind.value}: the branches differ in type: {types}")
            if kind is not SetKind.UNION_ALL and len(branches) != 2:
                raise InternalError(f"{kind.value}: two branches are needed, not {len(branches)}")
        case LogicalRecursion(anchor=anchor, step=step, level=level):
            types = [[column.type for column in part.row()] for part in (anchor, step)]
            if types != [level.schema.types] * 2:
                raise InternalError(f"Recursion: anchor and step differ in type: {types}")
        case LogicalValues(output=output, rows=rows):
            if any([item.type for item in row] != output.types for row in rows):
                raise InternalError("Values: a row's types differ from the schema's")
        case _:
            pass


def _require_boolean(plan: LogicalPlan, condition: Expr) -> None:
    if condition.type != BOOLEAN:
        raise InternalError(f"{plan.label}: {describe(condition)} is {condition.type}, not boolean")


def _require_names(plan: LogicalPlan, names: tuple[str, ...], count: int) -> None:
    if len(names) != count:
        raise InternalError(f"{plan.label}: {len(names)} names for {count} columns")


def _require_counts(plan: LogicalPlan, count: int | None, offset: int) -> None:
    if (count is not None and count < 0) or offset < 0:
        raise InternalError(f"{plan.label}: negative limit or offset")
