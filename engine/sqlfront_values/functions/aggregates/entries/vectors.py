"""Aggregates of arrays: sums and means of vectors, and all different elements."""

from typing import Final

import pyarrow as pa

from sqlfront_values.functions.aggregates.accumulators.lists import CollectedElements
from sqlfront_values.functions.aggregates.accumulators.vectors import VectorTotal
from sqlfront_values.functions.aggregates.aggregate_function import AggregateFunction
from sqlfront_values.functions.registry import Kind
from sqlfront_values.types import BOOLEAN, FLOAT

_VECTOR: Final = pa.list_(FLOAT)
_VECTORS: Final = "VALUES (array(1F, 2F)), (array(3F, 4F)) AS t(x)"

FUNCTIONS: Final[tuple[AggregateFunction, ...]] = (
    AggregateFunction(
        "vector_sum",
        (_VECTOR,),
        _VECTOR,
        lambda _: VectorTotal("vector_sum"),
        allowed=((_VECTOR,),),
        typed=True,
        example=(f"SELECT vector_sum(x) FROM {_VECTORS}", "[4.0, 6.0]"),
    ),
    AggregateFunction(
        "vector_avg",
        (_VECTOR,),
        _VECTOR,
        lambda _: VectorTotal("vector_avg", mean=True),
        allowed=((_VECTOR,),),
        typed=True,
        example=(f"SELECT vector_avg(x) FROM {_VECTORS}", "[2.0, 3.0]"),
    ),
    AggregateFunction(
        "collect_union",
        (Kind.ARRAY, BOOLEAN),
        lambda types: types[0],
        lambda signature: CollectedElements(
            signature.argument_types[0], nulls=signature.constants[:1] == (True,)
        ),
        optional=1,
        constants=(1,),
        written=1,
        distinct_matters=False,
        typed=True,
        example=("SELECT collect_union(x) FROM VALUES (array(1)), (array(1, NULL)) AS t(x)", "[1]"),
    ),
)
