"""Functions of real numbers: roots, powers, logarithms, trigonometry, and a few functions of integers.

The functions of real numbers take and return doubles, as in Spark; a logarithm outside of its domain is null.
``fdlibm`` computes the same bits as Java; sines, cosines and tangents come from the C library, which may
differ from Java in the last bit.
"""

import math
from collections.abc import Callable
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sqlfront_values.arrow import kernels as pc
from sqlfront_values.arrow.arrays import from_numpy, from_values, numpy_view, scalar, valid_mask
from sqlfront_values.arrow.forms import Datum, full_array, is_scalar, nulls
from sqlfront_values.evaluation_errors import arithmetic_overflow
from sqlfront_values.functions.numbers.arithmetic import sign_fails
from sqlfront_values.functions.numbers.decimals import prepare_decimal_abs
from sqlfront_values.functions.numbers.fdlibm import arcs, exponentials, hyperbolics, logarithms, powers
from sqlfront_values.functions.registry import (
    Invocation,
    Kind,
    PreparedKernel,
    ScalarFunction,
    Signature,
    register,
)
from sqlfront_values.types import BIGINT, BOOLEAN, DOUBLE, INT, is_decimal, is_fractional, physical

Doubles = npt.NDArray[np.float64]
Kernel = Callable[[tuple[Datum, ...], Invocation], Datum]

_IF_ELSE: Final = pc.get_function("if_else")
_LESS_EQUAL: Final = pc.get_function("less_equal")
_DIVIDE: Final = pc.get_function("divide")
_OR: Final = pc.get_function("or_kleene")
_NULL: Final = nulls(DOUBLE)
_ONE: Final = scalar(1.0, DOUBLE)
_DEGREES: Final = 57.29577951308232
_RADIANS: Final = 0.017453292519943295


def _entry(name: str, kernel: Kernel, result: str) -> ScalarFunction:
    """Make the registry entry of a function of doubles. ``result`` is its example, a call and the call's
    value, such as ``"sqrt(4) = 2.0"``; the call has as many arguments as the function takes."""
    call, _, value = result.partition(" = ")
    count = call.count(",") + (0 if call.endswith("()") else 1)
    return ScalarFunction(name, (DOUBLE,) * count, DOUBLE, kernel, example=(call, value))


def _arrow(name: str) -> Kernel:
    kernel = pc.get_function(name)
    return lambda arguments, invocation: kernel.call(arguments)


def _reciprocal(name: str) -> Kernel:
    """Make a kernel that returns 1 divided by the result of Arrow's kernel ``name``."""
    kernel = pc.get_function(name)
    return lambda arguments, invocation: _DIVIDE.call([_ONE, kernel.call(arguments)])


def _numpy(function: Callable[..., Doubles]) -> Kernel:
    """Make a kernel from a numpy function of doubles; the result is null where an argument is null."""

    def kernel(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
        constant = all(map(is_scalar, arguments))
        length = 1 if constant else invocation.length
        arrays = [full_array(argument, length) for argument in arguments]
        masks = [mask for array in arrays if (mask := valid_mask(array)) is not None]
        with np.errstate(all="ignore"):
            values = function(*(numpy_view(array) for array in arrays))
        result = from_numpy(values, DOUBLE, np.logical_and.reduce(masks) if masks else None)
        return result[0] if constant else result

    return kernel


def _logarithm(kernel: Kernel, least: float = 0.0) -> Kernel:
    """Return a kernel with the results of ``kernel``, but null where the first argument is less than or equal
    to ``least``."""
    bound = scalar(least, DOUBLE)

    def run(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
        outside = _LESS_EQUAL.call([arguments[0], bound])
        if is_scalar(outside):
            return _NULL if outside.as_py() is not False else kernel(arguments, invocation)
        values = kernel(arguments, invocation)
        return _IF_ELSE.call([outside, _NULL, values]) if outside.true_count else values

    return run


_LN: Final = _logarithm(_numpy(logarithms.log))


def _log(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    """Compute ``log(x)``, the natural logarithm, or ``log(base, x)``, as in Spark a quotient of natural
    logarithms; null for a base or an x that is not positive."""
    if len(arguments) == 1:
        return _LN(arguments, invocation)
    base, value = (_LN((argument,), invocation) for argument in arguments)
    return _DIVIDE.call([value, base])


def _atan2(y: Doubles, x: Doubles) -> Doubles:
    """Return ``atan2(y, x)``, with negative zeros as positive zeros, as in Spark."""
    return arcs.atan2(y + 0.0, x + 0.0)


def _sign(values: Doubles) -> Doubles:
    return np.where(values == 0, values, np.sign(values))


def _constant(value: float) -> Kernel:
    known = scalar(value, DOUBLE)
    return lambda arguments, invocation: known


def _abs(signature: Signature) -> PreparedKernel:
    data_type = signature.type
    if is_decimal(data_type):
        return prepare_decimal_abs(signature)
    if is_fractional(data_type):
        plain = pc.get_function("abs")
        return lambda arguments, length: plain.call(arguments)
    checked = pc.get_function("abs_checked")
    form = physical(data_type)
    storage = BIGINT if pa.types.is_duration(form) else form

    def run(arguments: tuple[Datum, ...], length: int) -> Datum:
        datum = arguments[0]
        if is_scalar(datum):
            return run((pa.repeat(datum, 1),), 1)[0]
        try:
            result = checked.call([datum.view(storage)])
        except pa.ArrowInvalid:
            raise arithmetic_overflow() from None
        return result.view(form)

    return run


def _factorial(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    """Return the factorial of each number; null outside of 0 to 20."""
    datum = arguments[0]
    if is_scalar(datum):
        value = datum.as_py()
        known = value is not None and 0 <= value <= 20
        return scalar(math.factorial(value) if known else None, BIGINT)
    values = [
        math.factorial(value) if value is not None and 0 <= value <= 20 else None
        for value in datum.to_pylist()
    ]
    return from_values(values, BIGINT)


def _is_nan(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    """Return whether each value is NaN; false for null."""
    is_nan = pc.get_function("is_nan").call(arguments)
    return pc.get_function("coalesce").call([is_nan, scalar(False, BOOLEAN)])


def _nanvl(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    """Compute ``nanvl``: the second argument where the first is NaN, else the first."""
    value, other = arguments
    is_nan = pc.get_function("is_nan").call([value])
    if is_scalar(is_nan):
        return other if is_nan.as_py() else value
    if not is_nan.true_count:
        return value
    return _IF_ELSE.call([pc.get_function("coalesce").call([is_nan, scalar(False, BOOLEAN)]), other, value])


def _width_bucket(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    """Compute ``width_bucket``, for each row by :func:`bucket`; null if an argument is null or there is no
    bucket."""
    columns = [_amounts(full_array(argument, invocation.length)).to_pylist() for argument in arguments]
    values = [
        None if None in row else bucket(float(row[0]), float(row[1]), float(row[2]), row[3])
        for row in zip(*columns, strict=True)
    ]
    result = from_values(values, BIGINT)
    return result[0] if all(map(is_scalar, arguments)) and invocation.length == 1 else result


def _amounts(column: pa.Array) -> pa.Array:
    """Return day-time intervals as their microseconds; any other column unchanged."""
    return column.view(pa.int64()) if pa.types.is_duration(column.type) else column


def bucket(value: float, least: float, most: float, count: int) -> int | None:
    """Return the number of the bucket, from 1, that holds ``value`` if the range between ``least`` and
    ``most`` is split into ``count`` buckets of equal width; 0 for a value before the first bucket, ``count +
    1`` after the last. If ``least`` is greater than ``most``, the buckets count downwards.

    Returns None if a bound is not finite, the value is NaN, the bounds are equal, or the count is not
    positive or is the greatest long.

    >>> bucket(5.3, 0.2, 10.6, 5), bucket(10.0, 0.0, 10.0, 3), bucket(0.0, 10.0, 0.0, 3)
    (3, 4, 4)
    """
    bounds_exist = math.isfinite(least) and math.isfinite(most) and least != most
    if not bounds_exist or math.isnan(value) or not 0 < count < 2**63 - 1:
        return None
    lower, upper = min(least, most), max(least, most)
    if least < most:
        if value < lower:
            return 0
        if value >= upper:
            return count + 1
        return _next(count * (value - lower) / (upper - lower))
    if value > upper:
        return 0
    if value <= lower:
        return count + 1
    return _next(count * (upper - value) / (upper - lower))


def _next(position: float) -> int:
    """Return ``position``, cut off to an integer, plus 1, with the results of Java's casts and long
    arithmetic: NaN counts as 0, a number beyond 64 bits as the nearest long, and the greatest long plus 1 is
    the least long."""
    if math.isnan(position):
        return 1
    whole = int(min(max(position, -(2.0**63)), 2.0**63))
    return whole + 1 if whole < 2**63 - 1 else -(2**63)


_ZERO_AT_ZERO: Final = {
    "sin": _arrow("sin"),
    "tan": _arrow("tan"),
    "asin": _numpy(arcs.asin),
    "atan": _numpy(arcs.atan),
    "sinh": _numpy(hyperbolics.sinh),
    "tanh": _numpy(hyperbolics.tanh),
    "asinh": _numpy(hyperbolics.asinh),
    "atanh": _numpy(hyperbolics.atanh),
    "expm1": _numpy(exponentials.expm1),
}


def _same(types: tuple[pa.DataType, ...]) -> pa.DataType:
    return types[0]


register(
    _entry("sqrt", _arrow("sqrt"), "sqrt(4) = 2.0"),
    _entry("cbrt", _numpy(powers.cbrt), "cbrt(27) = 3.0"),
    _entry("exp", _numpy(exponentials.exp), "exp(0) = 1.0"),
    _entry("ln", _LN, "ln(1) = 0.0"),
    ScalarFunction("log", (DOUBLE, DOUBLE), DOUBLE, _log, optional=1, example=("log(2, 8)", "3.0")),
    _entry("log10", _logarithm(_numpy(logarithms.log10)), "log10(100) = 2.0"),
    _entry("log2", _logarithm(_numpy(logarithms.log2)), "log2(8) = 3.0"),
    _entry("log1p", _logarithm(_numpy(logarithms.log1p), -1.0), "log1p(0) = 0.0"),
    _entry("pow", _numpy(powers.power), "pow(2, 3) = 8.0"),
    _entry("power", _numpy(powers.power), "power(2, 3) = 8.0"),
    _entry("hypot", _numpy(powers.hypot), "hypot(3, 4) = 5.0"),
    *(_entry(name, kernel, f"{name}(0) = 0.0") for name, kernel in _ZERO_AT_ZERO.items()),
    _entry("cos", _arrow("cos"), "cos(0) = 1.0"),
    _entry("cosh", _numpy(hyperbolics.cosh), "cosh(0) = 1.0"),
    _entry("acos", _numpy(arcs.acos), "acos(1) = 0.0"),
    _entry("acosh", _numpy(hyperbolics.acosh), "acosh(1) = 0.0"),
    _entry("atan2", _numpy(_atan2), "atan2(0, 1) = 0.0"),
    _entry("cot", _reciprocal("tan"), "cot(1) = 0.6420926159343306"),
    _entry("sec", _reciprocal("cos"), "sec(0) = 1.0"),
    _entry("csc", _reciprocal("sin"), "csc(1) = 1.1883951057781212"),
    _entry("degrees", _numpy(lambda values: values * _DEGREES), "degrees(0) = 0.0"),
    _entry("radians", _numpy(lambda values: values * _RADIANS), "radians(180) = 3.141592653589793"),
    *(
        ScalarFunction(
            name, (Kind.DOUBLE_OR_INTERVAL,), DOUBLE, _numpy(_sign), example=(f"{name}(-40)", "-1.0")
        )
        for name in ("sign", "signum")
    ),
    _entry("rint", _numpy(np.rint), "rint(12.3456) = 12.0"),
    _entry("e", _constant(math.e), "e() = 2.718281828459045"),
    _entry("pi", _constant(math.pi), "pi() = 3.141592653589793"),
    ScalarFunction(
        "abs", (Kind.NUMERIC_OR_INTERVAL,), _same, prepare=_abs, can_fail=sign_fails, example=("abs(-1)", "1")
    ),
    ScalarFunction("factorial", (INT,), BIGINT, _factorial, example=("factorial(5)", "120")),
    ScalarFunction(
        "isnan",
        (DOUBLE,),
        BOOLEAN,
        _is_nan,
        null_propagating=False,
        example=("isnan(double('NaN'))", "True"),
    ),
    ScalarFunction(
        "nanvl",
        (DOUBLE, DOUBLE),
        DOUBLE,
        _nanvl,
        null_propagating=False,
        example=("nanvl(double('NaN'), 5)", "5.0"),
    ),
    ScalarFunction(
        "width_bucket",
        (Kind.DOUBLE_OR_INTERVAL, Kind.DOUBLE_OR_INTERVAL, Kind.DOUBLE_OR_INTERVAL, BIGINT),
        BIGINT,
        _width_bucket,
        example=("width_bucket(5.3, 0.2, 10.6, 5)", "3"),
    ),
)
