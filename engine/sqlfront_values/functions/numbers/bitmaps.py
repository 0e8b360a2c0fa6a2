"""Places of numbers in bitmaps of 32,768 bits, as bitmap_construct_agg makes them: bitmap_bit_position,
bitmap_bucket_number, bitmap_count."""

from typing import Final

import numpy as np

from sqlfront_values.arrow.arrays import from_numpy, numpy_view, valid_mask
from sqlfront_values.arrow.forms import Datum
from sqlfront_values.functions.registry import Invocation, ScalarFunction, register
from sqlfront_values.functions.rowwise import bytes_view, columnar
from sqlfront_values.types import BIGINT, BINARY

#: Bits of a bitmap.
_BITS: Final = 32_768


@columnar
def _bit_position(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    """Compute the bit of each number in its bitmap: 1 has the first bit of its bitmap, 0 that of another."""
    values = numpy_view(arguments[0]).astype(np.int64)
    places = np.where(values > 0, (values - 1) % _BITS, np.fmod(-values, _BITS))
    return from_numpy(places, BIGINT, valid_mask(arguments[0]))


@columnar
def _bucket_number(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    """Compute the bitmap of each number. As in Java, the quotient of a negative number goes towards zero; the
    number isn't negated, since the least bigint has no opposite."""
    values = numpy_view(arguments[0]).astype(np.int64)
    below = values // _BITS + (values % _BITS != 0)
    numbers = np.where(values > 0, 1 + (values - 1) // _BITS, below)
    return from_numpy(numbers, BIGINT, valid_mask(arguments[0]))


@columnar
def _count(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    """Count the bits that are set, by the sums of the bytes' bits up to each offset."""
    offsets, data = bytes_view(arguments[0])
    first = int(offsets[0])
    sums = np.concatenate([[0], np.cumsum(np.bitwise_count(data[first : int(offsets[-1])]), dtype=np.int64)])
    ends = sums[offsets - first]
    return from_numpy(ends[1:] - ends[:-1], BIGINT, valid_mask(arguments[0]))


register(
    ScalarFunction(
        "bitmap_bit_position", (BIGINT,), BIGINT, _bit_position, example=("bitmap_bit_position(123)", "122")
    ),
    ScalarFunction(
        "bitmap_bucket_number", (BIGINT,), BIGINT, _bucket_number, example=("bitmap_bucket_number(123)", "1")
    ),
    ScalarFunction(
        "bitmap_count", (BINARY,), BIGINT, _count, exact=(0,), example=("bitmap_count(X'1010')", "2")
    ),
)
