"""Rows of equal keys get one dense number."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from sqlfront_engine.arrays import from_numpy, numpy_view
from sqlfront_engine.columns.batches import Rows
from sqlfront_engine.columns.encoding import Codes, combine, encode

#: Codes are addressed directly if their bound is at most this many times the number of rows, or SMALL_BOUND.
DENSITY: Final = 4
SMALL_BOUND: Final = 4096


@dataclass(frozen=True, slots=True)
class Grouping:
    """``ids[row]`` is the group of each row, 0 to ``size`` - 1; ``first[group]`` is a row of each group."""

    ids: Rows
    size: int
    first: Rows


def group_rows(columns: Sequence[pa.Array], length: int) -> Grouping:
    """Group rows by all columns; nulls are equal. Without columns all rows are one group, also if there are
    none.

    >>> grouping = group_rows([pa.array(["b", "a", "b", None])], 4)
    >>> grouping.ids.tolist(), grouping.size, grouping.first.tolist()
    ([1, 0, 1, 2], 3, [1, 0, 3])
    """
    if not columns:
        return Grouping(np.zeros(length, np.int64), 1, np.zeros(1, np.int64))
    return group_codes(combine([encode(column) for column in columns], length))


def group_codes(codes: Codes) -> Grouping:
    """Group rows by code."""
    length = len(codes.values)
    if codes.bound <= max(DENSITY * length, SMALL_BOUND):
        return _group_dense(codes)
    bits = (codes.bound - 1).bit_length() + length.bit_length()
    if bits <= 63:
        return _group_sorted(codes, length.bit_length())
    encoded = from_numpy(codes.values, pa.int64()).dictionary_encode()
    ids = numpy_view(encoded.indices).astype(np.int64)
    return Grouping(ids, len(encoded.dictionary), first_rows(ids, len(encoded.dictionary)))


def first_rows(ids: Rows, size: int) -> Rows:
    """The first row of each group; every group has one."""
    first = np.empty(size, np.int64)
    # Of several assignments to one place the last one stays.
    first[ids[::-1]] = np.arange(len(ids) - 1, -1, -1)
    return first


def _group_dense(codes: Codes) -> Grouping:
    """A place for every possible code."""
    length = len(codes.values)
    place = np.full(codes.bound, -1, np.int64)
    place[codes.values[::-1]] = np.arange(length - 1, -1, -1)
    present = place >= 0
    first = place[present]
    if len(first) == codes.bound:
        return Grouping(codes.values, codes.bound, first)
    numbers = np.cumsum(present) - 1
    return Grouping(numbers[codes.values], len(first), first)


def _group_sorted(codes: Codes, row_bits: int) -> Grouping:
    """Sort code and row number packed into one integer: numpy sorts plain integers several times faster than
    it finds a sorting permutation, and faster than Arrow hashes."""
    length = len(codes.values)
    packed = codes.values << row_bits
    packed |= np.arange(length)
    packed.sort()
    rows = packed & ((1 << row_bits) - 1)
    packed >>= row_bits
    starts = np.empty(length, np.bool_)
    starts[:1] = True
    np.not_equal(packed[1:], packed[:-1], out=starts[1:])
    ids = np.empty(length, np.int64)
    ids[rows] = np.cumsum(starts) - 1
    return Grouping(ids, int(starts.sum()), rows[starts])
