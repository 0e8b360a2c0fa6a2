"""Moments of one or two columns: variances, correlations, regressions."""

from functools import partial
from typing import Final

import pyarrow as pa

from sqlfront_values.functions.aggregates.accumulators import moments
from sqlfront_values.functions.aggregates.accumulators.base import Accumulator
from sqlfront_values.functions.aggregates.accumulators.moments import (
    Moments,
    OfWholeRows,
    PairMoments,
    RegressionIntercept,
)
from sqlfront_values.functions.aggregates.accumulators.sums import (
    Count,
)
from sqlfront_values.functions.aggregates.aggregate_function import (
    AggregateFunction,
    AggregateSignature,
)
from sqlfront_values.functions.aggregates.entries.sums import average, average_type
from sqlfront_values.functions.registry import Kind
from sqlfront_values.types import (
    BIGINT,
    DOUBLE,
)

_POINTS: Final = "VALUES (1, 2), (3, 6) AS t(x, y)"


def _moments_function(
    name: str, *aliases: str, order: int, formula: moments.Formula, example: float
) -> AggregateFunction:
    return AggregateFunction(
        name,
        (DOUBLE,),
        DOUBLE,
        lambda _: Moments(order, formula),
        example=(f"SELECT {name}(x) FROM VALUES (1), (2), (3), (10) AS t(x)", repr(example)),
        aliases=aliases,
    )


def _pair_function(name: str, formula: moments.PairFormula, example: float) -> AggregateFunction:
    return AggregateFunction(
        name,
        (DOUBLE, DOUBLE),
        DOUBLE,
        lambda _: PairMoments(formula),
        example=(f"SELECT {name}(x, y) FROM {_POINTS}", repr(example)),
    )


def _mean_type(types: tuple[pa.DataType, ...], *, place: int) -> pa.DataType:
    return average_type((types[place],))


def _paired_mean(signature: AggregateSignature, *, place: int) -> Accumulator:
    kind = signature.argument_types[place]
    return OfWholeRows(average(AggregateSignature((kind,), signature.type)), place)


FUNCTIONS: Final[tuple[AggregateFunction, ...]] = (
    _moments_function("var_pop", order=2, formula=moments.variance_population, example=12.5),
    _moments_function(
        "var_samp", "variance", order=2, formula=moments.variance_sample, example=16.666666666666668
    ),
    _moments_function(
        "stddev_pop", order=2, formula=moments.deviation_population, example=3.5355339059327378
    ),
    _moments_function(
        "stddev_samp", "stddev", "std", order=2, formula=moments.deviation_sample, example=4.08248290463863
    ),
    _moments_function("skewness", order=3, formula=moments.skewness, example=1.018233764908628),
    _moments_function("kurtosis", order=4, formula=moments.kurtosis, example=-0.7696),
    _pair_function("covar_pop", moments.covariance_population, 2.0),
    _pair_function("covar_samp", moments.covariance_sample, 4.0),
    _pair_function("corr", moments.correlation, 1.0),
    _pair_function("regr_slope", moments.regression_slope, 0.5),
    _pair_function("regr_r2", moments.regression_r2, 1.0),
    _pair_function("regr_sxx", moments.regression_sxx, 8.0),
    _pair_function("regr_sxy", moments.regression_sxy, 4.0),
    _pair_function("regr_syy", moments.regression_syy, 2.0),
    AggregateFunction(
        "regr_intercept",
        (DOUBLE, DOUBLE),
        DOUBLE,
        lambda _: RegressionIntercept(moments.regression_slope),
        example=(f"SELECT regr_intercept(x, y) FROM {_POINTS}", "0.0"),
    ),
    AggregateFunction(
        "regr_count",
        (Kind.NUMERIC, Kind.NUMERIC),
        BIGINT,
        lambda _: Count(),
        example=(f"SELECT regr_count(x, y) FROM {_POINTS}", "2"),
    ),
    *(
        AggregateFunction(
            name,
            (Kind.NUMERIC, Kind.NUMERIC),
            partial(_mean_type, place=place),
            partial(_paired_mean, place=place),
            example=(f"SELECT {name}(x, y) FROM {_POINTS}", example),
        )
        for name, place, example in (("regr_avgx", 1, "4.0"), ("regr_avgy", 0, "2.0"))
    ),
)
