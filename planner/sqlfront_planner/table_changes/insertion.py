"""The projection that INSERT puts before the table: it makes rows of the table of the query's rows, by
position or, for ``BY NAME``, by name.

Source: Spark's ``TableOutputResolver``. By position, the fields of structs are matched by position, too; by
name, they are matched by name.
"""

from collections.abc import Sequence

import pyarrow as pa

from sqlfront_planner.logical import LogicalPlan, LogicalProject
from sqlfront_planner.statements.structs import Insert
from sqlfront_planner.table_changes.by_name import extra_columns, only_place, stored_by_name
from sqlfront_planner.table_changes.named_columns import named_columns
from sqlfront_planner.table_changes.storable import store_assigned
from sqlfront_values.errors import DatabaseError, ProgrammingError
from sqlfront_values.expressions import Column, Expr, Literal


def inserted(plan: LogicalPlan, statement: Insert, schema: pa.Schema) -> LogicalPlan:
    """Project the rows of an INSERT, which ``plan`` gives, to rows of its table, whose columns are
    ``schema``. Raises the errors of :func:`assign` or, for ``BY NAME``, of :func:`assign_by_name`."""
    if statement.by_name:
        return assign_by_name(plan, statement.name, schema)
    return assign(plan, statement.name, schema, statement.columns)


def assign_by_name(plan: LogicalPlan, table: str, schema: pa.Schema) -> LogicalPlan:
    """Project the plan's rows to rows of the table ``table``, whose columns are ``schema``: each column gets
    the plan's column of its name, case-insensitive, or null if there is none.

    Raises INCOMPATIBLE_DATA_FOR_TABLE: EXTRA_COLUMNS for columns that the table doesn't have,
    AMBIGUOUS_COLUMN_NAME for two of the same name, and the errors of
    :func:`~sqlfront_planner.table_changes.by_name.stored_by_name`.
    """
    given = plan.row()
    names: Sequence[str] = [column.name for column in given]
    places = [only_place(names, field.name, (field.name,), table) for field in schema]
    extra = [name for place, name in enumerate(names) if place not in places]
    if extra:
        raise extra_columns(extra, table)
    expressions = [
        Literal(field.type, None) if place is None else stored_by_name(given[place], field, table)
        for place, field in zip(places, schema, strict=True)
    ]
    return LogicalProject(plan, tuple(expressions), tuple(schema.names))


def assign(plan: LogicalPlan, table: str, schema: pa.Schema, columns: tuple[str, ...] = ()) -> LogicalPlan:
    """Project the plan's rows to rows of the table ``table``, whose columns are ``schema``. The plan's
    columns go by position to the columns that ``columns`` names, in that order, or to all columns if it is
    empty. Columns that are not named get null.

    Raises ProgrammingError: INSERT_COLUMN_ARITY_MISMATCH, UNRESOLVED_COLUMN, COLUMN_ALREADY_EXISTS, or
    INCOMPATIBLE_DATA_FOR_TABLE.CANNOT_SAFELY_CAST for types that store assignment doesn't convert.
    """
    targets = named_columns(schema, columns) if columns else tuple(range(len(schema)))
    given = plan.schema
    if len(given) != len(targets):
        raise _arity_error(table, [schema.field(index).name for index in targets], given.names)
    expressions: list[Expr] = [Literal(field.type, None) for field in schema]
    for ordinal, (target, field) in enumerate(zip(targets, given, strict=True)):
        value = Column(field.type, ordinal, field.name)
        expressions[target] = store_assigned(value, schema.field(target), table)
    return LogicalProject(plan, tuple(expressions), tuple(schema.names))


def _arity_error(table: str, wanted: list[str], given: list[str]) -> DatabaseError:
    many = len(given) > len(wanted)
    return ProgrammingError(
        f"Cannot write to `{table}`, the reason is {'too many' if many else 'not enough'} data columns:\n"
        f"Table columns: {', '.join(f'`{name}`' for name in wanted)}.\n"
        f"Data columns: {', '.join(f'`{name}`' for name in given)}.",
        condition=f"INSERT_COLUMN_ARITY_MISMATCH.{'TOO_MANY' if many else 'NOT_ENOUGH'}_DATA_COLUMNS",
    )
