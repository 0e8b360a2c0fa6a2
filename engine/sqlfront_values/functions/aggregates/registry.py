"""The registry of aggregate functions: their argument types, result types, and accumulators.

:mod:`.aggregate_function` is the contract of an entry, :mod:`.accumulators` computes.
"""

from decimal import Decimal
from functools import partial
from typing import Final

import numpy as np
import pyarrow as pa
from msgspec.structs import replace

from sqlfront_values.errors import InternalError, NotSupportedError, spark_error
from sqlfront_values.expressions import SortOrder
from sqlfront_values.functions.aggregates.accumulators import moments
from sqlfront_values.functions.aggregates.accumulators.base import Accumulator
from sqlfront_values.functions.aggregates.accumulators.bitmaps import CombinedBitmap, ConstructedBitmap
from sqlfront_values.functions.aggregates.accumulators.extremes import Bits, Extreme, ExtremeBy, FirstOrLast
from sqlfront_values.functions.aggregates.accumulators.hyperloglog import (
    DEFAULT_DEVIATION,
    LEAST_PRECISE,
    MOST_PRECISE,
    DistinctEstimate,
    precision_of,
)
from sqlfront_values.functions.aggregates.accumulators.lists import (
    ApproximatePercentile,
    CollectedValues,
    DelimitedText,
    Percentile,
    most_frequent,
)
from sqlfront_values.functions.aggregates.accumulators.moments import (
    Moments,
    OfWholeRows,
    PairMoments,
    RegressionIntercept,
)
from sqlfront_values.functions.aggregates.accumulators.ordered import (
    BestRows,
    CollectedRows,
    MostFrequent,
    OrderedText,
    WeightedPercentile,
)
from sqlfront_values.functions.aggregates.accumulators.sums import (
    AverageDecimals,
    AverageDoubles,
    Count,
    CountIf,
    SumDecimals,
    SumDoubles,
    SumIntegers,
    SumIntervals,
)
from sqlfront_values.functions.aggregates.aggregate_function import (
    AggregateFunction,
    AggregateSignature,
)
from sqlfront_values.functions.registry import Kind
from sqlfront_values.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DAY_TIME_INTERVAL,
    DOUBLE,
    INT,
    MAX_PRECISION,
    STRING,
    YEAR_MONTH_INTERVAL,
    decimal,
    is_decimal,
    is_integral,
    is_interval,
    is_year_month,
)

_AGGREGATES: Final[dict[str, AggregateFunction]] = {}


def lookup_aggregate(name: str) -> AggregateFunction | None:
    """Return the entry of the aggregate function ``name`` (Spark's name in lower case); None if there is no
    such function."""
    return _AGGREGATES.get(name)


def aggregate_names() -> tuple[str, ...]:
    """Return the names and aliases of all registered aggregate functions, sorted."""
    return tuple(sorted(_AGGREGATES))


def _register(*functions: AggregateFunction) -> None:
    """Add the entries under their names and aliases; result-column names show the name that the call uses."""
    for function in functions:
        for name in (function.name, *function.aliases):
            if name in _AGGREGATES:
                raise InternalError(f"aggregate {name} is registered twice")
            _AGGREGATES[name] = replace(function, name=name)


def _same_type(types: tuple[pa.DataType, ...]) -> pa.DataType:
    return types[0]


def _array_type(types: tuple[pa.DataType, ...]) -> pa.DataType:
    return pa.list_(types[0])


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


# ---- count, sum, avg


def _sum(signature: AggregateSignature, *, tolerant: bool = False) -> Accumulator:
    argument = signature.argument_types[0]
    if is_integral(argument):
        return SumIntegers(tolerant=tolerant)
    if is_decimal(argument):
        return SumDecimals(signature.type, tolerant=tolerant)
    if is_interval(argument):
        return SumIntervals(signature.type, tolerant=tolerant)
    return SumDoubles()


def _average(signature: AggregateSignature, *, tolerant: bool = False) -> Accumulator:
    argument = signature.argument_types[0]
    if is_decimal(argument):
        return AverageDecimals(signature.type, sum_type((argument,)), tolerant)
    if is_interval(argument):
        return SumIntervals(signature.type, average=True, tolerant=tolerant)
    return AverageDoubles()


_register(
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
        "avg",
        (Kind.NUMERIC_OR_INTERVAL,),
        average_type,
        _average,
        example=("SELECT avg(x) FROM VALUES (1), (2) AS t(x)", "1.5"),
        aliases=("mean",),
    ),
    AggregateFunction(
        "try_avg",
        (Kind.NUMERIC_OR_INTERVAL,),
        average_type,
        lambda signature: _average(signature, tolerant=True),
        example=("SELECT try_avg(x) FROM VALUES (1), (2) AS t(x)", "1.5"),
    ),
)

# ---- one of the values


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


_register(
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

# ---- statistics

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
    return OfWholeRows(_average(AggregateSignature((kind,), signature.type)), place)


_register(
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

# ---- all of the values


def _list_function(name: str, *aliases: str, unique: bool = False) -> AggregateFunction:
    return AggregateFunction(
        name,
        (Kind.ANY, BOOLEAN),
        _array_type,
        lambda signature: CollectedValues(
            signature.argument_types[0], unique, nulls=signature.constants[:1] == (True,)
        ),
        optional=1,
        constants=(1,),
        written=1,
        distinct_matters=not unique,
        display=name,
        example=(f"SELECT {name}(x) FROM VALUES (1), (NULL) AS t(x)", "[1]"),
        aliases=aliases,
    )


def _fractions(signature: AggregateSignature) -> tuple[tuple[float, ...], bool]:
    """Return the requested percentages, and whether the call gives them as an array. Raises
    DATATYPE_MISMATCH.VALUE_OUT_OF_RANGE for a percentage that is not a number between 0 and 1."""
    constant = signature.constants[0]
    several = isinstance(constant, list | tuple)
    chosen = constant if isinstance(constant, list | tuple) else [constant]
    if None in chosen:
        raise spark_error(
            "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE", "The percentages must be numbers, but one is null."
        )
    fractions = tuple(float(item) for item in chosen if isinstance(item, int | float | Decimal))
    if len(fractions) < len(chosen) or not all(0.0 <= fraction <= 1.0 for fraction in fractions):
        raise spark_error(
            "DATATYPE_MISMATCH.VALUE_OUT_OF_RANGE",
            f"The percentage must be between 0.0 and 1.0, not {constant}.",
        )
    return fractions, several


def _percentile(signature: AggregateSignature) -> Accumulator:
    kind = signature.argument_types[0]
    percentile = Percentile(*_fractions(signature), type=interpolated_type(kind))
    if len(signature.argument_types) > 2:
        return CollectedRows((kind, signature.argument_types[2]), WeightedPercentile(percentile))
    return CollectedValues(kind, result=percentile)


def _ordered_percentile(signature: AggregateSignature, *, discrete: bool) -> Accumulator:
    kind, descending = signature.argument_types[0], signature.constants[1]
    result = Percentile(*_fractions(signature), discrete, descending is True, interpolated_type(kind))
    return CollectedValues(kind, result=result)


def interpolated_type(kind: pa.DataType) -> pa.DataType:
    """Return the type of a median or percentile of doubles or intervals: intervals of all their units."""
    if is_interval(kind):
        return YEAR_MONTH_INTERVAL if is_year_month(kind) else DAY_TIME_INTERVAL
    return DOUBLE


def _approximate_percentile(signature: AggregateSignature) -> Accumulator:
    accuracy = signature.constants[1] if len(signature.constants) > 1 else None
    if isinstance(accuracy, int) and accuracy <= 0:
        raise spark_error(
            "DATATYPE_MISMATCH.VALUE_OUT_OF_RANGE",
            f"The accuracy must be between 1 and 2147483647, not {accuracy}.",
        )
    return CollectedValues(signature.argument_types[0], result=ApproximatePercentile(*_fractions(signature)))


def _percentile_type(value_type: pa.DataType, percentage_type: pa.DataType) -> pa.DataType:
    return pa.list_(value_type) if pa.types.is_list(percentage_type) else value_type


def _mode(signature: AggregateSignature) -> Accumulator:
    kind = signature.argument_types[0]
    if not (signature.constants and signature.constants[0]):
        return CollectedValues(kind, result=most_frequent)
    return CollectedRows((kind,), MostFrequent(greatest=signature.constants[1:] == (True,)))


def _joined(signature: AggregateSignature) -> Accumulator:
    kind = signature.argument_types[0]
    empty: str | bytes = b"" if pa.types.is_binary(kind) else ""
    delimiter = signature.constants[0] if signature.constants else None
    assert delimiter is None or isinstance(delimiter, str | bytes)
    text = DelimitedText(empty if delimiter is None else delimiter, kind)
    if len(signature.argument_types) < 4:
        return CollectedValues(kind, result=text)
    orders = tuple(map(SortOrder, str(signature.constants[1]).split(", ")))
    return CollectedRows((kind, *signature.argument_types[3:]), OrderedText(text, orders))


_register(
    _list_function("collect_list", "array_agg"),
    _list_function("collect_set", unique=True),
    AggregateFunction(
        "median",
        (Kind.DOUBLE_OR_INTERVAL,),
        lambda types: interpolated_type(types[0]),
        lambda signature: CollectedValues(
            signature.argument_types[0], result=Percentile((0.5,), type=signature.type)
        ),
        example=("SELECT median(x) FROM VALUES (1), (2), (10) AS t(x)", "2.0"),
    ),
    AggregateFunction(
        "percentile",
        (Kind.DOUBLE_OR_INTERVAL, Kind.ANY, Kind.INTEGRAL),
        lambda types: _percentile_type(interpolated_type(types[0]), types[1]),
        _percentile,
        optional=1,
        constants=(1,),
        shown_defaults=("1",),
        example=("SELECT percentile(x, 0.25D) FROM VALUES (0), (10) AS t(x)", "2.5"),
    ),
    *(
        AggregateFunction(
            name,
            (Kind.DOUBLE_OR_INTERVAL, Kind.ANY, BOOLEAN),
            lambda types: _percentile_type(interpolated_type(types[0]), types[1]),
            partial(_ordered_percentile, discrete=discrete),
            constants=(1, 2),
            written=1,
            example=(
                f"SELECT {name}(0.25D) WITHIN GROUP (ORDER BY x) FROM VALUES (0), (10) AS t(x)",
                example,
            ),
        )
        for name, discrete, example in (("percentile_cont", False, "2.5"), ("percentile_disc", True, "0.0"))
    ),
    AggregateFunction(
        "percentile_approx",
        (Kind.ORDINAL, Kind.ANY, BIGINT),
        lambda types: _percentile_type(types[0], types[1]),
        _approximate_percentile,
        optional=1,
        constants=(1, 2),
        shown_defaults=("10000",),
        example=("SELECT percentile_approx(x, 0.5D) FROM VALUES (1), (2), (3) AS t(x)", "2"),
        aliases=("approx_percentile",),
    ),
    AggregateFunction(
        "mode",
        (Kind.ANY, BOOLEAN, BOOLEAN),
        _same_type,
        _mode,
        optional=2,
        constants=(1, 2),
        written=2,
        example=("SELECT mode(x) FROM VALUES (1), (2), (2) AS t(x)", "2"),
    ),
    AggregateFunction(
        "listagg",
        (Kind.STRING_OR_BINARY, Kind.STRING_OR_BINARY, STRING, Kind.ANY),
        _same_type,
        _joined,
        optional=3,
        variadic=True,
        constants=(1, 2),
        written=2,
        shown_defaults=("NULL",),
        example=("SELECT listagg(x, ',') FROM VALUES ('a'), ('b') AS t(x)", "'a,b'"),
        aliases=("string_agg",),
    ),
)

# ---- bitmaps


def _combined_bitmap(_: AggregateSignature, *, operation: np.ufunc) -> Accumulator:
    return CombinedBitmap(operation)


_register(
    AggregateFunction(
        "bitmap_construct_agg",
        (BIGINT,),
        BINARY,
        lambda _: ConstructedBitmap(np.bitwise_or),
        distinct_matters=False,
        example=("SELECT bitmap_count(bitmap_construct_agg(x)) FROM VALUES (1), (1), (9) AS t(x)", "2"),
    ),
    *(
        AggregateFunction(
            name,
            (BINARY,),
            BINARY,
            partial(_combined_bitmap, operation=operation),
            distinct_matters=False,
            example=(f"SELECT bitmap_count({name}(x)) FROM VALUES (X'03'), (X'06') AS t(x)", example),
        )
        for name, operation, example in (
            ("bitmap_or_agg", np.bitwise_or, "3"),
            ("bitmap_and_agg", np.bitwise_and, "1"),
        )
    ),
)

# ---- estimates


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


_register(
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
    )
)
