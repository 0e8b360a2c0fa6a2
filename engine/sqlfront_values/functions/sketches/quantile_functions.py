"""Functions of KLL sketches: kll_sketch_get_quantile_bigint, kll_sketch_get_rank_double and others."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

import numpy as np
import pyarrow as pa

from sqlfront_values.errors import spark_error
from sqlfront_values.functions import growth
from sqlfront_values.functions.registry import Kind, ScalarFunction, register
from sqlfront_values.functions.rowwise import row_kernel
from sqlfront_values.functions.sketches.kll import KINDS, KllKind, invalid_buffer
from sqlfront_values.functions.sketches.kll_layout import KllContents, summary
from sqlfront_values.types import BIGINT, BINARY, DOUBLE, STRING

_SUMMARY: Final = 1024
_TITLES: Final = {"bigint": "Longs", "double": "Doubles", "float": "Floats"}


def _of_each(
    kind: KllKind,
    function: str,
    compute: Callable[[KllContents, float], object],
    buffer: bytes,
    wanted: float | Sequence[float],
) -> object:
    """Compute for one number, or for each of an array. Raises KLL_INVALID_INPUT_SKETCH_BUFFER for an empty
    sketch."""
    contents = kind.read(buffer, function)
    if contents.count == 0:
        raise invalid_buffer(function)
    if isinstance(wanted, int | float):
        return compute(contents, wanted)
    if None in wanted:
        raise spark_error(
            "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE",
            f'Cannot resolve "{function}" due to data type mismatch: The second parameter has nulls.',
        )
    return [compute(contents, each) for each in wanted]


def _quantile(function: str, contents: KllContents, rank: float) -> object:
    if rank < 0 or rank > 1:
        raise spark_error(
            "KLL_SKETCH_INVALID_QUANTILE_RANGE",
            f"For function `{function}`, the quantile value must be between 0.0 and 1.0 (inclusive).",
        )
    return contents.quantile(rank)


def _rank(function: str, contents: KllContents, value: float) -> float:
    if value != value:
        raise invalid_buffer(function)
    return contents.rank(value)


def _merged(kind: KllKind, function: str, left: bytes, right: bytes) -> bytes:
    first, second = (kind.load(buffer, function) for buffer in (left, right))
    first.merge(second)
    return kind.dump(first)


def _one_or_several(kind: pa.DataType) -> Callable[[tuple[pa.DataType, ...]], pa.DataType]:
    return lambda types: pa.list_(kind) if pa.types.is_list(types[1]) else kind


_ARGUMENTS: Final = {
    "bigint": Kind.BIGINT_OR_BIGINTS,
    "double": Kind.DOUBLE_OR_DOUBLES,
    "float": Kind.FLOAT_OR_FLOATS,
}


def _functions(kind: KllKind) -> tuple[ScalarFunction, ...]:
    n, quantile, rank, text, merge = (
        f"kll_sketch_{action}_{kind.suffix}"
        for action in ("get_n", "get_quantile", "get_rank", "to_string", "merge")
    )
    # A sketch of the number 1.
    example = f"X'02020F04C8000800{np.array([1], kind.items).tobytes().hex()}'"
    one = "1" if kind.suffix == "bigint" else "1.0"
    return (
        ScalarFunction(
            n,
            (BINARY,),
            BIGINT,
            row_kernel(lambda buffer: kind.read(buffer, n).count),
            can_fail=True,
            example=(f"{n}({example})", "1"),
        ),
        ScalarFunction(
            quantile,
            (BINARY, Kind.DOUBLE_OR_DOUBLES),
            _one_or_several(kind.type),
            row_kernel(partial(_of_each, kind, quantile, partial(_quantile, quantile))),
            can_fail=True,
            constants=(1,),
            example=(f"{quantile}({example}, 0.5D)", one),
        ),
        ScalarFunction(
            rank,
            (BINARY, _ARGUMENTS[kind.suffix]),
            _one_or_several(DOUBLE),
            row_kernel(partial(_of_each, kind, rank, partial(_rank, rank))),
            can_fail=True,
            constants=(1,),
            example=(f"{rank}({example}, 1)", "1.0"),
        ),
        ScalarFunction(
            text,
            (BINARY,),
            STRING,
            row_kernel(lambda buffer: summary(kind.read(buffer, text), _TITLES[kind.suffix])),
            can_fail=True,
            growth=growth.at_most(_SUMMARY),
            example=(f"length({text}({example})) > 500", "True"),
        ),
        ScalarFunction(
            merge,
            (BINARY, BINARY),
            BINARY,
            row_kernel(partial(_merged, kind, merge)),
            can_fail=True,
            example=(f"{n}({merge}({example}, {example}))", "2"),
        ),
    )


register(*(function for kind in KINDS for function in _functions(kind)))
