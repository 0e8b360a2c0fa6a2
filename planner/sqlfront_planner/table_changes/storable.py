"""Spark's rules of store assignment for one value: the types that a column's type takes.

Source: Spark's ``spark.sql.storeAssignmentPolicy=ANSI`` (the default).
"""

import pyarrow as pa

from sqlfront_planner.binder.names.shown_names import quoted
from sqlfront_values.errors import ProgrammingError
from sqlfront_values.expressions import Cast, Expr
from sqlfront_values.types import VOID, TimeType, is_numeric, is_string, sql_name


def store_assigned(value: Expr, field: pa.Field, table: str) -> Expr:
    """Return the value cast to the type of the column ``field``, or the value itself if it has that type.
    Raises INCOMPATIBLE_DATA_FOR_TABLE.CANNOT_SAFELY_CAST, with the name ``table``, if store assignment
    doesn't allow the cast."""
    if value.type == field.type:
        return value
    if not is_storable(value.type, field.type):
        raise unsafe_cast(table, (field.name,), value.type, field.type)
    return Cast(field.type, value)


def unsafe_cast(
    table: str, path: tuple[str, ...], source: pa.DataType, target: pa.DataType
) -> ProgrammingError:
    """Return the error for a value of type ``source`` that store assignment doesn't convert to ``target``,
    the type of the column or field ``path`` of the table named ``table``."""
    return ProgrammingError(
        f"Cannot write incompatible data for the table `{table}`: Cannot safely cast {quoted(path)} "
        f'"{sql_name(source)}" to "{sql_name(target)}".',
        condition="INCOMPATIBLE_DATA_FOR_TABLE.CANNOT_SAFELY_CAST",
    )


def is_storable(source: pa.DataType, target: pa.DataType) -> bool:
    """Return whether Spark's store assignment (the casts of INSERT and UPDATE) converts values of type
    ``source`` to ``target``: numbers to numbers, dates and timestamps to each other, timestamps and times of
    no greater precision to times, anything atomic to string, null to anything; nested types element by
    element.

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
    if isinstance(target, TimeType):
        coarser = isinstance(source, TimeType) and source.precision <= target.precision
        return coarser or kinds.is_timestamp(source)
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
