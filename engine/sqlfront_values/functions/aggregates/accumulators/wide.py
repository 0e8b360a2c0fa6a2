"""Exact sums and quotients of decimals beyond 64 bits."""

from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sqlfront_values.arrow.arrays import bitmap, from_numpy
from sqlfront_values.columns.batches import Integers, Mask
from sqlfront_values.columns.encoding import as_integers, decimal_words
from sqlfront_values.functions.aggregates.accumulators.base import Groups, peak

Words = npt.NDArray[np.int64]

_LOW: Final = np.int64(0xFFFFFFFF)
_SIGN: Final = np.int64(-(2**63))


class WideSums(msgspec.Struct, frozen=True):
    """Sums of 128 bits, one per group, as two words: ``low`` (its bits are an unsigned number) and ``high``.
    ``overflow`` marks the sums that do not fit 128 bits."""

    low: Integers
    high: Integers
    overflow: Mask

    def fit(self, precision: int) -> Mask:
        """Return a mask that is true where the sum has at most ``precision`` decimal digits."""
        limit = 10**precision
        return ~self.overflow & self._less(limit) & ~self._less(1 - limit)

    def fit_bigint(self) -> Mask:
        """Return a mask that is true where the sum fits 64 bits."""
        return ~self.overflow & (self.high == self.low >> 63)

    def _less(self, bound: int) -> Mask:
        high, low = bound >> 64, bound & 0xFFFFFFFFFFFFFFFF
        unsigned = self.low.view(np.uint64)
        return (self.high < high) | ((self.high == high) & (unsigned < np.uint64(low)))


def unscaled(column: pa.Array) -> Integers | Words:
    """Return a decimal column's unscaled values: as int64 if the column's values are known to fit, else as
    128-bit rows of (low word, high word)."""
    narrow = as_integers(column)
    return decimal_words(column) if narrow is None else narrow


def sum_wide(groups: Groups, values: Integers | Words) -> WideSums:
    """Return the sum of each group's unscaled values. The sums are computed by 32-bit limbs, which can't
    overflow below 2**31 rows."""
    return combine_limbs([_sum_limb(groups, limb) for limb in split_limbs(values)])


def split_limbs(values: Integers | Words) -> list[Integers]:
    """Split unscaled values (int64, or rows of low and high word) into four limbs of 32 bits, lowest first;
    the highest limb is signed."""
    low, high = (values, values >> 63) if values.ndim == 1 else (values[:, 0], values[:, 1])
    return [low & _LOW, (low >> 32) & _LOW, high & _LOW, high >> 32]


def combine_limbs(limbs: list[Integers]) -> WideSums:
    """Build the 128-bit sums from four columns, lowest first, each with the sums of one 32-bit limb. The
    columns are overwritten."""
    for position in range(3):
        limbs[position + 1] += limbs[position] >> 32
        limbs[position] &= _LOW
    overflow = limbs[3] != limbs[3].astype(np.int32)
    return WideSums(limbs[0] | (limbs[1] << 32), limbs[2] | (limbs[3] << 32), overflow)


def _sum_limb(groups: Groups, values: Integers) -> Integers:
    sums = np.zeros(groups.size, np.int64)
    np.add.at(sums, groups.ids, values)
    return sums


def decimal_array(
    values: Integers | Words | WideSums, data_type: pa.DataType, valid: Mask | None
) -> pa.Array:
    """Build a decimal column of the physical type ``data_type`` from unscaled values; null where ``valid`` is
    false (None: no nulls)."""
    if isinstance(values, WideSums):
        values = np.stack([values.low, values.high], axis=1)
    if pa.types.is_decimal64(data_type):
        return from_numpy(
            values if values.ndim == 1 else np.ascontiguousarray(values[:, 0]), data_type, valid
        )
    if values.ndim == 1:
        values = np.stack([values, values >> 63], axis=1)
    data = pa.py_buffer(np.ascontiguousarray(values))
    return pa.Array.from_buffers(data_type, len(values), [bitmap(valid), data])


def divide_half_up(
    sums: Integers | Words, counts: Integers, scale: int, data_type: pa.DataType
) -> tuple[Integers | Words, Mask]:
    """Divide ``sums`` (unscaled, with ``scale`` digits after the point) by the positive ``counts``. Return
    the unscaled quotients, rounded half up to the scale of ``data_type``, and a mask of the quotients that
    fit its precision."""
    shift = 10 ** (data_type.scale - scale)
    limit = 10**data_type.precision
    if sums.ndim == 1 and len(sums) and 2 * peak(sums) * shift + int(counts.max()) < 2**63:
        magnitude = (2 * shift * np.abs(sums) + counts) // (2 * counts)
        return np.where(sums < 0, -magnitude, magnitude), magnitude < limit
    quotients = [
        _divide_one(total, count, scale, data_type.scale)
        for total, count in zip(_python_integers(sums), counts.tolist(), strict=True)
    ]
    fits = np.array([abs(quotient) < limit for quotient in quotients], np.bool_)
    words = b"".join(
        (quotient if fit else 0).to_bytes(16, "little", signed=True)
        for quotient, fit in zip(quotients, fits.tolist(), strict=True)
    )
    return np.frombuffer(words, np.int64).reshape(-1, 2), fits


def _divide_one(total: int, count: int, scale: int, target: int) -> int:
    """Return ``total / count`` as an unscaled value. ``total`` is unscaled with ``scale`` digits after the
    point; the quotient is rounded as in Spark, to 38 digits after the point, then to ``target`` digits."""
    return _round_half_up(_round_half_up(total * 10 ** (38 - scale), count), 10 ** (38 - target))


def _round_half_up(numerator: int, denominator: int) -> int:
    magnitude = (2 * abs(numerator) + denominator) // (2 * denominator)
    return -magnitude if numerator < 0 else magnitude


def _python_integers(values: Integers | Words) -> list[int]:
    if values.ndim == 1:
        return values.tolist()
    low, high = values[:, 0].copy().view(np.uint64).tolist(), values[:, 1].tolist()
    return [(upper << 64) | lower for upper, lower in zip(high, low, strict=True)]
