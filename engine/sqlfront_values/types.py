"""Spark's types as Arrow types: the logical types of schemas, and the physical forms that batches carry.

Every schema (of a plan, a processor, a table, a result) holds **logical** types: the types of
:data:`PRIMITIVES`, ``decimal128(p, s)``, and lists, structs and maps of them. Inside the engine a batch
carries the **physical** form of a logical type, which Arrow's kernels process quickly:

* ``decimal128(p <= 18, s)`` always travels as ``decimal64(p, s)``, whose int64 view is free;
* a string column may be ``string`` or ``dictionary(int32, string)``, batch by batch;
* a day-time interval travels as ``duration("us")``, a year-month interval as ``int32`` months, a time of day
  as ``int64`` nanoseconds since midnight, a variant as ``binary`` with both of its parts
  (:mod:`sqlfront_values.variants.rows`), inside of arrays, maps and structs too (decimals and strings in
  there have their logical form);
* all other types travel as they are.

The result converts back, so that a user never sees a physical form (:mod:`sqlfront_values.arrow.exchange`).
"""

from collections.abc import Callable
from typing import Final

import pyarrow as pa

from sqlfront_values.errors import InternalError, spark_error

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
DICTIONARY_STRING: Final = pa.dictionary(pa.int32(), pa.string())

#: The units of intervals, largest first, and their number of months or microseconds.
MONTHS_OF: Final = {"YEAR": 12, "MONTH": 1}
MICROS_OF: Final = {"DAY": 86_400_000_000, "HOUR": 3_600_000_000, "MINUTE": 60_000_000, "SECOND": 1_000_000}


class IntervalType(pa.ExtensionType):  # type: ignore[misc]
    """Spark's ``INTERVAL first TO last`` (or ``INTERVAL first``, if both are equal): a number of months or of
    microseconds, shown in the units from ``first``, the largest, to ``last``.

    The units are part of the type, of its name, and of the text of its values; they don't bound the values.
    Each type has a single instance, in :data:`INTERVALS`.
    """

    def __init__(self, first: str, last: str) -> None:
        self.first = first
        self.last = last
        super().__init__(pa.int32() if first in MONTHS_OF else pa.duration("us"), "sqlfront.interval")

    @property
    def units(self) -> str:
        """The type's units as SQL names them: ``DAY TO SECOND``, or just ``DAY`` if the first unit is the
        last."""
        return self.first if self.first == self.last else f"{self.first} TO {self.last}"

    def __str__(self) -> str:
        return f"interval {self.units.lower()}"

    __repr__ = __str__

    def __arrow_ext_serialize__(self) -> bytes:
        return f"{self.first} {self.last}".encode()

    @classmethod
    def __arrow_ext_deserialize__(cls, _storage: pa.DataType, serialized: bytes) -> "IntervalType":
        first, last = serialized.decode().split()
        return INTERVALS[first, last]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IntervalType) and (other.first, other.last) == (self.first, self.last)

    def __ne__(self, other: object) -> bool:
        # Arrow's own would compare no units.
        return not self == other

    def __hash__(self) -> int:
        return hash((self.first, self.last))


#: Spark's interval types by their first and last unit.
INTERVALS: Final[dict[tuple[str, str], IntervalType]] = {
    (first, last): IntervalType(first, last)
    for units in (tuple(MONTHS_OF), tuple(MICROS_OF))
    for place, first in enumerate(units)
    for last in units[place:]
}
DAY_TIME_INTERVAL: Final = INTERVALS["DAY", "SECOND"]
YEAR_MONTH_INTERVAL: Final = INTERVALS["YEAR", "MONTH"]
#: The type of the difference of two dates.
DAY_INTERVAL: Final = INTERVALS["DAY", "DAY"]
pa.register_extension_type(DAY_TIME_INTERVAL)


class TimeType(pa.ExtensionType):  # type: ignore[misc]
    """Spark's ``TIME(precision)``: a time of day, as a number of nanoseconds since midnight, below a day.

    ``precision`` counts the digits of the seconds' fraction, 0 to 9; the digits behind it are zero. Each type
    has a single instance, in :data:`TIMES`.
    """

    def __init__(self, precision: int) -> None:
        self.precision = precision
        super().__init__(pa.int64(), "sqlfront.time")

    def __str__(self) -> str:
        return f"time({self.precision})"

    __repr__ = __str__

    def __arrow_ext_serialize__(self) -> bytes:
        return str(self.precision).encode()

    @classmethod
    def __arrow_ext_deserialize__(cls, _storage: pa.DataType, serialized: bytes) -> "TimeType":
        return TIMES[int(serialized)]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TimeType) and other.precision == self.precision

    def __ne__(self, other: object) -> bool:
        # Arrow's own would compare no precisions.
        return not self == other

    def __hash__(self) -> int:
        return hash((TimeType, self.precision))


#: Spark's types of times of day by their precision.
TIMES: Final = tuple(map(TimeType, range(10)))
#: ``TIME`` without a precision.
TIME: Final = TIMES[6]
pa.register_extension_type(TIME)


class VariantType(pa.ExtensionType):  # type: ignore[misc]
    """Spark's ``VARIANT``: a value of any JSON-like type. Its single instance is :data:`VARIANT`."""

    def __init__(self) -> None:
        super().__init__(pa.binary(), "sqlfront.variant")

    def __str__(self) -> str:
        return "variant"

    __repr__ = __str__

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, _storage: pa.DataType, _serialized: bytes) -> "VariantType":
        return VARIANT

    def __hash__(self) -> int:
        return hash(VariantType)


VARIANT: Final = VariantType()
pa.register_extension_type(VARIANT)

#: DDL names of the logical types without parameters.
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
    VARIANT: "variant",
    **{kind: f"interval {kind.units.lower()}" for kind in INTERVALS.values()},
    **{kind: str(kind) for kind in TIMES},
}
INTEGRALS: Final = (TINYINT, SMALLINT, INT, BIGINT)
#: Bits of an integral beside its sign.
VALUE_BITS: Final = {TINYINT: 7, SMALLINT: 15, INT: 31, BIGINT: 63}
#: Digits of the longest decimal in Spark, and of the longest that fits a long (``Decimal.MAX_LONG_DIGITS``).
MAX_PRECISION: Final = 38
MAX_SHORT_PRECISION: Final = 18


def decimal(precision: int, scale: int) -> pa.Decimal128Type:
    """Return the logical decimal type of ``precision`` digits, 1 to 38, ``scale`` of them after the point."""
    return pa.decimal128(precision, scale)


def time(precision: int) -> TimeType:
    """Return the type ``TIME(precision)``. Raises UNSUPPORTED_TIME_PRECISION for more than 9 digits."""
    if precision >= len(TIMES):
        raise spark_error(
            "UNSUPPORTED_TIME_PRECISION",
            f"The seconds precision {precision} of the TIME data type is out of the supported range "
            f"[0, {len(TIMES) - 1}].",
        )
    return TIMES[precision]


def is_decimal(data_type: pa.DataType) -> bool:
    """Return True for decimals of any width: decimal128, the logical form, and decimal64, a physical form."""
    return pa.types.is_decimal(data_type)


def is_integral(data_type: pa.DataType) -> bool:
    """Return True for tinyint, smallint, int and bigint."""
    return pa.types.is_integer(data_type)


def is_fractional(data_type: pa.DataType) -> bool:
    """Return True for float and double (not decimal)."""
    return pa.types.is_floating(data_type)


def is_numeric(data_type: pa.DataType) -> bool:
    """Return True for integrals, float, double and decimals."""
    return is_integral(data_type) or is_fractional(data_type) or is_decimal(data_type)


def is_string(data_type: pa.DataType) -> bool:
    """Return True for strings in the plain form and in the dictionary form."""
    return pa.types.is_string(data_type) or data_type == DICTIONARY_STRING


def is_string_like(data_type: pa.DataType) -> bool:
    """Return True for plain strings and binaries, whose values differ in length; False for dictionary
    strings."""
    return data_type.id in _STRING_LIKE


_STRING_LIKE: Final = frozenset({pa.string().id, pa.binary().id})


def is_interval(data_type: pa.DataType) -> bool:
    """Return True for the logical types of intervals of both kinds; False for their physical forms (duration,
    int32)."""
    return isinstance(data_type, IntervalType)


def is_year_month(data_type: pa.DataType) -> bool:
    """Return True for the logical types of intervals of years and months."""
    return isinstance(data_type, IntervalType) and data_type.first in MONTHS_OF


def is_day_time(data_type: pa.DataType) -> bool:
    """Return True for the logical types of intervals of days, hours, minutes and seconds."""
    return isinstance(data_type, IntervalType) and data_type.first in MICROS_OF


def is_time(data_type: pa.DataType) -> bool:
    """Return True for the logical types of times of day, of all precisions."""
    return isinstance(data_type, TimeType)


def units_of(kind: IntervalType) -> tuple[str, ...]:
    """Return the interval type's units, from its first to its last.

    >>> units_of(INTERVALS["DAY", "MINUTE"])
    ('DAY', 'HOUR', 'MINUTE')
    """
    units = tuple(MONTHS_OF if kind.first in MONTHS_OF else MICROS_OF)
    return units[units.index(kind.first) : units.index(kind.last) + 1]


def common_interval(left: IntervalType, right: IntervalType) -> IntervalType | None:
    """Return the type with the units of both types and the units between; None if one type counts months and
    the other time.

    >>> common_interval(INTERVALS["DAY", "DAY"], INTERVALS["MINUTE", "MINUTE"]).units
    'DAY TO MINUTE'
    """
    units = tuple(MONTHS_OF if left.first in MONTHS_OF else MICROS_OF)
    if right.first not in units:
        return None
    first = min(left.first, right.first, key=units.index)
    return INTERVALS[first, max(left.last, right.last, key=units.index)]


def is_own(data_type: pa.DataType) -> bool:
    """Return True for the logical types of intervals, of times of day and of variants, which Arrow doesn't
    have."""
    return isinstance(data_type, IntervalType | TimeType | VariantType)


def holds(data_type: pa.DataType, test: Callable[[pa.DataType], bool]) -> bool:
    """Return whether ``test`` is true of the type, or of a type inside of a nested type at any depth.

    >>> holds(pa.list_(pa.struct([("v", VARIANT)])), is_variant), holds(pa.list_(INT), is_variant)
    (True, False)
    """
    if test(data_type):
        return True
    if not pa.types.is_nested(data_type):
        return False
    return any(holds(data_type.field(index).type, test) for index in range(data_type.num_fields))


def is_variant(data_type: pa.DataType) -> bool:
    """Return True for the logical type VARIANT."""
    return isinstance(data_type, VariantType)


def holds_own(data_type: pa.DataType) -> bool:
    """Return True for the logical types of intervals, of times of day and of variants, and for nested types
    that contain one at any depth: their physical form, and their form outside of the engine, is another
    type."""
    return holds(data_type, is_own)


def holds_variant(data_type: pa.DataType) -> bool:
    """Return True for VARIANT, and for nested types that contain it at any depth."""
    return holds(data_type, is_variant)


def map_type(key: pa.DataType, item: pa.DataType) -> pa.MapType:
    """Return the type of maps from ``key`` to ``item``. The key may be VOID, the type of the keys of
    ``map()``, for which ``pa.map_`` raises: pyarrow, unlike Arrow, has no field of type null without nulls.

    >>> map_type(VOID, VOID)
    MapType(map<null, null>)
    """
    if key == VOID:
        return pa.MapArray.from_arrays([0], pa.nulls(0), pa.nulls(0, item)).type
    return pa.map_(key, item)


def with_leaves(data_type: pa.DataType, leaf: Callable[[pa.DataType], pa.DataType]) -> pa.DataType:
    """Return the type with each part that isn't nested replaced by ``leaf(part)``; the structure of lists,
    maps and structs, and the names of fields, stay. For a type that isn't nested, return
    ``leaf(data_type)``."""
    if pa.types.is_list(data_type):
        return pa.list_(data_type.value_field.with_type(with_leaves(data_type.value_type, leaf)))
    if pa.types.is_map(data_type):
        return map_type(with_leaves(data_type.key_type, leaf), with_leaves(data_type.item_type, leaf))
    if pa.types.is_struct(data_type):
        return pa.struct([field.with_type(with_leaves(field.type, leaf)) for field in data_type])
    return leaf(data_type)


def physical(data_type: pa.DataType) -> pa.DataType:
    """Return the physical form of a logical type; for strings the plain ``string`` type, though a column may
    also be a dictionary.

    >>> physical(pa.decimal128(12, 2))
    Decimal64Type(decimal64(12, 2))
    """
    if pa.types.is_decimal128(data_type) and data_type.precision <= MAX_SHORT_PRECISION:
        return pa.decimal64(data_type.precision, data_type.scale)
    if is_own(data_type):
        return data_type.storage_type
    if pa.types.is_nested(data_type) and holds_own(data_type):
        return with_leaves(data_type, _storage)
    return data_type


def _storage(data_type: pa.DataType) -> pa.DataType:
    return data_type.storage_type if is_own(data_type) else data_type


def logical(data_type: pa.DataType) -> pa.DataType:
    """Return the logical type of a physical type. The physical forms of intervals, times of day and variants
    are returned unchanged, since they don't tell the units, and are numbers or binaries.

    >>> logical(pa.decimal64(12, 2)), logical(DICTIONARY_STRING)
    (Decimal128Type(decimal128(12, 2)), DataType(string))
    """
    if pa.types.is_decimal(data_type):
        return pa.decimal128(data_type.precision, data_type.scale)
    if pa.types.is_dictionary(data_type):
        return logical(data_type.value_type)
    return data_type


def ddl(data_type: pa.DataType) -> str:
    """Return Spark's name of a logical or physical type, as ``DataType.simpleString()`` gives it. Raises
    InternalError for an Arrow type that no type of Spark SQL has.

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
    """Return Spark's name of a type as Spark's error messages and the column names of CAST show it
    (``DataType.sql``). Raises InternalError for an Arrow type that no type of Spark SQL has.

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


def schema_text(data_type: pa.DataType) -> str:
    """Return the type as a text that is a schema: as :func:`sql_name`, with the names of fields in backquotes
    where SQL needs them.

    >>> schema_text(pa.struct([("a b", pa.int32()), ("c", pa.list_(pa.string()))]))
    'STRUCT<`a b`: INT, c: ARRAY<STRING>>'
    """
    if pa.types.is_struct(data_type):
        fields = (f"{quoted_if_odd(field.name)}: {schema_text(field.type)}" for field in data_type)
        return f"STRUCT<{', '.join(fields)}>"
    if pa.types.is_list(data_type):
        return f"ARRAY<{schema_text(data_type.value_type)}>"
    if pa.types.is_map(data_type):
        return f"MAP<{schema_text(data_type.key_type)}, {schema_text(data_type.item_type)}>"
    return sql_name(data_type)


def quoted_if_odd(name: str) -> str:
    """Return the name of a field, in backquotes where SQL needs them."""
    is_plain = name.isascii() and name.isidentifier()
    return name if is_plain else f"`{name.replace('`', '``')}`"
