"""What DELETE and UPDATE leave in the table: a plan of all its rows.

Source: Spark's row-level operations. A row is meant where the condition is true, not where it is null; values
are computed from the row as it was, for the rows that are meant only, and stored as INSERT stores them.
"""

import pyarrow as pa

from sqlfront_engine.errors import InternalError, ProgrammingError, spark_error
from sqlfront_engine.expressions import Call, Case, Column, Expr, Literal
from sqlfront_engine.types import BOOLEAN, VOID, sql_name
from sqlfront_planner.insertion import store_assigned
from sqlfront_planner.logical import Filter, LogicalPlan, Project, Scan


def remaining(bound: LogicalPlan, schema: pa.Schema) -> LogicalPlan:
    """The rows that DELETE leaves; ``bound`` gives the table's columns and the condition."""
    rows = _with_condition(bound, schema)
    meant = Call(BOOLEAN, "coalesce", (rows.row()[-1], Literal(BOOLEAN, False)))
    kept = Filter(rows, Call(BOOLEAN, "not", (meant,)))
    return Project(kept, kept.row()[:-1], tuple(schema.names))


def updated(bound: LogicalPlan, columns: tuple[str, ...], table: str, schema: pa.Schema) -> LogicalPlan:
    """All rows after UPDATE; ``bound`` gives the table's columns, a value for each of ``columns``, and the
    condition."""
    rows = _with_condition(bound, schema)
    *old, meant = rows.row()
    assert isinstance(bound, Project)
    values = bound.expressions[len(schema) : -1]
    items: list[Expr] = list(old)
    changed: set[int] = set()
    for column, value in zip(columns, values, strict=True):
        place = _place(column, schema, table)
        if place in changed:
            raise spark_error(
                "DATATYPE_MISMATCH.INVALID_ROW_LEVEL_OPERATION_ASSIGNMENTS",
                f"Invalid assignments for `{table}`: multiple assignments for `{column}`.",
            )
        changed.add(place)
        stored = store_assigned(value, schema.field(place), table)
        items[place] = Case(stored.type, ((meant, stored),), old[place])
    return Project(rows, tuple(items), tuple(schema.names))


def _with_condition(bound: LogicalPlan, schema: pa.Schema) -> Project:
    """The table's columns and the condition, computed once."""
    if not isinstance(bound, Project) or not isinstance(bound.input, Scan):
        raise spark_error(
            "UNSUPPORTED_EXPR_FOR_OPERATOR",
            "DELETE and UPDATE take no window functions, aggregate functions, and generator functions.",
        )
    condition = bound.expressions[-1]
    if condition.type == VOID:
        condition = Literal(BOOLEAN, None)
    if condition.type != BOOLEAN:
        raise ProgrammingError(
            f'Filter expression "{bound.names[-1]}" of type "{sql_name(condition.type)}" is not a boolean.',
            condition="DATATYPE_MISMATCH.FILTER_NOT_BOOLEAN",
            sqlstate="42K09",
        )
    columns = bound.expressions[: len(schema)]
    if any(not isinstance(item, Column) or item.ordinal != place for place, item in enumerate(columns)):
        raise InternalError("a table's columns are bound in their order")
    return Project(bound.input, (*columns, condition), (*schema.names, ""))


def _place(column: str, schema: pa.Schema, table: str) -> int:
    names = [name.lower() for name in schema.names]
    if column.lower() not in names:
        raise spark_error(
            "UNRESOLVED_COLUMN.WITH_SUGGESTION",
            f"A column, variable, or function parameter with name `{column}` cannot be resolved. "
            f"Did you mean one of the following? [{', '.join(f'`{name}`' for name in schema.names)}].",
        )
    return names.index(column.lower())
