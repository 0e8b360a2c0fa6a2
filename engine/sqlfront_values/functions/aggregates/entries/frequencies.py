"""Aggregates of how often values occur: histograms and sketches of counts."""

from typing import Final

import pyarrow as pa

from sqlfront_values.functions.aggregates.accumulators.base import Accumulator
from sqlfront_values.functions.aggregates.accumulators.count_min import CountMinSketch
from sqlfront_values.functions.aggregates.accumulators.histograms import (
    HistogramFamily,
    Histograms,
    histogram_type,
)
from sqlfront_values.functions.aggregates.aggregate_function import AggregateFunction, AggregateSignature
from sqlfront_values.functions.registry import Kind
from sqlfront_values.types import BIGINT, BINARY, DOUBLE, INT, SMALLINT, STRING, TINYINT


def _result(types: tuple[pa.DataType, ...]) -> pa.DataType:
    return histogram_type(types[0])


def _histogram(signature: AggregateSignature) -> Accumulator:
    bins = signature.constants[0]
    assert isinstance(bins, int)
    return Histograms(HistogramFamily(bins), DOUBLE, centre=signature.argument_types[0])


def _count_min(signature: AggregateSignature) -> Accumulator:
    error, confidence, seed = signature.constants
    assert isinstance(error, float)
    assert isinstance(confidence, float)
    assert isinstance(seed, int)
    return CountMinSketch.of(error, confidence, seed)


FUNCTIONS: Final[tuple[AggregateFunction, ...]] = (
    AggregateFunction(
        "histogram_numeric",
        (Kind.ANY, INT),
        _result,
        _histogram,
        constants=(1,),
        example=(
            "SELECT histogram_numeric(x, 2)[0].y FROM VALUES (1), (2), (9) AS t(x)",
            "2.0",
        ),
    ),
    AggregateFunction(
        "count_min_sketch",
        (Kind.ANY, DOUBLE, DOUBLE, BIGINT),
        BINARY,
        _count_min,
        constants=(1, 2, 3),
        allowed=((TINYINT, SMALLINT, INT, BIGINT, STRING, BINARY), (DOUBLE,), (DOUBLE,), (INT, BIGINT)),
        example=("SELECT length(count_min_sketch(x, 0.5D, 0.5D, 1)) FROM VALUES (1), (2) AS t(x)", "60"),
    ),
)
