"""Counts, sums and averages."""

from typing import Final

import pyarrow as pa

from sqlfront_values.functions.aggregates.accumulators.base import Accumulator
from sqlfront_values.functions.aggregates.accumulators.sums import (
    AverageDecimals,
    AverageDoubles,
    Count,
    CountIf,
    Overflow,
    SumDecimals,
    SumDoubles,
    SumIntegers,
    SumIntervals,
)
from sqlfront_values.functions.aggregates.aggregate_function import (
    AggregateFunction,
    AggregateSignature,
)
from sqlfront_values.functions.legacy import WRAPPING_SUM
from sqlfront_values.functions.registry import Kind
from sqlfront_values.types import (
    BIGINT,
    BOOLEAN,
    DAY_TIME_INTERVAL,
    DOUBLE,
    MAX_PRECISION,
    YEAR_MONTH_INTERVAL,
    decimal,
    is_decimal,
    is_integral,
    is_interval,
    is_year_month,
)


def sum_type(types: tuple[pa.DataType, ...]) -> pa.DataType:
    """Return the result type of ``sum`` for the argument's type: bigint for whole numbers, a decimal of ten
    more digits for decimals, the same type for intervals, else double."""
    argument = types[0]
    if is_interval(argument):
        return argument
    if is_integral(argument):
        return BIGINT
    if is_decimal(argument):
        return decimal(min(argument.precision + 10, MAX_PRECISION), argument.scale)
    return DOUBLE


def average_type(types: tuple[pa.DataType, ...]) -> pa.DataType:
    """Return the result type of ``avg`` for the argument's type: a decimal with four more digits after the
    point for decimals, year to month or day to second for intervals, else double."""
    argument = types[0]
    if is_interval(argument):
        return YEAR_MONTH_INTERVAL if is_year_month(argument) else DAY_TIME_INTERVAL
    if is_decimal(argument):
        return decimal(min(argument.precision + 4, MAX_PRECISION), min(argument.scale + 4, MAX_PRECISION))
    return DOUBLE


def _sum(signature: AggregateSignature, *, tolerant: bool = False) -> Accumulator:
    argument = signature.argument_types[0]
    overflow = Overflow.GIVES_NULL if tolerant else Overflow.RAISES
    if is_integral(argument):
        return SumIntegers(overflow=overflow)
    if is_decimal(argument):
        return SumDecimals(signature.type, overflow=overflow)
    if is_interval(argument):
        return SumIntervals(signature.type, tolerant=tolerant)
    return SumDoubles()


def average(signature: AggregateSignature, *, tolerant: bool = False) -> Accumulator:
    """Return the accumulator of ``avg``, or of ``try_avg`` if ``tolerant``."""
    argument = signature.argument_types[0]
    if is_decimal(argument):
        return AverageDecimals(signature.type, sum_type((argument,)), tolerant)
    if is_interval(argument):
        return SumIntervals(signature.type, average=True, tolerant=tolerant)
    return AverageDoubles()


FUNCTIONS: Final[tuple[AggregateFunction, ...]] = (
    AggregateFunction(
        "count",
        (Kind.ANY,),
        BIGINT,
        lambda _: Count(),
        optional=1,
        variadic=True,
        example=("SELECT count(*) FROM VALUES (1), (NULL) AS t(x)", "2"),
    ),
    AggregateFunction(
        "count_if",
        (BOOLEAN,),
        BIGINT,
        lambda _: CountIf(),
        example=("SELECT count_if(x > 1) FROM VALUES (1), (2), (NULL) AS t(x)", "1"),
    ),
    AggregateFunction(
        "sum",
        (Kind.NUMERIC_OR_INTERVAL,),
        sum_type,
        _sum,
        example=("SELECT sum(x) FROM VALUES (1), (2) AS t(x)", "3"),
    ),
    AggregateFunction(
        "try_sum",
        (Kind.NUMERIC_OR_INTERVAL,),
        sum_type,
        lambda signature: _sum(signature, tolerant=True),
        example=("SELECT try_sum(x) FROM VALUES (9223372036854775807), (1) AS t(x)", "None"),
    ),
    AggregateFunction(
        WRAPPING_SUM,
        (Kind.INTEGRAL,),
        BIGINT,
        lambda _: SumIntegers(overflow=Overflow.WRAPS),
        example=None,
    ),
    AggregateFunction(
        "avg",
        (Kind.NUMERIC_OR_INTERVAL,),
        average_type,
        average,
        example=("SELECT avg(x) FROM VALUES (1), (2) AS t(x)", "1.5"),
        aliases=("mean",),
    ),
    AggregateFunction(
        "try_avg",
        (Kind.NUMERIC_OR_INTERVAL,),
        average_type,
        lambda signature: average(signature, tolerant=True),
        example=("SELECT try_avg(x) FROM VALUES (1), (2) AS t(x)", "1.5"),
    ),
)
