"""The table of casts: the allowed pairs, the pairs that may refuse a value, and the conversion of each
pair."""

from collections.abc import Callable
from enum import Enum
from typing import Final

import pyarrow as pa

from sqlfront_values.arrow.dictionaries import spread
from sqlfront_values.arrow.forms import Datum, nulls
from sqlfront_values.casts import (
    datetimes,
    decimals,
    formatting,
    interval_texts,
    intervals,
    nested,
    numbers,
    parsing,
    times,
    variants,
)
from sqlfront_values.casts.numbers import Convert
from sqlfront_values.errors import DataError, InternalError
from sqlfront_values.settings import Settings
from sqlfront_values.types import is_interval, is_time, is_variant, is_year_month


class Family(Enum):
    """A family of types: one rule makes the casts from all types of a family to all types of another."""

    VOID = "void"
    BOOLEAN = "boolean"
    INTEGRAL = "integral"
    FLOAT = "float"
    DECIMAL = "decimal"
    STRING = "string"
    BINARY = "binary"
    DATE = "date"
    TIMESTAMP = "timestamp"
    TIMESTAMP_NTZ = "timestamp_ntz"
    DAY_TIME = "day-time interval"
    YEAR_MONTH = "year-month interval"
    TIME = "time of day"
    ARRAY = "array"
    MAP = "map"
    STRUCT = "struct"
    VARIANT = "variant"


_F = Family
_FAMILIES: Final[dict[int, Family]] = {
    pa.null().id: _F.VOID,
    pa.bool_().id: _F.BOOLEAN,
    pa.int8().id: _F.INTEGRAL,
    pa.int16().id: _F.INTEGRAL,
    pa.int32().id: _F.INTEGRAL,
    pa.int64().id: _F.INTEGRAL,
    pa.float32().id: _F.FLOAT,
    pa.float64().id: _F.FLOAT,
    pa.decimal64(1, 0).id: _F.DECIMAL,
    pa.decimal128(1, 0).id: _F.DECIMAL,
    pa.string().id: _F.STRING,
    pa.binary().id: _F.BINARY,
    pa.date32().id: _F.DATE,
    pa.list_(pa.null()).id: _F.ARRAY,
    pa.map_(pa.string(), pa.null()).id: _F.MAP,
    pa.struct([]).id: _F.STRUCT,
}


def family_of(data_type: pa.DataType) -> Family:
    """Return the family of a logical type. Raises InternalError for an Arrow type that no type of Spark SQL
    has."""
    family = _FAMILIES.get(data_type.id)
    if family is not None:
        return family
    if pa.types.is_timestamp(data_type):
        return _F.TIMESTAMP_NTZ if data_type.tz is None else _F.TIMESTAMP
    if is_interval(data_type):
        return _F.YEAR_MONTH if is_year_month(data_type) else _F.DAY_TIME
    if is_time(data_type):
        return _F.TIME
    if is_variant(data_type):
        return _F.VARIANT
    raise InternalError(f"{data_type} is not a type of Spark SQL")


#: A function that makes a conversion: source, target, safe, settings.
_Rule = Callable[[pa.DataType, pa.DataType, bool, Settings], Convert]


def _same(_source: pa.DataType, _target: pa.DataType, _safe: bool, _settings: Settings) -> Convert:
    return lambda values: values


def _arrow(_source: pa.DataType, target: pa.DataType, _safe: bool, _settings: Settings) -> Convert:
    return numbers.by_arrow(target)


def _formats(convert: Convert) -> _Rule:
    return lambda source, target, safe, settings: convert


_TO_STRING: Final[dict[Family, _Rule]] = {
    _F.BOOLEAN: _formats(formatting.integral_to_string),
    _F.INTEGRAL: _formats(formatting.integral_to_string),
    _F.FLOAT: lambda source, target, safe, settings: formatting.float_to_string(source),
    _F.DECIMAL: lambda source, target, safe, settings: formatting.decimal_to_string(source),
    _F.BINARY: _formats(parsing.binary_to_string),
    _F.DATE: _formats(formatting.date_to_string),
    _F.TIMESTAMP: lambda source, target, safe, settings: formatting.timestamp_to_string(settings.time_zone),
    _F.TIMESTAMP_NTZ: _formats(formatting.timestamp_ntz_to_string),
    _F.DAY_TIME: lambda source, target, safe, settings: interval_texts.interval_to_string(source),
    _F.YEAR_MONTH: lambda source, target, safe, settings: interval_texts.interval_to_string(source),
    _F.TIME: lambda source, target, safe, settings: times.time_to_string,
    **{
        family: lambda source, target, safe, settings: nested.nested_to_string(source, _maker(safe, settings))
        for family in (_F.ARRAY, _F.MAP, _F.STRUCT)
    },
}

_FROM_STRING: Final[dict[Family, _Rule]] = {
    _F.BOOLEAN: lambda source, target, safe, settings: parsing.string_to_boolean(safe=safe),
    _F.INTEGRAL: lambda source, target, safe, settings: parsing.string_to_integral(target, safe=safe),
    _F.FLOAT: lambda source, target, safe, settings: parsing.string_to_float(target, safe=safe),
    _F.DECIMAL: lambda source, target, safe, settings: parsing.string_to_decimal(target, safe=safe),
    _F.BINARY: _formats(parsing.string_to_binary),
    _F.DATE: lambda source, target, safe, settings: datetimes.string_to_date(safe=safe),
    _F.TIMESTAMP: lambda source, target, safe, settings: datetimes.string_to_timestamp(
        settings.time_zone, safe=safe
    ),
    _F.TIMESTAMP_NTZ: lambda source, target, safe, settings: datetimes.string_to_timestamp_ntz(safe=safe),
    _F.DAY_TIME: lambda source, target, safe, settings: interval_texts.string_to_interval(target, safe=safe),
    _F.YEAR_MONTH: lambda source, target, safe, settings: interval_texts.string_to_interval(
        target, safe=safe
    ),
    _F.TIME: lambda source, target, safe, settings: times.string_to_time(target, safe=safe),
}

_NUMERIC: Final[dict[tuple[Family, Family], _Rule]] = {
    (_F.BOOLEAN, _F.INTEGRAL): _arrow,
    (_F.BOOLEAN, _F.FLOAT): _arrow,
    (_F.BOOLEAN, _F.DECIMAL): lambda source, target, safe, settings: decimals.boolean_to_decimal(
        target, safe=safe
    ),
    (_F.INTEGRAL, _F.BOOLEAN): lambda source, target, safe, settings: numbers.to_boolean(source),
    (_F.INTEGRAL, _F.INTEGRAL): lambda source, target, safe, settings: numbers.integral_to_integral(
        source, target, safe=safe
    ),
    (_F.INTEGRAL, _F.FLOAT): _arrow,
    (_F.INTEGRAL, _F.DECIMAL): lambda source, target, safe, settings: decimals.integral_to_decimal(
        source, target, safe=safe
    ),
    (_F.FLOAT, _F.BOOLEAN): lambda source, target, safe, settings: numbers.to_boolean(source),
    (_F.FLOAT, _F.INTEGRAL): lambda source, target, safe, settings: numbers.float_to_integral(
        source, target, safe=safe
    ),
    (_F.FLOAT, _F.FLOAT): _arrow,
    (_F.FLOAT, _F.DECIMAL): lambda source, target, safe, settings: decimals.float_to_decimal(
        target, safe=safe
    ),
    (_F.DECIMAL, _F.BOOLEAN): lambda source, target, safe, settings: decimals.decimal_to_boolean(source),
    (_F.DECIMAL, _F.INTEGRAL): lambda source, target, safe, settings: decimals.decimal_to_integral(
        source, target, safe=safe
    ),
    (_F.DECIMAL, _F.FLOAT): lambda source, target, safe, settings: decimals.decimal_to_float(source, target),
    (_F.DECIMAL, _F.DECIMAL): lambda source, target, safe, settings: decimals.decimal_to_decimal(
        source, target, safe=safe
    ),
}

_TEMPORAL: Final[dict[tuple[Family, Family], _Rule]] = {
    (_F.DATE, _F.TIMESTAMP): lambda source, target, safe, settings: datetimes.date_to_timestamp(
        settings.time_zone, safe=safe
    ),
    (_F.DATE, _F.TIMESTAMP_NTZ): lambda source, target, safe, settings: datetimes.date_to_timestamp_ntz(
        safe=safe
    ),
    (_F.TIMESTAMP, _F.DATE): lambda source, target, safe, settings: datetimes.timestamp_to_date(
        settings.time_zone
    ),
    (_F.TIMESTAMP, _F.TIMESTAMP_NTZ): lambda source, target, safe, settings: datetimes.to_clock(
        settings.time_zone
    ),
    (_F.TIMESTAMP_NTZ, _F.DATE): _formats(datetimes.timestamp_ntz_to_date),
    (_F.TIMESTAMP_NTZ, _F.TIMESTAMP): lambda source, target, safe, settings: datetimes.from_clock(
        settings.time_zone
    ),
    (_F.TIMESTAMP, _F.INTEGRAL): lambda source, target, safe, settings: datetimes.timestamp_to_integral(
        target, safe=safe
    ),
    (_F.TIMESTAMP, _F.FLOAT): lambda source, target, safe, settings: datetimes.timestamp_to_float(target),
    (_F.TIMESTAMP, _F.DECIMAL): lambda source, target, safe, settings: datetimes.timestamp_to_decimal(
        target, safe=safe
    ),
    (_F.INTEGRAL, _F.TIMESTAMP): _formats(datetimes.integral_to_timestamp),
    (_F.FLOAT, _F.TIMESTAMP): lambda source, target, safe, settings: datetimes.float_to_timestamp(safe=safe),
    (_F.DECIMAL, _F.TIMESTAMP): lambda source, target, safe, settings: datetimes.decimal_to_timestamp(source),
}

_INTERVALS: Final[dict[tuple[Family, Family], _Rule]] = {
    pair: rule
    for kind in (_F.DAY_TIME, _F.YEAR_MONTH)
    for pair, rule in (
        ((kind, kind), lambda source, target, safe, settings: intervals.interval_to_interval(target)),
        (
            (kind, _F.INTEGRAL),
            lambda source, target, safe, settings: intervals.interval_to_integral(source, target, safe=safe),
        ),
        (
            (kind, _F.DECIMAL),
            lambda source, target, safe, settings: intervals.interval_to_decimal(source, target, safe=safe),
        ),
        *(
            (
                (number, kind),
                lambda source, target, safe, settings: intervals.number_to_interval(
                    source, target, safe=safe
                ),
            )
            for number in (_F.INTEGRAL, _F.DECIMAL)
        ),
    )
}

_TIMES: Final[dict[tuple[Family, Family], _Rule]] = {
    (_F.TIME, _F.TIME): lambda source, target, safe, settings: times.time_to_time(target),
    (_F.TIME, _F.INTEGRAL): lambda source, target, safe, settings: times.time_to_integral(
        source, target, safe=safe
    ),
    (_F.TIME, _F.DECIMAL): lambda source, target, safe, settings: times.time_to_decimal(target, safe=safe),
    (_F.TIMESTAMP, _F.TIME): lambda source, target, safe, settings: times.timestamp_to_time(
        target, settings.time_zone
    ),
    (_F.TIMESTAMP_NTZ, _F.TIME): lambda source, target, safe, settings: times.timestamp_ntz_to_time(target),
}

_NESTED: Final[dict[Family, _Rule]] = {
    _F.ARRAY: lambda source, target, safe, settings: nested.array_to_array(
        source, target, _maker(safe, settings)
    ),
    _F.MAP: lambda source, target, safe, settings: nested.map_to_map(source, target, _maker(safe, settings)),
    _F.STRUCT: lambda source, target, safe, settings: nested.struct_to_struct(
        source, target, _maker(safe, settings)
    ),
}


def _from_variant(source: pa.DataType, target: pa.DataType, safe: bool, settings: Settings) -> Convert:
    def make(inner: pa.DataType, wanted: pa.DataType) -> Convert | None:
        if inner.equals(wanted):
            return lambda values: values
        if not can_cast(inner, wanted):
            return None
        return make_convert(inner, wanted, safe=True, settings=settings)

    return variants.FromVariants(make, settings.time_zone, safe=safe).convert(target)


def _to_variant(source: pa.DataType, target: pa.DataType, safe: bool, settings: Settings) -> Convert:
    return variants.to_variant(source)


_VARIANTS: Final[dict[tuple[Family, Family], _Rule]] = {
    **{(_F.VARIANT, target): _from_variant for target in Family},
    **{(source, _F.VARIANT): _to_variant for source in Family if source is not _F.VOID},
}

_RULES: Final[dict[tuple[Family, Family], _Rule]] = {
    **_VARIANTS,
    **{(source, _F.STRING): rule for source, rule in _TO_STRING.items()},
    **{(_F.STRING, target): rule for target, rule in _FROM_STRING.items()},
    **_NUMERIC,
    **_TEMPORAL,
    **_INTERVALS,
    **_TIMES,
    **{(family, family): rule for family, rule in _NESTED.items()},
    **{(family, family): _same for family in (_F.STRING, _F.BINARY, _F.BOOLEAN, _F.DATE)},
    **{(family, family): _same for family in (_F.TIMESTAMP, _F.TIMESTAMP_NTZ)},
}


def can_cast(source: pa.DataType, target: pa.DataType) -> bool:
    """Return whether Spark's ANSI mode allows CAST from ``source`` to ``target`` (logical types); for nested
    types, whether the mode allows the casts of all their children."""
    pair = family_of(source), family_of(target)
    match pair:
        case (_F.VOID, _):
            return True
        case (_F.VARIANT, _) | (_, _F.VARIANT):
            return variants.can_cast(source, target)
        case (_F.ARRAY, _F.ARRAY):
            return can_cast(source.value_type, target.value_type)
        case (_F.MAP, _F.MAP):
            return can_cast(source.key_type, target.key_type) and can_cast(source.item_type, target.item_type)
        case (_F.STRUCT, _F.STRUCT):
            return source.num_fields == target.num_fields and all(
                can_cast(source.field(index).type, target.field(index).type)
                for index in range(source.num_fields)
            )
        case _:
            return pair in _RULES


def cast_can_fail(source: pa.DataType, target: pa.DataType) -> bool:
    """Return whether CAST from ``source`` to ``target`` (logical types that :func:`can_cast` allows) may
    raise an error for some value; True if in doubt."""
    match family_of(source), family_of(target):
        case (_F.BINARY, _F.STRING):
            return True
        case (_F.VARIANT, _):
            return True
        case (_F.VOID, _) | (_, _F.STRING) | (_, _F.BOOLEAN | _F.BINARY) if source.id != pa.string().id:
            return False
        case (_F.STRING, _F.STRING | _F.BINARY):
            return False
        case (_F.STRING, _):
            return True
        case (_F.INTEGRAL, _F.INTEGRAL):
            return bool(target.bit_width < source.bit_width)
        case (_F.INTEGRAL | _F.DECIMAL, _F.DECIMAL):
            return not decimals.is_exact(source, target)
        case (_F.BOOLEAN, _F.DECIMAL):
            return bool(target.precision == target.scale)
        case (_F.BOOLEAN | _F.INTEGRAL | _F.DECIMAL | _F.FLOAT | _F.TIMESTAMP, _F.FLOAT | _F.BOOLEAN):
            return False
        case (_F.BOOLEAN, _F.INTEGRAL) | (_F.INTEGRAL | _F.DECIMAL, _F.TIMESTAMP):
            return False
        case (_F.ARRAY, _F.ARRAY):
            return cast_can_fail(source.value_type, target.value_type)
        case (_F.MAP, _F.MAP):
            return cast_can_fail(source.key_type, target.key_type) or cast_can_fail(
                source.item_type, target.item_type
            )
        case (_F.STRUCT, _F.STRUCT):
            return any(
                cast_can_fail(source.field(index).type, target.field(index).type)
                for index in range(source.num_fields)
            )
        case (_F.DAY_TIME, _F.DAY_TIME) | (_F.YEAR_MONTH, _F.YEAR_MONTH):
            return False
        case (_F.TIMESTAMP | _F.TIMESTAMP_NTZ, _F.DATE | _F.TIMESTAMP | _F.TIMESTAMP_NTZ | _F.TIME):
            return False
        case (_F.TIME, _F.TIME):
            return False
        case _:
            return True


def compile_cast(
    source: pa.DataType, target: pa.DataType, *, safe: bool, settings: Settings
) -> Callable[[Datum], Datum]:
    """Make the cast of a logical type to another, as a function of a physical array, a dictionary array or a
    scalar. A value that Spark refuses becomes null if ``safe``, else the function raises Spark's error.
    ``settings`` has the session's time zone. Raises InternalError if :func:`can_cast` is False."""
    if source.equals(target):
        return lambda datum: datum
    convert = make_convert(source, target, safe=safe, settings=settings)

    def run(datum: Datum) -> Datum:
        if isinstance(datum, pa.Scalar):
            return convert(pa.repeat(datum, 1))[0]
        if isinstance(datum, pa.DictionaryArray):
            return _over_dictionary(convert, datum, target)
        return convert(datum)

    return run


def make_convert(source: pa.DataType, target: pa.DataType, *, safe: bool, settings: Settings) -> Convert:
    """Make the cast of a logical type to another, as a function of arrays in physical form without a
    dictionary. A value that Spark refuses becomes null if ``safe``, else the function raises Spark's error.
    ``settings`` has the session's time zone. Raises InternalError if :func:`can_cast` is False."""
    pair = family_of(source), family_of(target)
    if pair[0] is _F.VOID:
        null = nulls(target)
        return lambda values: pa.repeat(null, len(values))
    rule = _RULES.get(pair)
    if rule is None or not can_cast(source, target):
        raise InternalError(f"there is no cast from {source} to {target}")
    return rule(source, target, safe, settings)


def _maker(safe: bool, settings: Settings) -> nested.MakeConvert:
    def make(source: pa.DataType, target: pa.DataType) -> Convert:
        if source.equals(target):
            return lambda values: values
        return make_convert(source, target, safe=safe, settings=settings)

    return make


def _over_dictionary(convert: Convert, encoded: pa.DictionaryArray, target: pa.DataType) -> pa.Array:
    if len(encoded.dictionary) < len(encoded):
        try:
            return spread(convert(encoded.dictionary), encoded.indices, target)
        except DataError:
            # The refused value may occur in no row.
            pass
    return convert(encoded.dictionary_decode())
