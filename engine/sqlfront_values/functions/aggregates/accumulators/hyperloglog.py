"""approx_count_distinct: the HyperLogLog++ of Heule, Nunkesser and Hall (2013), with Spark's hash and
rounding.

``hyperloglog_tables.jsonl`` has the paper's tables: for each precision from 4 to 18 raw estimates with their
biases. As in the first HyperLogLog, linear counting counts up to raw estimates of 2.5 times the registers.
"""

import json
from collections.abc import Sequence
from functools import cache
from math import ceil, log
from pathlib import Path
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sqlfront_values.arrow.arrays import from_numpy
from sqlfront_values.columns.encoding import canonical
from sqlfront_values.functions.aggregates.accumulators.base import Doubles, Groups, without_nulls
from sqlfront_values.functions.hashes.xxhash import xxhash64
from sqlfront_values.room import claim
from sqlfront_values.types import BIGINT, BINARY

_SEED: Final = 42
#: Biases of this many raw estimates, the nearest ones, are averaged.
_NEAREST: Final = 6
#: The least and the greatest precision with tables.
LEAST_PRECISE: Final = 4
MOST_PRECISE: Final = 18
#: The standard deviation of a call without one.
DEFAULT_DEVIATION: Final = 0.05

_Registers = npt.NDArray[np.uint8]


class _Table(msgspec.Struct, frozen=True):
    estimates: Doubles
    biases: Doubles


class DistinctEstimate(msgspec.Struct, frozen=True):
    """The aggregate approx_count_distinct with ``2 ** precision`` registers. A state is a byte per register:
    the greatest number of the first one among the bits of the register's hashes."""

    precision: int
    state_types = (BINARY,)

    def update(self, groups: Groups, arguments: Sequence[pa.Array]) -> list[pa.Array]:
        groups, (column,) = without_nulls(groups, arguments)
        column = canonical(column)
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        hashes = xxhash64(column, np.full(len(column), _SEED, np.uint64))
        bits = np.uint64(self.precision)
        places = (hashes >> (np.uint64(64) - bits)).astype(np.int64)
        rest = (hashes << bits) | np.uint64(1 << (self.precision - 1))
        registers = self._empty(groups.size)
        np.maximum.at(registers, (groups.ids, places), _leading_zeros(rest) + np.uint8(1))
        return [self._column(registers)]

    def merge(self, groups: Groups, states: Sequence[pa.Array]) -> list[pa.Array]:
        registers = self._empty(groups.size)
        np.maximum.at(registers, groups.ids, self._registers(states[0]))
        return [self._column(registers)]

    def finish(self, states: Sequence[pa.Array]) -> pa.Array:
        registers = self._registers(states[0])
        size = 1 << self.precision
        inverse = np.exp2(-registers.astype(np.float64)).sum(axis=1)
        zeros = (registers == 0).sum(axis=1)
        raw = _alpha(self.precision) * size * size / inverse
        table = _tables()[self.precision]
        corrected = np.where(raw < 5.0 * size, raw - _bias(table, raw), raw)
        counted = size * np.log(size / np.maximum(zeros, 1))
        linear = (zeros > 0) & (raw <= 2.5 * size)
        return from_numpy(np.floor(np.where(linear, counted, corrected) + 0.5).astype(np.int64), BIGINT)

    def _empty(self, groups: int) -> _Registers:
        claim("approx_count_distinct", 2 * groups << self.precision)
        return np.zeros((groups, 1 << self.precision), np.uint8)

    def _column(self, registers: _Registers) -> pa.Array:
        offsets = (np.arange(len(registers) + 1) << self.precision).astype(np.int32)
        return pa.Array.from_buffers(
            BINARY, len(registers), [None, pa.py_buffer(offsets), pa.py_buffer(registers)]
        )

    def _registers(self, column: pa.Array) -> _Registers:
        """Return a row of registers per state; states are never null."""
        start = int(np.frombuffer(column.buffers()[1], np.int32)[column.offset])
        data = np.frombuffer(column.buffers()[2], np.uint8, len(column) << self.precision, start)
        return data.reshape(len(column), 1 << self.precision)


def precision_of(deviation: float) -> int:
    """Return the number of bits of a hash that choose a register, for a relative standard deviation."""
    return ceil(2.0 * log(1.106 / deviation) / log(2.0))


def _leading_zeros(words: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint8]:
    filled = words
    for shift in (1, 2, 4, 8, 16, 32):
        filled = filled | (filled >> np.uint64(shift))
    return np.bitwise_count(~filled)


def _alpha(precision: int) -> float:
    known = {4: 0.673, 5: 0.697, 6: 0.709}
    return known.get(precision, 0.7213 / (1.0 + 1.079 / (1 << precision)))


def _bias(table: _Table, raw: Doubles) -> Doubles:
    """Return the mean bias of the raw estimates of the table that are nearest to each raw estimate."""
    estimates, count = table.estimates, len(table.estimates)
    found = _search(estimates, raw)
    low = np.maximum(found - _NEAREST + 1, 0)
    for _ in range(_NEAREST):
        high = np.minimum(low + _NEAREST, count)
        after = (raw - estimates[np.minimum(high, count - 1)]) ** 2
        before = (raw - estimates[np.minimum(low, count - 1)]) ** 2
        low = low + ((high < count) & (after < before))
    high = np.minimum(low + _NEAREST, count)
    places = low[:, None] + np.arange(_NEAREST)
    values = np.where(places < high[:, None], table.biases[np.minimum(places, count - 1)], 0.0)
    return values.sum(axis=1) / (high - low)


def _search(estimates: Doubles, raw: Doubles) -> npt.NDArray[np.int64]:
    """Return where Java's binary search finds each raw estimate. Two of the paper's tables are not quite
    sorted, so that the steps of the search matter."""
    low, high = np.zeros(len(raw), np.int64), np.full(len(raw), len(estimates) - 1)
    for _ in range(len(estimates).bit_length()):
        middle = (low + high) >> 1
        value = estimates[np.clip(middle, 0, len(estimates) - 1)]
        open_ = low <= high
        low, high = (
            np.where(open_ & (value < raw), middle + 1, np.where(open_ & (value == raw), middle, low)),
            np.where(open_ & (value > raw), middle - 1, np.where(open_ & (value == raw), middle - 1, high)),
        )
    return low


@cache
def _tables() -> dict[int, _Table]:
    text = Path(__file__).with_name("hyperloglog_tables.jsonl").read_text(encoding="utf-8")
    rows = map(json.loads, text.splitlines())
    return {row["precision"]: _Table(np.array(row["estimates"]), np.array(row["biases"])) for row in rows}
