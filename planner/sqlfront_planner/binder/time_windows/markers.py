"""Recognition of columns of windows of time. Spark marks them in the column's metadata, which a name and most
steps of a query keep and a function does not; here the plan tells it."""

from enum import Enum

import pyarrow as pa

from sqlfront_planner.logical import (
    LogicalAggregate,
    LogicalGenerate,
    LogicalPlan,
    LogicalProject,
    LogicalScan,
    LogicalWindow,
)
from sqlfront_planner.provenance import below
from sqlfront_planner.shared_rows import SharedRows
from sqlfront_values.expressions import Call, Column, Expr
from sqlfront_values.types import TIMESTAMP, TIMESTAMP_NTZ


class Marker(Enum):
    """The kind of a column of windows. The value is the name of the function that makes it."""

    WINDOW = "window"
    """Windows of a fixed width."""
    SESSION = "session_window"
    """Sessions, which grouping merges."""
    UNKNOWN = "unknown"
    """A column of a table, of which the table doesn't say whether it holds windows."""


def is_window_type(data_type: pa.DataType) -> bool:
    """Return whether the type is that of a window: a struct of two timestamps of one type, ``start`` and
    ``end``."""
    if not pa.types.is_struct(data_type) or data_type.num_fields != 2:
        return False
    start, end = data_type
    return (
        (start.name, end.name) == ("start", "end")
        and start.type == end.type
        and start.type in (TIMESTAMP, TIMESTAMP_NTZ)
    )


def marker_of(plan: LogicalPlan, expression: Expr) -> Marker | None:
    """Return of which kind the windows of an expression over the row of ``plan`` are; None if the expression
    is no column of windows."""
    while isinstance(expression, Column) and is_window_type(expression.type):
        ordinal = expression.ordinal
        if isinstance(plan, LogicalScan) and not isinstance(plan.table, SharedRows):
            return Marker.UNKNOWN
        place = below(plan, ordinal)
        if place is not None:
            plan, ordinal, inside = place
            if inside:
                return None
            expression = Column(expression.type, ordinal, expression.name)
            continue
        match plan:
            case LogicalProject():
                expression = plan.expressions[ordinal]
            case LogicalAggregate() if ordinal < len(plan.keys):
                expression = plan.keys[ordinal]
            case LogicalGenerate(arguments=(Call(function="sliding windows"),)):
                return Marker.WINDOW
            case LogicalWindow(calls=calls) if calls[ordinal - plan.input.width].function == "merge sessions":
                return Marker.SESSION
            case _:
                return None
    if isinstance(expression, Call) and expression.function in ("window", "session_window"):
        return Marker(expression.function)
    return None
