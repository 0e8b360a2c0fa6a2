"""A table of random values, ordinary and extreme."""

from __future__ import annotations

import datetime
import math
import random
import struct
from decimal import Decimal
from typing import TypeVar

import pyarrow as pa

_T = TypeVar("_T")
_UTC = datetime.UTC

_INTS = (0, 1, -1, 7, 100, -128, 2**31 - 1, -(2**31) + 1)
_LONGS = (*_INTS, 2**53 + 1, 10**15, -(10**15), 2**62)
_DOUBLES = (
    0.0,
    -0.0,
    1.5,
    -2.5,
    0.1,
    1e-5,
    1e7,
    12345678.9,
    1e21,
    1e300,
    5e-324,
    math.nan,
    math.inf,
    -math.inf,
)
_STRINGS = (
    "",
    " ",
    "a",
    "Abc",
    "  pad ",
    "x,y,,z",
    "12",
    "-3.75",
    "1e3",
    "é",
    "日本語",
    "😀!",
    "a%b_c",
    "ß",
    "True",
    "\t",
)
_WORDS = (
    "2020-02-29",
    "2020-2-9",
    "1999-12-31 23:59:59.5",
    "2021",
    "2021-13-01",
    "2020-01-01T00:00:00Z",
    "NaN",
    "inf",
)

SCHEMA = pa.schema(
    {
        "id": pa.int32(),
        "i": pa.int32(),
        "j": pa.int32(),
        "l": pa.int64(),
        "d": pa.float64(),
        "f": pa.float32(),
        "n": pa.decimal128(10, 2),
        "m": pa.decimal128(18, 6),
        "w": pa.decimal128(38, 10),
        "s": pa.string(),
        "u": pa.string(),
        "dt": pa.date32(),
        "ts": pa.timestamp("us", tz="UTC"),
        "b": pa.bool_(),
        "x": pa.binary(),
    }
)


def table(rows: int, seed: str) -> pa.Table:
    """Random rows of SCHEMA; the same for the same seed.

    >>> table(3, "seed").equals(table(3, "seed"))
    True
    """
    source = random.Random(seed)
    columns = {name: [_value(source, name) for _ in range(rows)] for name in SCHEMA.names}
    return pa.table({**columns, "id": list(range(rows))}, schema=SCHEMA)


def _value(source: random.Random, column: str) -> object:
    if source.random() < 0.1:
        return None
    match column:
        case "i" | "j":
            return _either(source, _INTS, source.randint(-1000, 1000))
        case "l":
            return _either(source, _LONGS, source.randint(-(10**12), 10**12))
        case "d":
            return _either(source, _DOUBLES, source.uniform(-1000, 1000) * 10.0 ** source.randint(-8, 8))
        case "f":
            return _single(_either(source, _DOUBLES, source.uniform(-1000, 1000)))
        case "n":
            return Decimal(source.randint(-99_999_999, 99_999_999)).scaleb(-2)
        case "m":
            return Decimal(source.randint(-(10**12), 10**12)).scaleb(-6)
        case "w":
            return Decimal(source.randint(-(10**24), 10**24)).scaleb(-10)
        case "s":
            return _either(
                source, _STRINGS, "".join(source.choices("abcXYZ ,-_%.09é日", k=source.randint(0, 12)))
            )
        case "u":
            return _either(source, _WORDS, str(source.randint(-(10**6), 10**6)))
        case "dt":
            return datetime.date(1600, 1, 1) + datetime.timedelta(days=source.randint(0, 300_000))
        case "ts":
            micros = source.randint(-(2 * 10**15), 4 * 10**15)
            return datetime.datetime(1970, 1, 1, tzinfo=_UTC) + datetime.timedelta(microseconds=micros)
        case "b":
            return source.random() < 0.5
        case "x":
            return source.randbytes(source.randint(0, 6))
        case _:
            return 0


def _either(source: random.Random, special: tuple[_T, ...], ordinary: _T) -> _T:
    return source.choice(special) if source.random() < 0.4 else ordinary


def _single(value: float) -> float:
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)
