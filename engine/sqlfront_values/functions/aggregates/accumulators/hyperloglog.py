"""approx_count_distinct: HyperLogLog++ (Heule, Nunkesser and Hall 2013) as Spark computes it, with Spark's
hash.

An estimate is that of linear counting as long as some register is zero and either that estimate is at most
the precision's threshold or the raw one at most 2.5 times the registers. Else it is the raw estimate: less
its bias below 5 times the registers, unchanged from there on.

``hyperloglog_tables.jsonl`` has the numbers of the paper's appendix as Spark 4.3 has them: for each precision
from 4 to 18 the threshold, and raw estimates with their biases.
"""

import json
from collections.abc import Sequence
from functools import cache
from math import ceil, isnan
from pkgutil import get_data
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sqlfront_values.arrow.arrays import from_numpy
from sqlfront_values.columns.encoding import canonical
from sqlfront_values.functions.aggregates.accumulators.base import Doubles, Groups, without_nulls
from sqlfront_values.functions.hashes.xxhash import xxhash64
from sqlfront_values.functions.numbers.fdlibm.logarithms import log
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
    threshold: float
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
        size, table = 1 << self.precision, _tables()[self.precision]
        # Spark adds in the order of the registers; a numpy sum does not.
        inverse = np.cumsum(np.exp2(-registers.astype(np.float64)), axis=1)[:, -1]
        raw = _alpha(self.precision) * size * size / inverse
        zeros = (registers == 0).sum(axis=1)
        counted = size * log(size / np.maximum(zeros, 1))
        linear = (zeros > 0) & ((counted <= table.threshold) | (raw <= 2.5 * size))
        corrected = np.where(raw < 5.0 * size, raw - _bias(table, raw), raw)
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
    """Return the number of bits of a hash that choose a register, for a relative standard deviation: 0 for
    negative ones, ``MOST_PRECISE + 1`` for all that need more than ``MOST_PRECISE``."""
    with np.errstate(all="ignore"):
        bits = float((2.0 * log(1.106 / np.array([deviation])) / log(np.array([2.0])))[0])
    return 0 if isnan(bits) else ceil(min(max(bits, 0.0), MOST_PRECISE + 1.0))


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
    moved = np.ones(len(raw), np.bool_)
    while moved.any():
        high = np.minimum(low + _NEAREST, count)
        after = (raw - estimates[np.minimum(high, count - 1)]) ** 2
        before = (raw - estimates[low]) ** 2
        moved = (high < count) & (after < before)
        low = low + moved
    high = np.minimum(low + _NEAREST, count)
    total = np.zeros(len(raw))
    for step in range(_NEAREST):
        place = low + step
        total += np.where(place < high, table.biases[np.minimum(place, count - 1)], 0.0)
    return total / (high - low)


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
    # Through the loader: on Spark's executors the package is in a ZIP file.
    text = get_data(__package__, "hyperloglog_tables.jsonl")
    assert text is not None
    rows = map(json.loads, text.splitlines())
    return {
        row["precision"]: _Table(row["threshold"], np.array(row["estimates"]), np.array(row["biases"]))
        for row in rows
    }
