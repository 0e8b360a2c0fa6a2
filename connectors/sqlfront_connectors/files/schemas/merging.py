"""The merge of several files' schemas into one, as Spark's ``mergeSchema`` does (``StructType.merge``)."""

from collections.abc import Iterable, Sequence
from functools import reduce

import pyarrow as pa

from sqlfront_values.errors import ProgrammingError
from sqlfront_values.types import decimal, is_decimal, sql_name


class _Conflict(Exception):
    """The error of two types that can't be merged into one."""


def merged_schema(schemas: Iterable[pa.Schema]) -> pa.Schema:
    """Return the merge of all schemas: the columns of the first schema, then those columns of the second that
    are not in the first, and so on. Names that differ by case alone are one column, structs are merged field
    by field, decimals of one scale take the higher precision. Raises ProgrammingError (CANNOT_MERGE_SCHEMAS)
    if a column has otherwise different types in two schemas.

    >>> first, second = pa.schema([("a", pa.int32())]), pa.schema([("b", pa.string()), ("A", pa.int32())])
    >>> merged_schema([first, second]).names
    ['a', 'b']
    """
    return reduce(_merge, schemas)


def is_certain(schemas: Sequence[pa.Schema]) -> bool:
    """Return whether the schemas certainly merge into the same schema in any order, because the columns of
    each schema are the first columns of the merged schema.

    >>> is_certain([pa.schema([("a", pa.int32())]), pa.schema([("b", pa.string()), ("a", pa.int32())])])
    False
    """
    whole = _struct(merged_schema(schemas))
    return all(_begins(whole, _struct(schema)) for schema in schemas)


def _merge(left: pa.Schema, right: pa.Schema) -> pa.Schema:
    try:
        return pa.schema(_fields(_merged_type(_struct(left), _struct(right))))
    except _Conflict as conflict:
        raise ProgrammingError(
            f'Failed merging schemas:\nInitial schema:\n"{sql_name(_struct(left))}"\nSchema that cannot be '
            f'merged with the initial schema:\n"{sql_name(_struct(right))}".',
            condition="CANNOT_MERGE_SCHEMAS",
        ) from conflict


def _struct(schema: pa.Schema) -> pa.DataType:
    return pa.struct(list(schema))


def _fields(kind: pa.DataType) -> list[pa.Field]:
    return [kind.field(index) for index in range(kind.num_fields)]


def _merged_type(left: pa.DataType, right: pa.DataType) -> pa.DataType:
    kinds = pa.types
    if kinds.is_struct(left) and kinds.is_struct(right):
        return _merged_struct(left, right)
    if kinds.is_map(left) and kinds.is_map(right):
        return pa.map_(
            _merged_type(left.key_type, right.key_type), _merged_type(left.item_type, right.item_type)
        )
    if kinds.is_list(left) and kinds.is_list(right):
        return pa.list_(_merged_type(left.value_type, right.value_type))
    if is_decimal(left) and is_decimal(right) and left.scale == right.scale:
        return decimal(max(left.precision, right.precision), left.scale)
    if left != right:
        raise _Conflict
    return left


def _merged_struct(left: pa.DataType, right: pa.DataType) -> pa.DataType:
    # Of names that differ by case alone in one file, Spark merges the last.
    others = {field.name.lower(): field.type for field in _fields(right)}
    known = {field.name.lower() for field in _fields(left)}
    fields = [
        (field.name, _merged_type(field.type, others.get(field.name.lower(), field.type)))
        for field in _fields(left)
    ]
    added = [(field.name, field.type) for field in _fields(right) if field.name.lower() not in known]
    return pa.struct(fields + added)


def _begins(whole: pa.DataType, part: pa.DataType) -> bool:
    """Return whether the fields of each struct in ``part`` are the first fields of the corresponding struct
    in ``whole``. ``whole``: a type that was merged from ``part`` and other types."""
    if not pa.types.is_nested(whole):
        return True
    if pa.types.is_struct(whole):
        names = [field.name for field in _fields(part)]
        if names != [field.name for field in _fields(whole)[: len(names)]]:
            return False
    return all(
        _begins(own.type, other.type) for own, other in zip(_fields(whole), _fields(part), strict=False)
    )
