"""Exact decimal arithmetic as in Spark: int64 where types or values prove that results fit, else 128 bits,
else Python.

``decimal64`` arrays are int64 arrays with a scale beside them. Arrow's plain int64 kernels wrap silently, so
they run only where the types prove that nothing overflows. The checked kernels run where an overflow is
possible; after an overflow, the values are computed again in a wider form. An error is raised only as in
Spark: if a result has more digits than its type.
"""

from collections.abc import Callable
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sqlfront_values.arrow import kernels as pc
from sqlfront_values.arrow.arrays import from_numpy, from_values, numpy_view, scalar, valid_mask
from sqlfront_values.arrow.forms import (
    INT64,
    Datum,
    decimal_text,
    from_scaled,
    from_unscaled,
    full_array,
    is_scalar,
    narrowed,
    scaled,
    unscaled,
    widened,
)
from sqlfront_values.casts.decimals import fitted
from sqlfront_values.errors import InternalError
from sqlfront_values.evaluation_errors import divide_by_zero, out_of_range, remainder_by_zero
from sqlfront_values.functions.registry import PreparedKernel, Signature
from sqlfront_values.types import MAX_PRECISION, MAX_SHORT_PRECISION

#: Digits of Java's MathContext.DECIMAL128.
_SIGNIFICANT: Final = 34
_PLAIN: Final = {name: pc.get_function(name) for name in ("add", "subtract", "multiply")}
_CHECKED: Final = {name: pc.get_function(f"{name}_checked") for name in ("add", "subtract", "multiply")}

Integers = npt.NDArray[np.int64]

#: A function from unscaled operands and their scales to the exact unscaled value and scale before rounding.
Exact = Callable[[int, int, int, int], tuple[int, int]]


def prepare_decimal(operation: str, signature: Signature, *, safe: bool = False) -> PreparedKernel:
    """Make the kernel of ``operation`` (``add``, ``subtract``, ``multiply``, ``divide``, ``remainder``,
    ``pmod``) over two decimals. A result that doesn't fit its type, or a divisor of zero, raises Spark's
    error; with ``safe`` such a result is null."""
    left, right = signature.argument_types
    slow = _by_python(operation, signature.type, safe=safe)
    if operation == "divide":
        return _quick_division(signature, slow)
    if operation not in _PLAIN or not _keeps_scale(operation, left, right, signature.type):
        return slow
    if left.precision <= MAX_SHORT_PRECISION and right.precision <= MAX_SHORT_PRECISION:
        return _by_int64(operation, signature, slow)
    if natural_precision(operation, left, right) <= MAX_PRECISION:
        return _by_decimal128(operation, signature.type)
    return slow


def natural_scale(operation: str, left: pa.DataType, right: pa.DataType) -> int:
    """Return the number of digits after the point of the exact result of ``operation``, ``add``, ``subtract``
    or ``multiply``."""
    return left.scale + right.scale if operation == "multiply" else max(left.scale, right.scale)


def natural_precision(operation: str, left: pa.DataType, right: pa.DataType) -> int:
    """Return the number of digits that the exact result of ``operation``, ``add``, ``subtract`` or
    ``multiply``, may need."""
    if operation == "multiply":
        return left.precision + right.precision + 1
    return max(left.precision - left.scale, right.precision - right.scale) + max(left.scale, right.scale) + 1


def _keeps_scale(operation: str, left: pa.DataType, right: pa.DataType, result: pa.DataType) -> bool:
    return bool(natural_scale(operation, left, right) == result.scale)


def _by_int64(operation: str, signature: Signature, slow: PreparedKernel) -> PreparedKernel:
    left_type, right_type = signature.argument_types
    result = signature.type
    fits = result.precision <= MAX_SHORT_PRECISION
    kernel = (_PLAIN if fits else _CHECKED)[operation]
    left_of, right_of = (
        _rescaler(data_type, 0 if operation == "multiply" else result.scale - data_type.scale, constant, fits)
        for data_type, constant in zip((left_type, right_type), signature.constants, strict=True)
    )

    def run(arguments: tuple[Datum, ...], length: int) -> Datum:
        left, right = arguments
        try:
            values = kernel.call([left_of(left), right_of(right)])
        except pa.ArrowInvalid:
            return slow(arguments, length)
        return from_scaled(values, result)

    return run


def _rescaler(
    data_type: pa.DataType, shift: int, constant: pa.Scalar | None, fits: bool
) -> Callable[[Datum], Datum]:
    """Return a function from a decimal operand to its unscaled int64 values times ten to the ``shift``. If
    ``fits`` is False, the products may not fit int64, and the function raises ArrowInvalid if one does not.
    For a ``constant`` operand (None = not constant) the product is computed once."""
    factor = scalar(10**shift, INT64) if 0 < shift <= MAX_SHORT_PRECISION else None
    multiply = (_PLAIN if fits else _CHECKED)["multiply"]

    def rescale(datum: Datum) -> Datum:
        values = scaled(datum)
        return values if factor is None else multiply.call([values, factor])

    if shift > MAX_SHORT_PRECISION:
        return _overflow
    if constant is not None:
        try:
            known = rescale(constant)
        except pa.ArrowInvalid:
            return _overflow
        return lambda datum: known
    return rescale


def _overflow(datum: Datum) -> Datum:
    raise pa.ArrowInvalid("overflow")


def _quick_division(signature: Signature, slow: PreparedKernel) -> PreparedKernel:
    """Make the kernel of decimal division in int64, nine digits of the quotient at a time. The kernel
    ``slow`` computes batches with divisors or quotients that are too large, and raises the error of a zero
    divisor.

    Spark rounds the quotient to 39 digits after the point first. With unscaled divisors below 10**19, no
    quotient comes so near to a half that the first rounding makes a difference.
    """
    left, right = signature.argument_types
    result = signature.type
    digits = result.scale - left.scale + right.scale
    if max(left.precision, right.precision) > MAX_SHORT_PRECISION or not 0 <= digits <= 2 * _STEP:
        return slow

    def run(arguments: tuple[Datum, ...], length: int) -> Datum:
        if all(map(is_scalar, arguments)):
            return slow(arguments, length)
        dividend, divisor = (full_array(argument, length) for argument in arguments)
        masks = [mask for array in (dividend, divisor) if (mask := valid_mask(array)) is not None]
        valid = np.logical_and.reduce(masks) if masks else None
        numbers, units = numpy_view(dividend).astype(np.int64), numpy_view(divisor).astype(np.int64)
        if valid is not None:
            numbers[~valid], units[~valid] = 0, 1
        if not length or not units.all() or int(np.abs(units).max()) > _LARGEST_DIVISOR:
            return slow(arguments, length)
        words = _quotients(np.abs(numbers), np.abs(units), digits)
        if words is None:
            return slow(arguments, length)
        return from_scaled(
            from_numpy(np.where((numbers < 0) != (units < 0), -words, words), INT64, valid), result
        )

    return run


#: Digits of a quotient from one step, and the largest divisor for which a step fits int64.
_STEP: Final = 9
_LARGEST_DIVISOR: Final = (2**63 - 1) // 10**_STEP // 2


def _quotients(numbers: Integers, units: Integers, digits: int) -> Integers | None:
    """Return ``numbers * 10**digits / units`` rounded half up, for numbers not below zero and positive units;
    None if a quotient has more than 18 digits."""
    quotients, rests = np.divmod(numbers, units)
    if int(quotients.max()) >= 10 ** (MAX_SHORT_PRECISION - digits):
        return None
    while digits:
        step = min(digits, _STEP)
        more, rests = np.divmod(rests * 10**step, units)
        quotients, digits = quotients * 10**step + more, digits - step
    return quotients + (2 * rests >= units)


def _by_decimal128(operation: str, result: pa.DataType) -> PreparedKernel:
    kernel = _PLAIN[operation]

    def run(arguments: tuple[Datum, ...], length: int) -> Datum:
        values = kernel.call([widened(arguments[0]), widened(arguments[1])])
        return narrowed(values if values.type.equals(result) else values.cast(result))

    return run


def prepare_decimal_negative(signature: Signature) -> PreparedKernel:
    """Make the kernel of unary minus for decimals. As in Spark, a value of more than 34 digits is rounded to
    34 significant digits; if it then exceeds its type's precision, the kernel raises
    NUMERIC_VALUE_OUT_OF_RANGE."""
    return _by_sign(signature, pc.get_function("negate"), lambda value: -_significant(value))


def prepare_decimal_abs(signature: Signature) -> PreparedKernel:
    """Make the kernel of ``abs`` for decimals. As in Spark, a negative value of more than 34 digits is
    rounded to 34 significant digits; if it then exceeds its type's precision, the kernel raises
    NUMERIC_VALUE_OUT_OF_RANGE."""
    return _by_sign(
        signature, pc.get_function("abs"), lambda value: -_significant(value) if value < 0 else value
    )


def _by_sign(signature: Signature, kernel: pc.Function, calculate: Callable[[int], int]) -> PreparedKernel:
    data_type = signature.type

    def run(arguments: tuple[Datum, ...], length: int) -> Datum:
        if data_type.precision <= MAX_SHORT_PRECISION:
            return from_scaled(kernel.call([scaled(arguments[0])]), data_type)
        if is_scalar(arguments[0]):
            return run((pa.repeat(arguments[0], 1),), 1)[0]
        values = unscaled(arguments[0])
        return from_unscaled(
            [None if value is None else fitting(calculate(value)) for value in values], data_type
        )

    def fitting(value: int) -> int:
        if abs(value) < 10**data_type.precision:
            return value
        text = decimal_text(value, data_type.scale)
        raise out_of_range(text, data_type.precision, data_type.scale, suggestion=False)

    return run


def _significant(value: int) -> int:
    """Return the integer rounded to 34 significant digits, halves to even, as by Java's
    MathContext.DECIMAL128."""
    surplus = len(str(abs(value))) - _SIGNIFICANT
    if surplus <= 0:
        return value
    quotient, rest = divmod(abs(value), 10**surplus)
    quotient += 2 * rest > 10**surplus or (2 * rest == 10**surplus and quotient % 2 == 1)
    return (-quotient if value < 0 else quotient) * 10**surplus


def _by_python(operation: str, result: pa.DataType, *, safe: bool) -> PreparedKernel:
    exact = _EXACT[operation]

    def run(arguments: tuple[Datum, ...], length: int) -> Datum:
        if is_scalar(arguments[0]) and is_scalar(arguments[1]):
            return run((pa.repeat(arguments[0], 1), pa.repeat(arguments[1], 1)), 1)[0]
        left, right = (
            unscaled(pa.repeat(datum, length) if is_scalar(datum) else datum) for datum in arguments
        )
        left_scale, right_scale = arguments[0].type.scale, arguments[1].type.scale
        values: list[int | None] = []
        for a, b in zip(left, right, strict=True):
            if a is None or b is None or (safe and b == 0 and operation in _DIVISIONS):
                values.append(None)
            else:
                values.append(fitted(*exact(a, left_scale, b, right_scale), result, safe=safe))
        return from_unscaled(values, result)

    return run


def _add(left: int, left_scale: int, right: int, right_scale: int) -> tuple[int, int]:
    scale = max(left_scale, right_scale)
    return left * 10 ** (scale - left_scale) + right * 10 ** (scale - right_scale), scale


def _subtract(left: int, left_scale: int, right: int, right_scale: int) -> tuple[int, int]:
    return _add(left, left_scale, -right, right_scale)


def _multiply(left: int, left_scale: int, right: int, right_scale: int) -> tuple[int, int]:
    return left * right, left_scale + right_scale


def _divide(left: int, left_scale: int, right: int, right_scale: int) -> tuple[int, int]:
    """Return the unscaled quotient of two unscaled values and its scale, 39: Spark rounds to 39 digits after
    the point first, then to the result's type. Halves are rounded away from zero. Raises DIVIDE_BY_ZERO."""
    if right == 0:
        raise divide_by_zero()
    shift = MAX_PRECISION + 1 - left_scale + right_scale
    number, divisor = abs(left) * 10 ** max(shift, 0), abs(right) * 10 ** max(-shift, 0)
    quotient = (2 * number + divisor) // (2 * divisor)
    return (-quotient if (left < 0) != (right < 0) else quotient), MAX_PRECISION + 1


def _remainder(left: int, left_scale: int, right: int, right_scale: int) -> tuple[int, int]:
    """Return the unscaled remainder of two unscaled values, with the sign of the dividend, and its scale.
    Raises REMAINDER_BY_ZERO."""
    if right == 0:
        raise remainder_by_zero()
    scale = max(left_scale, right_scale)
    left, right = left * 10 ** (scale - left_scale), right * 10 ** (scale - right_scale)
    rest = abs(left) % abs(right)
    return (-rest if left < 0 else rest), scale


def _pmod(left: int, left_scale: int, right: int, right_scale: int) -> tuple[int, int]:
    rest, scale = _remainder(left, left_scale, right, right_scale)
    if rest < 0:
        return _remainder(rest + right * 10 ** (scale - right_scale), scale, right, right_scale)
    return rest, scale


_EXACT: Final[dict[str, Exact]] = {
    "add": _add,
    "subtract": _subtract,
    "multiply": _multiply,
    "divide": _divide,
    "remainder": _remainder,
    "pmod": _pmod,
}
_DIVISIONS: Final = frozenset({"divide", "remainder", "pmod"})


def prepare_integral_divide(signature: Signature, *, safe: bool = False) -> PreparedKernel:
    """Make the kernel of ``div`` over two decimals, whose result is the quotient's integral part, cut (as in
    Spark) to its low 64 bits. A divisor of zero raises DIVIDE_BY_ZERO, or gives null if ``safe``."""
    if len(signature.argument_types) != 2:
        raise InternalError("div takes two operands")

    def run(arguments: tuple[Datum, ...], length: int) -> Datum:
        if is_scalar(arguments[0]) and is_scalar(arguments[1]):
            return run((pa.repeat(arguments[0], 1), pa.repeat(arguments[1], 1)), 1)[0]
        left, right = (
            unscaled(pa.repeat(datum, length) if is_scalar(datum) else datum) for datum in arguments
        )
        scales = arguments[0].type.scale, arguments[1].type.scale
        return from_values(
            [_quotient(a, b, *scales, safe=safe) for a, b in zip(left, right, strict=True)], INT64
        )

    return run


def _quotient(
    left: int | None, right: int | None, left_scale: int, right_scale: int, *, safe: bool
) -> int | None:
    if left is None or right is None or (safe and right == 0):
        return None
    if right == 0:
        raise divide_by_zero()
    number = abs(left) * 10 ** max(right_scale - left_scale, 0)
    divisor = abs(right) * 10 ** max(left_scale - right_scale, 0)
    quotient = number // divisor if (left < 0) == (right < 0) else -(number // divisor)
    low = quotient & (2**64 - 1)
    return low - 2**64 if low >= 2**63 else low
