"""The new values of a table's columns, from assignments to columns and to fields of structs (``SET a = 1, s.b
= 2``).

Source: Spark's ``AssignmentUtils``. A column without an assignment keeps its value. An assignment to a field
makes a new struct, in which the other fields keep their values; so a null struct becomes a struct with nulls
in the other fields.
"""

from collections.abc import Sequence
from typing import TypeAlias

import pyarrow as pa

from sqlfront_planner.binder.names.shown_names import quoted
from sqlfront_planner.table_changes.by_name import stored_by_name
from sqlfront_values.errors import DatabaseError, spark_error
from sqlfront_values.expressions import Call, Column, Expr, Literal
from sqlfront_values.types import STRING, sql_name

#: An assigned column or field, bound over the row of the table's columns, and its new value.
Assignment: TypeAlias = tuple[Expr, Expr]


def updated_row(
    schema: pa.Schema, old: Sequence[Expr], assignments: Sequence[Assignment], table: str
) -> list[Expr]:
    """Return the values of the columns of ``schema`` after the assignments; ``old``: the values before.
    ``table``: the table's name.

    Raises DATATYPE_MISMATCH.INVALID_ROW_LEVEL_OPERATION_ASSIGNMENTS if a column or field is assigned twice,
    or together with one of its fields, and for a part of a value that isn't a struct's field;
    INCOMPATIBLE_DATA_FOR_TABLE for a value that can't be stored.
    """
    placed = [(_path(key), value) for key, value in assignments]
    return [
        _updated(field, old[place], [(path[1:], value) for path, value in placed if path[0] == place], table)
        for place, field in enumerate(schema)
    ]


def inserted_row(schema: pa.Schema, assignments: Sequence[Assignment], table: str) -> list[Expr]:
    """Return the values of the columns of ``schema`` in a new row: those of the assignments, null for other
    columns. ``table``: the table's name. Raises the errors of :func:`updated_row`, also for an assignment to
    a field."""
    values: dict[int, Expr] = {}
    for key, value in assignments:
        path = _path(key)
        name = schema.field(path[0]).name
        if len(path) > 1:
            raise _invalid(f"INSERT assignment keys cannot be nested fields: {quoted((name,))}")
        if path[0] in values:
            raise _invalid(f"Multiple assignments for '{name}'")
        values[path[0]] = stored_by_name(value, schema.field(path[0]), table)
    return [values.get(place, Literal(field.type, None)) for place, field in enumerate(schema)]


def assigned_columns(keys: Sequence[Expr]) -> frozenset[int]:
    """Return the ordinals of the columns that assignments to ``keys`` change, entirely or in a field."""
    return frozenset(_path(key)[0] for key in keys)


def _path(key: Expr) -> tuple[int, ...]:
    """Return the ordinal of the assigned column, followed by the positions of the fields inside."""
    if isinstance(key, Column):
        return (key.ordinal,)
    if isinstance(key, Call) and key.function == "get_field":
        operand, name = key.arguments
        assert isinstance(name, Literal)
        return (*_path(operand), operand.type.get_field_index(str(name.value)))
    inner = key.children()[0] if key.children() else key
    raise _invalid(
        f"Updating nested fields is only supported for StructType but '{getattr(inner, 'name', '')}' is of "
        f"type {sql_name(inner.type)}"
    )


def _updated(field: pa.Field, old: Expr, assignments: list[tuple[tuple[int, ...], Expr]], table: str) -> Expr:
    """Return the value of a column or field after the assignments to it (with an empty path) and to its
    fields."""
    if not assignments:
        return old
    whole = [value for path, value in assignments if not path]
    if len(whole) > 1:
        raise _invalid(f"Multiple assignments for '{field.name}'")
    if whole and len(assignments) > 1:
        raise _invalid(f"Conflicting assignments for '{field.name}'")
    if whole:
        return stored_by_name(whole[0], field, table)
    parts = []
    for place in range(field.type.num_fields):
        part = field.type.field(place)
        read = Call(part.type, "get_field", (old, Literal(STRING, part.name)))
        below = [(path[1:], value) for path, value in assignments if path[0] == place]
        parts.append(_updated(part, read, below, table))
    return Call(field.type, "struct", tuple(parts))


def _invalid(message: str) -> DatabaseError:
    return spark_error("DATATYPE_MISMATCH.INVALID_ROW_LEVEL_OPERATION_ASSIGNMENTS", message)
