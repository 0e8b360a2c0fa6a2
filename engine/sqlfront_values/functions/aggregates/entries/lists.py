"""Aggregates that keep all of their values: lists, percentiles, modes, joined texts."""

from decimal import Decimal
from functools import partial
from typing import Final

import pyarrow as pa

from sqlfront_values.errors import spark_error
from sqlfront_values.expressions import SortOrder
from sqlfront_values.functions.aggregates.accumulators.base import Accumulator
from sqlfront_values.functions.aggregates.accumulators.lists import (
    ApproximatePercentile,
    CollectedValues,
    DelimitedText,
    Percentile,
    most_frequent,
)
from sqlfront_values.functions.aggregates.accumulators.ordered import (
    CollectedRows,
    MostFrequent,
    OrderedText,
    WeightedPercentile,
)
from sqlfront_values.functions.aggregates.aggregate_function import (
    AggregateFunction,
    AggregateSignature,
)
from sqlfront_values.functions.registry import Kind
from sqlfront_values.types import (
    BIGINT,
    BOOLEAN,
    DAY_TIME_INTERVAL,
    DOUBLE,
    STRING,
    YEAR_MONTH_INTERVAL,
    is_interval,
    is_time,
    is_year_month,
)


def _same_type(types: tuple[pa.DataType, ...]) -> pa.DataType:
    return types[0]


def _array_type(types: tuple[pa.DataType, ...]) -> pa.DataType:
    return pa.list_(types[0])


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
    """Return the type of a median or percentile of doubles, intervals or times: intervals of all their
    units."""
    if is_time(kind):
        return kind
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


FUNCTIONS: Final[tuple[AggregateFunction, ...]] = (
    _list_function("collect_list", "array_agg"),
    _list_function("collect_set", unique=True),
    AggregateFunction(
        "median",
        (Kind.DOUBLE_INTERVAL_OR_TIME,),
        lambda types: interpolated_type(types[0]),
        lambda signature: CollectedValues(
            signature.argument_types[0], result=Percentile((0.5,), type=signature.type)
        ),
        example=("SELECT median(x) FROM VALUES (1), (2), (10) AS t(x)", "2.0"),
    ),
    AggregateFunction(
        "percentile",
        (Kind.DOUBLE_INTERVAL_OR_TIME, Kind.ANY, Kind.INTEGRAL),
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
            (Kind.DOUBLE_INTERVAL_OR_TIME, Kind.ANY, BOOLEAN),
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
