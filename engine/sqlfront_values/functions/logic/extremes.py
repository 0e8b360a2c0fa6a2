"""greatest and least: the largest and smallest of several values, nulls left out."""

from collections.abc import Callable

import pyarrow as pa

from sqlfront_values.arrow import kernels as pc
from sqlfront_values.arrow.forms import Datum, full_array, is_scalar, scaled, select
from sqlfront_values.functions.logic.comparison import prepare_comparison
from sqlfront_values.functions.registry import Kind, PreparedKernel, ScalarFunction, Signature, register
from sqlfront_values.types import (
    BOOLEAN,
    MAX_SHORT_PRECISION,
    TIMESTAMP_NTZ,
    is_decimal,
    is_integral,
    physical,
)


def _extreme(comparison: str, kernel_name: str) -> Callable[[Signature], PreparedKernel]:
    kernel = pc.get_function(kernel_name)

    def prepare(signature: Signature) -> PreparedKernel:
        data_type = signature.type
        if is_integral(data_type) or pa.types.is_date(data_type) or data_type == TIMESTAMP_NTZ:
            return lambda arguments, length: kernel.call(list(arguments))
        if is_decimal(data_type) and data_type.precision <= MAX_SHORT_PRECISION:
            return lambda arguments, length: _of_decimals(kernel, arguments, data_type)
        better = prepare_comparison(
            comparison, Signature(BOOLEAN, (data_type, data_type), (None, None), signature.settings)
        )

        def run(arguments: tuple[Datum, ...], length: int) -> Datum:
            best = full_array(arguments[0], length)
            for candidate in arguments[1:]:
                candidate = full_array(candidate, length)
                wins = _or_absent(better((candidate, best), length), best, candidate)
                best = select(wins, candidate, best, data_type)
            return best

        return run

    return prepare


def _of_decimals(kernel: pc.Function, arguments: tuple[Datum, ...], data_type: pa.DataType) -> Datum:
    values = kernel.call([scaled(argument) for argument in arguments])
    if is_scalar(values):
        return pa.repeat(values, 1).view(physical(data_type))[0]
    return values.view(physical(data_type))


def _or_absent(wins: Datum, best: pa.Array, candidate: pa.Array) -> pa.Array:
    """Return a mask of the rows in which ``candidate`` replaces ``best``: where ``wins`` is true, and where
    only ``best`` is null."""
    if best.null_count == 0 or pa.types.is_null(best.type):
        return full_array(wins, len(best))
    absent = pc.get_function("and").call(
        [pc.get_function("is_null").call([best]), pc.get_function("is_valid").call([candidate])]
    )
    return pc.get_function("or_kleene").call([wins, absent])


def _first(types: tuple[pa.DataType, ...]) -> pa.DataType:
    return types[0]


register(
    *(
        ScalarFunction(
            name,
            (Kind.COMMON, Kind.COMMON),
            _first,
            prepare=_extreme(comparison, kernel),
            variadic=True,
            null_propagating=False,
            exact=(0, 1),
            example=(f"{name}(10, 9, 2, 4, 3)", value),
        )
        for name, comparison, kernel, value in (
            ("greatest", "greater", "max_element_wise", "10"),
            ("least", "less", "min_element_wise", "2"),
        )
    )
)
