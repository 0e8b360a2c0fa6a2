"""Aggregates of bitmaps."""

from functools import partial
from typing import Final

import numpy as np

from sqlfront_values.functions.aggregates.accumulators.base import Accumulator
from sqlfront_values.functions.aggregates.accumulators.bitmaps import CombinedBitmap, ConstructedBitmap
from sqlfront_values.functions.aggregates.aggregate_function import (
    AggregateFunction,
    AggregateSignature,
)
from sqlfront_values.types import (
    BIGINT,
    BINARY,
)


def _combined_bitmap(_: AggregateSignature, *, operation: np.ufunc) -> Accumulator:
    return CombinedBitmap(operation)


FUNCTIONS: Final[tuple[AggregateFunction, ...]] = (
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
            allowed=((BINARY,),),
            typed=True,
            example=(f"SELECT bitmap_count({name}(x)) FROM VALUES (X'03'), (X'06') AS t(x)", example),
        )
        for name, operation, example in (
            ("bitmap_or_agg", np.bitwise_or, "3"),
            ("bitmap_and_agg", np.bitwise_and, "1"),
        )
    ),
)
