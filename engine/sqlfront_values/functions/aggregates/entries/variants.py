"""Aggregates of variants."""

from typing import Final

from sqlfront_values.functions.aggregates.accumulators import variant_schemas
from sqlfront_values.functions.aggregates.aggregate_function import AggregateFunction
from sqlfront_values.types import STRING, VARIANT

FUNCTIONS: Final[tuple[AggregateFunction, ...]] = (
    AggregateFunction(
        "schema_of_variant_agg",
        (VARIANT,),
        STRING,
        lambda _: variant_schemas.VariantSchema(),
        distinct_matters=False,
        example=(
            "SELECT schema_of_variant_agg(parse_json(x)) FROM VALUES ('1'), ('2.5') AS t(x)",
            "'DECIMAL(21,1)'",
        ),
    ),
)
