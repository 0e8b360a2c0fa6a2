"""Conversion of Arrow types that the engine doesn't use into Spark's logical types, and of their arrays into
physical form."""

from typing import Final

import pyarrow as pa

from sqlfront_values.arrow.arrays import without_validity
from sqlfront_values.arrow.exchange import exported_type, imported, imported_type
from sqlfront_values.errors import NotSupportedError
from sqlfront_values.types import (
    BIGINT,
    BINARY,
    DICTIONARY_STRING,
    INT,
    PRIMITIVES,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    decimal,
    holds_own,
    physical,
)

#: Unsigned integers as Spark reads them from Parquet.
_UNSIGNED: Final = {
    pa.uint8(): SMALLINT,
    pa.uint16(): INT,
    pa.uint32(): BIGINT,
    pa.uint64(): decimal(20, 0),
}


def logical_type(data_type: pa.DataType, column: str = "") -> pa.DataType:
    """Return the Spark type in which columns of an Arrow type are read. Raises NotSupportedError, which names
    ``column``, for a type without a counterpart in Spark.

    >>> logical_type(pa.large_string()), logical_type(pa.uint32()), logical_type(pa.timestamp("ns"))
    (DataType(string), DataType(int64), TimestampType(timestamp[us]))
    """
    if data_type in PRIMITIVES:
        return data_type
    if data_type in _UNSIGNED:
        return _UNSIGNED[data_type]
    kinds = pa.types
    if kinds.is_large_string(data_type) or kinds.is_string_view(data_type):
        return STRING
    if (
        kinds.is_large_binary(data_type)
        or kinds.is_binary_view(data_type)
        or kinds.is_fixed_size_binary(data_type)
    ):
        return BINARY
    if kinds.is_dictionary(data_type):
        return logical_type(data_type.value_type, column)
    if kinds.is_timestamp(data_type):
        return TIMESTAMP_NTZ if data_type.tz is None else TIMESTAMP
    if kinds.is_date(data_type):
        return pa.date32()
    own = imported_type(data_type)
    if own is not None:
        return own
    if (
        kinds.is_decimal(data_type)
        and data_type.precision <= 38
        and 0 <= data_type.scale <= data_type.precision
    ):
        return decimal(data_type.precision, data_type.scale)
    if kinds.is_list(data_type) or kinds.is_large_list(data_type) or kinds.is_fixed_size_list(data_type):
        return pa.list_(logical_type(data_type.value_type, column))
    if kinds.is_map(data_type):
        return pa.map_(logical_type(data_type.key_type, column), logical_type(data_type.item_type, column))
    if kinds.is_struct(data_type):
        fields = [data_type.field(index) for index in range(data_type.num_fields)]
        return pa.struct(
            [(field.name, logical_type(field.type, f"{column}.{field.name}")) for field in fields]
        )
    raise NotSupportedError(f"column `{column}` has Arrow type {data_type}, for which Spark SQL has no type")


def logical_schema(schema: pa.Schema) -> pa.Schema:
    """Return the schema with each type replaced by its :func:`logical_type`, and without metadata. Raises
    NotSupportedError, which names the column, for a type without a counterpart in Spark."""
    return pa.schema([(field.name, logical_type(field.type, field.name)) for field in schema])


def to_physical(array: pa.Array, logical: pa.DataType) -> pa.Array:
    """Convert the array into the physical form of the type ``logical``, which must be the
    :func:`logical_type` of the array's type or a wider type.

    Nanoseconds are cut to microseconds, as in Spark. Dictionary arrays of strings stay dictionary arrays,
    with int32 indices. If null is among the values of such a dictionary, the rows with that value get a null
    index and the value is removed, because the engine looks for nulls only among the indices.
    """
    form = physical(logical)
    array = without_validity(array)
    if holds_own(logical):
        return imported(_in_micros(array, logical), logical)
    if array.type == form:
        return array
    if form == STRING and pa.types.is_dictionary(array.type):
        if array.dictionary.null_count:
            return array.dictionary_decode().cast(STRING).dictionary_encode()
        return array if array.type == DICTIONARY_STRING else array.cast(DICTIONARY_STRING)
    if pa.types.is_timestamp(array.type) or pa.types.is_duration(array.type):
        return array.cast(form, safe=False)
    return array.cast(form)


def _in_micros(array: pa.Array, logical: pa.DataType) -> pa.Array:
    """Return the array of intervals or variants in the Arrow type that is the exported type of ``logical``:
    durations in other units become microseconds; an array that already has the exported type is returned
    itself."""
    wanted = exported_type(logical)
    return array if array.type == wanted else array.cast(wanted, safe=False)
