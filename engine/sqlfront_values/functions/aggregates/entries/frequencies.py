"""Aggregates of how often values occur: histograms, sketches of counts, and the most frequent values."""

from typing import Final

import pyarrow as pa

from sqlfront_values.functions.aggregates.accumulators import top_k as top_k_accumulators
from sqlfront_values.functions.aggregates.accumulators.base import Accumulator
from sqlfront_values.functions.aggregates.accumulators.count_min import CountMinSketch
from sqlfront_values.functions.aggregates.accumulators.histograms import (
    HistogramFamily,
    Histograms,
    histogram_type,
)
from sqlfront_values.functions.aggregates.aggregate_function import AggregateFunction, AggregateSignature
from sqlfront_values.functions.registry import Kind
from sqlfront_values.functions.sketches import top_k
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


def _tops_type(types: tuple[pa.DataType, ...]) -> pa.DataType:
    return top_k.top_type(types[0])


def _state_type(types: tuple[pa.DataType, ...]) -> pa.DataType:
    return top_k.state_type(types[0])


def _combined_type(types: tuple[pa.DataType, ...]) -> pa.DataType:
    return top_k.state_type(types[0].field(2).type)


def _tops(signature: AggregateSignature) -> Accumulator:
    return top_k_accumulators.tops(signature.argument_types[0], signature.constants)


def _states(signature: AggregateSignature) -> Accumulator:
    return top_k_accumulators.states(signature.argument_types[0], signature.constants)


def _combined(signature: AggregateSignature) -> Accumulator:
    return top_k_accumulators.combined_states(signature.argument_types[0], signature.constants)


_VALUES: Final = "FROM VALUES (1), (2), (2) AS t(x)"
_STATES: Final = f"SELECT approx_top_k_accumulate(x, 100) AS s {_VALUES}"

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
    AggregateFunction(
        "approx_top_k",
        (Kind.ANY, INT, INT),
        _tops_type,
        _tops,
        optional=2,
        constants=(1, 2),
        shown_defaults=("5", "10000"),
        example=(f"SELECT approx_top_k(x, 1) {_VALUES}", "[Row(item=2, count=2)]"),
    ),
    AggregateFunction(
        "approx_top_k_accumulate",
        (Kind.ANY, INT),
        _state_type,
        _states,
        optional=1,
        constants=(1,),
        shown_defaults=("10000",),
        example=(f"SELECT length(approx_top_k_accumulate(x).sketch) {_VALUES}", "66"),
    ),
    AggregateFunction(
        "approx_top_k_combine",
        (Kind.STRUCT, INT),
        _combined_type,
        _combined,
        optional=1,
        constants=(1,),
        shown_defaults=("-1",),
        example=(f"SELECT approx_top_k_combine(s).maxItemsTracked FROM ({_STATES})", "100"),
    ),
)
