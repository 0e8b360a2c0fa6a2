"""The form of rows in spool files: one Arrow type per column, the same in all files of an output.

A dictionary is stored as its values. An Arrow IPC file has one dictionary per column for all its batches,
whereas the engine's strings come with or without a dictionary, batch by batch, and each batch may bring its
own. Views are stored as plain strings and binaries, since IPC writes all bytes that the views of a slice
could refer to.
"""

import hashlib

import pyarrow as pa

from sqlfront_values.columns.batches import make_batch
from sqlfront_values.errors import InternalError
from sqlfront_values.types import map_type


def stored_type(data_type: pa.DataType) -> pa.DataType:
    """Return the type in which spool files store the values of a type: without dictionaries and views at any
    depth, and with all fields of nested types nullable.

    >>> stored_type(pa.list_(pa.field("element", pa.dictionary(pa.int32(), pa.string()), nullable=False)))
    ListType(list<item: string>)
    """
    if pa.types.is_dictionary(data_type):
        return stored_type(data_type.value_type)
    if pa.types.is_list(data_type):
        return pa.list_(stored_type(data_type.value_type))
    if pa.types.is_map(data_type):
        return map_type(stored_type(data_type.key_type), stored_type(data_type.item_type))
    if pa.types.is_struct(data_type):
        return pa.struct([(field.name, stored_type(field.type)) for field in data_type])
    if pa.types.is_string_view(data_type):
        return pa.string()
    if pa.types.is_binary_view(data_type):
        return pa.binary()
    return data_type


def stored_schema(schema: pa.Schema) -> pa.Schema:
    """Return the schema of a spool file for rows with these columns: names and stored types, without
    metadata."""
    return pa.schema([(field.name, stored_type(field.type)) for field in schema])


def stored_batch(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Return the rows of the batch with the types of ``schema``, a stored schema; columns are matched by
    position. Raises InternalError if a column has values of another type."""
    if batch.num_columns != len(schema):
        raise InternalError(f"a batch of {batch.num_columns} columns for a spool file of {len(schema)}")
    columns = [_stored_column(column, field) for column, field in zip(batch.columns, schema, strict=True)]
    return make_batch(columns, schema.names, batch.num_rows)


def _stored_column(column: pa.Array, field: pa.Field) -> pa.Array:
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if column.type.equals(field.type):
        return column
    if stored_type(column.type) != field.type:
        raise InternalError(
            f"the column {field.name!r} of a spool file is {field.type}, but a batch has {column.type}"
        )
    return column.cast(field.type)


def schema_hash(schema: pa.Schema) -> str:
    """Return the SHA-256 (hexadecimal) of the serialized schema."""
    return hashlib.sha256(schema.serialize()).hexdigest()
