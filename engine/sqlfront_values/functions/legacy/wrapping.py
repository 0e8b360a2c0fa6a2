"""Arithmetic with ANSI mode off: whole numbers wrap around as in Java, and a divisor of zero gives null.

Sums, differences and products of decimals, whose overflow gives null, are left to the ``try_`` functions;
those of floats don't fail.
"""

from collections.abc import Callable
from typing import Final

import numpy as np
import pyarrow as pa

from sqlfront_values.arrow import kernels as pc
from sqlfront_values.arrow.arrays import from_numpy, from_values, numpy_view, scalar, valid_mask
from sqlfront_values.arrow.forms import Datum, full_array, nulls
from sqlfront_values.evaluation_errors import divide_by_zero
from sqlfront_values.functions.numbers.arithmetic import REMAINDER_RESULT, division, pmod
from sqlfront_values.functions.numbers.rounding import (
    CEILING,
    FLOOR,
    HALF_EVEN,
    HALF_UP,
    divided,
)
from sqlfront_values.functions.registry import Kind, PreparedKernel, ScalarFunction, Signature, register
from sqlfront_values.types import BIGINT, DOUBLE, INT, is_integral

_EQUAL: Final = pc.get_function("equal")
_IF_ELSE: Final = pc.get_function("if_else")
_DIVIDE: Final = pc.get_function("divide")
_NEGATE: Final = pc.get_function("negate")
_ABS: Final = pc.get_function("abs")


def _plain(name: str, kernel: pc.Function, operands: int = 2) -> ScalarFunction:
    """Return the entry of the operation ``name`` over whole numbers, for which Arrow has a ``kernel`` that
    wraps around."""
    return ScalarFunction(
        f"wrapping {name}",
        (Kind.INTEGRAL,) * operands,
        lambda types: types[0],
        prepare=lambda signature: lambda arguments, length: kernel.call(arguments),
    )


def _divide(signature: Signature) -> PreparedKernel:
    """Make the kernel of ``div``: null for a divisor of zero; the least bigint divided by -1 is itself."""
    data_type = signature.argument_types[0]
    divide = division(_DIVIDE, divide_by_zero, safe=True)(signature)
    if not is_integral(data_type):
        return divide
    minus_one, one = scalar(-1, data_type), scalar(1, data_type)

    def run(arguments: tuple[Datum, ...], length: int) -> Datum:
        dividend, divisor = (full_array(argument, length) for argument in arguments)
        negative = _EQUAL.call([divisor, minus_one])
        quotients = divide((dividend, _IF_ELSE.call([negative, one, divisor])), length)
        return _IF_ELSE.call([negative, _NEGATE.call([quotients]), quotients])

    return run


def _rounding(mode: str) -> Callable[[Signature], PreparedKernel]:
    """Return a function that makes the kernel of round or bround over whole numbers, which keeps the low bits
    of a result beyond the type's bounds."""

    def prepare(signature: Signature) -> PreparedKernel:
        data_type, known = signature.argument_types[0], signature.constants[1]
        digits = None if known is None else known.as_py()
        if digits is None:
            null = nulls(data_type)
            return lambda arguments, length: null
        if digits >= 0:
            return lambda arguments, length: arguments[0]
        unit, half = 10 ** min(-digits, 40), 2 ** (data_type.bit_width - 1)

        def run(arguments: tuple[Datum, ...], length: int) -> Datum:
            operand = arguments[0]
            column = pa.repeat(operand, 1) if isinstance(operand, pa.Scalar) else operand
            values = [
                None if value is None else (divided(value, unit, mode) * unit + half) % (2 * half) - half
                for value in column.to_pylist()
            ]
            result = from_values(values, data_type)
            return result[0] if isinstance(operand, pa.Scalar) else result

        return run

    return prepare


def _whole(mode: str) -> Callable[[Signature], PreparedKernel]:
    """Return a function that makes the kernel of ceil or floor over floats, with the nearest bigint for
    numbers beyond bigint's bounds and 0 for NaN."""
    function = np.ceil if mode == CEILING else np.floor

    def convert(values: pa.Array) -> pa.Array:
        numbers = function(numpy_view(values).astype(np.float64, copy=False))
        inside = np.abs(numbers) < 2.0**63
        integers = np.where(inside, numbers, 0.0).astype(np.int64)
        integers[numbers >= 2.0**63] = np.iinfo(np.int64).max
        integers[numbers <= -(2.0**63)] = np.iinfo(np.int64).min
        return from_numpy(integers, BIGINT, valid_mask(values))

    def run(arguments: tuple[Datum, ...], length: int) -> Datum:
        operand = arguments[0]
        return convert(pa.repeat(operand, 1))[0] if isinstance(operand, pa.Scalar) else convert(operand)

    return lambda signature: run


register(
    *(_plain(name, pc.get_function(name)) for name in ("add", "subtract", "multiply")),
    _plain("negative", _NEGATE, 1),
    _plain("abs", _ABS, 1),
    ScalarFunction("wrapping div", (Kind.ANY, Kind.ANY), BIGINT, prepare=_divide),
    ScalarFunction(
        "wrapping pmod",
        (Kind.NUMERIC, Kind.NUMERIC),
        REMAINDER_RESULT,
        prepare=lambda signature: pmod(signature, safe=True),
    ),
    *(
        ScalarFunction(
            f"wrapping {name}",
            (Kind.INTEGRAL, INT),
            lambda types: types[0],
            prepare=_rounding(mode),
            constants=(1,),
        )
        for name, mode in (("round", HALF_UP), ("bround", HALF_EVEN))
    ),
    *(
        ScalarFunction(f"saturating {name}", (DOUBLE,), BIGINT, prepare=_whole(mode))
        for name, mode in (("ceil", CEILING), ("floor", FLOOR))
    ),
)
