"""Random Arrow tables for the binary formats: types, and values at their bounds."""

from __future__ import annotations

import datetime
import random
from collections.abc import Sequence
from decimal import Decimal
from typing import Final

import pyarrow as pa

_WORDS: Final = ("", "a", "b c", "é", "日本", "A", "x" * 40, "0", "\0", "NULL", "\n", "😀")
_FLOATS: Final = (0.0, -0.0, 1.5, -2.25, float("nan"), float("inf"), float("-inf"), 1e30, 5e-324, 0.1)
_DAYS: Final = (0, 1, -1, 19723, -719162, 2932896, -141428, -141427, 18262)
_EPOCH: Final = datetime.datetime(1970, 1, 1)
_MICROS: Final = (
    *(0, 1, -1, 1_704_164_645_123_456, -62_135_596_800_000_000, 253_402_300_799_999_999, 1_000_000, -999_999),
    *(-12_219_292_800_000_000, -12_219_292_800_000_001, -2_208_988_800_000_000, 1_711_846_800_000_000),
)
PLAIN: Final[tuple[pa.DataType, ...]] = (
    *(pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64(), pa.string()),
    *(pa.binary(), pa.date32(), pa.decimal128(5, 2), pa.decimal128(18, 0), pa.decimal128(38, 10)),
)
#: Types of one column in files of one table: those that are merged, and those that are not.
_MERGED: Final[tuple[tuple[pa.DataType, ...], ...]] = (
    *((pa.int32(),), (pa.int64(),), (pa.string(),), (pa.float64(),), (pa.date32(),), (pa.binary(),)),
    (pa.decimal128(5, 2), pa.decimal128(10, 2), pa.decimal128(30, 2)),
    (
        pa.struct([("x", pa.int32())]),
        pa.struct([("x", pa.int32()), ("y", pa.string())]),
        pa.struct([("x", pa.int32()), ("y", pa.string()), ("z", pa.list_(pa.int64()))]),
    ),
    (
        pa.list_(pa.struct([("x", pa.decimal128(5, 2))])),
        pa.list_(pa.struct([("x", pa.decimal128(9, 2)), ("y", pa.string())])),
    ),
    (
        pa.map_(pa.string(), pa.struct([("x", pa.int32())])),
        pa.map_(pa.string(), pa.struct([("x", pa.int32()), ("y", pa.bool_())])),
    ),
    (pa.list_(pa.decimal128(4, 1)), pa.list_(pa.decimal128(25, 1))),
)
_CONFLICTS: Final[tuple[tuple[pa.DataType, ...], ...]] = (
    (pa.int32(), pa.int64()),
    (pa.decimal128(10, 2), pa.decimal128(10, 4)),
    (pa.string(), pa.binary()),
    (pa.struct([("x", pa.int32())]), pa.struct([("x", pa.int64())])),
    (pa.list_(pa.float32()), pa.list_(pa.float64())),
    (pa.map_(pa.string(), pa.int32()), pa.list_(pa.int32())),
)


def evolved(random: random.Random, moved: float) -> list[pa.Table]:
    """Tables whose columns have grown one by one, some otherwise: with the probability ``moved`` in another
    order, with gaps, or with names in another case."""
    kinds = [random.choice(_MERGED if random.random() < 0.93 else _CONFLICTS) for _ in range(4)]
    tables = []
    for _ in range(random.choice((2, 2, 3, 4))):
        columns = list(zip("abcd", kinds, strict=True))[: random.randint(1, 4)]
        if random.random() < moved:
            columns = random.sample(columns, random.randint(1, len(columns)))
            columns = [(name.upper() if random.random() < 0.2 else name, kind) for name, kind in columns]
        length = random.choice((0, 1, 1, 2))
        tables.append(pa.table({name: array(random, random.choice(of), length) for name, of in columns}))
    return tables


def table_of_runs(random: random.Random) -> pa.Table:
    """Make a table of many rows: equal values, steps and random values follow each other,
    so that all kinds of runs are written."""
    length = random.choice((1, 3, 40, 700, 1200))
    kinds = random.choices(
        (*PLAIN, *PLAIN, pa.timestamp("us", "UTC"), pa.timestamp("us")), k=random.randint(1, 4)
    )
    columns = [
        _runs(random, nested(random, [kind], 2) if random.random() < 0.2 else kind, length) for kind in kinds
    ]
    return pa.table(dict(zip("abcd", columns, strict=False)))


def _runs(random: random.Random, kind: pa.DataType, length: int) -> pa.Array:
    nulls = random.choice((0.0, 0.0, 0.01, 0.3))
    pool = array(random, kind, 60, nulls)
    if pa.types.is_integer(kind):
        first, step = random.randint(-50, 50), random.choice((0, 1, -3, 100))
        steps = [first + step * place for place in range(60)]
        low, high = _bounds(kind)
        pool = pa.concat_arrays([pool, pa.array([min(max(each, low), high) for each in steps], kind)])
    places: list[int] = []
    while len(places) < length:
        begin, count = random.randrange(len(pool)), random.choice((1, 2, 3, 10, 11, 60, 600))
        match random.choice(("equal", "steps", "any")):
            case "equal":
                places += [begin] * count
            case "steps":
                places += range(begin, min(begin + count, len(pool)))
            case _:
                places += random.choices(range(len(pool)), k=count)
    return pool.take(pa.array(places[:length]))


def nested(random: random.Random, leaves: Sequence[pa.DataType], depth: int = 2) -> pa.DataType:
    """A type of these leaves, perhaps of several levels."""
    if depth == 0 or random.random() < 0.3:
        return random.choice(leaves)
    match random.choice(("list", "list", "map", "struct", "struct")):
        case "list":
            return pa.list_(nested(random, leaves, depth - 1))
        case "map":
            key = random.choice([leaf for leaf in leaves if not pa.types.is_floating(leaf)] or [pa.string()])
            return pa.map_(key, nested(random, leaves, depth - 1))
        case _:
            count = random.choice((1, 2, 3))
            return pa.struct([(name, nested(random, leaves, depth - 1)) for name in "xyz"[:count]])


def array(random: random.Random, kind: pa.DataType, length: int, nulls: float = 0.2) -> pa.Array:
    """Random values of a type."""
    values = [None if random.random() < nulls else value(random, kind) for _ in range(length)]
    if pa.types.is_timestamp(kind):
        return pa.array(values, pa.int64()).cast(pa.timestamp(kind.unit)).cast(kind)
    if pa.types.is_date(kind):
        return pa.array(values, pa.int32()).cast(pa.date32()).cast(kind)
    return pa.array(values, kind)


def value(random: random.Random, kind: pa.DataType) -> object:
    """A random value; of dates and timestamps the number of days and units."""
    kinds = pa.types
    if kinds.is_boolean(kind):
        return random.random() < 0.5
    if kinds.is_integer(kind):
        low, high = _bounds(kind)
        return random.choice((low, high, 0, 1, high // 2, random.randint(low, high), 7))
    if kinds.is_floating(kind):
        return random.choice(_FLOATS if kind.bit_width > 16 else _FLOATS[:7])
    if kinds.is_decimal(kind):
        digits = random.choice((1, kind.precision, random.randint(1, kind.precision)))
        number = random.choice((1, -1)) * random.randint(0, 10**digits - 1)
        return Decimal(f"{number}e{-kind.scale}")
    if kinds.is_string(kind) or kinds.is_large_string(kind):
        return random.choice(_WORDS)
    if kinds.is_fixed_size_binary(kind):
        return random.randbytes(kind.byte_width)
    if kinds.is_binary(kind) or kinds.is_large_binary(kind):
        return random.choice(_WORDS).encode() + random.choice((b"", b"\xff", b"\0"))
    if kinds.is_date(kind):
        return random.choice(_DAYS)
    if kinds.is_timestamp(kind):
        return _units(random.choice(_MICROS), kind.unit)
    return _nested_value(random, kind)


def _nested_value(random: random.Random, kind: pa.DataType) -> object:
    length = random.choice((0, 1, 1, 2, 3))
    if pa.types.is_map(kind):
        keys = [_plain_value(random, kind.key_type) for _ in range(length)]
        unique = list({repr(key): key for key in keys}.values())
        return [(key, _or_null(random, kind.item_type)) for key in unique]
    if pa.types.is_struct(kind):
        fields = [kind.field(index) for index in range(kind.num_fields)]
        return {field.name: _or_null(random, field.type) for field in fields}
    return [_or_null(random, kind.value_type) for _ in range(length)]


def _or_null(random: random.Random, kind: pa.DataType) -> object:
    return None if random.random() < 0.2 else _plain_value(random, kind)


def _plain_value(random: random.Random, kind: pa.DataType) -> object:
    """A value as `pa.array` takes it inside of other values."""
    found = value(random, kind)
    if pa.types.is_date(kind):
        return datetime.date(1970, 1, 1) + datetime.timedelta(days=int(str(found)))
    return found


def _units(micros: int, unit: str) -> int:
    match unit:
        case "s":
            return micros // 1_000_000
        case "ms":
            return micros // 1000
        case "ns":
            return max(min(micros, 9_223_372_036_854_775), -9_223_372_036_854_775) * 1000
        case _:
            return micros


def _bounds(kind: pa.DataType) -> tuple[int, int]:
    if pa.types.is_unsigned_integer(kind):
        return 0, (1 << kind.bit_width) - 1
    half = 1 << (kind.bit_width - 1)
    return -half, half - 1
