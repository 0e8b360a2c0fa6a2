"""Casts of wide decimals to more digits after the point, on both sides of what int64 and the target hold."""

from decimal import Decimal

import pyarrow as pa
import pytest

from sqlfront_engine.errors import DataError
from sqlfront_engine.evaluate import evaluate
from sqlfront_engine.expressions import Cast, Column
from sqlfront_engine.functions.registry import Settings
from sqlfront_engine.types import decimal


def cast(
    values: list[Decimal | None], source: pa.DataType, target: pa.DataType, *, safe: bool = False
) -> list[object]:
    batch = pa.RecordBatch.from_arrays([pa.array(values, source)], names=["d"])
    made = evaluate(Cast(target, Column(source, 0), safe=safe), batch, Settings())
    result: list[object] = made.to_pylist()
    return result


BOUND = 2**63 // 100


@pytest.mark.parametrize(
    "value", [0, 1, -1, BOUND - 2, BOUND - 1, BOUND, BOUND + 1, -BOUND - 1, 10**33, -(10**33)]
)
def test_values_around_the_bound_keep_their_value(value: int) -> None:
    number = Decimal(value).scaleb(-2) if abs(value) < 10**20 else Decimal(value)
    expected = [number, None, number]

    assert cast(expected, decimal(38, 2), decimal(38, 4)) == expected


def test_what_has_too_many_digits_is_refused_or_null() -> None:
    large = Decimal(10) ** 34

    with pytest.raises(DataError) as caught:
        cast([large], decimal(38, 2), decimal(38, 4))
    assert caught.value.condition == "NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION"
    assert cast([large, Decimal(1)], decimal(38, 2), decimal(38, 4), safe=True) == [None, Decimal(1)]


def test_slices_and_nulls() -> None:
    values = [Decimal("1.25"), None, Decimal("-3.50"), None]
    batch = pa.RecordBatch.from_arrays([pa.array(values, decimal(38, 2))], names=["d"]).slice(1, 2)
    made = evaluate(Cast(decimal(38, 6), Column(decimal(38, 2), 0)), batch, Settings())

    assert made.to_pylist() == [None, Decimal("-3.500000")]
