"""The tables from which the columns of a logical plan come."""

from typing import Final

import msgspec

from sqlfront_connectors.base import Table
from sqlfront_planner.lateral_joins import LogicalLateralJoin
from sqlfront_planner.logical import (
    LogicalAggregate,
    LogicalGenerate,
    LogicalJoin,
    LogicalPlan,
    LogicalProject,
    LogicalScan,
    LogicalSetOperation,
    LogicalWindow,
    PassingPlan,
)
from sqlfront_planner.relation_details import ITEM, VALUE, Path
from sqlfront_planner.shared_rows import SharedRows
from sqlfront_values.expressions import Call, Column, Expr, Literal


class ColumnSource(msgspec.Struct, frozen=True):
    """A column of a table, or a field inside of a column. ``ordinal`` is the column's; ``inside`` is the
    path from the column to the field, empty for the column itself."""

    table: Table
    ordinal: int
    inside: Path = ()


#: A plan, one of its columns, and the path to a field inside of the column.
_Place = tuple[LogicalPlan, int, Path]
#: The functions that take a value out of an array or a map, with the step that they are in a path.
_STEPS: Final = {"get_item": ITEM, "get_value": VALUE}


def column_source(plan: LogicalPlan, ordinal: int) -> ColumnSource | None:
    """Return the table's column whose values the plan passes on unchanged as its column ``ordinal``, or the
    field inside of a table's column; None if the values are computed. For a set operation only the first
    branch counts."""
    found: LogicalPlan = plan
    inside: Path = ()
    while not (isinstance(found, LogicalScan) and not isinstance(found.table, SharedRows)):
        place = below(found, ordinal)
        if place is None:
            return None
        found, ordinal, outer = place
        inside = (*outer, *inside)
    return ColumnSource(found.table, found.columns[ordinal], inside)


def below(plan: LogicalPlan, ordinal: int) -> _Place | None:
    """Return where the column ``ordinal`` of a plan comes from: the plan's input, and the column of the
    input, or the field inside of a column, that is passed on unchanged. Return None if the plan computes
    the column."""
    match plan:
        case LogicalScan(table=SharedRows() as shared):
            return shared.plan, plan.columns[ordinal], ()
        case PassingPlan():
            return plan.input, ordinal, ()
        case LogicalProject():
            return _place(plan.input, plan.expressions[ordinal])
        case LogicalAggregate() if ordinal < len(plan.keys):
            return _place(plan.input, plan.keys[ordinal])
        case LogicalWindow() | LogicalGenerate() | LogicalLateralJoin() if ordinal < plan.input.width:
            return plan.input, ordinal, ()
        case LogicalLateralJoin():
            return plan.subquery.plan, ordinal - plan.input.width, ()
        case LogicalSetOperation():
            return plan.branches[0], ordinal, ()
        case LogicalJoin():
            width = plan.left.width
            return (plan.left, ordinal, ()) if ordinal < width else (plan.right, ordinal - width, ())
        case _:
            return None


def _place(plan: LogicalPlan, expression: Expr) -> _Place | None:
    match expression:
        case Column():
            return plan, expression.ordinal, ()
        case Call(function="get_field", arguments=(operand, Literal(value=str(name)))):
            return _inside(_place(plan, operand), name)
        case Call(function=function, arguments=(operand, _)) if function in _STEPS:
            return _inside(_place(plan, operand), _STEPS[function])
        case _:
            return None


def _inside(place: _Place | None, step: str) -> _Place | None:
    if place is None:
        return None
    plan, ordinal, path = place
    return plan, ordinal, (*path, step)
