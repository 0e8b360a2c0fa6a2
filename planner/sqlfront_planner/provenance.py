"""The tables from which the columns of a logical plan come."""

from sqlfront_connectors.base import Table
from sqlfront_planner.logical import (
    LogicalAggregate,
    LogicalJoin,
    LogicalPlan,
    LogicalProject,
    LogicalScan,
    LogicalSetOperation,
    LogicalWindow,
    PassingPlan,
)
from sqlfront_planner.shared_rows import SharedRows
from sqlfront_values.expressions import Column, Expr


def table_column(plan: LogicalPlan, ordinal: int) -> tuple[Table, int] | None:
    """The table whose column, by the second number, the plan passes on unchanged as its column ``ordinal``;
    None if the column is computed. A set operation counts as its first branch."""
    found: LogicalPlan = plan
    while not (isinstance(found, LogicalScan) and not isinstance(found.table, SharedRows)):
        below = _below(found, ordinal)
        if below is None:
            return None
        found, ordinal = below
    return found.table, found.columns[ordinal]


def _below(plan: LogicalPlan, ordinal: int) -> tuple[LogicalPlan, int] | None:
    """The input and the input's column that the plan passes on; None if there is none."""
    match plan:
        case LogicalScan(table=SharedRows() as shared):
            return shared.plan, plan.columns[ordinal]
        case PassingPlan():
            return plan.input, ordinal
        case LogicalProject():
            return _column(plan.input, plan.expressions[ordinal])
        case LogicalAggregate() if ordinal < len(plan.keys):
            return _column(plan.input, plan.keys[ordinal])
        case LogicalWindow() if ordinal < plan.input.width:
            return plan.input, ordinal
        case LogicalSetOperation():
            return plan.branches[0], ordinal
        case LogicalJoin():
            width = plan.left.width
            return (plan.left, ordinal) if ordinal < width else (plan.right, ordinal - width)
        case _:
            return None


def _column(plan: LogicalPlan, expression: Expr) -> tuple[LogicalPlan, int] | None:
    return (plan, expression.ordinal) if isinstance(expression, Column) else None
