"""Columns are written as JSON as their single values are."""

import random
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Final

import pyarrow as pa
import pytest

from sqlfront_values.errors import NotSupportedError
from sqlfront_values.functions.json.column_writing import ColumnWriter
from sqlfront_values.functions.json.value_writing import writer
from sqlfront_values.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
)

_FLOATS: Final = (1.0, 0.5, -0.0, 1e20, 1e-5, 123456.75, float("nan"), float("-inf"))
_TEXTS: Final = ("", "x", 'a"b', "c\\d", "e\nf\tg", "é😀", "\x01", "\x7f")
_LEAVES: Final[dict[pa.DataType, Callable[[random.Random], object]]] = {
    STRING: lambda chance: chance.choice(_TEXTS),
    BOOLEAN: lambda chance: chance.random() < 0.5,
    TINYINT: lambda chance: chance.randrange(-128, 128),
    BIGINT: lambda chance: chance.randrange(-(2**63), 2**63),
    DOUBLE: lambda chance: chance.choice(_FLOATS),
    FLOAT: lambda chance: chance.choice(_FLOATS[:3]),
    pa.decimal128(10, 2): lambda chance: Decimal(chance.randrange(-(10**6), 10**6)).scaleb(-2),
    pa.decimal128(20, 9): lambda chance: Decimal(chance.randrange(-10, 10)).scaleb(-9),
    DATE: lambda chance: date.min + timedelta(chance.randrange(3_652_059)),
    TIMESTAMP: lambda chance: datetime(1800, 1, 1, tzinfo=UTC) + timedelta(chance.random() * 200_000),
    TIMESTAMP_NTZ: lambda chance: datetime(1, 1, 1) + timedelta(chance.random() * 3_600_000),
    BINARY: lambda chance: chance.randbytes(3),
}


def _type(chance: random.Random, depth: int) -> pa.DataType:
    kind = chance.random()
    if depth == 0 or kind < 0.3:
        return chance.choice(list(_LEAVES))
    inner = _type(chance, depth - 1)
    if kind < 0.5:
        return pa.list_(inner)
    if kind < 0.7:
        return pa.map_(STRING, inner)
    return pa.struct([("a", inner), ('b"c', _type(chance, depth - 1))])


def _value(chance: random.Random, kind: pa.DataType) -> object:
    if chance.random() < 0.2:
        return None
    if pa.types.is_struct(kind):
        return {field.name: _value(chance, field.type) for field in kind}
    if pa.types.is_map(kind):
        return [(key, _value(chance, kind.item_type)) for key in chance.sample(_TEXTS, 2)]
    if pa.types.is_list(kind):
        return [_value(chance, kind.value_type) for _ in range(chance.randrange(4))]
    return _LEAVES[kind](chance)


@pytest.mark.parametrize("seed", range(60))
def test_a_column_has_the_texts_of_its_values(seed: int) -> None:
    chance = random.Random(seed)
    kind = pa.struct([("x", _type(chance, 3)), ("y", _type(chance, 1))])
    column = pa.array([_value(chance, kind) for _ in range(40)], kind)
    zone = chance.choice(["UTC", "America/New_York", "Asia/Kolkata"])
    write = writer(kind, zone)
    expected = [None if value is None else write(value) for value in column.to_pylist()]
    found = ColumnWriter(zone).texts(column, kind)
    found.validate(full=True)
    assert found.to_pylist() == expected
    assert ColumnWriter(zone).texts(column.slice(5, 20), kind).to_pylist() == expected[5:25]


def test_a_date_beyond_the_year_9999_is_refused() -> None:
    column = pa.array([{"d": 3_000_000}], pa.struct([("d", pa.int32())])).cast(pa.struct([("d", DATE)]))
    with pytest.raises(NotSupportedError, match="beyond the years 1 to 9999"):
        ColumnWriter("UTC").texts(column, column.type)
