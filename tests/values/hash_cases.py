"""Keys of every type whose Spark hashes are stored in `spark_hashes.json`.

    python -m tests.values.hash_cases     ask Spark and write the file anew (needs Java)

The keys are made from seeded random bits, so that only a digest of Spark's 10,000 answers per case is stored.
"""

import datetime as dt
import functools
import hashlib
import json
import random
import struct
import tempfile
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from tests.oracle.spark import SparkOracle

ROWS = 10_000
STORED = Path(__file__).with_name("spark_hashes.json")

Make = Callable[[random.Random], object]


class Digest(NamedTuple):
    """Hashes in short: enough to see that they are equal, and where a difference begins if it begins
    early."""

    sha256: str
    first: list[int]


def digest(hashes: npt.NDArray[np.int32] | Sequence[int]) -> Digest:
    array = np.asarray(hashes, "<i4")
    return Digest(hashlib.sha256(array.tobytes()).hexdigest(), array[:20].tolist())


def integer(bits: int) -> Make:
    low = -(1 << bits - 1)

    def make(bits_of: random.Random) -> int:
        chosen = bits_of.getrandbits(3)
        if chosen == 0:
            return (low, -low - 1, 0, -1)[bits_of.getrandbits(2)]
        return (bits_of.getrandbits(bits) + low) >> bits_of.getrandbits(3)

    return make


def floating(code: str) -> Make:
    size = struct.calcsize(code)
    special = (0.0, -0.0, float("nan"), -float("nan"), float("inf"), -float("inf"), 1.0, -1.5)

    def make(bits_of: random.Random) -> float:
        if bits_of.getrandbits(2) == 0:
            return special[bits_of.getrandbits(3)]
        value: float = struct.unpack(code, bits_of.getrandbits(8 * size).to_bytes(size, "little"))[0]
        return value

    return make


def decimal(precision: int, scale: int) -> Make:
    def make(bits_of: random.Random) -> Decimal:
        digits = bits_of.getrandbits(130) % (10 ** (1 + bits_of.getrandbits(8) % precision))
        text = f"{'-' * bits_of.getrandbits(1)}{digits}E-{scale}"
        return Decimal(text)

    return make


def text(bits_of: random.Random) -> str:
    letters = "abcXYZ 019-äß€漢字🎉"
    return "".join(letters[bits_of.getrandbits(8) % len(letters)] for _ in range(bits_of.getrandbits(5)))


def octets(bits_of: random.Random) -> bytes:
    length = bits_of.getrandbits(4)
    return bits_of.getrandbits(8 * length).to_bytes(length, "little") if length else b""


def date(bits_of: random.Random) -> dt.date:
    return dt.date(1970, 1, 1) + dt.timedelta(days=bits_of.getrandbits(16) - 32768)


def moment(zone: dt.tzinfo | None) -> Make:
    def make(bits_of: random.Random) -> dt.datetime:
        micros = bits_of.getrandbits(52) - (1 << 51)
        return dt.datetime(1970, 1, 1, tzinfo=zone) + dt.timedelta(microseconds=micros)

    return make


def array(bits_of: random.Random) -> list[object]:
    return [integer(32)(bits_of) for _ in range(bits_of.getrandbits(2))]


COLUMNS: dict[str, tuple[pa.DataType, Make]] = {
    "boolean": (pa.bool_(), lambda bits_of: bool(bits_of.getrandbits(1))),
    "tinyint": (pa.int8(), integer(8)),
    "smallint": (pa.int16(), integer(16)),
    "int": (pa.int32(), integer(32)),
    "bigint": (pa.int64(), integer(64)),
    "float": (pa.float32(), floating("<f")),
    "double": (pa.float64(), floating("<d")),
    "decimal(5,2)": (pa.decimal128(5, 2), decimal(5, 2)),
    "decimal(18,4)": (pa.decimal128(18, 4), decimal(18, 4)),
    "decimal(19,0)": (pa.decimal128(19, 0), decimal(19, 0)),
    "decimal(38,10)": (pa.decimal128(38, 10), decimal(38, 10)),
    "string": (pa.string(), text),
    "binary": (pa.binary(), octets),
    "date": (pa.date32(), date),
    "timestamp": (pa.timestamp("us", tz="UTC"), moment(dt.UTC)),
    "timestamp_ntz": (pa.timestamp("us"), moment(None)),
    "array<int>": (pa.list_(pa.int32()), array),
}

#: The key columns of each case.
CASES: dict[str, tuple[str, ...]] = {
    **{name: (name,) for name in COLUMNS},
    "bigint, string": ("bigint", "string"),
    "string, bigint": ("string", "bigint"),
    "double, decimal(38,10), date": ("double", "decimal(38,10)", "date"),
    "binary, float, string, timestamp, boolean": ("binary", "float", "string", "timestamp", "boolean"),
}


@functools.cache
def column(name: str) -> pa.Array:
    """10,000 values of a column in logical form, one in eight null; always the same ones."""
    data_type, make = COLUMNS[name]
    bits_of = random.Random(f"sqlfront {name}")
    values = [make(bits_of) if bits_of.getrandbits(3) else None for _ in range(ROWS)]
    return pa.array(values, data_type)


def ask_spark(oracle: "SparkOracle", names: Sequence[str]) -> list[int]:
    """Spark's hash of each row of the named columns."""
    with tempfile.TemporaryDirectory() as folder:
        columns = [pa.array(range(ROWS)), *map(column, names)]
        labels = [f"c{index}" for index in range(len(names))]
        pq.write_table(pa.table(columns, names=["id", *labels]), Path(folder) / "keys.parquet")
        answer = oracle.answer(f"SELECT hash({', '.join(labels)}) FROM parquet.`{folder}` ORDER BY id")
        return [int(row[0]) for row in answer.rows]  # type: ignore[union-attr]


def main() -> None:
    from tests.oracle.spark import SparkOracle

    with SparkOracle() as oracle:
        stored = {case: digest(ask_spark(oracle, names))._asdict() for case, names in CASES.items()}
    lines = (f"{json.dumps(case)}: {json.dumps(entry)}" for case, entry in stored.items())
    STORED.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
