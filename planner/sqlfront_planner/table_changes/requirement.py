"""The check for nulls that INSERT and UPDATE add to the rows for a table with NOT NULL columns."""

from collections.abc import Collection

import pyarrow as pa

from sqlfront_planner.logical import LogicalPlan, LogicalProject
from sqlfront_values.expressions import Call, Case, Cast, Column, Expr, Literal
from sqlfront_values.types import BOOLEAN, STRING, VOID


def required(plan: LogicalPlan, schema: pa.Schema, columns: Collection[str]) -> LogicalPlan:
    """Return the plan with a check of the ``columns`` of the table that are NOT NULL: a run raises
    NOT_NULL_ASSERT_VIOLATION at the first null. The plan yields the columns of the table's ``schema``,
    perhaps followed by others. If ``columns`` is empty, the plan is returned unchanged."""
    if not columns:
        return plan
    row = plan.row()
    names = [*schema.names, *(column.name for column in row[len(schema) :])]
    checked = [
        _checked(value, name) if name in columns else value for value, name in zip(row, names, strict=True)
    ]
    return LogicalProject(plan, tuple(checked), tuple(column.name for column in row))


def _checked(value: Column, name: str) -> Expr:
    error = Cast(value.type, Call(VOID, "null in a required column", (Literal(STRING, name),)))
    return Case(value.type, ((Call(BOOLEAN, "isnull", (value,)), error),), value)
