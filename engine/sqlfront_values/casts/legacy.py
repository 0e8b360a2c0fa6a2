"""CAST with ANSI mode off (``spark.sql.ansi.enabled=false``, Spark's evaluation mode LEGACY): no cast between
numbers, texts, dates and timestamps raises an error.

A number beyond the bounds of a narrower integral type wraps around as in Java, a floating-point number
becomes the nearest int or bigint first; any other value that doesn't fit becomes null. Casts of intervals and
of variants raise their errors in both modes. The pairs of types are those of ANSI mode and a few more, such
as a date to a number, which is null."""

import re
from typing import Final

import numpy as np
import pyarrow as pa

from sqlfront_values.arrow import kernels as pc
from sqlfront_values.arrow.arrays import from_numpy, from_values, numpy_dtype, numpy_view, valid_mask
from sqlfront_values.arrow.forms import INT64, nulls, unscaled
from sqlfront_values.casts import nested, numbers, pairs, parsing
from sqlfront_values.casts.numbers import Convert
from sqlfront_values.casts.pairs import Family, family_of
from sqlfront_values.java.civil import MICROS_PER_SECOND
from sqlfront_values.settings import Settings
from sqlfront_values.types import BIGINT, BINARY, BOOLEAN, TIMESTAMP

_F: Final = Family
#: Pairs that only this mode casts.
_ADDED: Final = frozenset(
    {
        (_F.DATE, _F.BOOLEAN),
        (_F.DATE, _F.INTEGRAL),
        (_F.DATE, _F.FLOAT),
        (_F.DATE, _F.DECIMAL),
        (_F.TIMESTAMP, _F.BOOLEAN),
        (_F.BOOLEAN, _F.TIMESTAMP),
        (_F.INTEGRAL, _F.BINARY),
    }
)
_INTERVALS: Final = frozenset({_F.DAY_TIME, _F.YEAR_MONTH})
_NESTED: Final = frozenset({_F.ARRAY, _F.MAP, _F.STRUCT})
_NUMBER: Final = re.compile(r"([+-]?)([0-9]*)(\.[0-9]*)?")
#: Digits of a text at most: Python's ``int`` refuses texts of more than 4,300.
_MOST_DIGITS: Final = 4000
_CAST: Final = pc.get_function("cast")
_TO_INT64: Final = pc.CastOptions.unsafe(INT64)


def can_cast_legacy(source: pa.DataType, target: pa.DataType) -> bool:
    """Return whether Spark allows CAST from ``source`` to ``target`` (logical types) with ANSI mode off."""
    pair = family_of(source), family_of(target)
    if pair in _ADDED:
        return True
    match pair:
        case (_F.ARRAY, _F.ARRAY):
            return can_cast_legacy(source.value_type, target.value_type)
        case (_F.MAP, _F.MAP):
            return can_cast_legacy(source.key_type, target.key_type) and can_cast_legacy(
                source.item_type, target.item_type
            )
        case (_F.STRUCT, _F.STRUCT):
            return source.num_fields == target.num_fields and all(
                can_cast_legacy(source.field(index).type, target.field(index).type)
                for index in range(source.num_fields)
            )
        case _:
            return pairs.can_cast(source, target)


def is_same_in_both_modes(source: pa.DataType, target: pa.DataType) -> bool:
    """Return whether CAST from ``source`` to ``target`` gives the same values and errors in both modes."""
    found = family_of(source), family_of(target)
    if not _INTERVALS.isdisjoint(found) and _F.STRING not in found[1:]:
        return True
    if found == (_F.BINARY, _F.STRING) or _F.VARIANT in found:
        return True
    return pairs.can_cast(source, target) and not pairs.cast_can_fail(source, target)


def make_legacy_convert(source: pa.DataType, target: pa.DataType, settings: Settings) -> Convert:
    """Make the cast of a logical type to another with ANSI mode off, as a function of arrays in physical form
    without a dictionary. ``settings`` has the session's time zone. Raises InternalError if
    :func:`can_cast_legacy` is False."""
    pair = family_of(source), family_of(target)
    if source.equals(target):
        return lambda values: values
    if pair[0] in _NESTED and pair[0] is pair[1]:
        return _nested(source, target, settings)
    match pair:
        case (_F.VARIANT, _):
            return pairs.make_convert(source, target, safe=False, settings=settings)
        case (_F.INTEGRAL, _F.INTEGRAL):
            return numbers.by_arrow(target)
        case (_F.FLOAT, _F.INTEGRAL):
            return _float_to_integral(target)
        case (_F.DECIMAL, _F.INTEGRAL):
            return _decimal_to_integral(source, target)
        case (_F.STRING, _F.INTEGRAL):
            return _string_to_integral(target)
        case (_F.FLOAT, _F.TIMESTAMP):
            return _float_to_timestamp
        case (_F.DATE, _F.BOOLEAN | _F.INTEGRAL | _F.FLOAT | _F.DECIMAL):
            null = nulls(target)
            return lambda values: pa.repeat(null, len(values))
        case (_F.TIMESTAMP, _F.BOOLEAN):
            return lambda values: from_numpy(numpy_view(values) != 0, BOOLEAN, valid_mask(values))
        case (_F.BOOLEAN, _F.TIMESTAMP):
            return lambda values: _CAST.call([values], _TO_INT64).view(TIMESTAMP)
        case (_F.INTEGRAL, _F.BINARY):
            return _integral_to_binary
        case _ if is_same_in_both_modes(source, target):
            return pairs.make_convert(source, target, safe=False, settings=settings)
        case _:
            return pairs.make_convert(source, target, safe=True, settings=settings)


def _nested(source: pa.DataType, target: pa.DataType, settings: Settings) -> Convert:
    def make(inner: pa.DataType, wanted: pa.DataType) -> Convert:
        return make_legacy_convert(inner, wanted, settings)

    if pa.types.is_list(source):
        return nested.array_to_array(source, target, make)
    if pa.types.is_map(source):
        return nested.map_to_map(source, target, make)
    return nested.struct_to_struct(source, target, make)


def _float_to_integral(target: pa.DataType) -> Convert:
    """Make the cast of floats or doubles to integrals: NaN becomes 0, a number beyond the bounds of bigint,
    or of int for narrower types, the nearest of its type; a narrower type then keeps the low bits."""
    bound = 2.0**63 if target.equals(BIGINT) else 2.0**31

    def convert(values: pa.Array) -> pa.Array:
        floats = numpy_view(values).astype(np.float64, copy=False)
        with np.errstate(invalid="ignore"):
            integers = np.where(np.abs(floats) < bound, floats, 0.0).astype(np.int64)
        integers[floats >= bound] = int(bound) - 1
        integers[floats <= -bound] = -int(bound)
        return from_numpy(integers.astype(numpy_dtype(target)), target, valid_mask(values))

    return convert


def _decimal_to_integral(source: pa.DataType, target: pa.DataType) -> Convert:
    """Make the cast of decimals to integrals, which cuts off the digits after the point and keeps the low
    bits of the whole number."""
    unit, bits = 10**source.scale, target.bit_width
    half = 2 ** (bits - 1)

    def low_bits(value: int | None) -> int | None:
        if value is None:
            return None
        whole = abs(value) // unit
        return ((-whole if value < 0 else whole) + half) % (2 * half) - half

    return lambda values: from_values([low_bits(value) for value in unscaled(values)], target)


def _string_to_integral(target: pa.DataType) -> Convert:
    """Make the cast of strings to integrals. Between blanks, a text is an optional sign and digits, with or
    without a point and digits behind the point, which are cut off; a single point is 0. Any other text, and a
    number beyond the type's bounds, is null."""
    strict = pairs.make_convert(pa.string(), target, safe=True, settings=Settings())
    bound = 2 ** (target.bit_width - 1)

    def parse(text: str) -> int:
        match = _NUMBER.fullmatch(text.strip(parsing.BLANKS))
        if match is None or len(text) > _MOST_DIGITS or not (match[2] or match[3]):
            raise ValueError
        number = int(match[1] + (match[2] or "0"))
        if not -bound <= number < bound:
            raise ValueError
        return number

    by_row = parsing.row_by_row(parse, target, safe=True)

    def convert(values: pa.Array) -> pa.Array:
        result = strict(values)
        return result if result.null_count == values.null_count else by_row(values)

    return convert


def _float_to_timestamp(values: pa.Array) -> pa.Array:
    """Cast floats, seconds since 1970, to timestamps, cut off to microseconds; NaN and the infinities are
    null, and seconds beyond the range of timestamps become its nearest bound."""
    micros = numpy_view(values).astype(np.float64) * MICROS_PER_SECOND
    seconds = numpy_view(values).astype(np.float64, copy=False)
    valid = np.isfinite(seconds)
    with np.errstate(invalid="ignore"):
        integers = np.where(np.abs(micros) < 2.0**63, micros, 0.0).astype(np.int64)
    integers[micros >= 2.0**63] = np.iinfo(np.int64).max
    integers[micros <= -(2.0**63)] = np.iinfo(np.int64).min
    known = valid_mask(values)
    return from_numpy(integers, INT64, valid if known is None else valid & known).view(TIMESTAMP)


def _integral_to_binary(values: pa.Array) -> pa.Array:
    """Cast integrals to their bytes, the highest first."""
    width = values.type.bit_width // 8
    return from_values(
        [
            None if value is None else value.to_bytes(width, "big", signed=True)
            for value in values.to_pylist()
        ],
        BINARY,
    )
