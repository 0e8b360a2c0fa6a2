"""Store assignment by name: structs inside of a value are matched field by field by name, not by position.

Source: Spark's ``TableOutputResolver``, which UPDATE, MERGE and ``INSERT ... BY NAME`` use. ``INSERT`` by
position matches the fields of structs by position, too (:mod:`sqlfront_planner.table_changes.insertion`).
"""

from collections.abc import Sequence

import pyarrow as pa

from sqlfront_planner.binder.names.shown_names import quoted
from sqlfront_planner.table_changes.storable import is_storable, unsafe_cast
from sqlfront_values.errors import ProgrammingError
from sqlfront_values.expressions import Call, Case, Cast, Column, Expr, HigherOrder, Lambda, Literal
from sqlfront_values.types import BOOLEAN, STRING, VOID


def stored_by_name(value: Expr, field: pa.Field, table: str) -> Expr:
    """Return the value as it is stored in the column ``field`` of the table named ``table``: cast to the
    column's type, with the fields of structs in the order of the column's.

    Raises INCOMPATIBLE_DATA_FOR_TABLE: CANNOT_SAFELY_CAST for a type that store assignment doesn't convert,
    CANNOT_FIND_DATA for a field without a value, EXTRA_STRUCT_FIELDS for a value without a field,
    AMBIGUOUS_COLUMN_NAME for two values of a field.
    """
    return _stored(value, field.type, (field.name,), table)


def only_place(names: Sequence[str], wanted: str, path: tuple[str, ...], table: str) -> int | None:
    """Return the position of the only one of ``names`` that equals ``wanted``, case-insensitive; None if
    there is none. Raises AMBIGUOUS_COLUMN_NAME, with ``path``, for several."""
    found = [place for place, name in enumerate(names) if name.lower() == wanted.lower()]
    if len(found) > 1:
        raise _incompatible(
            table, "AMBIGUOUS_COLUMN_NAME", f"Ambiguous column name in the input data {quoted(path)}."
        )
    return found[0] if found else None


def no_data(path: tuple[str, ...], table: str) -> ProgrammingError:
    """Return the error CANNOT_FIND_DATA for the column or field ``path``."""
    return _incompatible(table, "CANNOT_FIND_DATA", f"Cannot find data for the output column {quoted(path)}.")


def extra_columns(names: Sequence[str], table: str) -> ProgrammingError:
    """Return the error EXTRA_COLUMNS for columns ``names`` that the table doesn't have."""
    listed = ", ".join(quoted((name,)) for name in names)
    return _incompatible(table, "EXTRA_COLUMNS", f"Cannot write extra columns {listed}.")


def _stored(value: Expr, target: pa.DataType, path: tuple[str, ...], table: str) -> Expr:
    source, kinds = value.type, pa.types
    if source == target:
        return value
    if kinds.is_struct(source) and kinds.is_struct(target):
        return _stored_struct(value, target, path, table)
    if kinds.is_list(source) and kinds.is_list(target):
        return _stored_elements(value, target, (*path, "element"), table)
    if kinds.is_map(source) and kinds.is_map(target):
        return _stored_entries(value, target, path, table)
    if source != VOID and not is_storable(source, target):
        raise unsafe_cast(table, path, source, target)
    return Cast(target, value)


def _stored_struct(value: Expr, target: pa.StructType, path: tuple[str, ...], table: str) -> Expr:
    source: pa.StructType = value.type
    names = [source.field(place).name for place in range(source.num_fields)]
    fields, used = list[Expr](), set[int]()
    for number in range(target.num_fields):
        field = target.field(number)
        below = (*path, field.name)
        place = only_place(names, field.name, below, table)
        if place is None:
            raise no_data(below, table)
        used.add(place)
        read = Call(source.field(place).type, "get_field", (value, Literal(STRING, names[place])))
        fields.append(_stored(read, field.type, below, table))
    extra = [name for place, name in enumerate(names) if place not in used]
    if extra:
        listed = ", ".join(quoted((name,)) for name in extra)
        raise _incompatible(
            table, "EXTRA_STRUCT_FIELDS", f"Cannot write extra fields {listed} to the struct {quoted(path)}."
        )
    made = Call(target, "struct", tuple(fields))
    return Case(target, ((Call(BOOLEAN, "isnull", (value,)), Literal(target, None)),), made)


def _stored_elements(value: Expr, target: pa.DataType, path: tuple[str, ...], table: str) -> Expr:
    element = value.type.value_type
    stored = _stored(Column(element, 0, "element"), target.value_type, path, table)
    if isinstance(stored, Cast | Column):
        return Cast(target, value)
    return HigherOrder(target, "transform", (value,), (), (Lambda(1, stored),))


def _stored_entries(value: Expr, target: pa.DataType, path: tuple[str, ...], table: str) -> Expr:
    source = value.type
    if is_same_shape(source, target):
        if not is_storable(source, target):
            raise unsafe_cast(table, path, source, target)
        return Cast(target, value)
    keys = Call(pa.list_(source.key_type), "map_keys", (value,))
    values = Call(pa.list_(source.item_type), "map_values", (value,))
    parts = (
        _stored_elements(keys, pa.list_(target.key_type), (*path, "key"), table),
        _stored_elements(values, pa.list_(target.item_type), (*path, "value"), table),
    )
    return Call(target, "map_from_arrays", parts)


def is_same_shape(source: pa.DataType, target: pa.DataType) -> bool:
    """Return whether values of both types have the same structs, with fields of the same names in the same
    order (case-insensitive), so that a match by position is one by name.

    >>> is_same_shape(pa.struct({"a": pa.int32()}), pa.struct({"A": pa.int64()}))
    True
    """
    kinds = pa.types
    if kinds.is_struct(source) and kinds.is_struct(target):
        return source.num_fields == target.num_fields and all(
            source.field(place).name.lower() == target.field(place).name.lower()
            and is_same_shape(source.field(place).type, target.field(place).type)
            for place in range(source.num_fields)
        )
    if kinds.is_list(source) and kinds.is_list(target):
        return is_same_shape(source.value_type, target.value_type)
    if kinds.is_map(source) and kinds.is_map(target):
        return is_same_shape(source.key_type, target.key_type) and is_same_shape(
            source.item_type, target.item_type
        )
    return not (kinds.is_nested(source) and kinds.is_nested(target))


def _incompatible(table: str, condition: str, message: str) -> ProgrammingError:
    return ProgrammingError(
        f"Cannot write incompatible data for the table `{table}`: {message}",
        condition=f"INCOMPATIBLE_DATA_FOR_TABLE.{condition}",
    )
