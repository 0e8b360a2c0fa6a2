"""Spark's types as Arrow types: the logical ones of schemas, and the physical forms that batches carry.

Every schema (of a plan, a processor, a table, a result) holds **logical** types: those of :data:`PRIMITIVES`,
``decimal128(p, s)``, and lists, structs and maps of them. Inside the engine a batch carries the **physical**
form of a logical type, the one Arrow's kernels are quick at:

* ``decimal128(p <= 18, s)`` always travels as ``decimal64(p, s)``, whose int64 view is free;
* a string column may be ``string`` or ``dictionary(int32, string)``, batch by batch;
* all else travels as it is.

The result converts back, so that a user never sees a physical form.
"""

from typing import Final

import pyarrow as pa

from sqlfront_engine.errors import InternalError

VOID: Final = pa.null()
BOOLEAN: Final = pa.bool_()
TINYINT: Final = pa.int8()
SMALLINT: Final = pa.int16()
INT: Final = pa.int32()
BIGINT: Final = pa.int64()
FLOAT: Final = pa.float32()
DOUBLE: Final = pa.float64()
STRING: Final = pa.string()
BINARY: Final = pa.binary()
DATE: Final = pa.date32()
TIMESTAMP: Final = pa.timestamp("us", tz="UTC")
TIMESTAMP_NTZ: Final = pa.timestamp("us")
DAY_TIME_INTERVAL: Final = pa.duration("us")
YEAR_MONTH_INTERVAL: Final = pa.month_day_nano_interval()
DICTIONARY_STRING: Final = pa.dictionary(pa.int32(), pa.string())

#: DDL name of every logical type without parameters.
PRIMITIVES: Final[dict[pa.DataType, str]] = {
    VOID: "void",
    BOOLEAN: "boolean",
    TINYINT: "tinyint",
    SMALLINT: "smallint",
    INT: "int",
    BIGINT: "bigint",
    FLOAT: "float",
    DOUBLE: "double",
    STRING: "string",
    BINARY: "binary",
    DATE: "date",
    TIMESTAMP: "timestamp",
    TIMESTAMP_NTZ: "timestamp_ntz",
    DAY_TIME_INTERVAL: "interval day to second",
    YEAR_MONTH_INTERVAL: "interval year to month",
}
INTEGRALS: Final = (TINYINT, SMALLINT, INT, BIGINT)
MAX_PRECISION: Final = 38
MAX_SHORT_PRECISION: Final = 18


def decimal(precision: int, scale: int) -> pa.Decimal128Type:
    """The logical decimal type; 1 <= precision <= 38."""
    return pa.decimal128(precision, scale)


def is_decimal(data_type: pa.DataType) -> bool:
    """True for decimals of either form."""
    return pa.types.is_decimal(data_type)


def is_integral(data_type: pa.DataType) -> bool:
    """True for tinyint, smallint, int and bigint."""
    return pa.types.is_integer(data_type)


def is_fractional(data_type: pa.DataType) -> bool:
    """True for float and double (not decimal)."""
    return pa.types.is_floating(data_type)


def is_numeric(data_type: pa.DataType) -> bool:
    """True for integrals, float, double and decimals."""
    return is_integral(data_type) or is_fractional(data_type) or is_decimal(data_type)


def is_string(data_type: pa.DataType) -> bool:
    """True for string in either form."""
    return pa.types.is_string(data_type) or data_type == DICTIONARY_STRING


def is_interval(data_type: pa.DataType) -> bool:
    """True for both kinds of interval."""
    return data_type in (DAY_TIME_INTERVAL, YEAR_MONTH_INTERVAL)


def physical(data_type: pa.DataType) -> pa.DataType:
    """The form in which a logical type travels (for strings the plain one; the dictionary form is as good).

    >>> physical(pa.decimal128(12, 2))
    Decimal64Type(decimal64(12, 2))
    """
    if pa.types.is_decimal128(data_type) and data_type.precision <= MAX_SHORT_PRECISION:
        return pa.decimal64(data_type.precision, data_type.scale)
    return data_type


def logical(data_type: pa.DataType) -> pa.DataType:
    """The logical type of a physical one.

    >>> logical(pa.decimal64(12, 2)), logical(DICTIONARY_STRING)
    (Decimal128Type(decimal128(12, 2)), DataType(string))
    """
    if pa.types.is_decimal(data_type):
        return pa.decimal128(data_type.precision, data_type.scale)
    if pa.types.is_dictionary(data_type):
        return logical(data_type.value_type)
    return data_type


def physical_schema(schema: pa.Schema) -> pa.Schema:
    """The schema with every field's type in its (plain) physical form."""
    return pa.schema([field.with_type(physical(field.type)) for field in schema])


def ddl(data_type: pa.DataType) -> str:
    """Spark's name of a type, as ``DataType.simpleString()`` gives it.

    >>> ddl(pa.decimal128(12, 2)), ddl(pa.list_(pa.int32())), ddl(pa.map_(pa.string(), pa.float64()))
    ('decimal(12,2)', 'array<int>', 'map<string,double>')
    """
    name = PRIMITIVES.get(data_type)
    if name is not None:
        return name
    if pa.types.is_decimal(data_type):
        return f"decimal({data_type.precision},{data_type.scale})"
    if pa.types.is_dictionary(data_type):
        return ddl(data_type.value_type)
    if pa.types.is_list(data_type):
        return f"array<{ddl(data_type.value_type)}>"
    if pa.types.is_map(data_type):
        return f"map<{ddl(data_type.key_type)},{ddl(data_type.item_type)}>"
    if pa.types.is_struct(data_type):
        fields = (data_type.field(index) for index in range(data_type.num_fields))
        return f"struct<{','.join(f'{field.name}:{ddl(field.type)}' for field in fields)}>"
    raise InternalError(f"{data_type} is not a type of Spark SQL")


def sql_name(data_type: pa.DataType) -> str:
    """Spark's name of a type as its error messages and CAST column names show it, ``DataType.sql``.

    >>> sql_name(pa.decimal128(12, 2)), sql_name(pa.list_(pa.int32()))
    ('DECIMAL(12,2)', 'ARRAY<INT>')
    """
    if pa.types.is_struct(data_type):
        fields = (data_type.field(index) for index in range(data_type.num_fields))
        return f"STRUCT<{', '.join(f'{field.name}: {sql_name(field.type)}' for field in fields)}>"
    if pa.types.is_list(data_type):
        return f"ARRAY<{sql_name(data_type.value_type)}>"
    if pa.types.is_map(data_type):
        return f"MAP<{sql_name(data_type.key_type)}, {sql_name(data_type.item_type)}>"
    return ddl(data_type).upper()
