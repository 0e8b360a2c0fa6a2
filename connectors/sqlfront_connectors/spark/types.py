"""Conversion between Spark's types and sqlfront's, and the types that columns have during a transfer.

Every logical type (:mod:`sqlfront_values.types`) is a Spark type, and the conversion to Spark and back gives
the same type, except for properties that sqlfront doesn't have: whether nulls are possible, and a column's
metadata. Spark's other types are refused with an error that names the column: ``time``, the old
``interval`` of three units, strings with a collation, ``geometry`` and ``geography``, user-defined types, and
the map without a key type that ``map()`` returns. ``char(n)`` is a string in answers, and refused in tables
that sqlfront itself is to read.

Spark can't convert every type into Arrow, or into Parquet. A column with such a type is cast in Spark to a
:func:`carrier`, and converted back by :func:`to_physical`, which matches fields by position and never by
name.
"""

import re
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from sqlfront_connectors import forms
from sqlfront_values.arrow.exchange import CLOCK, converted, exported
from sqlfront_values.errors import NotSupportedError
from sqlfront_values.lazy_modules import lazy_module
from sqlfront_values.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DAY_TIME_INTERVAL,
    DOUBLE,
    FLOAT,
    INT,
    INTERVALS,
    MICROS_OF,
    MONTHS_OF,
    SMALLINT,
    STRING,
    TIMES,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    VARIANT,
    VOID,
    IntervalType,
    TimeType,
    decimal,
    is_interval,
    is_time,
    is_variant,
    is_year_month,
    physical,
    with_leaves,
)

if TYPE_CHECKING:
    from pyspark.sql import types as spark_types
else:
    spark_types = lazy_module("pyspark.sql.types")

#: Spark's types without parameters, by the names of their classes.
_SIMPLE: Final[dict[str, pa.DataType]] = {
    "NullType": VOID,
    "BooleanType": BOOLEAN,
    "ByteType": TINYINT,
    "ShortType": SMALLINT,
    "IntegerType": INT,
    "LongType": BIGINT,
    "FloatType": FLOAT,
    "DoubleType": DOUBLE,
    "BinaryType": BINARY,
    "DateType": DATE,
    "TimestampType": TIMESTAMP,
    "TimestampNTZType": TIMESTAMP_NTZ,
    "VariantType": VARIANT,
}
_CLASSES: Final = {ours: name for name, ours in _SIMPLE.items()}
#: The units of intervals by Spark's numbers.
_MONTH_UNITS: Final = tuple(MONTHS_OF)
_TIME_UNITS: Final = tuple(MICROS_OF)
#: The metadata key of the declared type of a column with strings of a limited length, and the pattern of a
#: declared type of fixed length.
DECLARED: Final = "__CHAR_VARCHAR_TYPE_STRING"
_FIXED_LENGTH: Final = re.compile(r"\bchar\(\d+\)")


def logical_schema(schema: "spark_types.StructType") -> pa.Schema:
    """Return the logical schema for the schema of a Spark DataFrame. Raises NotSupportedError, which names
    the first column of a type unknown to sqlfront."""
    return pa.schema([(field.name, logical_type(field.dataType, field.name)) for field in schema.fields])


def table_schema(schema: "spark_types.StructType") -> pa.Schema:
    """Return the logical schema for the schema of a Spark DataFrame whose values sqlfront itself evaluates.
    Raises NotSupportedError for a column of a type unknown to sqlfront, and of type ``char(n)``, whose
    trailing blanks Spark ignores in comparisons."""
    for field in schema.fields:
        declared = _FIXED_LENGTH.search(field.metadata.get(DECLARED, ""))
        if declared is not None:
            raise NotSupportedError(
                f"column `{field.name}` has Spark's type {declared[0]}, which sqlfront does not have; "
                f"CAST(`{field.name}` AS STRING) is a string"
            )
    return logical_schema(schema)


def logical_type(data_type: "spark_types.DataType", column: str = "") -> pa.DataType:
    """Return the logical type for a Spark type. Raises NotSupportedError, which names the ``column``, for a
    type unknown to sqlfront."""
    simple = _SIMPLE.get(type(data_type).__name__)
    if simple is not None:
        return simple
    match data_type:
        case spark_types.StringType() if data_type.isUTF8BinaryCollation():
            return STRING
        case spark_types.DecimalType():
            return decimal(data_type.precision, data_type.scale)
        case spark_types.DayTimeIntervalType():
            return INTERVALS[_TIME_UNITS[data_type.startField], _TIME_UNITS[data_type.endField]]
        case spark_types.YearMonthIntervalType():
            return INTERVALS[_MONTH_UNITS[data_type.startField], _MONTH_UNITS[data_type.endField]]
        case spark_types.TimeType():
            return TIMES[data_type.precision]
        case spark_types.ArrayType():
            return pa.list_(logical_type(data_type.elementType, column))
        case spark_types.MapType() if not isinstance(data_type.keyType, spark_types.NullType):
            return pa.map_(logical_type(data_type.keyType, column), logical_type(data_type.valueType, column))
        case spark_types.StructType():
            return pa.struct(
                [
                    (field.name, logical_type(field.dataType, f"{column}.{field.name}"))
                    for field in data_type.fields
                ]
            )
        case _:
            raise NotSupportedError(
                f"column `{column}` has Spark's type {data_type.simpleString()}, which sqlfront does not have"
            )


def spark_schema(schema: pa.Schema) -> "spark_types.StructType":
    """Return Spark's schema for a logical schema; every column is nullable."""
    return spark_types.StructType(
        [spark_types.StructField(field.name, spark_type(field.type)) for field in schema]
    )


def spark_type(data_type: pa.DataType) -> "spark_types.DataType":
    """Return Spark's type for a logical type."""
    simple = _CLASSES.get(data_type)
    if simple is not None:
        found = getattr(spark_types, simple)()
        assert isinstance(found, spark_types.DataType)
        return found
    if isinstance(data_type, IntervalType):
        if is_year_month(data_type):
            units = (_MONTH_UNITS.index(data_type.first), _MONTH_UNITS.index(data_type.last))
            return spark_types.YearMonthIntervalType(*units)
        return spark_types.DayTimeIntervalType(
            _TIME_UNITS.index(data_type.first), _TIME_UNITS.index(data_type.last)
        )
    if isinstance(data_type, TimeType):
        return spark_types.TimeType(data_type.precision)
    if pa.types.is_decimal(data_type):
        return spark_types.DecimalType(data_type.precision, data_type.scale)
    if pa.types.is_list(data_type):
        return spark_types.ArrayType(spark_type(data_type.value_type))
    if pa.types.is_map(data_type):
        return spark_types.MapType(spark_type(data_type.key_type), spark_type(data_type.item_type))
    if pa.types.is_struct(data_type):
        return spark_schema(pa.schema([data_type.field(index) for index in range(data_type.num_fields)]))
    assert data_type == STRING, f"{data_type} is no logical type"
    return spark_types.StringType()


def quoted(name: str) -> str:
    """Return the name, or one part of a qualified name, in backticks, for Spark's SQL and Spark's methods.

    >>> quoted("a`b")
    '`a``b`'
    """
    return f"`{name.replace('`', '``')}`"


def carrier(data_type: pa.DataType) -> pa.DataType:
    """Return the logical type to which Spark casts a column of ``data_type`` before it converts the column
    into Arrow; ``data_type`` itself if Spark can convert the column without a cast.

    An interval of months becomes an int, its number of months. Void inside of arrays, maps and structs
    becomes an int. The fields of a struct with two fields of one name (Spark doesn't distinguish ``a`` from
    ``A``) get numbered names.

    >>> carrier(pa.list_(pa.null())), carrier(pa.decimal128(5, 2))
    (ListType(list<item: int32>), Decimal128Type(decimal128(5, 2)))
    """
    return data_type if data_type == VOID else _carrier(data_type)


def _carrier(data_type: pa.DataType) -> pa.DataType:
    if data_type == VOID or is_year_month(data_type):
        return INT
    if pa.types.is_list(data_type):
        return pa.list_(_carrier(data_type.value_type))
    if pa.types.is_map(data_type):
        return pa.map_(_carrier(data_type.key_type), _carrier(data_type.item_type))
    if pa.types.is_struct(data_type):
        fields = [data_type.field(index) for index in range(data_type.num_fields)]
        names = [field.name for field in fields]
        if len({name.lower() for name in names}) < len(names):
            names = [f"c{ordinal}" for ordinal in range(len(names))]
        return pa.struct([(name, _carrier(field.type)) for name, field in zip(names, fields, strict=True)])
    return data_type


def in_months(data_type: pa.DataType) -> pa.DataType:
    """Return ``data_type`` with every year-month interval in it, at any depth, replaced by INTERVAL MONTH,
    the only year-month interval that Spark casts to a number.

    >>> in_months(pa.list_(INTERVALS["YEAR", "MONTH"])).value_type
    interval month
    """
    if pa.types.is_list(data_type):
        return pa.list_(in_months(data_type.value_type))
    if pa.types.is_map(data_type):
        return pa.map_(in_months(data_type.key_type), in_months(data_type.item_type))
    if pa.types.is_struct(data_type):
        return pa.struct([field.with_type(in_months(field.type)) for field in data_type])
    return INTERVALS["MONTH", "MONTH"] if is_year_month(data_type) else data_type


def file_type(data_type: pa.DataType) -> pa.DataType:
    """Return the Arrow type with which a column of the logical type ``data_type`` is written to a Parquet
    file for Spark. The fields of structs have numbered names in files; the reader gives the structs their
    names again.

    >>> file_type(INTERVALS["DAY", "SECOND"]), file_type(pa.struct([("a", pa.null())]))
    (DataType(int64), StructType(struct<c0: null>))
    """
    return (
        physical(data_type)
        if pa.types.is_decimal(data_type)
        else with_leaves(numbered(data_type), _file_leaf)
    )


def _file_leaf(data_type: pa.DataType) -> pa.DataType:
    """Return the Arrow type for a Parquet file of ``data_type``, a type that isn't nested but is inside of an
    array, map or struct, where decimals keep their logical type."""
    form = data_type if pa.types.is_decimal(data_type) else physical(data_type)
    return CLOCK if is_time(data_type) else BIGINT if pa.types.is_duration(form) else form


def numbered(data_type: pa.DataType) -> pa.DataType:
    """Return ``data_type`` with the fields of all its structs, at any depth, renamed to ``c0``, ``c1`` and so
    on."""
    if pa.types.is_struct(data_type):
        kinds = [numbered(data_type.field(index).type) for index in range(data_type.num_fields)]
        return pa.struct([(f"c{ordinal}", kind) for ordinal, kind in enumerate(kinds)])
    if pa.types.is_list(data_type):
        return pa.list_(numbered(data_type.value_type))
    if pa.types.is_map(data_type):
        return pa.map_(numbered(data_type.key_type), numbered(data_type.item_type))
    return data_type


def to_file(array: pa.Array, form: pa.DataType) -> pa.Array:
    """Convert a column in physical form into ``form``, the :func:`file_type` of the column's logical type."""
    if array.type == form:
        return array
    if pa.types.is_dictionary(array.type):
        return array.dictionary_decode()
    if pa.types.is_nested(form):
        return converted(array, form, to_file)
    return array.view(form)


def to_physical(array: pa.Array, data_type: pa.DataType) -> pa.Array:
    """Convert an array that came from Spark into the physical form of the logical type ``data_type``. The
    array has the type ``data_type``, the type to which Spark casts such a column for sqlfront
    (:func:`carrier`), or the type of such a column in Spark's Parquet files."""
    form = physical(data_type)
    if array.type == form:
        return array
    if data_type == VOID:
        return pa.nulls(len(array))
    if pa.types.is_nested(data_type):
        return converted(array, data_type, _nested)
    if pa.types.is_duration(form) or pa.types.is_timestamp(form):  # from files: numbers, and no time zone
        return array.view(form)
    return array if is_year_month(data_type) else forms.to_physical(array, data_type)


def _nested(array: pa.Array, data_type: pa.DataType) -> pa.Array:
    """Convert an array that came from Spark and is inside of an array, map or struct into the form of
    ``data_type`` there: the physical form, except that decimals keep their logical type."""
    if pa.types.is_decimal(data_type):
        return array
    return to_physical(array, data_type)


def physical_batch(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Convert a batch that came from Spark into the physical form of its columns' logical types. ``schema``:
    the logical schema of the columns, by position; its names are the names of the result."""
    if not schema:
        return batch.select([])
    columns = [to_physical(column, kind) for column, kind in zip(batch.columns, schema.types, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema.names)


def without_columns(rows: int) -> pa.RecordBatch:
    """Return a batch of ``rows`` rows without columns."""
    return pa.RecordBatch.from_struct_array(pa.Array.from_buffers(pa.struct([]), rows, [None]))


def sent_type(data_type: pa.DataType) -> pa.DataType:
    """Return the logical type in which a column of ``data_type`` is sent to Spark as Arrow; Spark then casts
    the column to ``data_type``.

    >>> sent_type(pa.struct([("x", INTERVALS["YEAR", "MONTH"])]))
    StructType(struct<c0: int32>)

    A year-month interval becomes an int, a day-time interval becomes INTERVAL DAY TO SECOND, and the fields
    of structs get numbered names.
    """
    return with_leaves(numbered(data_type), _sent_leaf)


def _sent_leaf(data_type: pa.DataType) -> pa.DataType:
    if is_interval(data_type):
        return INT if is_year_month(data_type) else DAY_TIME_INTERVAL
    return data_type


def to_send(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Convert a batch in physical form into the Arrow types in which rows are sent to Spark. ``schema``: the
    columns to send, with the :func:`sent_type` of each column's logical type."""
    columns = [_to_send(column, kind) for column, kind in zip(batch.columns, schema.types, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema.names)


def _to_send(array: pa.Array, data_type: pa.DataType) -> pa.Array:
    if is_variant(data_type) or is_time(data_type):
        return exported(array, data_type)
    if pa.types.is_nested(data_type):
        return converted(array, data_type, _to_send)
    return array if is_interval(data_type) or array.type == data_type else array.cast(data_type)
