"""The arithmetic operators and their ``try_`` forms: ``+ - * / div %``, pmod and the signs.

The planner has cast the operands: integral operands to one integral type (bigint for ``div``), floats to one
float type (double for ``/``); decimals stay as they are. Two intervals of one kind can be added and
subtracted.
"""

from collections.abc import Callable
from typing import Final

import pyarrow as pa

from sqlfront_values.arrow import kernels as pc
from sqlfront_values.arrow.arrays import from_values, scalar
from sqlfront_values.arrow.forms import INT64, Datum, constant, full_array, is_scalar, nulls, select
from sqlfront_values.errors import DatabaseError, DataError
from sqlfront_values.evaluation_errors import (
    arithmetic_overflow,
    divide_by_zero,
    interval_overflow,
    remainder_by_zero,
    small_overflow,
)
from sqlfront_values.expressions import Call, Literal
from sqlfront_values.functions.numbers.decimal_rules import (
    add_type,
    divide_type,
    multiply_type,
    remainder_type,
)
from sqlfront_values.functions.numbers.decimals import (
    natural_precision,
    prepare_decimal,
    prepare_decimal_negative,
    prepare_integral_divide,
)
from sqlfront_values.functions.registry import Kind, PreparedKernel, ScalarFunction, Signature, register
from sqlfront_values.functions.time.arithmetic import is_temporal, prepare_temporal
from sqlfront_values.types import (
    BIGINT,
    DOUBLE,
    INT,
    MAX_PRECISION,
    SMALLINT,
    TINYINT,
    is_decimal,
    is_fractional,
    is_integral,
    is_interval,
    physical,
)

_SYMBOLS: Final = {"add": "+", "subtract": "-", "multiply": "*"}
_PYTHON: Final[dict[str, Callable[[int, int], int]]] = {
    "add": lambda left, right: left + right,
    "subtract": lambda left, right: left - right,
    "multiply": lambda left, right: left * right,
}
_IF_ELSE: Final = pc.get_function("if_else")
_IS_VALID: Final = pc.get_function("is_valid")
_EQUAL: Final = pc.get_function("equal")
_LESS: Final = pc.get_function("less")
_AND: Final = pc.get_function("and")
_ADD: Final = pc.get_function("add")
_DIVIDE: Final = pc.get_function("divide")
_DIVIDE_CHECKED: Final = pc.get_function("divide_checked")
_REMAINDER: Final = pc.get_function("remainder")
_NEGATE: Final = pc.get_function("negate")
_NEGATE_CHECKED: Final = pc.get_function("negate_checked")

Prepare = Callable[[Signature], PreparedKernel]


def _typed(
    rule: Callable[[pa.DataType, pa.DataType], pa.DataType],
) -> Callable[[tuple[pa.DataType, ...]], pa.DataType]:
    """Return a function from the operands' types to the result's type: ``rule`` applied to two decimals, else
    the type of the first operand."""

    def result(types: tuple[pa.DataType, ...]) -> pa.DataType:
        if is_decimal(types[0]) and is_decimal(types[1]):
            return rule(types[0], types[1])
        return types[0]

    return result


# ---- plus, minus, times


def _addition(operation: str, *, safe: bool = False) -> Prepare:
    """Return a function that makes the kernel of ``operation``, ``add``, ``subtract`` or ``multiply``, for a
    signature. If ``safe`` (the ``try_`` form), an overflow gives null instead of an error."""
    kernel = pc.get_function(operation)
    checked = pc.get_function(f"{operation}_checked")

    def prepare(signature: Signature) -> PreparedKernel:
        data_type = signature.argument_types[0]
        if is_decimal(data_type):
            return prepare_decimal(operation, signature, safe=safe)
        if is_fractional(data_type):
            return lambda arguments, length: kernel.call(arguments)
        if _leaves_its_type(signature):
            kernel_of_time = prepare_temporal(operation, signature)
            return null_for_failures(kernel_of_time, signature) if safe else kernel_of_time

        def run(arguments: tuple[Datum, ...], length: int) -> Datum:
            try:
                return checked.call(arguments)
            except pa.ArrowInvalid:
                return _overflow(operation, arguments, length, data_type, safe=safe)

        return run

    return prepare


def _overflow(
    operation: str, arguments: tuple[Datum, ...], length: int, data_type: pa.DataType, *, safe: bool
) -> Datum:
    """Return the results of an operation that overflows in some row: null in the rows that overflow if
    ``safe``; else raise Spark's error for the first of these rows."""
    storage = arguments[0].type if is_integral(arguments[0].type) else INT64
    left, right = (full_array(datum, length).view(storage).to_pylist() for datum in arguments)
    calculate = _PYTHON[operation]
    bound = 2 ** (storage.bit_width - 1)
    values: list[int | None] = []
    for a, b in zip(left, right, strict=True):
        value = None if a is None or b is None else calculate(a, b)
        if value is not None and not -bound <= value < bound:
            if not safe:
                if data_type in (TINYINT, SMALLINT):
                    raise small_overflow(a, _SYMBOLS[operation], b, f"try_{operation}")
                if is_interval(data_type):
                    raise interval_overflow(f"try_{operation}")
                raise arithmetic_overflow(f"try_{operation}")
            value = None
        values.append(value)
    return from_values(values, storage).view(arguments[0].type)


def _leaves_its_type(signature: Signature) -> bool:
    """Return whether the left operand is a date, a timestamp, or an interval beside an operand of another
    type: the operations that :func:`prepare_temporal` computes."""
    left, right = signature.argument_types
    return is_temporal(left) and not (is_interval(left) and left.equals(right))


def _addition_fails(call: Call) -> bool:
    left, right = (argument.type for argument in call.arguments)
    if is_decimal(left) and is_decimal(right):
        return natural_precision(call.function.removeprefix("try_"), left, right) > MAX_PRECISION
    return not is_fractional(call.type)


# ---- division


def division(kernel: pc.Function, zero_error: Callable[[], DatabaseError], *, safe: bool) -> Prepare:
    """Return a function that makes the kernel of ``/`` (for doubles, decimals, intervals), ``div`` or ``%``
    for a signature; ``kernel`` is Arrow's kernel of the operation for numbers.

    A divisor of zero raises ``zero_error``, unless the dividend is null; if ``safe`` (the ``try_`` form), a
    zero or an overflow gives null."""

    def prepare(signature: Signature) -> PreparedKernel:
        data_type = signature.argument_types[0]
        if is_decimal(data_type):
            if signature.type.equals(BIGINT):
                return prepare_integral_divide(signature, safe=safe)
            return prepare_decimal("divide" if kernel is _DIVIDE else "remainder", signature, safe=safe)
        if is_interval(data_type) and signature.type.equals(BIGINT):
            bigints = Signature(BIGINT, (BIGINT, BIGINT), (None, None), signature.settings)
            divide = prepare(bigints)
            return lambda arguments, length: divide(tuple([item.cast(BIGINT) for item in arguments]), length)
        if is_temporal(data_type):
            return _interval_division(signature, safe=safe)
        zero, null = scalar(0, data_type), nulls(data_type)
        divisor_of = _nonzero_divisor(zero, null, zero_error, safe=safe)
        known = signature.constants[1]
        if known is not None and known.is_valid and known.as_py() != 0:
            divisor_of = _keep_divisor

        def run(arguments: tuple[Datum, ...], length: int) -> Datum:
            dividend, divisor = arguments
            try:
                return kernel.call([dividend, divisor_of(dividend, divisor)])
            except pa.ArrowInvalid:
                if safe:
                    return _without_overflow(kernel, dividend, divisor_of(dividend, divisor), length)
                raise arithmetic_overflow("try_divide", "Overflow in integral divide") from None

        return run

    return prepare


def _interval_division(signature: Signature, *, safe: bool) -> PreparedKernel:
    """Make the kernel that divides an interval by a number. A divisor of zero raises
    INTERVAL_DIVIDED_BY_ZERO; if ``safe``, a zero or an overflow gives null."""
    divide = prepare_temporal("divide", signature)
    if not safe:
        return divide
    divide = null_for_failures(divide, signature)
    data_type = signature.argument_types[1]
    zero, null = constant(0, data_type), nulls(data_type)

    def run(arguments: tuple[Datum, ...], length: int) -> Datum:
        interval, divisor = arguments
        zeros = _EQUAL.call([divisor, zero])
        if is_scalar(zeros):
            return divide((interval, null if zeros.as_py() else divisor), length)
        return divide((interval, select(zeros, null, divisor, data_type)), length)

    return run


def null_for_failures(
    kernel: PreparedKernel, signature: Signature, conditions: frozenset[str] | None = None
) -> PreparedKernel:
    """Make a kernel that gives null in the rows for which ``kernel`` raises a DataError. ``conditions``: the
    error conditions that become null (without a subclass behind a point); None = all. The rows are
    found by halving a batch that raises, again and again."""

    def run(arguments: tuple[Datum, ...], length: int) -> Datum:
        try:
            return kernel(arguments, length)
        except DataError as error:
            if conditions is not None and (error.condition or "").partition(".")[0] not in conditions:
                raise
            if length <= 1:
                return pa.nulls(length, physical(signature.type))
        columns, half = [full_array(argument, length) for argument in arguments], length // 2
        parts = ((0, half), (half, length - half))
        return pa.concat_arrays(
            [
                full_array(run(tuple([column.slice(*part) for column in columns]), part[1]), part[1])
                for part in parts
            ]
        )

    return run


def _keep_divisor(dividend: Datum, divisor: Datum) -> Datum:
    return divisor


def _nonzero_divisor(
    zero: pa.Scalar, null: pa.Scalar, error: Callable[[], DatabaseError], *, safe: bool
) -> Callable[[Datum, Datum], Datum]:
    """Return a function from dividend and divisor to the divisor with zeros replaced by ``null``. Unless
    ``safe``, the function raises ``error()`` if a row with a zero has a dividend that is not null."""

    def check(dividend: Datum, divisor: Datum) -> Datum:
        zeros = _EQUAL.call([divisor, zero])
        if is_scalar(zeros):
            if not zeros.as_py():
                return divisor
            if not safe and (
                dividend.is_valid if is_scalar(dividend) else dividend.null_count < len(dividend)
            ):
                raise error()
            return null
        if zeros.true_count == 0:
            return divisor
        if not safe:
            if is_scalar(dividend):
                harmful = dividend.is_valid
            else:
                harmful = _AND.call([zeros, _IS_VALID.call([dividend])]).true_count > 0
            if harmful:
                raise error()
        return _IF_ELSE.call([zeros, null, divisor])

    return check


def _without_overflow(kernel: pc.Function, dividend: Datum, divisor: Datum, length: int) -> Datum:
    """Return the quotients, with null in rows that divide the least bigint by -1, whose quotient
    overflows."""
    minus_one = _EQUAL.call([full_array(divisor, length), scalar(-1, INT64)])
    least = _EQUAL.call([full_array(dividend, length), scalar(-(2**63), INT64)])
    return kernel.call([dividend, _IF_ELSE.call([_AND.call([minus_one, least]), nulls(BIGINT), divisor])])


def pmod(signature: Signature, *, safe: bool = False) -> PreparedKernel:
    """Make the kernel of ``pmod``, the remainder made positive by adding the divisor. Tinyint and smallint
    are computed as int, as in Java. A divisor of zero raises REMAINDER_BY_ZERO, or gives null if ``safe``."""
    data_type = signature.argument_types[0]
    if is_decimal(data_type):
        return prepare_decimal("pmod", signature, safe=safe)
    remainder = division(_REMAINDER, remainder_by_zero, safe=safe)(signature)
    computed = INT if data_type in (TINYINT, SMALLINT) else data_type
    zero, one = scalar(0, computed), scalar(1, computed)

    def run(arguments: tuple[Datum, ...], length: int) -> Datum:
        rest = remainder(arguments, length).cast(computed)
        divisor = arguments[1].cast(computed)
        # A divisor of zero occurs only beside a null.
        divisor = _IF_ELSE.call([_EQUAL.call([divisor, zero]), one, divisor])
        shifted = _REMAINDER.call([_ADD.call([rest, divisor]), divisor])
        return _IF_ELSE.call([_LESS.call([rest, zero]), shifted, rest]).cast(data_type)

    return run


def _division_fails(call: Call) -> bool:
    divisor = call.arguments[1]
    if not isinstance(divisor, Literal):
        return True
    if is_decimal(call.type) and call.type.precision == MAX_PRECISION:
        return True
    return divisor.value == 0 or (call.function == "div" and divisor.value == -1)


# ---- signs


def _negative(signature: Signature) -> PreparedKernel:
    data_type = signature.argument_types[0]
    if is_decimal(data_type):
        return prepare_decimal_negative(signature)
    if is_fractional(data_type):
        return lambda arguments, length: _NEGATE.call(arguments)

    def run(arguments: tuple[Datum, ...], length: int) -> Datum:
        try:
            return _NEGATE_CHECKED.call(arguments)
        except pa.ArrowInvalid:
            raise interval_overflow() if is_interval(data_type) else arithmetic_overflow() from None

    return run


def sign_fails(call: Call) -> bool:
    """Return whether a call of unary minus or ``abs`` may raise, since the operand's type has values whose
    negation does not fit."""
    if is_decimal(call.type):
        return bool(call.type.precision == MAX_PRECISION)
    return not is_fractional(call.type)


_PAIR: Final = (Kind.NUMERIC, Kind.NUMERIC)
_DIVIDE_RESULT: Final = _typed(divide_type)
#: The result type of a remainder, by the types of the operands.
REMAINDER_RESULT: Final = _typed(remainder_type)


def _quotient_type(types: tuple[pa.DataType, ...]) -> pa.DataType:
    return _DIVIDE_RESULT(types) if is_decimal(types[0]) and is_decimal(types[1]) else DOUBLE


def _operators() -> list[ScalarFunction]:
    entries = []
    for operation, rule in (("add", add_type), ("subtract", add_type), ("multiply", multiply_type)):
        result = _typed(rule)
        shown = {"add": "2 + 3", "subtract": "2 - 3", "multiply": "2 * 3"}[operation]
        value = repr({"add": 5, "subtract": -1, "multiply": 6}[operation])
        entries.append(
            ScalarFunction(
                operation,
                _PAIR,
                result,
                prepare=_addition(operation),
                can_fail=_addition_fails,
                example=(shown, value),
            )
        )
        entries.append(
            ScalarFunction(
                f"try_{operation}",
                _PAIR,
                result,
                prepare=_addition(operation, safe=True),
                example=(
                    f"try_{operation}(2147483647, 2147483647)",
                    "None" if operation != "subtract" else "0",
                ),
            )
        )
    return entries


def _divisions() -> list[ScalarFunction]:
    quotient = division(_DIVIDE, divide_by_zero, safe=False)
    integral = division(_DIVIDE_CHECKED, divide_by_zero, safe=False)
    rest = division(_REMAINDER, remainder_by_zero, safe=False)
    forms = (
        ("divide", _quotient_type, quotient, True, ("7 / 2", "3.5")),
        (
            "try_divide",
            _quotient_type,
            division(_DIVIDE, divide_by_zero, safe=True),
            False,
            ("try_divide(1, 0)", "None"),
        ),
        ("div", BIGINT, integral, True, ("-7 div 2", "-3")),
        ("remainder", REMAINDER_RESULT, rest, True, ("-7 % 3", "-1")),
        ("mod", REMAINDER_RESULT, rest, True, ("mod(-7, 3)", "-1")),
        (
            "try_mod",
            REMAINDER_RESULT,
            division(_REMAINDER, remainder_by_zero, safe=True),
            False,
            ("try_mod(1, 0)", "None"),
        ),
        ("pmod", REMAINDER_RESULT, pmod, True, ("pmod(-7, 3)", "2")),
    )
    return [
        ScalarFunction(
            name,
            _PAIR,
            result,
            prepare=prepare,
            can_fail=_division_fails if fails else False,
            example=example,
        )
        for name, result, prepare, fails, example in forms
    ]


register(
    *_operators(),
    *_divisions(),
    ScalarFunction(
        "negative",
        (Kind.NUMERIC_OR_INTERVAL,),
        lambda types: types[0],
        prepare=_negative,
        can_fail=sign_fails,
        example=("negative(5)", "-5"),
    ),
    ScalarFunction(
        "positive",
        (Kind.NUMERIC_OR_INTERVAL,),
        lambda types: types[0],
        prepare=lambda signature: lambda arguments, length: arguments[0],
        example=("positive(5)", "5"),
    ),
)
