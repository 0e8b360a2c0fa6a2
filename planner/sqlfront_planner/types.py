"""Spark's type coercion in ANSI mode: the common type of two types, and the casts of arguments.

Source of the rules: Spark's ``AnsiTypeCoercion`` and ``DecimalPrecisionTypeCoercion`` (documented on the page
"ANSI Compliance" of the SQL reference), checked against a running Spark in the tests.
"""

from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from typing import Final

import msgspec
import pyarrow as pa

from sqlfront_values import types
from sqlfront_values.functions.numbers import decimal_rules
from sqlfront_values.functions.registry import ArgumentType, Kind
from sqlfront_values.types import (
    BIGINT,
    BINARY,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    INTEGRALS,
    MAX_PRECISION,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    VOID,
    IntervalType,
    TimeType,
    common_interval,
    is_decimal,
    is_fractional,
    is_integral,
    is_interval,
    is_numeric,
    is_string,
    is_time,
    is_variant,
    is_year_month,
)

#: The decimal types to which Spark casts a string, and an untyped null, where a function takes a decimal.
_DECIMAL_OF_STRING: Final = types.decimal(38, 18)
_DECIMAL_OF_VOID: Final = types.decimal(10, 0)

#: Words that Spark reads as the day or the moment of the query where a text becomes a date or timestamp.
SPECIAL_TIMES: Final = frozenset({"epoch", "now", "today", "tomorrow", "yesterday"})
#: In the order of coercion: an earlier type is coerced to a later type.
DATETIMES: Final = (DATE, TIMESTAMP_NTZ, TIMESTAMP)


def least_common_type(left: pa.DataType, right: pa.DataType) -> pa.DataType | None:
    """Return the type to which Spark implicitly casts values of both types, to compare or combine them; None
    if there is no such type.

    >>> least_common_type(pa.int32(), pa.string()), least_common_type(pa.int32(), pa.bool_())
    (DataType(int64), None)
    """
    if left == right or right == VOID:
        return left
    if left == VOID:
        return right
    if is_numeric(left) and is_numeric(right):
        return _common_number(left, right)
    if is_string(left):
        return _with_string(right)
    if is_string(right):
        return _with_string(left)
    if isinstance(left, IntervalType) and isinstance(right, IntervalType):
        return common_interval(left, right)
    if left in DATETIMES and right in DATETIMES:
        return max(left, right, key=DATETIMES.index)
    if isinstance(left, TimeType) and isinstance(right, TimeType):
        return finer_time(left, right)
    return _common_nested(left, right)


def finer_time(left: TimeType, right: TimeType) -> TimeType:
    """Return the type of times that has the greater precision.

    >>> finer_time(types.TIMES[2], types.TIMES[9])
    time(9)
    """
    return max(left, right, key=lambda kind: kind.precision)


def same_but_for_names(left: pa.DataType, right: pa.DataType) -> bool:
    """Return whether two types differ at most in the names of structs' fields. Values of two such types can
    be compared, or form one column of a set operation."""
    inner = _inner_types(left, right)
    if inner is None or pa.types.is_map(left):
        return bool(left == right)
    return all(same_but_for_names(*pair) for pair in inner)


def _inner_types(left: pa.DataType, right: pa.DataType) -> list[tuple[pa.DataType, pa.DataType]] | None:
    """The pairs of inner types of two arrays, two maps, or two structs with equally many fields; None for
    other types."""
    if pa.types.is_list(left) and pa.types.is_list(right):
        return [(left.value_type, right.value_type)]
    if pa.types.is_map(left) and pa.types.is_map(right):
        return [(left.key_type, right.key_type), (left.item_type, right.item_type)]
    if pa.types.is_struct(left) and pa.types.is_struct(right) and left.num_fields == right.num_fields:
        return [(mine.type, other.type) for mine, other in zip(left, right, strict=True)]
    return None


def common_type(all_types: Iterable[pa.DataType]) -> pa.DataType | None:
    """Return Spark's least common type of any number of types: VOID if there are none, None if they have no
    common type. The order of the types matters, since a string beside a whole number is a BIGINT, and beside
    a decimal a DOUBLE.

    >>> number, text, decimal = pa.int32(), pa.string(), pa.decimal128(2, 1)
    >>> common_type([number, text, decimal]), common_type([number, decimal, text])
    (Decimal128Type(decimal128(21, 1)), DataType(double))
    """
    result: pa.DataType = VOID
    previous: pa.DataType | None = None
    for data_type in all_types:
        if previous is not None and data_type == previous:  # a repeated type changes nothing
            continue
        wider = least_common_type(result, data_type)
        if wider is None:
            return None
        previous = data_type if wider == result else None
        result = wider
    return result


def _common_number(left: pa.DataType, right: pa.DataType) -> pa.DataType:
    if is_decimal(left) or is_decimal(right):
        if is_fractional(left) or is_fractional(right):
            return DOUBLE
        return decimal_rules.wider_type(as_decimal(left), as_decimal(right))
    if is_integral(left) and is_integral(right):
        return max(left, right, key=INTEGRALS.index)
    # FLOAT would lose digits of an integral operand.
    return FLOAT if left == right == FLOAT else DOUBLE


def _with_string(other: pa.DataType) -> pa.DataType | None:
    """Return the type to which Spark casts a string that is combined with a value of the type ``other``; None
    if the two can't be combined."""
    if is_integral(other):
        return BIGINT
    if is_fractional(other) or is_decimal(other):
        return DOUBLE
    if is_interval(other) or pa.types.is_nested(other):
        return None
    return other


def _common_nested(left: pa.DataType, right: pa.DataType) -> pa.DataType | None:
    if pa.types.is_list(left) and pa.types.is_list(right):
        item = least_common_type(left.value_type, right.value_type)
        return None if item is None else pa.list_(item)
    if pa.types.is_map(left) and pa.types.is_map(right):
        key = _common_key(left.key_type, right.key_type)
        item = least_common_type(left.item_type, right.item_type)
        return None if key is None or item is None else types.map_type(key, item)
    if pa.types.is_struct(left) and pa.types.is_struct(right) and left.num_fields == right.num_fields:
        fields = []
        for ours, theirs in zip(left, right, strict=True):
            kind = least_common_type(ours.type, theirs.type)
            if kind is None or ours.name.lower() != theirs.name.lower():
                return None
            fields.append((ours.name, kind))
        return pa.struct(fields)
    return None


def _common_key(left: pa.DataType, right: pa.DataType) -> pa.DataType | None:
    """Return the common type of the keys of two maps; None also for strings beside values of another type, to
    which the cast of a string may give null, which no key is."""
    kinds = {left, right} - {VOID, BINARY}
    return None if len(set(map(is_string, kinds))) > 1 else least_common_type(left, right)


def compares_inside(left: pa.DataType, right: pa.DataType) -> bool:
    """Return whether Spark compares two arrays, maps or structs with elements of these types. The types must
    have a common type; but inside of nested values Spark casts no string to another type, and widens no
    decimal.

    >>> compares_inside(pa.list_(pa.int32()), pa.list_(pa.int64()))
    True
    >>> compares_inside(pa.list_(pa.int32()), pa.list_(pa.string()))
    False
    """
    if left == right or VOID in (left, right):
        return True
    inner = _inner_types(left, right)
    if inner is not None:
        return all(compares_inside(*pair) for pair in inner)
    if is_string(left) or is_string(right):
        return False
    if is_decimal(left) or is_decimal(right):
        whole, other = (right, left) if is_decimal(left) else (left, right)
        return is_integral(whole) and decimal_rules.wider_type(as_decimal(whole), other) == other
    return True


def as_decimal(data_type: pa.DataType) -> pa.DataType:
    """Return the decimal type that Spark uses for an integral type and that holds all its values
    (``decimal(10,0)`` for int). A decimal type is returned unchanged."""
    return decimal_rules.decimal_for(data_type)


def decimal_of_value(value: int) -> pa.DataType:
    """Return the narrowest decimal type that holds an integer literal; Spark uses this type if the other
    operand is a decimal.

    >>> decimal_of_value(-100)
    Decimal128Type(decimal128(3, 0))
    """
    return decimal_rules.decimal_for_literal(value)


def decimal_type_of(value: Decimal) -> pa.DataType | None:
    """Return the type of a decimal literal, with as many digits as are written; None for more than 38 digits.

    >>> decimal_type_of(Decimal("0.05")), decimal_type_of(Decimal("1.50"))
    (Decimal128Type(decimal128(2, 2)), Decimal128Type(decimal128(3, 2)))
    """
    _, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    if max(len(digits) + max(exponent, 0), -exponent) > MAX_PRECISION:
        return None
    return decimal_rules.decimal_for_literal(value)


#: A rule that says whether a type is cast to another implicitly.
IsImplicit = Callable[[pa.DataType, pa.DataType], bool]


def implicit_cast(
    source: pa.DataType, wanted: ArgumentType, implicit: IsImplicit | None = None
) -> pa.DataType | None:
    """Return the type to which Spark casts a function's argument of type ``source`` if the function requires
    ``wanted`` (``source`` itself if no cast is needed); None if Spark refuses the argument. ``implicit``: the
    casts between two types; None = those of :func:`is_implicit`.

    >>> implicit_cast(pa.string(), Kind.NUMERIC), implicit_cast(pa.int32(), pa.string())
    (DataType(double), DataType(string))
    >>> implicit_cast(pa.bool_(), pa.float64())
    """
    implicit = implicit or is_implicit
    if isinstance(wanted, Kind):
        return _into_kind(source, wanted, implicit)
    if source in (wanted, VOID):
        return wanted
    return wanted if implicit(source, wanted) else None


def is_exact(source: pa.DataType, wanted: ArgumentType) -> bool:
    """Return whether a function that Spark gives only arguments of exact types accepts an argument of type
    ``source``: void, the type ``wanted``, a type of the kind ``wanted``, or an integer narrower than the
    integer type ``wanted``. Where a timestamp is wanted, both timestamp types are accepted."""
    if source == VOID or wanted is Kind.COMMON:
        return True
    if wanted is Kind.NUMERIC:
        return is_numeric(source)
    if wanted is Kind.INTEGRAL or wanted == BIGINT:
        return is_integral(source)
    if wanted is Kind.INT_OR_STRING:
        return is_string(source) or is_exact(source, INT)
    if wanted == INT:
        return is_integral(source) and source != BIGINT
    if wanted is Kind.TIME:
        return is_time(source)
    if wanted == TIMESTAMP or wanted is Kind.ANY_TIMESTAMP:
        return source in (TIMESTAMP, TIMESTAMP_NTZ)
    return source == wanted


def mixes_strings(kinds: Sequence[pa.DataType]) -> bool:
    """Return whether some of the types are strings and others are not; void counts as neither. Arrays are
    compared by their element types, at any depth."""
    lists = [kind.value_type for kind in kinds if pa.types.is_list(kind)]
    if lists:
        return len(lists) == len(kinds) and mixes_strings(lists)
    strings = [is_string(kind) for kind in kinds if kind != VOID]
    return any(strings) and not all(strings)


def is_implicit(source: pa.DataType, target: pa.DataType) -> bool:
    """Return whether Spark casts from ``source`` to ``target`` implicitly, for an argument or an insert."""
    if source in (target, VOID):
        return True
    if is_string(source):
        return not (pa.types.is_nested(target) or is_interval(target) or is_variant(target))
    if is_string(target):
        return not pa.types.is_nested(source)
    if is_numeric(source):
        return is_numeric(target)
    if is_interval(source):
        return is_interval(target) and is_year_month(source) == is_year_month(target)
    if is_time(source):
        return is_time(target)
    if source in DATETIMES:
        return target in DATETIMES or (is_time(target) and source != DATE)
    inner = _inner_types(source, target)
    return inner is not None and all(is_implicit(*pair) for pair in inner)


class _Family(msgspec.Struct, frozen=True):
    """The argument types that a :class:`Kind` accepts.

    ``name`` is the name of the kind in Spark's messages (None: the kind's value in capitals). A type for
    which one of the tests ``stays`` is true needs no cast. A null is cast to ``null``. Any other type is cast
    to the first of ``casts`` to which Spark casts it implicitly, and refused if there is none.
    """

    name: str | None
    stays: tuple[Callable[[pa.DataType], bool], ...] = ()
    casts: tuple[pa.DataType, ...] = ()
    null: pa.DataType | None = None


def _is_any(_: pa.DataType) -> bool:
    return True


def _is_binary(data_type: pa.DataType) -> bool:
    return data_type == BINARY


def _is_bigint(data_type: pa.DataType) -> bool:
    return data_type == BIGINT


def _is_ntz(data_type: pa.DataType) -> bool:
    return data_type == TIMESTAMP_NTZ


def _is_datetime(data_type: pa.DataType) -> bool:
    return data_type in DATETIMES


_is_array, _is_map, _is_struct = pa.types.is_list, pa.types.is_map, pa.types.is_struct
_is_boolean = pa.types.is_boolean
_ARRAY_OF_NULLS: Final = pa.list_(VOID)
_DATETIMES_OR_STRING: Final = '("STRING" or "DATE" or "TIMESTAMP" or "TIMESTAMP WITHOUT TIME ZONE")'

_FAMILIES: Final = {
    Kind.ANY: _Family(None, (_is_any,)),
    Kind.COMMON: _Family(None, (_is_any,)),
    Kind.NUMERIC: _Family(None, (is_numeric,), (DOUBLE,), DOUBLE),
    Kind.NUMERIC_OR_INTERVAL: _Family(
        '("NUMERIC" or "ANSI INTERVAL")', (is_numeric, is_interval), (DOUBLE,), DOUBLE
    ),
    Kind.ORDINAL: _Family(
        '("NUMERIC" or "DATE" or "TIMESTAMP" or "TIMESTAMP_NTZ" or "ANSI INTERVAL")',
        (is_numeric, is_interval, _is_datetime, is_time), (DOUBLE,), DOUBLE,
    ),
    Kind.DOUBLE_OR_INTERVAL: _Family(None, (is_interval,), (DOUBLE,), DOUBLE),
    Kind.DOUBLE_INTERVAL_OR_TIME: _Family(
        '"DOUBLE OR INTERVAL OR TIME"', (is_interval, is_time), (DOUBLE,), DOUBLE
    ),
    Kind.INTEGRAL: _Family(None, (is_integral,), (), INT),
    Kind.INT_OR_BIGINT: _Family('("INT" or "BIGINT")', (_is_bigint,), (INT,), INT),
    Kind.INT_OR_STRING: _Family('("INT" or "STRING")', (is_string,), (INT,), INT),
    Kind.BIGINT_OR_BYTES: _Family(
        '("BIGINT" or "BINARY" or "STRING")', (is_string, _is_binary), (BIGINT, STRING), BIGINT
    ),
    Kind.DOUBLE_OR_DOUBLES: _Family(
        '("DOUBLE" or "ARRAY<DOUBLE>")', (), (DOUBLE, pa.list_(DOUBLE)), DOUBLE
    ),
    Kind.FLOAT_OR_FLOATS: _Family('("FLOAT" or "ARRAY<FLOAT>")', (), (FLOAT, pa.list_(FLOAT)), FLOAT),
    Kind.BIGINT_OR_BIGINTS: _Family(
        '("BIGINT" or "ARRAY<BIGINT>")', (), (BIGINT, pa.list_(BIGINT)), BIGINT
    ),
    Kind.DECIMAL: _Family(None, (is_decimal,)),
    Kind.DECIMAL_OR_DOUBLE: _Family('("DECIMAL" or "DOUBLE")', (is_decimal,), (DOUBLE,), DOUBLE),
    Kind.STRING_OR_BINARY: _Family('("STRING" or "BINARY")', (is_string, _is_binary), (STRING,), STRING),
    Kind.STRING_OR_STRINGS: _Family('("STRING" or "ARRAY<STRING>")', (), (STRING, pa.list_(STRING)), STRING),
    Kind.STRING_OR_ARRAY: _Family('("STRING" or "ARRAY")', (_is_array, _is_binary), (STRING,), STRING),
    Kind.DATE_OR_TIMESTAMP: _Family(
        '("DATE" or "TIMESTAMP")', (_is_datetime, is_time), (TIMESTAMP,), TIMESTAMP
    ),
    Kind.TIME: _Family(None, (is_time,), (types.TIME,), types.TIME),
    Kind.ANY_TIMESTAMP: _Family('("TIMESTAMP_LTZ" or "TIMESTAMP_NTZ")', (_is_ntz,), (TIMESTAMP,), TIMESTAMP),
    Kind.STRING_OR_DATETIME: _Family(
        '("STRING" or "DATE" or "TIMESTAMP" or "TIMESTAMP_NTZ")', (is_string, _is_datetime), (), STRING
    ),
    Kind.TIMESTAMP_SOURCE: _Family(_DATETIMES_OR_STRING, (is_numeric, _is_datetime), (STRING,), STRING),
    Kind.TIMESTAMP_TEXT: _Family(_DATETIMES_OR_STRING, (_is_datetime,), (STRING,), STRING),
    Kind.INTEGRAL_OR_BOOLEAN: _Family('("INTEGRAL" or "BOOLEAN")', (is_integral, _is_boolean), (), INT),
    Kind.ARRAY: _Family(None, (_is_array,), (), _ARRAY_OF_NULLS),
    Kind.COMMON_ARRAY: _Family('"ARRAY"', (_is_array,), (), _ARRAY_OF_NULLS),
    Kind.MAP: _Family(None, (_is_map,)),
    Kind.COMMON_MAP: _Family('"MAP"', (_is_map,)),
    Kind.COLLECTION: _Family('("ARRAY" or "MAP")', (_is_map, _is_array), (), _ARRAY_OF_NULLS),
    Kind.STRUCT: _Family(None, (_is_struct,)),
}  # fmt: skip


def _into_kind(source: pa.DataType, kind: Kind, implicit: IsImplicit) -> pa.DataType | None:
    if kind is Kind.DECIMAL and not is_decimal(source):
        return _decimal_of(source)
    family = _FAMILIES[kind]
    if any(stays(source) for stays in family.stays):
        return source
    if source == VOID:
        return family.null
    return next((target for target in family.casts if implicit(source, target)), None)


def _decimal_of(source: pa.DataType) -> pa.DataType | None:
    """Return the decimal type to which Spark casts an argument of another type (``DecimalType.forType``);
    None if Spark refuses the argument."""
    if is_string(source):
        return _DECIMAL_OF_STRING
    if source == VOID:
        return _DECIMAL_OF_VOID
    return decimal_rules.decimal_for(source) if is_numeric(source) else None


def argument_name(wanted: ArgumentType) -> str:
    """Return the required type or kind of an argument, as Spark's error messages write it."""
    if isinstance(wanted, pa.DataType):
        return f'"{types.sql_name(wanted)}"'
    return _FAMILIES[wanted].name or f'"{wanted.value.upper()}"'


def is_orderable(data_type: pa.DataType) -> bool:
    """Return whether values of the type can be sorted and compared; a map or a variant, or a type that
    contains one, can't."""
    if pa.types.is_map(data_type) or is_variant(data_type):
        return False
    if pa.types.is_list(data_type):
        return is_orderable(data_type.value_type)
    if pa.types.is_struct(data_type):
        return all(is_orderable(item.type) for item in data_type)
    return True


def names_of(all_types: Sequence[pa.DataType]) -> str:
    """Return the SQL names of the types, quoted and separated by commas: ``"INT", "STRING"``."""
    return ", ".join(f'"{types.sql_name(data_type)}"' for data_type in all_types)
