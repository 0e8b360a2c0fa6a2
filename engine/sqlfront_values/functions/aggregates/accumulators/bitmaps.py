"""Bitmaps of 32,768 bits per group: bitmap_construct_agg, bitmap_or_agg and bitmap_and_agg."""

from collections.abc import Sequence
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sqlfront_values.errors import spark_error
from sqlfront_values.functions.aggregates.accumulators.base import Groups, integers, without_nulls
from sqlfront_values.room import check, claim
from sqlfront_values.types import BINARY

#: The bytes of a bitmap.
BYTES: Final = 4096
#: Rows whose bitmaps are combined at a time.
_ROWS: Final = 512

_Bitmaps = npt.NDArray[np.uint8]


class _Bitmap(msgspec.Struct, frozen=True):
    """The state and the result of a bitmap aggregate: a bitmap per group, as bytes. ``operation`` combines
    bitmaps, and its identity is the bitmap of a group without rows."""

    operation: np.ufunc
    state_types = (BINARY,)

    def merge(self, groups: Groups, states: Sequence[pa.Array]) -> list[pa.Array]:
        groups, (column,) = without_nulls(groups, states)
        result = self._empty(groups.size)
        for start in range(0, len(column), _ROWS):
            check()
            rows = _bytes_of(column.slice(start, _ROWS))
            self.operation.at(result, groups.ids[start : start + _ROWS], rows)
        return [_column(result)]

    def finish(self, states: Sequence[pa.Array]) -> pa.Array:
        return states[0]

    def _empty(self, size: int) -> _Bitmaps:
        claim("an aggregate of bitmaps", 2 * size * BYTES)
        return np.full((size, BYTES), 255 if self.operation is np.bitwise_and else 0, np.uint8)


class ConstructedBitmap(_Bitmap, frozen=True):
    """The aggregate bitmap_construct_agg: the bits at the positions that a bigint column holds."""

    def update(self, groups: Groups, arguments: Sequence[pa.Array]) -> list[pa.Array]:
        groups, (column,) = without_nulls(groups, arguments)
        positions = integers(column)
        wrong = (positions < 0) | (positions >= 8 * BYTES)
        if wrong.any():
            raise spark_error(
                "INVALID_BITMAP_POSITION",
                f"The 0-indexed bitmap position {int(positions[wrong][0])} is out of bounds. The bitmap has "
                f"{8 * BYTES} bits ({BYTES} bytes).",
            )
        result = self._empty(groups.size)
        bits = np.left_shift(np.uint8(1), (positions & 7).astype(np.uint8))
        np.bitwise_or.at(result, (groups.ids, positions >> 3), bits)
        return [_column(result)]


class CombinedBitmap(_Bitmap, frozen=True):
    """The aggregate bitmap_or_agg or bitmap_and_agg of a binary column; a shorter binary ends with zeros."""

    def update(self, groups: Groups, arguments: Sequence[pa.Array]) -> list[pa.Array]:
        return self.merge(groups, arguments)


def _bytes_of(column: pa.Array) -> _Bitmaps:
    """Return the first bytes of each binary as a row of a bitmap's length; there are no nulls."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    offsets = np.frombuffer(column.buffers()[1], np.int32)[column.offset : column.offset + len(column) + 1]
    data = column.buffers()[2]
    values = np.zeros(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
    places = np.arange(BYTES)
    inside = places < np.diff(offsets)[:, None]
    result = np.zeros((len(column), BYTES), np.uint8)
    result[inside] = values[(offsets[:-1, None].astype(np.int64) + places)[inside]]
    return result


def _column(bitmaps: _Bitmaps) -> pa.Array:
    offsets = np.arange(len(bitmaps) + 1, dtype=np.int32) * np.int32(BYTES)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(bitmaps))]
    return pa.Array.from_buffers(BINARY, len(bitmaps), buffers)
