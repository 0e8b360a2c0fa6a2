"""Casts to and from decimals. Halves are rounded away from zero, and values with too many digits are
refused."""

import math
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Final

import numpy as np
import pyarrow as pa

from sqlfront_values.arrow import kernels as pc
from sqlfront_values.arrow.arrays import from_numpy, from_values, numpy_view, scalar, to_python, valid_mask
from sqlfront_values.arrow.forms import (
    INT64,
    decimal_text,
    from_scaled,
    from_unscaled,
    narrow_words,
    rounded,
    scaled,
    unscale,
    unscaled,
    widened,
)
from sqlfront_values.casts.numbers import Convert, int64_view
from sqlfront_values.columns.batches import Integers
from sqlfront_values.evaluation_errors import cast_overflow, out_of_range
from sqlfront_values.java.floats import float_text, rounded_products
from sqlfront_values.types import BIGINT, MAX_SHORT_PRECISION, is_integral

_CAST: Final = pc.get_function("cast")
_MULTIPLY: Final = pc.get_function("multiply")
_DIVIDE: Final = pc.get_function("divide")
#: Doubles hold integers up to this bound exactly.
_EXACT_DOUBLE: Final = 2**53
#: Powers of ten up to which a double times the power stays close to an integral number of up to 53 bits.
_EXACT_POWERS: Final = 15


def decimal_to_decimal(source: pa.DataType, target: pa.DataType, *, safe: bool) -> Convert:
    """Make the cast between two decimal types; halves are rounded away from zero. A value of too many digits
    becomes null if ``safe``, else the cast raises NUMERIC_VALUE_OUT_OF_RANGE. The cast computes in int64
    where the types or the values allow."""
    shift = target.scale - source.scale
    gains = target.precision - target.scale >= source.precision - source.scale and shift >= 0
    if gains and target.precision <= MAX_SHORT_PRECISION:
        if shift == 0:
            return lambda values: from_scaled(scaled(values), target)
        factor = scalar(10**shift, INT64)
        return lambda values: from_scaled(_MULTIPLY.call([scaled(values), factor]), target)
    if gains:
        options = pc.CastOptions.safe(target)
        return lambda values: _CAST.call([widened(values)], options)
    if source.precision <= MAX_SHORT_PRECISION and target.precision <= MAX_SHORT_PRECISION:
        return _short_to_short(source, target, safe=safe)
    exact = _by_values(
        lambda values: ((value, source.scale) for value in unscaled(values)), target, safe=safe
    )
    return _by_words(shift, target, exact) if abs(shift) <= MAX_SHORT_PRECISION else exact


def _by_words(shift: int, target: pa.DataType, exact: Convert) -> Convert:
    """Make a cast of decimals to ``target`` that changes the scale by ``shift``: a positive shift appends
    digits after the point, a negative one rounds digits off, halves away from zero.

    The cast computes in int64 if all values of an array are small enough to neither overflow nor need
    rejection; else the cast ``exact`` handles the array."""
    factor = 10 ** abs(shift)
    limit = 10**target.precision
    bound = min(2**63, limit) // factor - 1 if shift > 0 else min(2**62, (limit - 1) * factor)

    def convert(values: pa.Array) -> pa.Array:
        numbers = narrow_words(widened(values))
        if numbers is None:
            return exact(values)
        valid = valid_mask(values)
        known = numbers if valid is None else numbers[valid]
        if len(known) and (known.max() > bound or known.min() < -bound):
            return exact(values)
        rescaled = numbers * np.int64(factor) if shift > 0 else _quotients(numbers, factor)
        return from_scaled(from_numpy(rescaled, INT64, valid), target)

    return convert


def _quotients(numbers: Integers, unit: int) -> Integers:
    """Return the unscaled values divided by ``unit``, halves rounded away from zero. ``abs(number) + unit /
    2`` has to fit an int64."""
    magnitudes = (np.abs(numbers) + unit // 2) // unit
    return np.where(numbers < 0, -magnitudes, magnitudes)


def _short_to_short(source: pa.DataType, target: pa.DataType, *, safe: bool) -> Convert:
    """Make the cast between two decimal types of at most 18 digits, in int64; halves are rounded away from
    zero. A value of too many digits becomes null if ``safe``, else the cast raises
    NUMERIC_VALUE_OUT_OF_RANGE."""
    shift = target.scale - source.scale
    exact = _by_values(
        lambda values: ((value, source.scale) for value in unscaled(values)), target, safe=safe
    )
    bound = 10**target.precision

    def convert(values: pa.Array) -> pa.Array:
        numbers = int64_view(values)
        if shift < 0:
            result = _quotients(numbers, 10**-shift)
        elif len(numbers) and max(int(numbers.max()), -int(numbers.min())) * 10**shift >= bound:
            return exact(values)
        else:
            result = numbers * 10**shift
        if len(result) and (int(result.max()) >= bound or int(result.min()) <= -bound):
            return exact(values)
        return from_scaled(from_numpy(result, INT64, valid_mask(values)), target)

    return convert


def integral_to_decimal(source: pa.DataType, target: pa.DataType, *, safe: bool) -> Convert:
    """Make the cast of integrals of the type ``source`` to decimals. A value of too many digits becomes null
    if ``safe``, else the cast raises NUMERIC_VALUE_OUT_OF_RANGE."""
    digits = {8: 3, 16: 5, 32: 10, 64: 19}[source.bit_width]
    if digits + target.scale > MAX_SHORT_PRECISION or digits > target.precision - target.scale:
        exact = _by_values(lambda values: ((value, 0) for value in values.to_pylist()), target, safe=safe)
        if target.scale > MAX_SHORT_PRECISION:
            return exact
        return _small_integrals(target, exact)
    options = pc.CastOptions.unsafe(INT64)
    factor = scalar(10**target.scale, INT64)

    def convert(values: pa.Array) -> pa.Array:
        return from_scaled(_MULTIPLY.call([_CAST.call([values], options), factor]), target)

    return convert


def _small_integrals(target: pa.DataType, exact: Convert) -> Convert:
    """Make a cast of integrals to the decimal type ``target`` that computes in int64 if all values of an
    array are small enough; else the cast ``exact`` handles the array."""
    options = pc.CastOptions.unsafe(INT64)
    factor = scalar(10**target.scale, INT64)
    limit = min(10 ** (target.precision - target.scale), 2**63 // 10**target.scale)

    def convert(values: pa.Array) -> pa.Array:
        numbers = int64_view(values)
        if len(numbers) and (int(numbers.max()) >= limit or int(numbers.min()) <= -limit):
            return exact(values)
        return from_scaled(_MULTIPLY.call([_CAST.call([values], options), factor]), target)

    return convert


def boolean_to_decimal(target: pa.DataType, *, safe: bool) -> Convert:
    """Make the cast of booleans to decimals, true to 1 and false to 0. If the type has no digit before the
    point, true becomes null if ``safe``, else the cast raises NUMERIC_VALUE_OUT_OF_RANGE."""
    return _by_values(
        lambda values: ((None if value is None else int(value), 0) for value in values.to_pylist()),
        target,
        safe=safe,
    )


def float_to_decimal(target: pa.DataType, *, safe: bool) -> Convert:
    """Make the cast of floats and doubles to decimals, by the shortest digits of the double as Java prints
    them; NaN and the infinities become null, in CAST too. A value of too many digits becomes null if
    ``safe``, else the cast raises NUMERIC_VALUE_OUT_OF_RANGE."""

    def digits(value: float | None) -> tuple[int | None, int]:
        if value is None or not math.isfinite(value):
            return None, 0
        return decimal_digits(Decimal(float_text(value)))

    exact = _by_values(lambda values: (digits(value) for value in values.to_pylist()), target, safe=safe)
    if target.scale > _EXACT_POWERS:
        return exact
    factor, bound = 10.0**target.scale, min(10**target.precision, _EXACT_DOUBLE)

    def convert(values: pa.Array) -> pa.Array:
        numbers = numpy_view(values).astype(np.float64, copy=False)
        products, doubtful = rounded_products(numbers, factor)
        if doubtful.any() or not (np.abs(products) < bound).all():
            return exact(values)
        return from_scaled(from_numpy(products.astype(np.int64), INT64, valid_mask(values)), target)

    return convert


def decimal_digits(value: Decimal) -> tuple[int, int]:
    """Split a decimal into its unscaled value and its scale, which is not negative.

    >>> decimal_digits(Decimal("1.50")), decimal_digits(Decimal("2E3"))
    ((150, 2), (2000, 0))
    """
    exponent = value.as_tuple().exponent
    assert isinstance(exponent, int)
    scale = max(-exponent, 0)
    return unscale(value, scale), scale


def _by_values(
    digits: Callable[[pa.Array], Iterable[tuple[int | None, int]]], target: pa.DataType, *, safe: bool
) -> Convert:
    def convert(values: pa.Array) -> pa.Array:
        return from_unscaled(
            [
                None if value is None else fitted(value, scale, target, safe=safe)
                for value, scale in digits(values)
            ],
            target,
        )

    return convert


def fitted(value: int, scale: int, target: pa.DataType, *, safe: bool) -> int | None:
    """Return the number ``value / 10**scale`` as an unscaled value at the scale of the decimal type
    ``target``, halves rounded away from zero. If the number has more digits than the type, return None if
    ``safe``, else raise NUMERIC_VALUE_OUT_OF_RANGE."""
    number = rounded(value, scale, target.scale)
    if abs(number) < 10**target.precision:
        return number
    if safe:
        return None
    raise out_of_range(decimal_text(value, scale), target.precision, target.scale)


def decimal_to_integral(source: pa.DataType, target: pa.DataType, *, safe: bool) -> Convert:
    """Make the cast of decimals to integrals, which cuts off the digits after the point. A value beyond the
    bounds of ``target`` becomes null if ``safe``, else the cast raises CAST_OVERFLOW."""
    unit = 10**source.scale
    bound = 2 ** (target.bit_width - 1)

    def cut(value: int | None) -> int | None:
        if value is None:
            return None
        number = abs(value) // unit
        number = -number if value < 0 else number
        if -bound <= number < bound:
            return number
        if safe:
            return None
        raise cast_overflow(f"{decimal_text(value, source.scale)}BD", source, target)

    def convert(values: pa.Array) -> pa.Array:
        if source.precision <= MAX_SHORT_PRECISION:
            numbers = int64_view(values)
            whole = np.sign(numbers) * (np.abs(numbers) // unit)
            if not len(whole) or (int(whole.max()) < bound and int(whole.min()) >= -bound):
                return from_numpy(whole, BIGINT, valid_mask(values)).cast(target)
        return from_values([cut(value) for value in unscaled(values)], target)

    return convert


def decimal_to_float(source: pa.DataType, target: pa.DataType) -> Convert:
    """Make the cast of decimals to ``target``: to the nearest double, and for a float then to the nearest
    float."""
    divisor = 10.0**source.scale

    def convert(values: pa.Array) -> pa.Array:
        if source.precision <= MAX_SHORT_PRECISION and source.scale <= MAX_SHORT_PRECISION:
            numbers = int64_view(values)
            if not len(numbers) or (
                int(numbers.max()) <= _EXACT_DOUBLE and int(numbers.min()) >= -_EXACT_DOUBLE
            ):
                # Both operands of the division are exact, so its result is the nearest double.
                return from_numpy(numbers / divisor, pa.float64(), valid_mask(values)).cast(
                    target, safe=False
                )
        floats = [None if value is None else float(value) for value in to_python(widened(values))]  # type: ignore[arg-type]
        return from_values(floats, pa.float64()).cast(target, safe=False)

    return convert


def decimal_to_boolean(source: pa.DataType) -> Convert:
    """Make the cast of decimals to booleans: zero is false, every other value true."""
    not_equal = pc.get_function("not_equal")
    zero = scalar(Decimal(0), source)
    return lambda values: not_equal.call([widened(values), zero])


def is_exact(source: pa.DataType, target: pa.DataType) -> bool:
    """Return whether the decimal type ``target`` holds every value of ``source``, an integral or decimal
    type, after rounding to the target's scale, so that the cast never refuses a value."""
    if is_integral(source):
        digits = {8: 3, 16: 5, 32: 10, 64: 19}[source.bit_width]
        return bool(digits <= target.precision - target.scale)
    whole = source.precision - source.scale + (1 if target.scale < source.scale else 0)
    return bool(whole <= target.precision - target.scale)
