"""The projection that INSERT puts before the table: it casts the rows to the table's column types by Spark's
rules of store assignment.

Source: Spark's ``spark.sql.storeAssignmentPolicy=ANSI`` (the default).
"""

import pyarrow as pa

from sqlfront_planner.logical import LogicalPlan, LogicalProject
from sqlfront_planner.table_changes.named_columns import named_columns
from sqlfront_values.errors import DatabaseError, ProgrammingError
from sqlfront_values.expressions import Cast, Column, Expr, Literal
from sqlfront_values.types import VOID, is_numeric, is_string, sql_name


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


def store_assigned(value: Expr, field: pa.Field, table: str) -> Expr:
    """Return the value cast to the type of the column ``field``, or the value itself if it has that type.
    Raises INCOMPATIBLE_DATA_FOR_TABLE.CANNOT_SAFELY_CAST, with the name ``table``, if store assignment
    doesn't allow the cast."""
    if value.type == field.type:
        return value
    if not is_storable(value.type, field.type):
        raise ProgrammingError(
            f"Cannot write incompatible data for the table `{table}`: Cannot safely cast `{field.name}` "
            f'"{sql_name(value.type)}" to "{sql_name(field.type)}".',
            condition="INCOMPATIBLE_DATA_FOR_TABLE.CANNOT_SAFELY_CAST",
        )
    return Cast(field.type, value)


def is_storable(source: pa.DataType, target: pa.DataType) -> bool:
    """Return whether Spark's store assignment (the casts of INSERT and UPDATE) converts values of type
    ``source`` to ``target``: numbers to numbers, dates and timestamps to each other, anything atomic to
    string, null to anything; nested types element by element.

    >>> is_storable(pa.float64(), pa.int32()), is_storable(pa.string(), pa.int32())
    (True, False)
    """
    kinds = pa.types
    if source in (target, VOID):
        return True
    if is_string(target):
        return not kinds.is_nested(source)
    if is_numeric(source) and is_numeric(target):
        return True
    if (kinds.is_date(source) or kinds.is_timestamp(source)) and (
        kinds.is_date(target) or kinds.is_timestamp(target)
    ):
        return True
    if kinds.is_list(source) and kinds.is_list(target):
        return is_storable(source.value_type, target.value_type)
    if kinds.is_map(source) and kinds.is_map(target):
        return is_storable(source.key_type, target.key_type) and is_storable(
            source.item_type, target.item_type
        )
    if kinds.is_struct(source) and kinds.is_struct(target) and source.num_fields == target.num_fields:
        pairs = [(source.field(index).type, target.field(index).type) for index in range(source.num_fields)]
        return all(is_storable(left, right) for left, right in pairs)
    return False


def _arity_error(table: str, wanted: list[str], given: list[str]) -> DatabaseError:
    many = len(given) > len(wanted)
    return ProgrammingError(
        f"Cannot write to `{table}`, the reason is {'too many' if many else 'not enough'} data columns:\n"
        f"Table columns: {', '.join(f'`{name}`' for name in wanted)}.\n"
        f"Data columns: {', '.join(f'`{name}`' for name in given)}.",
        condition=f"INSERT_COLUMN_ARITY_MISMATCH.{'TOO_MANY' if many else 'NOT_ENOUGH'}_DATA_COLUMNS",
    )
