"""Spark's type coercion in ANSI mode: the common type of two types, and the casts of arguments.

Source of the rules: Spark's ``AnsiTypeCoercion`` and ``DecimalPrecisionTypeCoercion`` (documented on the page
"ANSI Compliance" of the SQL reference), checked against a running Spark in the tests.
"""

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Final

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
    common_interval,
    is_decimal,
    is_fractional,
    is_integral,
    is_interval,
    is_numeric,
    is_string,
    is_year_month,
)

#: In the order of coercion: an earlier type is coerced to a later type.
DATETIMES: Final = (DATE, TIMESTAMP_NTZ, TIMESTAMP)


def least_common_type(left: pa.DataType, right: pa.DataType) -> pa.DataType | None:
    """The type that Spark casts both types to implicitly; None if no such type exists.

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
    return _common_nested(left, right)


def same_but_for_names(left: pa.DataType, right: pa.DataType) -> bool:
    """Whether two types differ at most in the names of structs' fields. Values of such types can be compared
    and combined in one column of a set operation."""
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
    """Spark's least common type of any number of types (VOID for none), or None.

    Strings come last, so that the order of the remaining types doesn't matter.
    """
    result: pa.DataType = VOID
    previous: pa.DataType | None = None
    for data_type in sorted(all_types, key=is_string):
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
    """The type to which a string is cast beside another type."""
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
        key = least_common_type(left.key_type, right.key_type)
        item = least_common_type(left.item_type, right.item_type)
        return None if key is None or item is None else pa.map_(key, item)
    if pa.types.is_struct(left) and pa.types.is_struct(right) and left.num_fields == right.num_fields:
        fields = []
        for ours, theirs in zip(left, right, strict=True):
            kind = least_common_type(ours.type, theirs.type)
            if kind is None or ours.name.lower() != theirs.name.lower():
                return None
            fields.append((ours.name, kind))
        return pa.struct(fields)
    return None


def compares_inside(left: pa.DataType, right: pa.DataType) -> bool:
    """Whether Spark compares values of two types, which have a common type, inside of arrays, maps and
    structs: inside, no string is cast to another type, and no decimal is widened.

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
    """The decimal that holds every value of an integral type; a decimal type itself."""
    return decimal_rules.decimal_for(data_type)


def decimal_of_value(value: int) -> pa.DataType:
    """The narrowest decimal type of an integer literal, which Spark uses beside a decimal operand.

    >>> decimal_of_value(-100)
    Decimal128Type(decimal128(3, 0))
    """
    return decimal_rules.decimal_for_literal(value)


def decimal_type_of(value: Decimal) -> pa.DataType | None:
    """The type of a decimal literal: its digits as written; None for more than 38 digits.

    >>> decimal_type_of(Decimal("0.05")), decimal_type_of(Decimal("1.50"))
    (Decimal128Type(decimal128(2, 2)), Decimal128Type(decimal128(3, 2)))
    """
    _, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    if max(len(digits) + max(exponent, 0), -exponent) > MAX_PRECISION:
        return None
    return decimal_rules.decimal_for_literal(value)


def implicit_cast(source: pa.DataType, wanted: ArgumentType) -> pa.DataType | None:
    """The type to cast a function's argument to (``source`` itself if it fits), None if Spark refuses the
    argument.

    >>> implicit_cast(pa.string(), Kind.NUMERIC), implicit_cast(pa.int32(), pa.string())
    (DataType(double), DataType(string))
    >>> implicit_cast(pa.bool_(), pa.float64())
    """
    if isinstance(wanted, Kind):
        return _into_kind(source, wanted)
    if source in (wanted, VOID):
        return wanted
    return wanted if is_implicit(source, wanted) else None


def is_exact(source: pa.DataType, wanted: ArgumentType) -> bool:
    """Whether an argument has the wanted type, or a narrower numeric type, without a cast."""
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
    if wanted == TIMESTAMP or wanted is Kind.ANY_TIMESTAMP:
        return source in (TIMESTAMP, TIMESTAMP_NTZ)
    return source == wanted


def mixes_strings(kinds: Sequence[pa.DataType]) -> bool:
    """Whether strings stand beside other types than void, at any depth of arrays."""
    lists = [kind.value_type for kind in kinds if pa.types.is_list(kind)]
    if lists:
        return len(lists) == len(kinds) and mixes_strings(lists)
    strings = [is_string(kind) for kind in kinds if kind != VOID]
    return any(strings) and not all(strings)


def is_implicit(source: pa.DataType, target: pa.DataType) -> bool:
    """Whether Spark casts from ``source`` to ``target`` implicitly, for an argument or an insert."""
    if source in (target, VOID):
        return True
    if is_string(source):
        return not (pa.types.is_nested(target) or is_interval(target))
    if is_string(target):
        return not pa.types.is_nested(source)
    if is_numeric(source):
        return is_numeric(target)
    if is_interval(source):
        return is_interval(target) and is_year_month(source) == is_year_month(target)
    if source in DATETIMES:
        return target in DATETIMES
    inner = _inner_types(source, target)
    return inner is not None and all(is_implicit(*pair) for pair in inner)


def _into_kind(source: pa.DataType, kind: Kind) -> pa.DataType | None:
    match kind:
        case Kind.ANY | Kind.COMMON:
            return source
        case Kind.NUMERIC:
            return _number_or(source, DOUBLE, is_numeric(source))
        case Kind.NUMERIC_OR_INTERVAL:
            return _number_or(source, DOUBLE, is_numeric(source) or is_interval(source))
        case Kind.ORDINAL:
            return source if source in DATETIMES else _into_kind(source, Kind.NUMERIC_OR_INTERVAL)
        case Kind.DOUBLE_OR_INTERVAL:
            return source if is_interval(source) else implicit_cast(source, DOUBLE)
        case Kind.INTEGRAL:
            return INT if source == VOID else source if is_integral(source) else None
        case Kind.INT_OR_BIGINT:
            return source if source == BIGINT else implicit_cast(source, INT)
        case Kind.INT_OR_STRING:
            return source if is_string(source) else implicit_cast(source, INT)
        case Kind.BIGINT_OR_BYTES:
            if is_string(source) or source == BINARY:
                return source
            return implicit_cast(source, BIGINT) or implicit_cast(source, STRING)
        case Kind.DECIMAL_OR_DOUBLE:
            if is_decimal(source):
                return source
            return DOUBLE if is_numeric(source) or is_string(source) or source == VOID else None
        case Kind.STRING_OR_BINARY:
            if is_string(source) or source == BINARY:
                return source
            return STRING if source == VOID or is_implicit(source, STRING) else None
        case Kind.STRING_OR_STRINGS:
            if pa.types.is_list(source):
                return implicit_cast(source, pa.list_(STRING))
            return implicit_cast(source, STRING)
        case Kind.STRING_OR_ARRAY:
            if pa.types.is_list(source) or source == BINARY:
                return source
            return implicit_cast(source, STRING)
        case Kind.DATE_OR_TIMESTAMP:
            if source in DATETIMES:
                return source
            return TIMESTAMP if is_string(source) or source == VOID else None
        case Kind.ANY_TIMESTAMP:
            return source if source == TIMESTAMP_NTZ else implicit_cast(source, TIMESTAMP)
        case Kind.STRING_OR_DATETIME:
            if is_string(source) or source in DATETIMES:
                return source
            return STRING if source == VOID else None
        case Kind.TIMESTAMP_SOURCE:
            return source if is_numeric(source) else _into_kind(source, Kind.TIMESTAMP_TEXT)
        case Kind.TIMESTAMP_TEXT:
            return source if source in DATETIMES else implicit_cast(source, STRING)
        case Kind.INTEGRAL_OR_BOOLEAN:
            if source == VOID:
                return INT
            return source if is_integral(source) or pa.types.is_boolean(source) else None
        case Kind.ARRAY | Kind.COMMON_ARRAY:
            return pa.list_(VOID) if source == VOID else source if pa.types.is_list(source) else None
        case Kind.MAP | Kind.COMMON_MAP:
            return source if pa.types.is_map(source) else None
        case Kind.COLLECTION:
            return source if pa.types.is_map(source) else _into_kind(source, Kind.ARRAY)
        case Kind.STRUCT:
            return source if pa.types.is_struct(source) else None


def _number_or(source: pa.DataType, otherwise: pa.DataType, fits: bool) -> pa.DataType | None:
    if fits:
        return source
    return otherwise if is_string(source) or source == VOID else None


def argument_name(wanted: ArgumentType) -> str:
    """The required type of an argument, as Spark's messages name it."""
    if isinstance(wanted, pa.DataType):
        return f'"{types.sql_name(wanted)}"'
    return _KIND_NAMES.get(wanted, f'"{wanted.value.upper()}"')


_KIND_NAMES: Final = {
    Kind.NUMERIC_OR_INTERVAL: '("NUMERIC" or "ANSI INTERVAL")',
    Kind.ORDINAL: '("NUMERIC" or "DATE" or "TIMESTAMP" or "TIMESTAMP_NTZ" or "ANSI INTERVAL")',
    Kind.INT_OR_STRING: '("INT" or "STRING")',
    Kind.ANY_TIMESTAMP: '("TIMESTAMP_LTZ" or "TIMESTAMP_NTZ")',
    Kind.STRING_OR_DATETIME: '("STRING" or "DATE" or "TIMESTAMP" or "TIMESTAMP_NTZ")',
    Kind.TIMESTAMP_SOURCE: '("STRING" or "DATE" or "TIMESTAMP" or "TIMESTAMP WITHOUT TIME ZONE")',
    Kind.TIMESTAMP_TEXT: '("STRING" or "DATE" or "TIMESTAMP" or "TIMESTAMP WITHOUT TIME ZONE")',
    Kind.INTEGRAL_OR_BOOLEAN: '("INTEGRAL" or "BOOLEAN")',
    Kind.COMMON_ARRAY: '"ARRAY"',
    Kind.COMMON_MAP: '"MAP"',
    Kind.COLLECTION: '("ARRAY" or "MAP")',
    Kind.STRING_OR_STRINGS: '("STRING" or "ARRAY<STRING>")',
    Kind.STRING_OR_ARRAY: '("STRING" or "ARRAY")',
    Kind.DATE_OR_TIMESTAMP: '("DATE" or "TIMESTAMP")',
    Kind.STRING_OR_BINARY: '("STRING" or "BINARY")',
    Kind.DECIMAL_OR_DOUBLE: '("DECIMAL" or "DOUBLE")',
    Kind.INT_OR_BIGINT: '("INT" or "BIGINT")',
    Kind.BIGINT_OR_BYTES: '("BIGINT" or "BINARY" or "STRING")',
}


def is_orderable(data_type: pa.DataType) -> bool:
    """Whether values of the type can be sorted and compared; maps can't."""
    if pa.types.is_map(data_type):
        return False
    if pa.types.is_list(data_type):
        return is_orderable(data_type.value_type)
    if pa.types.is_struct(data_type):
        return all(is_orderable(item.type) for item in data_type)
    return True


def names_of(all_types: Sequence[pa.DataType]) -> str:
    """The SQL names of the types, quoted: ``"INT", "STRING"``."""
    return ", ".join(f'"{types.sql_name(data_type)}"' for data_type in all_types)
