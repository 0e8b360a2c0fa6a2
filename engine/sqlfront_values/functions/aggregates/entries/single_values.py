"""Aggregates that return one of their values, or a combination of all with bits or booleans."""

from functools import partial
from typing import Final

import numpy as np
import pyarrow as pa

from sqlfront_values.errors import spark_error
from sqlfront_values.functions.aggregates.accumulators.base import Accumulator
from sqlfront_values.functions.aggregates.accumulators.extremes import Bits, Extreme, ExtremeBy, FirstOrLast
from sqlfront_values.functions.aggregates.accumulators.ordered import (
    BestRows,
)
from sqlfront_values.functions.aggregates.aggregate_function import (
    AggregateFunction,
    AggregateSignature,
)
from sqlfront_values.functions.registry import Kind
from sqlfront_values.types import (
    BOOLEAN,
    INT,
)


def _same_type(types: tuple[pa.DataType, ...]) -> pa.DataType:
    return types[0]


#: The most values that max_by and min_by return.
_MOST_BEST: Final = 100_000
_PAIRS: Final = "VALUES (1, 'a'), (3, 'b') AS t(x, y)"


def _extreme_function(name: str, *, greatest: bool) -> AggregateFunction:
    return AggregateFunction(
        name,
        (Kind.ANY,),
        _same_type,
        lambda signature: Extreme(signature.type, greatest),
        distinct_matters=False,
        example=(f"SELECT {name}(x) FROM {_PAIRS}", "3" if greatest else "1"),
    )


def _best_by(signature: AggregateSignature, *, greatest: bool) -> Accumulator:
    types = (signature.argument_types[0], signature.argument_types[1])
    if not signature.constants:
        return ExtremeBy(types, greatest)
    count = signature.constants[0] or 0
    if not isinstance(count, int) or not 1 <= count <= _MOST_BEST:
        raise spark_error(
            "DATATYPE_MISMATCH.VALUE_OUT_OF_RANGE",
            f"The `k` must be between [1, {_MOST_BEST}] (current value = {count}).",
        )
    return BestRows(types, greatest, count)


def _extreme_by_function(name: str, *, greatest: bool) -> AggregateFunction:
    return AggregateFunction(
        name,
        (Kind.ANY, Kind.ANY, INT),
        lambda types: pa.list_(types[0]) if len(types) > 2 else types[0],
        partial(_best_by, greatest=greatest),
        optional=1,
        constants=(2,),
        example=(f"SELECT {name}(y, x) FROM {_PAIRS}", "'b'" if greatest else "'a'"),
    )


def _edge_function(name: str, *aliases: str, last: bool) -> AggregateFunction:
    return AggregateFunction(
        name,
        (Kind.ANY, BOOLEAN),
        _same_type,
        lambda signature: FirstOrLast(
            signature.type, last, bool(signature.constants and signature.constants[0])
        ),
        optional=1,
        constants=(1,),
        hidden=(1,),
        distinct_matters=False,
        example=(f"SELECT {name}(x, true) FROM VALUES (NULL), (1), (NULL) AS t(x)", "1"),
        aliases=aliases,
    )


def _boolean_function(name: str, *aliases: str, greatest: bool) -> AggregateFunction:
    return AggregateFunction(
        name,
        (BOOLEAN,),
        BOOLEAN,
        lambda _: Extreme(BOOLEAN, greatest),
        distinct_matters=False,
        example=(f"SELECT {name}(x) FROM VALUES (true), (false), (NULL) AS t(x)", repr(greatest)),
        aliases=aliases,
    )


def _bits_function(name: str, operation: np.ufunc, example: int) -> AggregateFunction:
    return AggregateFunction(
        name,
        (Kind.INTEGRAL,),
        _same_type,
        lambda signature: Bits(signature.type, operation),
        distinct_matters=name == "bit_xor",
        example=(f"SELECT {name}(x) FROM VALUES (3), (5) AS t(x)", str(example)),
    )


FUNCTIONS: Final[tuple[AggregateFunction, ...]] = (
    _extreme_function("min", greatest=False),
    _extreme_function("max", greatest=True),
    _extreme_by_function("min_by", greatest=False),
    _extreme_by_function("max_by", greatest=True),
    _edge_function("first", "first_value", "any_value", last=False),
    _edge_function("last", "last_value", last=True),
    _boolean_function("bool_and", "every", greatest=False),
    _boolean_function("bool_or", "any", "some", greatest=True),
    _bits_function("bit_and", np.bitwise_and, 1),
    _bits_function("bit_or", np.bitwise_or, 7),
    _bits_function("bit_xor", np.bitwise_xor, 6),
)
