"""count_min_sketch: how often values occur, at most, in the bytes of Spark's ``CountMinSketchImpl``."""

import math
import struct
from collections.abc import Sequence
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sqlfront_values.arrow.arrays import from_numpy, from_values, to_python
from sqlfront_values.arrow.forms import plain
from sqlfront_values.columns.batches import Integers
from sqlfront_values.errors import NotSupportedError
from sqlfront_values.functions.aggregates.accumulators.base import Groups, integers, without_nulls
from sqlfront_values.java.java_random import JavaRandom
from sqlfront_values.partitioning.partitions import seeded_hashes
from sqlfront_values.room import check
from sqlfront_values.types import BIGINT, BINARY, is_string_like

_VERSION: Final = 1
_MOST_INT: Final = 2**31 - 1
#: Counters of one sketch at most.
_MOST_COUNTERS: Final = 1 << 24


class CountMinSketch(msgspec.Struct, frozen=True):
    """The aggregate of whole numbers, strings or binaries: ``seeds`` has the multiplier of each row of
    counters, a row has ``width`` counters. A state is the number of values and the bytes of the counters."""

    seeds: tuple[int, ...]
    width: int
    state_types = (BIGINT, BINARY)

    @classmethod
    def of(cls, error: float, confidence: float, seed: int) -> "CountMinSketch":
        """Make the accumulator for a relative error, the probability that an estimate has no greater one, and
        the seed of the multipliers, of which Spark takes the last 32 bits."""
        width, depth = math.ceil(2 / error), math.ceil(-math.log1p(-confidence) / math.log(2))
        if width * depth > _MOST_COUNTERS:
            raise NotSupportedError(
                f"count_min_sketch of more than {_MOST_COUNTERS} counters is not supported", sqlstate="0A000"
            )
        random = JavaRandom.of_seed((seed + (1 << 31)) % (1 << 32) - (1 << 31))
        return cls(tuple(random.next_int(_MOST_INT) for _ in range(depth)), width)

    def update(self, groups: Groups, arguments: Sequence[pa.Array]) -> list[pa.Array]:
        groups, (values,) = without_nulls(groups, [plain(arguments[0])])
        cells = len(self.seeds) * self.width
        counters = np.zeros(groups.size * cells, np.int64)
        for row, columns in enumerate(self._columns(values)):
            check()
            np.add.at(counters, groups.ids * cells + row * self.width + columns, 1)
        return self._states(groups.counts(), counters.reshape(groups.size, cells))

    def merge(self, groups: Groups, states: Sequence[pa.Array]) -> list[pa.Array]:
        cells = len(self.seeds) * self.width
        totals = np.zeros(groups.size, np.int64)
        np.add.at(totals, groups.ids, integers(states[0]))
        counters = np.zeros((groups.size, cells), np.int64)
        np.add.at(counters, groups.ids, self._counters(states[1]))
        return self._states(totals, counters)

    def finish(self, states: Sequence[pa.Array]) -> pa.Array:
        depth = len(self.seeds)
        heads = [struct.pack(">iqii", _VERSION, total, depth, self.width) for total in to_python(states[0])]
        seeds = struct.pack(f">{depth}q", *self.seeds)
        counters = self._counters(states[1]).astype(">i8")
        return from_values(
            [head + seeds + row.tobytes() for head, row in zip(heads, counters, strict=True)], BINARY
        )

    def _states(self, totals: Integers, counters: npt.NDArray[np.int64]) -> list[pa.Array]:
        return [
            from_numpy(totals.astype(np.int64), BIGINT),
            from_values([row.tobytes() for row in counters], BINARY),
        ]

    def _counters(self, column: pa.Array) -> npt.NDArray[np.int64]:
        joined = b"".join(bytes(row) for row in to_python(column) if isinstance(row, bytes))
        return np.frombuffer(joined, np.int64).reshape(len(column), len(self.seeds) * self.width)

    def _columns(self, values: pa.Array) -> list[Integers]:
        """Return for each row of counters the column that each value counts in."""
        if pa.types.is_null(values.type):
            return [np.zeros(0, np.int64)] * len(self.seeds)
        if is_string_like(values.type):
            nothing = np.zeros(len(values), np.uint32)
            first = seeded_hashes(values, nothing)
            second = seeded_hashes(values, first)
            sums = [(first + np.uint32(row) * second).view(np.int32) for row in range(len(self.seeds))]
            return [np.abs(np.fmod(each.astype(np.int64), self.width)) for each in sums]
        numbers, found = integers(values), []
        for seed in self.seeds:
            products = numbers * np.int64(seed)
            products = products + (products >> 32)
            found.append((products & _MOST_INT) % self.width)
        return found
