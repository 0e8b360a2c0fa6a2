"""Random tables of all types, as results."""

import datetime
import decimal
import random
from collections.abc import Callable
from functools import partial
from typing import Final

import pyarrow as pa

from sqlfront.results.result import Result, Statistics
from sqlfront_values.settings import Settings
from sqlfront_values.types import DAY_TIME_INTERVAL, TIMESTAMP, YEAR_MONTH_INTERVAL

_PLAIN: Final = [*"abcXYZ019 ,;:|\"'\\/\t\n\r\x00\x01\x1b\x7f<>&{}[]`$", "NULL", "\\N"]
_WIDE: Final = ["é", "ß", "語", "\u2028", "🙂", "\u200d", "א"]
ALPHABET: Final = [*_PLAIN, *_WIDE]
_EPOCH: Final = datetime.datetime(1970, 1, 1)
Make = Callable[[random.Random], object]


def text(chance: random.Random) -> str:
    """Often short, often plain."""
    alphabet = ALPHABET if chance.random() < 0.5 else ALPHABET[:9]
    return "".join(chance.choices(alphabet, k=chance.choice((0, 0, 1, 2, 5, 12))))


def double(chance: random.Random) -> float:
    """Of all sizes, and what is no number."""
    return chance.choice(
        (
            0.0, -0.0, 1.0, -2.5, 1e7, 9999999.0, 1e-3, 0.00099, 1e16, 1e22, 5e-324, 1.7976931348623157e308,
            float("nan"), float("inf"), float("-inf"), chance.uniform(-1e3, 1e3), chance.gauss(0, 1e12),
        )
    )  # fmt: skip


def moment(chance: random.Random) -> datetime.datetime:
    """With all numbers of digits of the fraction."""
    micros = chance.choice((0, 500_000, 120_000, 1, 10, 123_456, 999_999))
    return _EPOCH + datetime.timedelta(seconds=chance.randrange(-(10**10), 10**10), microseconds=micros)


def unscaled(chance: random.Random, scale: int, digits: int) -> decimal.Decimal:
    """A decimal of up to so many digits."""
    return decimal.Decimal(chance.randrange(-(10**digits) + 1, 10**digits)).scaleb(-scale)


LEAVES: Final[list[tuple[pa.DataType, Make]]] = [
    (pa.bool_(), lambda chance: chance.random() < 0.5),
    (pa.int8(), lambda chance: chance.randrange(-128, 128)),
    (pa.int16(), lambda chance: chance.randrange(-(2**15), 2**15)),
    (pa.int32(), lambda chance: chance.randrange(-(2**31), 2**31)),
    (pa.int64(), lambda chance: chance.choice((0, -1, 2**63 - 1, -(2**63), chance.randrange(10**9)))),
    (
        pa.float32(),
        lambda chance: chance.choice((0.0, -0.0, 0.1, 1.5, 3e38, 1e-40, float("nan"), float("-inf"))),
    ),
    (pa.float64(), double),
    (pa.string(), text),
    (pa.string(), text),
    (pa.binary(), lambda chance: chance.randbytes(chance.choice((0, 1, 7)))),
    (pa.date32(), lambda chance: moment(chance).date()),
    (pa.timestamp("us"), moment),
    (TIMESTAMP, lambda chance: moment(chance).replace(tzinfo=datetime.UTC)),
    (pa.decimal128(9, 2), partial(unscaled, scale=2, digits=9)),
    (pa.decimal128(38, 18), partial(unscaled, scale=18, digits=30)),
    (DAY_TIME_INTERVAL, lambda chance: datetime.timedelta(microseconds=chance.randrange(-(10**15), 10**15))),
    (YEAR_MONTH_INTERVAL, lambda chance: chance.randrange(-(10**5), 10**5)),
    (pa.null(), lambda chance: None),
]


def kind_of(chance: random.Random, depth: int = 2) -> tuple[pa.DataType, Make]:
    """A type, and what makes its values."""
    form = chance.choice(("leaf",) * 8 + ("list", "map", "struct")) if depth else "leaf"
    if form == "leaf":
        return chance.choice(LEAVES)
    first, make_first = _plain_kind(chance, depth - 1)
    second, make_second = _plain_kind(chance, depth - 1)
    if form == "list":
        return pa.list_(first), lambda c: [maybe(c, make_first) for _ in range(c.choice((0, 1, 3)))]
    if form == "map":
        return pa.map_(pa.string(), first), lambda c: [
            (key, maybe(c, make_first)) for key in {text(c) for _ in range(c.choice((0, 1, 3)))}
        ]
    names = ("a", 'b "q"')
    return pa.struct([(names[0], first), (names[1], second)]), lambda c: {
        names[0]: maybe(c, make_first),
        names[1]: maybe(c, make_second),
    }


def _plain_kind(chance: random.Random, depth: int) -> tuple[pa.DataType, Make]:
    """A type that pyarrow makes arrays of within other types."""
    while True:
        kind, make = kind_of(chance, depth)
        if kind not in (DAY_TIME_INTERVAL, YEAR_MONTH_INTERVAL) and not pa.types.is_null(kind):
            return kind, make


def maybe(chance: random.Random, make: Make) -> object:
    """A value, or null."""
    return None if chance.random() < 0.2 else make(chance)


def array(values: list[object], kind: pa.DataType) -> pa.Array:
    """An array in the form that the engine gives."""
    forms = {DAY_TIME_INTERVAL: pa.duration("us"), YEAR_MONTH_INTERVAL: pa.int32()}
    return pa.array(values, forms.get(kind, kind))


def random_result(chance: random.Random) -> Callable[[], Result]:
    """A function that returns a result with the same rows at every call."""
    kinds = [kind_of(chance) for _ in range(chance.choice((1, 1, 2, 3, 6)))]
    names = [f"c{position}{text(chance)}" for position in range(len(kinds))]
    schema = pa.schema([pa.field(name, kind) for name, (kind, _) in zip(names, kinds, strict=True)])
    batches = []
    for rows in chance.choices((0, 1, 2, 7, 40), k=chance.choice((0, 1, 2, 3))):
        # A part of larger arrays, as a filter or a limit leaves it.
        before = chance.choice((0, 0, 3))
        nulls = chance.random() < 0.7
        columns = [
            array([maybe(chance, make) if nulls else make(chance) for _ in range(before + rows)], kind)
            for kind, make in kinds
        ]
        batches.append(pa.RecordBatch.from_arrays(columns, names=names).slice(before))
    settings = Settings(time_zone=chance.choice(("UTC", "America/New_York", "Asia/Kolkata")))
    return lambda: Result(schema, iter(batches), Statistics("light", "", 0.0), settings=settings)
