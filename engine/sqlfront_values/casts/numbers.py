"""Casts among booleans, integrals and floats."""

from collections.abc import Callable
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sqlfront_values.arrow import kernels as pc
from sqlfront_values.arrow.arrays import from_numpy, numpy_dtype, numpy_view, scalar, valid_mask
from sqlfront_values.evaluation_errors import cast_overflow, sql_text
from sqlfront_values.java.floats import float_text
from sqlfront_values.types import BIGINT, is_integral

#: A cast of plain physical arrays.
Convert = Callable[[pa.Array], pa.Array]

_CAST: Final = pc.get_function("cast")
_NOT_EQUAL: Final = pc.get_function("not_equal")


def int64_view(values: pa.Array) -> npt.NDArray[np.int64]:
    """View an array of 64-bit integers, decimal64, timestamps or durations as an int64 vector; narrower
    integers are copied. The values under nulls are undefined."""
    return numpy_view(values).astype(np.int64, copy=False)


def by_arrow(target: pa.DataType) -> Convert:
    """Return Arrow's unchecked cast to ``target``, for pairs of types where that cast gives Spark's
    answers."""
    options = pc.CastOptions.unsafe(target)
    return lambda values: _CAST.call([values], options)


def to_boolean(source: pa.DataType) -> Convert:
    """Make the cast of integrals or floats to booleans: zero is false, every other number true, NaN
    included."""
    zero = scalar(0, source)
    return lambda values: _NOT_EQUAL.call([values, zero])


def integral_to_integral(source: pa.DataType, target: pa.DataType, *, safe: bool) -> Convert:
    """Make the cast among integral types. A value beyond the bounds of a narrower type becomes null if
    ``safe``, else the cast raises CAST_OVERFLOW."""
    cast = by_arrow(target)
    if target.bit_width >= source.bit_width:
        return cast
    bound = 2 ** (target.bit_width - 1)

    def convert(values: pa.Array) -> pa.Array:
        numbers = numpy_view(values)
        bad = (numbers < -bound) | (numbers >= bound)
        return (
            cast(values) if not bad.any() else _without(cast(values), values, bad, source, target, safe=safe)
        )

    return convert


def float_to_integral(source: pa.DataType, target: pa.DataType, *, safe: bool) -> Convert:
    """Make the cast of floats or doubles to integrals, which cuts off the digits after the point. NaN and a
    value beyond the bounds of ``target`` become null if ``safe``, else the cast raises CAST_OVERFLOW; as in
    Spark, 2**63 itself becomes the greatest bigint."""
    limit = 2.0 ** (target.bit_width - 1)
    saturates = target.equals(BIGINT)

    def convert(values: pa.Array) -> pa.Array:
        numbers = numpy_view(values).astype(np.float64, copy=False)
        with np.errstate(invalid="ignore"):
            bad = ~((np.ceil(numbers) >= -limit) & (np.floor(numbers) < limit))
            if saturates:
                bad &= numbers != limit
            integers = numbers.astype(np.int64)
        if saturates:
            integers[numbers == limit] = np.iinfo(np.int64).max
        valid = valid_mask(values)
        result = from_numpy(integers.astype(numpy_dtype(target)), target, valid)
        return result if not bad.any() else _without(result, values, bad, source, target, safe=safe)

    return convert


def _without(
    result: pa.Array,
    values: pa.Array,
    bad: npt.NDArray[np.bool_],
    source: pa.DataType,
    target: pa.DataType,
    *,
    safe: bool,
) -> pa.Array:
    """Return ``result``, the cast of ``values``, with null in the rows where the mask ``bad`` is True if
    ``safe``; else raise CAST_OVERFLOW for the first such row. Rows in which ``values`` is null don't count as
    bad."""
    valid = valid_mask(values)
    if valid is not None:
        bad = bad & valid
    if not bad.any():
        return result
    if not safe:
        value = values[int(np.argmax(bad))].as_py()
        raise cast_overflow(number_text(value, source), source, target)
    return from_numpy(numpy_view(result), target, ~bad if valid is None else valid & ~bad)


def number_text(value: float, data_type: pa.DataType) -> str:
    """Format a number of the type ``data_type``, integral or float, as Spark's messages show it, with the
    type's suffix, such as ``300L`` for a bigint."""
    text = str(value) if is_integral(data_type) else float_text(value, single=data_type.bit_width == 32)
    return sql_text(value, data_type, text)
