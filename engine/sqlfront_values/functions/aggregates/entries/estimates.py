"""Estimates of the number of different values."""

from decimal import Decimal
from typing import Final

from sqlfront_values.errors import NotSupportedError, spark_error
from sqlfront_values.functions.aggregates.accumulators.base import Accumulator
from sqlfront_values.functions.aggregates.accumulators.hyperloglog import (
    DEFAULT_DEVIATION,
    LEAST_PRECISE,
    MOST_PRECISE,
    DistinctEstimate,
    precision_of,
)
from sqlfront_values.functions.aggregates.aggregate_function import (
    AggregateFunction,
    AggregateSignature,
)
from sqlfront_values.functions.registry import Kind
from sqlfront_values.types import (
    BIGINT,
)


def _distinct_estimate(signature: AggregateSignature) -> Accumulator:
    deviation = signature.constants[0] if signature.constants else DEFAULT_DEVIATION
    assert isinstance(deviation, int | float | Decimal)
    precision = precision_of(float(deviation))
    if precision < LEAST_PRECISE:
        raise spark_error(
            "FAILED_FUNCTION_CALL",
            "Failed preparing of the function `approx_count_distinct` for call. Please, double check "
            "function's arguments.",
        )
    if precision > MOST_PRECISE:
        raise NotSupportedError(f"approx_count_distinct with a deviation of {deviation} is not supported")
    return DistinctEstimate(precision)


FUNCTIONS: Final[tuple[AggregateFunction, ...]] = (
    AggregateFunction(
        "approx_count_distinct",
        (Kind.ANY, Kind.ANY),
        BIGINT,
        _distinct_estimate,
        optional=1,
        constants=(1,),
        hidden=(1,),
        distinct_matters=False,
        example=("SELECT approx_count_distinct(x) FROM VALUES (1), (1), (2), (NULL) AS t(x)", "2"),
    ),
)
