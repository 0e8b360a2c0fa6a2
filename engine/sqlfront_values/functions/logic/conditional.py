"""Three-valued logic, null tests, and functions that choose among their operands.

``and``, ``or``, coalesce, if and nvl2 are here as kernels over evaluated operands; where an operand may
fail the evaluator computes it only for the rows that need it (:mod:`sqlfront_values.evaluate.lazy`).
"""

from typing import Final

import pyarrow as pa

from sqlfront_values.arrow import kernels as pc
from sqlfront_values.arrow.arrays import scalar
from sqlfront_values.arrow.forms import (
    FALSE,
    TRUE,
    Datum,
    constant,
    from_scaled,
    full_array,
    holds_void,
    is_scalar,
    nulls,
    scaled,
    select,
)
from sqlfront_values.errors import spark_error
from sqlfront_values.functions.logic.comparison import prepare_comparison
from sqlfront_values.functions.registry import (
    Invocation,
    Kind,
    PreparedKernel,
    ScalarFunction,
    Signature,
    register,
)
from sqlfront_values.types import BOOLEAN, MAX_SHORT_PRECISION, STRING, VOID, ddl, is_decimal

_AND: Final = pc.get_function("and_kleene")
_OR: Final = pc.get_function("or_kleene")
_INVERT: Final = pc.get_function("invert")
_COALESCE: Final = pc.get_function("coalesce")
_IS_NULL: Final = pc.get_function("is_null")
_IS_VALID: Final = pc.get_function("is_valid")


def choose(mask: Datum, if_true: Datum, if_false: Datum, data_type: pa.DataType, length: int) -> Datum:
    """Return ``if_true`` where the mask is true, ``if_false`` where the mask is false or null: one of the two
    unchanged if the mask is a scalar, else an array of ``data_type``."""
    if is_scalar(mask):
        return if_true if mask.as_py() else if_false
    return select(mask, if_true, if_false, data_type)


def _coalesce(signature: Signature) -> PreparedKernel:
    data_type = signature.type
    if is_decimal(data_type) and data_type.precision <= MAX_SHORT_PRECISION:
        return lambda arguments, length: from_scaled(_first_valid(tuple(map(scaled, arguments))), data_type)
    return lambda arguments, length: _first_valid(arguments)


def _first_valid(arguments: tuple[Datum, ...]) -> Datum:
    first = arguments[0]
    if len(arguments) == 1 or (first.is_valid if is_scalar(first) else first.null_count == 0):
        return first
    if all(map(is_scalar, arguments)):
        return next((argument for argument in arguments if argument.is_valid), first)
    if holds_void(first.type):
        *others, result = arguments
        for argument in reversed(others):
            result = _present(argument, result)
        return result
    return _COALESCE.call(list(arguments))


def _present(value: Datum, otherwise: Datum) -> Datum:
    """Return the value, or ``otherwise`` where the value is null."""
    if is_scalar(value):
        return value if value.is_valid else otherwise
    return select(_IS_VALID.call([value]), value, otherwise, value.type)


def _if(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    mask, if_true, if_false = arguments
    return choose(mask, if_true, if_false, invocation.type, invocation.length)


def _nvl2(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    tested, present, absent = arguments
    return choose(_IS_VALID.call([tested]), present, absent, invocation.type, invocation.length)


def _nullif(signature: Signature) -> PreparedKernel:
    equal = prepare_comparison("equal", signature)
    null, result = nulls(signature.type), signature.type

    def run(arguments: tuple[Datum, ...], length: int) -> Datum:
        return choose(equal(arguments, length), null, arguments[0], result, length)

    return run


def _zeroifnull(signature: Signature) -> PreparedKernel:
    coalesce = _coalesce(signature)
    zero = constant(0, signature.type)
    return lambda arguments, length: coalesce((arguments[0], zero), length)


def _nullifzero(signature: Signature) -> PreparedKernel:
    zero = constant(0, signature.argument_types[0])
    twice = Signature(
        signature.type, signature.argument_types * 2, (signature.constants[0], zero), signature.settings
    )
    nullif = _nullif(twice)
    return lambda arguments, length: nullif((arguments[0], zero), length)


def _typeof(signature: Signature) -> PreparedKernel:
    name = scalar(ddl(signature.argument_types[0]), STRING)
    return lambda arguments, length: name


def _assert_true(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    """Return void for each row. Raises USER_RAISED_EXCEPTION with the message of the first row whose
    condition is not true."""
    condition = full_array(arguments[0], invocation.length)
    failing = _INVERT.call([_COALESCE.call([condition, FALSE])])
    if failing.true_count:
        message = arguments[1] if len(arguments) > 1 else _NOT_TRUE
        raise _raised(message, pc.call_function("index", [failing], pc.IndexOptions(TRUE)).as_py())
    return nulls(VOID)


_NOT_TRUE: Final = scalar("The condition is not true!", STRING)


def _raise_error(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    if invocation.length:
        raise _raised(arguments[0], 0)
    return nulls(VOID)


def _too_many_rows(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    """Raise SCALAR_SUBQUERY_TOO_MANY_ROWS, the error of a scalar subquery with several rows for one outer
    row; if there are no rows, return void."""
    if invocation.length:
        raise spark_error(
            "SCALAR_SUBQUERY_TOO_MANY_ROWS", "More than one row returned by a subquery used as an expression."
        )
    return nulls(VOID)


def _null_in_required(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    """Raise NOT_NULL_ASSERT_VIOLATION, the error of a null in a column that is NOT NULL and whose name is the
    argument; if there are no rows, return void."""
    if invocation.length:
        name = arguments[0] if is_scalar(arguments[0]) else arguments[0][0]
        raise spark_error(
            "NOT_NULL_ASSERT_VIOLATION", f"NULL value appeared in non-nullable field: {name.as_py()}."
        )
    return nulls(VOID)


def _raised(message: Datum, row: int) -> Exception:
    text = (message if is_scalar(message) else message[row]).as_py()
    return spark_error("USER_RAISED_EXCEPTION", "null" if text is None else text)


def _logic(name: str, kernel: pc.Function, example: tuple[str, str]) -> ScalarFunction:
    return ScalarFunction(
        name,
        (BOOLEAN, BOOLEAN),
        BOOLEAN,
        prepare=lambda signature: lambda arguments, length: kernel.call(arguments),
        null_propagating=False,
        example=example,
    )


def _null_test(name: str, kernel: pc.Function, example: tuple[str, str]) -> ScalarFunction:
    return ScalarFunction(
        name,
        (Kind.ANY,),
        BOOLEAN,
        prepare=lambda signature: lambda arguments, length: kernel.call(arguments),
        null_propagating=False,
        example=example,
    )


def _first_common(types: tuple[pa.DataType, ...]) -> pa.DataType:
    return types[0]


def _choice(
    name: str, arguments: tuple[Kind | pa.DataType, ...], example: tuple[str, str], *, variadic: bool = False
) -> ScalarFunction:
    return ScalarFunction(
        name,
        arguments,
        _first_common,
        prepare=_coalesce,
        variadic=variadic,
        null_propagating=False,
        example=example,
    )


register(
    _logic("and", _AND, ("true AND NULL", "None")),
    _logic("or", _OR, ("true OR NULL", "True")),
    ScalarFunction(
        "not",
        (BOOLEAN,),
        BOOLEAN,
        prepare=lambda signature: lambda arguments, length: _INVERT.call(arguments),
        example=("NOT true", "False"),
    ),
    _null_test("is_null", _IS_NULL, ("1 IS NULL", "False")),
    _null_test("is_not_null", _IS_VALID, ("1 IS NOT NULL", "True")),
    _null_test("isnull", _IS_NULL, ("isnull(1)", "False")),
    _null_test("isnotnull", _IS_VALID, ("isnotnull(1)", "True")),
    _choice("coalesce", (Kind.COMMON,), ("coalesce(NULL, 2, 3)", "2"), variadic=True),
    _choice("nvl", (Kind.COMMON, Kind.COMMON), ("nvl(NULL, 2)", "2")),
    _choice("ifnull", (Kind.COMMON, Kind.COMMON), ("ifnull(NULL, 2)", "2")),
    *(
        ScalarFunction(
            name,
            (BOOLEAN, Kind.COMMON, Kind.COMMON),
            lambda types: types[1],
            _if,
            null_propagating=False,
            example=(f"{name}(1 < 2, 'a', 'b')", "'a'"),
        )
        for name in ("if",)
    ),
    ScalarFunction(
        "nvl2",
        (Kind.ANY, Kind.COMMON, Kind.COMMON),
        lambda types: types[1],
        _nvl2,
        null_propagating=False,
        example=("nvl2(NULL, 2, 1)", "1"),
    ),
    ScalarFunction(
        "nullif",
        (Kind.COMMON, Kind.COMMON),
        _first_common,
        prepare=_nullif,
        null_propagating=False,
        example=("nullif(2, 2)", "None"),
    ),
    *(
        ScalarFunction(
            name, (Kind.NUMERIC,), _first_common, prepare=kernel, null_propagating=False, example=example
        )
        for name, kernel, example in (
            ("zeroifnull", _zeroifnull, ("zeroifnull(NULL)", "0")),
            ("nullifzero", _nullifzero, ("nullifzero(0)", "None")),
        )
    ),
    ScalarFunction(
        "typeof",
        (Kind.ANY,),
        STRING,
        prepare=_typeof,
        null_propagating=False,
        example=("typeof(1)", "'int'"),
    ),
    ScalarFunction(
        "assert_true",
        (BOOLEAN, STRING),
        VOID,
        _assert_true,
        optional=1,
        null_propagating=False,
        can_fail=True,
        deterministic=False,
        example=("assert_true(0 < 1, 'never')", "None"),
    ),
    # Not for SQL, where no name has blanks: the planner puts this function into the branch of a CASE.
    ScalarFunction(
        "too many rows",
        (),
        VOID,
        _too_many_rows,
        null_propagating=False,
        can_fail=True,
        deterministic=False,
    ),
    ScalarFunction(
        "null in a required column",
        (STRING,),
        VOID,
        _null_in_required,
        null_propagating=False,
        can_fail=True,
        deterministic=False,
    ),
    ScalarFunction(
        "raise_error",
        (STRING,),
        VOID,
        _raise_error,
        null_propagating=False,
        can_fail=True,
        deterministic=False,
    ),
)
