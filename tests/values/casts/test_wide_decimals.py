"""Casts of wide decimals to other digits after the point, on both sides of what int64 and the target hold."""

from decimal import ROUND_HALF_UP, Context, Decimal

import pyarrow as pa
import pytest

from sqlfront_values.errors import DataError
from sqlfront_values.evaluate import evaluate
from sqlfront_values.expressions import Cast, Column
from sqlfront_values.settings import Settings
from sqlfront_values.types import decimal


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


@pytest.mark.parametrize("target", [decimal(38, 4), decimal(20, 4), decimal(17, 4)])
@pytest.mark.parametrize("value", [0, 49, 50, 149, 150, 10**18, 2**62 - 1, 2**62, 2**62 + 1, 2**63 + 50])
@pytest.mark.parametrize("sign", [1, -1])
def test_halves_are_rounded_away_from_zero(value: int, sign: int, target: pa.DataType) -> None:
    number = Decimal(sign * value).scaleb(-6)
    expected = number.quantize(Decimal("0.0001"), ROUND_HALF_UP, Context(prec=50))

    assert cast([number, None], decimal(38, 6), target) == [expected, None]


@pytest.mark.parametrize("digits", [8, 20])
def test_rounding_up_can_be_one_digit_too_many(digits: int) -> None:
    target = decimal(digits, 2)
    fits, breaks = Decimal(10**digits - 1).scaleb(-2), Decimal(10**digits * 10 - 5).scaleb(-3)

    assert cast([fits], decimal(38, 3), target) == [fits]
    assert cast([breaks], decimal(38, 3), target, safe=True) == [None]


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
