"""Comparisons: ``= <> < <= > >= <=>`` and IN, in Spark's order of values.

NaN equals NaN and is greater than any other number; -0.0 equals 0.0; strings and binaries compare by bytes;
arrays and structs by their elements, with null as the least element. The operands have one type.
"""

import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Final, cast

import pyarrow as pa

from sqlfront_values.arrow import kernels as pc
from sqlfront_values.arrow.arrays import from_values, to_python
from sqlfront_values.arrow.forms import INT64, Datum, full_array, is_scalar, nulls, scaled, unscale, widened
from sqlfront_values.functions.registry import Kind, PreparedKernel, ScalarFunction, Signature, register
from sqlfront_values.types import (
    BOOLEAN,
    MAX_SHORT_PRECISION,
    is_decimal,
    is_fractional,
    is_interval,
    physical,
)

_INVERT: Final = pc.get_function("invert")
_IS_NAN: Final = pc.get_function("is_nan")
_IS_NULL: Final = pc.get_function("is_null")
_AND: Final = pc.get_function("and")
_OR: Final = pc.get_function("or")
_OR_KLEENE: Final = pc.get_function("or_kleene")
_COALESCE: Final = pc.get_function("coalesce")

#: From registry name to Arrow kernel.
KERNELS: Final = {
    "equal": pc.get_function("equal"),
    "not_equal": pc.get_function("not_equal"),
    "less": pc.get_function("less"),
    "less_equal": pc.get_function("less_equal"),
    "greater": pc.get_function("greater"),
    "greater_equal": pc.get_function("greater_equal"),
}
_MIRRORED: Final = {
    "less": "greater",
    "less_equal": "greater_equal",
    "greater": "less",
    "greater_equal": "less_equal",
}
_NEGATED: Final = {"greater": "less_equal", "greater_equal": "less"}
_PYTHON: Final[dict[str, Callable[[tuple[object, ...], tuple[object, ...]], bool]]] = {
    "equal": lambda left, right: left == right,
    "not_equal": lambda left, right: left != right,
    "less": lambda left, right: left < right,
    "less_equal": lambda left, right: left <= right,
    "greater": lambda left, right: left > right,
    "greater_equal": lambda left, right: left >= right,
}
_COMPARED_BY_ARROW: Final = frozenset(
    data_type.id
    for data_type in (
        pa.bool_(),
        pa.int8(),
        pa.int16(),
        pa.int32(),
        pa.int64(),
        pa.string(),
        pa.binary(),
        pa.date32(),
        pa.timestamp("us"),
        pa.duration("us"),
    )
)


def prepare_comparison(operation: str, signature: Signature) -> PreparedKernel:
    """Make the kernel of a comparison of two operands of one type; ``operation`` is a key of :data:`KERNELS`,
    such as ``less``."""
    data_type = signature.argument_types[0]
    kernel = KERNELS[operation]
    if data_type.id in _COMPARED_BY_ARROW or is_interval(data_type):
        return lambda arguments, length: kernel.call(arguments)
    if is_decimal(data_type):
        return _decimals(kernel, signature)
    if is_fractional(data_type):
        return _floats(operation, signature.constants)
    if pa.types.is_null(data_type):
        return lambda arguments, length: nulls(BOOLEAN)
    return _nested(operation)


def _decimals(kernel: pc.Function, signature: Signature) -> PreparedKernel:
    left_type, right_type = signature.argument_types
    if not left_type.equals(right_type) or left_type.precision > MAX_SHORT_PRECISION:
        return lambda arguments, length: kernel.call([widened(argument) for argument in arguments])
    left, right = (None if known is None else scaled(known) for known in signature.constants)

    def run(arguments: tuple[Datum, ...], length: int) -> Datum:
        return kernel.call(
            [
                scaled(arguments[0]) if left is None else left,
                scaled(arguments[1]) if right is None else right,
            ]
        )

    return run


def _floats(operation: str, constants: tuple[pa.Scalar | None, ...]) -> PreparedKernel:
    """Make the kernel of a comparison of floats by Arrow's IEEE comparison, corrected for NaN. ``constants``
    has each operand's constant, None for an operand that is not constant; a constant that is not NaN needs a
    cheaper correction."""
    kernel = KERNELS[operation]
    left, right = constants
    if _is_number(right):
        negated = _NEGATED.get(operation)
        if negated is None:
            return lambda arguments, length: kernel.call(arguments)
        opposite = KERNELS[negated]
        return lambda arguments, length: _INVERT.call([opposite.call(arguments)])
    if _is_number(left) and operation in _MIRRORED:
        mirrored = _floats(_MIRRORED[operation], (right, left))
        return lambda arguments, length: mirrored(arguments[::-1], length)
    return _floats_of_both(operation)


def _is_number(constant: pa.Scalar | None) -> bool:
    """Return whether an operand is a constant that is neither null nor NaN. ``constant`` is None if the
    operand is not constant."""
    return constant is not None and constant.is_valid and not math.isnan(constant.as_py())


def _floats_of_both(operation: str) -> PreparedKernel:
    equal, less = KERNELS["equal"], KERNELS["less"]

    def equals(left: Datum, right: Datum) -> Datum:
        return _OR.call([equal.call([left, right]), _AND.call([_IS_NAN.call([left]), _IS_NAN.call([right])])])

    def is_less(left: Datum, right: Datum) -> Datum:
        only_right = _AND.call([_IS_NAN.call([right]), _INVERT.call([_IS_NAN.call([left])])])
        return _OR.call([less.call([left, right]), only_right])

    match operation:
        case "equal":
            return lambda arguments, length: equals(*arguments)
        case "not_equal":
            return lambda arguments, length: _INVERT.call([equals(*arguments)])
        case "less":
            return lambda arguments, length: is_less(*arguments)
        case "greater":
            return lambda arguments, length: is_less(arguments[1], arguments[0])
        case "less_equal":
            return lambda arguments, length: _INVERT.call([is_less(arguments[1], arguments[0])])
        case _:
            return lambda arguments, length: _INVERT.call([is_less(*arguments)])


def _nested(operation: str) -> PreparedKernel:
    compare = _PYTHON[operation]

    def run(arguments: tuple[Datum, ...], length: int) -> Datum:
        left, right = (to_python(full_array(argument, length)) for argument in arguments)
        values = [
            None if a is None or b is None else compare(order_key(a), order_key(b))
            for a, b in zip(left, right, strict=True)
        ]
        return from_values(values, BOOLEAN)

    return run


def order_key(value: object) -> tuple[object, ...]:
    """Return a key that compares Python values as Spark compares the SQL values: null least, NaN greatest,
    strings by bytes, arrays and structs element by element.

    >>> order_key(None) < order_key([1]) < order_key([1, None]) < order_key([1, 2])
    True
    """
    match value:
        case None:
            return (0,)
        case float():
            return (1, (1, 0.0) if value != value else (0, value))
        case str():
            return (1, value.encode())
        case list() | tuple():
            return (1, tuple(map(order_key, value)))
        case dict():
            return (1, tuple(map(order_key, value.values())))
        case _:
            return (1, value)


def _equal_null_safe(signature: Signature) -> PreparedKernel:
    equal = prepare_comparison("equal", signature)

    def run(arguments: tuple[Datum, ...], length: int) -> Datum:
        left, right = arguments
        same = equal(arguments, length)
        if (is_scalar(same) and same.is_valid) or (not is_scalar(same) and same.null_count == 0):
            return same
        both_null = _AND.call([_IS_NULL.call([left]), _IS_NULL.call([right])])
        if is_scalar(same):
            return both_null
        return _COALESCE.call([same, both_null])

    return run


# ---- IN

#: Values of an IN list up to which the list is compared value by value; a longer list gets a table.
_MANY: Final = 6


def _in(signature: Signature) -> PreparedKernel:
    """Make the kernel of ``x IN (constants)`` by comparing value by value. The result is null if x is null,
    or if x is not found and a constant is null."""
    constants = signature.constants[1:]
    present = [known for known in constants if known is not None and known.is_valid]
    found = _by_comparisons(signature, tuple(present))
    return found if len(present) == len(constants) else _or_null(found)


def among(data_type: pa.DataType, values: Sequence[object]) -> PreparedKernel | None:
    """Make a kernel of ``x IN (values)``, for x of ``data_type``, that looks x up in a set of the values
    (Python values, None = null).

    Return None if there are few values, for which comparing one by one is quicker, or if no set serves the
    type."""
    present = [value for value in values if value is not None]
    form = physical(data_type)
    if len(present) <= _MANY:
        return None
    if pa.types.is_decimal64(form):
        numbers = [unscale(cast("Decimal", value), form.scale) for value in present]
        by_number = _by_set(from_values(numbers, INT64))
        found: PreparedKernel = lambda arguments, length: by_number((scaled(arguments[0]),), length)  # noqa: E731
    elif is_decimal(data_type):
        by_value = _by_set(from_values(present, data_type))
        found = lambda arguments, length: by_value((widened(arguments[0]),), length)  # noqa: E731
    elif form.id in _COMPARED_BY_ARROW:
        found = _by_set(from_values(present, form))
    else:
        return None
    return found if len(present) == len(values) else _or_null(found)


def _or_null(found: PreparedKernel) -> PreparedKernel:
    null = nulls(BOOLEAN)
    return lambda arguments, length: _OR_KLEENE.call([found(arguments, length), null])


def _by_set(values: pa.Array) -> PreparedKernel:
    is_in = pc.get_function("is_in")
    options = pc.SetLookupOptions(values, skip_nulls=True)
    if_else, is_valid = pc.get_function("if_else"), pc.get_function("is_valid")
    null = nulls(BOOLEAN)

    def run(arguments: tuple[Datum, ...], length: int) -> Datum:
        datum = arguments[0]
        found = is_in.call([datum], options)
        if is_scalar(datum):
            return found if datum.is_valid else null
        return if_else.call([is_valid.call([datum]), found, null]) if datum.null_count else found

    return run


def _by_comparisons(signature: Signature, constants: tuple[pa.Scalar, ...]) -> PreparedKernel:
    types = signature.argument_types[:1] * 2
    tests = [
        (known, prepare_comparison("equal", Signature(BOOLEAN, types, (None, known), signature.settings)))
        for known in constants
    ]

    def run(arguments: tuple[Datum, ...], length: int) -> Datum:
        datum = arguments[0]
        found: Datum | None = None
        for known, equal in tests:
            test = equal((datum, known), length)
            found = test if found is None else _OR.call([found, test])
        return nulls(BOOLEAN) if found is None else found

    return run


def _entry(operation: str, example: tuple[str, str]) -> ScalarFunction:
    return ScalarFunction(
        operation,
        (Kind.COMMON, Kind.COMMON),
        BOOLEAN,
        prepare=lambda signature: prepare_comparison(operation, signature),
        example=example,
    )


register(
    _entry("equal", ("1 = 2", "False")),
    _entry("not_equal", ("1 <> 2", "True")),
    _entry("less", ("1 < 2", "True")),
    _entry("less_equal", ("1 <= 2", "True")),
    _entry("greater", ("1 > 2", "False")),
    _entry("greater_equal", ("1 >= 2", "False")),
    ScalarFunction(
        "equal_null_safe",
        (Kind.COMMON, Kind.COMMON),
        BOOLEAN,
        prepare=_equal_null_safe,
        null_propagating=False,
        example=("NULL <=> NULL", "True"),
    ),
    ScalarFunction(
        "in",
        (Kind.COMMON, Kind.COMMON),
        BOOLEAN,
        prepare=_in,
        optional=0,
        variadic=True,
        null_propagating=False,
        example=("2 IN (1, 2, NULL)", "True"),
    ),
)
