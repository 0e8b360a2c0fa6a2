"""histogram_numeric: a histogram of bins of unequal widths, by Spark's ``NumericHistogram`` (Ben-Haim and
Tom-Tov, "A streaming parallel decision tree algorithm", 2010)."""

import struct
from bisect import bisect_left
from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal
from typing import Final

import msgspec
import numpy as np
import pyarrow as pa

from sqlfront_values.arrow import kernels as pc
from sqlfront_values.arrow.arrays import from_numpy, from_values, numpy_view, valid_mask
from sqlfront_values.arrow.forms import plain
from sqlfront_values.columns.lists import put_together
from sqlfront_values.functions.aggregates.accumulators.base import Groups
from sqlfront_values.functions.aggregates.accumulators.sketches import Sketches
from sqlfront_values.java.java_random import JavaRandom
from sqlfront_values.room import check
from sqlfront_values.types import DOUBLE, is_decimal, physical

#: The seed of the numbers that choose among equally close bins.
_SEED: Final = 31183
_STATE: Final = struct.Struct("<q")


class _Histogram:
    """The bins so far: their centres ``xs``, ascending, and the numbers of their values ``ys``."""

    def __init__(self, most: int, state: bytes | None = None) -> None:
        self.most = most
        self.random = JavaRandom.of_seed(_SEED)
        self.xs: list[float] = []
        self.ys: list[float] = []
        if state is not None:
            (self.random.state,) = _STATE.unpack_from(state)
            numbers = np.frombuffer(state, np.float64, offset=_STATE.size).tolist()
            self.xs, self.ys = numbers[::2], numbers[1::2]

    def state(self) -> bytes:
        """Return the bytes of the histogram, from which it goes on with the next value."""
        numbers = np.array([self.xs, self.ys]).T
        return _STATE.pack(self.random.state) + numbers.tobytes()

    def add(self, value: float) -> None:
        """Add a value: to the bin with that centre, or as a new bin."""
        place = self._place(value)
        if place < len(self.xs) and self.xs[place] == value:
            self.ys[place] += 1
            return
        self.xs.insert(place, value)
        self.ys.insert(place, 1.0)
        self.trim()

    def _place(self, value: float) -> int:
        if value == value and not any(x != x for x in self.xs):
            return bisect_left(self.xs, value)
        low, high, place = 0, len(self.xs), 0
        while low < high:
            place = (low + high) // 2
            if self.xs[place] > value:
                high = place
            elif self.xs[place] < value:
                place += 1
                low = place
            else:
                break
        return place

    def trim(self) -> None:
        """Merge the two closest bins, one of them by chance if several are as close, while there are too
        many."""
        xs, ys = self.xs, self.ys
        while len(xs) > self.most:
            least, chosen, alike = xs[1] - xs[0], 0, 1
            for place in range(1, len(xs) - 1):
                gap = xs[place + 1] - xs[place]
                if gap < least:
                    least, chosen, alike = gap, place, 1
                elif gap == least:
                    alike += 1
                    if self.random.next_double() <= 1.0 / alike:
                        chosen = place
            height = ys[chosen] + ys[chosen + 1]
            xs[chosen] *= ys[chosen] / height
            xs[chosen] += xs[chosen + 1] / height * ys[chosen + 1]
            ys[chosen] = height
            del xs[chosen + 1], ys[chosen + 1]

    def merge(self, other: "_Histogram") -> None:
        """Merge the bins of another histogram into these."""
        if not self.xs:
            self.xs, self.ys = other.xs, other.ys
            return
        pairs = sorted(
            zip([*self.xs, *other.xs], [*self.ys, *other.ys], strict=True), key=lambda pair: pair[0]
        )
        self.xs, self.ys = [x for x, _ in pairs], [y for _, y in pairs]
        self.trim()


class HistogramFamily(msgspec.Struct, frozen=True):
    """Histograms of at most ``bins`` bins, as the states of an accumulator."""

    bins: int

    def added(self, values: Sequence[object], state: bytes | None) -> bytes:
        """Return the state after the values behind those of ``state``."""
        histogram = _Histogram(self.bins, state)
        for number, value in enumerate(values):
            if number % 4096 == 0:
                check()
            assert isinstance(value, float)
            histogram.add(value)
        return histogram.state()

    def merged(self, states: Sequence[bytes]) -> bytes:
        """Return the state of the values of several states."""
        histogram = _Histogram(self.bins)
        for state in states:
            histogram.merge(_Histogram(self.bins, state))
        return histogram.state()

    def result(self, state: bytes, *, streamed: bool) -> bytes:
        """Return the state itself, which has the bins."""
        return state

    def bins_of(self, state: bytes) -> list[tuple[float, float]]:
        """Return the centres and the heights of a state's bins."""
        histogram = _Histogram(self.bins, state)
        return list(zip(histogram.xs, histogram.ys, strict=True))


class Histograms(Sketches, frozen=True):
    """The accumulator of histograms. Their states hold doubles (``type``); the centres of the result's bins
    have the type of the values, ``centre``."""

    centre: pa.DataType = DOUBLE

    def update(self, groups: Groups, arguments: Sequence[pa.Array]) -> list[pa.Array]:
        return super().update(groups, [_as_doubles(plain(arguments[0]))])

    def finish(self, states: Sequence[pa.Array]) -> pa.Array:
        family = self.family
        assert isinstance(family, HistogramFamily)
        found = [family.bins_of(self._folded(states, np.array([row]))) for row in range(len(states[0]))]
        lengths = np.array([len(bins) for bins in found], np.int64)
        flat = [pair for bins in found for pair in bins]
        kind = physical(histogram_type(self.centre))
        centres = _centres([x for x, _ in flat], self.centre)
        fields = [centres, from_values([y for _, y in flat], DOUBLE)]
        bins = pa.StructArray.from_arrays(fields, fields=list(kind.value_type))
        return put_together(kind, bins, lengths, lengths > 0)


def histogram_type(centre: pa.DataType) -> pa.DataType:
    """Return the type of histograms whose bins have centres of the type ``centre``."""
    return pa.list_(pa.struct([("x", centre), ("y", DOUBLE)]))


def _as_doubles(values: pa.Array) -> pa.Array:
    if is_decimal(values.type):
        return pc.call_function("cast", [values], pc.CastOptions.unsafe(DOUBLE))
    return from_numpy(numpy_view(values).astype(np.float64), DOUBLE, valid_mask(values))


def _centres(centres: list[float], kind: pa.DataType) -> pa.Array:
    """Return the centres of bins as a column of the values' type: whole numbers are cut off, decimals
    rounded."""
    stored = physical(kind)
    if is_decimal(kind):
        unit = Decimal(1).scaleb(-kind.scale)
        return from_values([Decimal(repr(x)).quantize(unit, ROUND_HALF_UP) for x in centres], kind)
    if pa.types.is_floating(stored):
        return from_numpy(np.array(centres, np.float64).astype(stored.to_pandas_dtype()), stored)
    return from_numpy(np.trunc(np.array(centres, np.float64)).astype(np.int64), stored)
