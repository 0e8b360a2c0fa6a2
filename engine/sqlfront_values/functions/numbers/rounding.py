"""ceil, floor, round and bround.

Doubles are rounded like in Spark by their shortest decimal digits, so that ``round(2.675, 2)`` is 2.68
although the double is a little less than 2.675. numpy does the rounding if a single multiplication decides it
beyond doubt.
"""

import decimal
from collections.abc import Callable
from decimal import Decimal
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sqlfront_values.arrow.arrays import from_numpy, from_values, numpy_view, valid_mask
from sqlfront_values.arrow.forms import (
    INT64,
    Datum,
    decimal_text,
    from_scaled,
    from_unscaled,
    is_scalar,
    nulls,
    unscaled,
)
from sqlfront_values.casts import compile_cast
from sqlfront_values.evaluation_errors import arithmetic_overflow, out_of_range
from sqlfront_values.expressions import Call
from sqlfront_values.functions.numbers.decimal_rules import decimal_for
from sqlfront_values.functions.registry import Kind, PreparedKernel, ScalarFunction, Signature, register
from sqlfront_values.java.floats import rounded_products
from sqlfront_values.settings import Settings
from sqlfront_values.types import (
    BIGINT,
    INT,
    MAX_PRECISION,
    MAX_SHORT_PRECISION,
    is_decimal,
    is_fractional,
    is_integral,
)
from sqlfront_values.types import decimal as decimal_type

#: Python's names of the four rounding modes; ROUND_HALF_UP rounds away from zero.
CEILING: Final = decimal.ROUND_CEILING
FLOOR: Final = decimal.ROUND_FLOOR
HALF_UP: Final = decimal.ROUND_HALF_UP
HALF_EVEN: Final = decimal.ROUND_HALF_EVEN

#: Enough digits for any double in plain notation.
_EXACT: Final = decimal.Context(prec=1200)
_SETTINGS: Final = Settings()
_INT64_BOUND: Final = 2.0**63
#: More digits than any double has on either side of the point.
_MOST_DIGITS: Final = 400


def divided(value: int, unit: int, mode: str) -> int:
    """Return ``value / unit`` (unit positive) as an integer, rounded by ``mode``: CEILING, FLOOR, HALF_UP
    (halves away from zero) or HALF_EVEN.

    >>> [divided(25, 10, mode) for mode in (CEILING, FLOOR, HALF_UP, HALF_EVEN)]
    [3, 2, 3, 2]
    """
    if mode == FLOOR:
        return value // unit
    if mode == CEILING:
        return -(-value // unit)
    quotient, rest = divmod(abs(value), unit)
    if 2 * rest > unit or (2 * rest == unit and (mode == HALF_UP or quotient % 2 == 1)):
        quotient += 1
    return -quotient if value < 0 else quotient


def _divided_array(values: npt.NDArray[np.int64], unit: int, mode: str) -> npt.NDArray[np.int64]:
    """Return each of the values divided by ``unit`` and rounded by ``mode``, as by :func:`divided`. Twice
    each value and twice the unit must fit int64."""
    if mode == FLOOR:
        return values // unit
    if mode == CEILING:
        return -(-values // unit)
    quotients, rests = np.divmod(np.abs(values), unit)
    up = (
        2 * rests >= unit
        if mode == HALF_UP
        else (2 * rests > unit) | ((2 * rests == unit) & (quotients % 2 == 1))
    )
    quotients = quotients + up
    return np.where(values < 0, -quotients, quotients)


# ---- decimals


def rounded_type(data_type: pa.DataType, digits: int) -> pa.DataType:
    """Return the result type of rounding the decimal type ``data_type`` to ``digits`` digits after the point;
    a negative number means digits before the point.

    >>> rounded_type(decimal_type(6, 3), 2), rounded_type(decimal_type(4, 1), -2)
    (Decimal128Type(decimal128(6, 2)), Decimal128Type(decimal128(4, 0)))
    """
    whole = data_type.precision - data_type.scale + 1
    if digits < 0:
        return decimal_type(min(max(whole, 1 - digits), MAX_PRECISION), 0)
    scale = min(data_type.scale, digits)
    return decimal_type(min(whole + scale, MAX_PRECISION), scale)


def _round_decimal(
    source: pa.DataType, result: pa.DataType, digits: int, mode: str
) -> Callable[[pa.Array], pa.Array]:
    digits = max(digits, -MAX_PRECISION - 1)
    unit = 10 ** max(source.scale - digits, 0)
    back = 10 ** max(-digits, 0)
    short = source.precision <= MAX_SHORT_PRECISION and result.precision <= MAX_SHORT_PRECISION

    def one(value: int) -> int:
        number = divided(value, unit, mode) * back
        if abs(number) >= 10**result.precision:
            raise out_of_range(decimal_text(number, result.scale), result.precision, result.scale)
        return number

    def convert(values: pa.Array) -> pa.Array:
        if unit == 1:
            return compile_cast_of(source, result)(values)
        if short and unit <= 10**MAX_SHORT_PRECISION:
            numbers = _divided_array(numpy_view(values).astype(np.int64, copy=False), unit, mode) * back
            return from_scaled(from_numpy(numbers, INT64, valid_mask(values)), result)
        return from_unscaled([None if value is None else one(value) for value in unscaled(values)], result)

    return convert


def compile_cast_of(source: pa.DataType, target: pa.DataType) -> Callable[[Datum], Datum]:
    """Make a cast from ``source`` to ``target``, types whose cast does not depend on the session's settings.
    A value that can't be cast raises Spark's error."""
    return compile_cast(source, target, safe=False, settings=_SETTINGS)


# ---- integrals and doubles


def _round_integral(data_type: pa.DataType, digits: int, mode: str) -> Callable[[pa.Array], pa.Array]:
    if digits >= 0:
        return lambda values: values
    unit = 10 ** min(-digits, 20)
    bound = 2 ** (data_type.bit_width - 1)

    def one(value: int) -> int:
        number = divided(value, unit, mode) * unit
        if not -bound <= number < bound:
            raise arithmetic_overflow(what="Overflow")
        return number

    def convert(values: pa.Array) -> pa.Array:
        return from_values([None if value is None else one(value) for value in values.to_pylist()], data_type)

    return convert


def _round_float(data_type: pa.DataType, digits: int, mode: str) -> Callable[[pa.Array], pa.Array]:
    digits = min(max(digits, -_MOST_DIGITS), _MOST_DIGITS)
    unit = Decimal(1).scaleb(-digits)
    factor = 10.0**digits if 0 <= digits <= 15 else None

    def one(value: float) -> float:
        if value != value or value in (float("inf"), float("-inf")):
            return value
        number = float(Decimal(repr(value)).quantize(unit, mode, _EXACT))
        return number if number else 0.0

    def convert(values: pa.Array) -> pa.Array:
        valid = valid_mask(values)
        numbers = numpy_view(values).astype(np.float64)
        if factor is None:
            result, doubtful = numbers, np.ones(len(numbers), np.bool_)
        else:
            whole, doubtful = rounded_products(numbers, factor)
            # Adding zero turns -0.0 into 0.0; a decimal has no negative zero.
            result = whole / factor + 0.0
        if valid is not None:
            doubtful &= valid
        rows = np.flatnonzero(doubtful)
        if len(rows):
            result[rows] = [one(value) for value in numbers[rows].tolist()]
        return from_numpy(result.astype(f"f{data_type.bit_width // 8}"), data_type, valid)

    return convert


# ---- round and bround


def _rounding(mode: str) -> Callable[[Signature], PreparedKernel]:
    def prepare(signature: Signature) -> PreparedKernel:
        digits = _digits(signature)
        data_type = signature.argument_types[0]
        if digits is None:
            return _always_null(signature.type)
        if is_decimal(data_type):
            return _columnar(_round_decimal(data_type, signature.type, digits, mode))
        if is_integral(data_type):
            return _columnar(_round_integral(data_type, digits, mode))
        return _columnar(_round_float(data_type, digits, mode))

    return prepare


def _digits(signature: Signature) -> int | None:
    """Return the constant second argument, the number of digits: 0 if the call has no second argument, None
    if it is null."""
    if len(signature.argument_types) == 1:
        return 0
    known = signature.constants[1]
    return None if known is None else known.as_py()


def _always_null(data_type: pa.DataType) -> PreparedKernel:
    null = nulls(data_type)
    return lambda arguments, length: null


def _columnar(convert: Callable[[pa.Array], pa.Array]) -> PreparedKernel:
    def run(arguments: tuple[Datum, ...], length: int) -> Datum:
        datum = arguments[0]
        return convert(pa.repeat(datum, 1))[0] if is_scalar(datum) else convert(datum)

    return run


def _round_result(types: tuple[pa.DataType, ...]) -> pa.DataType:
    return rounded_type(types[0], 0) if is_decimal(types[0]) else types[0]


def _round_result_to(types: tuple[pa.DataType, ...], constants: tuple[object, ...]) -> pa.DataType:
    digits = constants[0]
    return (
        rounded_type(types[0], digits if isinstance(digits, int) else 0) if is_decimal(types[0]) else types[0]
    )


def _round_fails(call: Call) -> bool:
    data_type = call.arguments[0].type
    if is_decimal(data_type):
        return bool(call.type.precision == MAX_PRECISION)
    return is_integral(data_type) and len(call.arguments) > 1


# ---- ceil and floor


def _whole(mode: str) -> Callable[[Signature], PreparedKernel]:
    """Return a function that makes the kernel of ceil or floor (``mode`` CEILING or FLOOR) for a signature.

    The result is a decimal without digits after the point for a decimal, else a bigint. With a second
    argument, the number of digits after the point, the result is a decimal."""

    def prepare(signature: Signature) -> PreparedKernel:
        source, result = signature.argument_types[0], signature.type
        digits = _digits(signature)
        if digits is None:
            return _always_null(result)
        if len(signature.argument_types) > 1:
            wide = decimal_for(source)
            cast, convert = compile_cast_of(source, wide), _round_decimal(wide, result, digits, mode)
            return _columnar(lambda values: convert(cast(values)))
        if is_decimal(source):
            return _columnar(_round_decimal(source, result, 0, mode))
        if is_fractional(source):
            return _columnar(_whole_doubles(mode))
        return _columnar(compile_cast_of(source, BIGINT))

    return prepare


def _whole_doubles(mode: str) -> Callable[[pa.Array], pa.Array]:
    """Make a function that rounds doubles to bigint, up if ``mode`` is CEILING, else down. NaN becomes 0, as
    in Java; a value beyond bigint raises ARITHMETIC_OVERFLOW."""
    function = np.ceil if mode == CEILING else np.floor

    def convert(values: pa.Array) -> pa.Array:
        valid = valid_mask(values)
        with np.errstate(invalid="ignore"):
            numbers = function(numpy_view(values).astype(np.float64, copy=False))
            outside = (numbers < -_INT64_BOUND) | (numbers > _INT64_BOUND)
            if outside.any() and (valid is None or (outside & valid).any()):
                raise arithmetic_overflow()
            integers = np.where(np.isnan(numbers), 0, numbers).astype(np.int64)
        integers[numbers == _INT64_BOUND] = np.iinfo(np.int64).max
        return from_numpy(integers, BIGINT, valid)

    return convert


def _whole_result(types: tuple[pa.DataType, ...]) -> pa.DataType:
    if not is_decimal(types[0]):
        return BIGINT if len(types) == 1 else rounded_type(decimal_for(types[0]), 0)
    return types[0] if types[0].scale == 0 and len(types) == 1 else rounded_type(types[0], 0)


def _whole_result_to(types: tuple[pa.DataType, ...], constants: tuple[object, ...]) -> pa.DataType:
    digits = constants[0]
    return rounded_type(decimal_for(types[0]), digits if isinstance(digits, int) else 0)


def _whole_fails(call: Call) -> bool:
    data_type = call.arguments[0].type
    if is_decimal(data_type) or len(call.arguments) > 1:
        return bool(call.type.precision == MAX_PRECISION) or is_fractional(data_type)
    return is_fractional(data_type)


def _entries(names: tuple[str, ...], example: str, *, whole: bool, mode: str) -> list[ScalarFunction]:
    arguments, _, value = example.partition(" = ")
    return [
        ScalarFunction(
            name,
            (Kind.NUMERIC, INT),
            _whole_result if whole else _round_result,
            prepare=(_whole if whole else _rounding)(mode),
            optional=1,
            constants=(1,),
            constant_result=_whole_result_to if whole else _round_result_to,
            can_fail=_whole_fails if whole else _round_fails,
            example=(f"{name}({arguments})", value),
        )
        for name in names
    ]


register(
    *_entries(("ceil", "ceiling"), "3.1411, 3 = Decimal('3.142')", whole=True, mode=CEILING),
    *_entries(("floor",), "3.1411, 3 = Decimal('3.141')", whole=True, mode=FLOOR),
    *_entries(("round",), "2.5 = Decimal('3')", whole=False, mode=HALF_UP),
    *_entries(("bround",), "2.5 = Decimal('2')", whole=False, mode=HALF_EVEN),
)
