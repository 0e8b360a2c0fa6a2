"""Casts among intervals, and between intervals and numbers.

A number counts the interval's last unit: 36 for ``INTERVAL '1 12' DAY TO HOUR``.
"""

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sqlfront_values.arrow.arrays import from_numpy, from_values, numpy_dtype, numpy_view, valid_mask
from sqlfront_values.arrow.forms import decimal_text, from_unscaled, rounded, unscaled
from sqlfront_values.casts.decimals import fitted
from sqlfront_values.casts.interval_texts import interval_text
from sqlfront_values.casts.numbers import Convert, number_text
from sqlfront_values.evaluation_errors import cast_overflow
from sqlfront_values.types import MICROS_OF, MONTHS_OF, IntervalType, is_year_month

_Integers = npt.NDArray[np.int64]


def _unit(kind: IntervalType) -> int:
    """Return the number of months or microseconds in the type's last unit."""
    return MONTHS_OF[kind.last] if is_year_month(kind) else MICROS_OF[kind.last]


def _amounts(values: pa.Array) -> _Integers:
    return numpy_view(values).astype(np.int64, copy=False)


def _whole(amounts: _Integers, unit: int) -> _Integers:
    """Return the amounts divided by ``unit``, the quotients cut off towards zero."""
    quotients = amounts // unit
    return quotients + ((amounts < 0) & (quotients * unit != amounts))


def interval_to_interval(target: IntervalType) -> Convert:
    """Make the cast of intervals to ``target``, which cuts off amounts smaller than the type's last unit;
    fractions of seconds stay."""
    unit = _unit(target)
    if target.last in ("SECOND", "MONTH"):
        return lambda values: values

    def convert(values: pa.Array) -> pa.Array:
        return from_numpy(_whole(_amounts(values), unit) * unit, target.storage_type, valid_mask(values))

    return convert


def interval_to_integral(source: IntervalType, target: pa.DataType, *, safe: bool) -> Convert:
    """Make the cast of intervals to integrals: the number of whole last units of ``source``, cut off towards
    zero. A number beyond the bounds of ``target`` becomes null if ``safe``, else the cast raises
    CAST_OVERFLOW."""
    unit, bound = _unit(source), 2 ** (target.bit_width - 1)

    def convert(values: pa.Array) -> pa.Array:
        amounts, valid = _amounts(values), valid_mask(values)
        counts = _whole(amounts, unit)
        fits = (counts >= -bound) & (counts <= bound - 1)
        wrong = ~fits if valid is None else ~fits & valid
        if wrong.any():
            if not safe:
                amount = int(amounts[np.flatnonzero(wrong)[0]])
                raise cast_overflow(interval_text(amount, source), source, target)
            valid = fits if valid is None else fits & valid
        return from_numpy(counts.astype(numpy_dtype(target)), target, valid)

    return convert


def interval_to_decimal(source: IntervalType, target: pa.DataType, *, safe: bool) -> Convert:
    """Make the cast of intervals to decimals. The number counts the last unit of ``source`` (36 for INTERVAL
    '1 12' DAY TO HOUR); seconds keep their fraction, other units are cut off towards zero. A number of too
    many digits becomes null if ``safe``, else the cast raises NUMERIC_VALUE_OUT_OF_RANGE."""
    seconds = source.last == "SECOND"
    unit, scale = (1, 6) if seconds else (_unit(source), 0)

    def convert(values: pa.Array) -> pa.Array:
        counts = from_numpy(_whole(_amounts(values), unit), pa.int64(), valid_mask(values)).to_pylist()
        fit = [None if count is None else fitted(count, scale, target, safe=safe) for count in counts]
        return from_unscaled(fit, target)

    return convert


def number_to_interval(source: pa.DataType, target: IntervalType, *, safe: bool) -> Convert:
    """Make the cast of integrals or decimals to intervals of the type ``target``. A number counts the type's
    last unit; the interval is rounded to microseconds or months. An interval beyond the type's range becomes
    null if ``safe``, else the cast raises CAST_OVERFLOW."""
    unit, storage = _unit(target), pa.int32() if is_year_month(target) else pa.int64()
    bound = 2 ** (storage.bit_width - 1)
    decimals = pa.types.is_decimal(source)
    scale = source.scale if decimals else 0

    def one(value: int | None) -> int | None:
        if value is None:
            return None
        number = rounded(value * unit, scale, 0)
        if -bound <= number < bound:
            return number
        if safe:
            return None
        text = f"{decimal_text(value, scale)}BD" if decimals else number_text(value, source)
        raise cast_overflow(text, source, target)

    def convert(values: pa.Array) -> pa.Array:
        numbers = unscaled(values) if decimals else values.to_pylist()
        return from_values([one(value) for value in numbers], storage).view(target.storage_type)

    return convert
