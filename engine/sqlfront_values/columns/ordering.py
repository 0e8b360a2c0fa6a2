"""Columns as integers that sort like the values, and row orders made from the integers."""

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sqlfront_values.arrow import kernels as pc
from sqlfront_values.arrow.arrays import numpy_view, valid_mask
from sqlfront_values.columns.batches import Integers, Rows
from sqlfront_values.columns.encoding import (
    MAX_BOUND,
    Codes,
    as_integers,
    canonical_floats,
    combine,
    decimal_words,
    dictionary_indices,
    value_range,
)
from sqlfront_values.errors import NotSupportedError
from sqlfront_values.expressions import SortOrder
from sqlfront_values.room import check
from sqlfront_values.types import ddl, logical

_SIGN: Final = np.int64(-(2**63))
#: Values to sort at a time, at most: some tenths of a second, after which the query can be stopped.
_RUN: Final = 2**21


def sortable(column: pa.Array) -> Integers | None:
    """Return an int64 per row that sorts like the value; None for types without such an int64 (strings, wide
    decimals that don't fit, nested types). NaN is the greatest number. Equal values have the same integer in
    every column of the type, unless the type is decimal128. The integers under nulls are undefined."""
    if not pa.types.is_floating(column.type):
        return as_integers(column)
    canonical = canonical_floats(numpy_view(column))  # type: ignore[arg-type]
    bits = canonical.view(f"i{canonical.itemsize}").astype(np.int64, copy=False)
    # Negative numbers sort by their magnitude, downwards.
    return bits ^ ((bits >> 63) & np.int64(2 ** (8 * canonical.itemsize - 1) - 1))


def ranks(column: pa.Array, order: SortOrder = SortOrder.ASCENDING) -> Codes:
    """Return codes that sort ascending as SQL's ``ORDER BY column`` sorts the values in ``order``; equal
    values have equal codes. Raises NotSupportedError for types without an order, such as maps.

    >>> ranks(pa.array([3, None, 1]), SortOrder.DESCENDING_NULLS_FIRST).values.tolist()
    [1, 0, 3]
    """
    if pa.types.is_null(column.type):
        return Codes(np.zeros(len(column), np.int64), 1)
    values = sortable(column)
    valid = valid_mask(column)
    if values is None:
        values = _wide_ranks(column)
    low, high = value_range(values, valid)
    bound = max(1, high - low + 1)
    if bound > MAX_BOUND:
        values = _dense_ranks(values, _argsort(values))
        low, high = value_range(values, valid)
        bound = high - low + 1
    codes = high - values if order.descends else values - low
    if valid is None:
        return Codes(codes, bound)
    if order.nulls_first:
        return Codes(np.where(valid, codes + 1, 0), bound + 1)
    return Codes(np.where(valid, codes, bound), bound + 1)


def combine_ranks(keys: Sequence[Codes], length: int) -> Codes:
    """Combine the codes of several keys to one code for each of ``length`` rows; the codes sort as the keys
    do, the first key deciding first."""
    return combine(keys, length, _compact_ranks)


def sorting_order(codes: Codes) -> Rows:
    """Return the row numbers in ascending order of code. Rows of equal code may have any order."""
    length = len(codes.values)
    row_bits = length.bit_length()
    if (codes.bound - 1).bit_length() + row_bits > 63:
        return _argsort(codes.values)
    packed = codes.values << row_bits
    packed |= np.arange(length)
    _sort(packed)
    packed &= (1 << row_bits) - 1
    return packed


def _sort(values: Integers) -> None:
    """Sort the values in place, ascending. Many values are sorted in runs, which are then merged two by two;
    a :func:`check` between these steps may stop the query. (numpy's stable sort merges two sorted runs
    quickly.)"""
    if len(values) <= _RUN:
        values.sort()
        return
    for start in range(0, len(values), _RUN):
        check()
        values[start : start + _RUN].sort()
    width = 2 * _RUN
    while width < 2 * len(values):
        for start in range(0, len(values), width):
            check()
            values[start : start + width].sort(kind="stable")
        width *= 2


def _argsort(values: npt.NDArray[np.generic]) -> Rows:
    """Return the positions of the values in ascending order of value; the query can be stopped between runs,
    as in :func:`_sort`."""
    if len(values) <= _RUN:
        return np.argsort(values)
    order = np.empty(len(values), np.int64)
    for start in range(0, len(values), _RUN):
        check()
        np.add(np.argsort(values[start : start + _RUN]), start, out=order[start : start + _RUN])
    check()
    return order[np.argsort(values[order], kind="stable")]


def _compact_ranks(codes: Codes) -> Codes:
    values = _dense_ranks(codes.values, sorting_order(codes))
    return Codes(values, int(values.max()) + 1 if len(values) else 1)


def _dense_ranks(values: npt.NDArray[np.generic], order: Rows) -> Integers:
    """Return the rank of each value, 0 for the least; equal values have the same rank, and no rank is left
    out. ``order`` has the positions of the values in ascending order."""
    if len(values) == 0:
        return np.zeros(0, np.int64)
    sorted_values = values[order]
    steps = np.zeros(len(values), np.int64)
    np.cumsum(sorted_values[1:] != sorted_values[:-1], out=steps[1:])
    result = np.empty(len(values), np.int64)
    result[order] = steps
    return result


def _wide_ranks(column: pa.Array) -> Integers:
    """Return an int64 per row that sorts like the value, comparable within this column only, for types that
    :func:`sortable` refuses. Raises NotSupportedError for types without an order, such as maps."""
    data_type = column.type
    if pa.types.is_dictionary(data_type):
        if len(column.dictionary) == 0:
            return np.zeros(len(column), np.int64)
        return _wide_ranks(column.dictionary)[dictionary_indices(column)]
    if pa.types.is_string(data_type) or pa.types.is_binary(data_type):
        encoded = column.dictionary_encode()
        order = numpy_view(pc.sort_indices(encoded.dictionary)).astype(np.int64)
        if len(order) == 0:
            return np.zeros(len(column), np.int64)
        positions = np.empty(len(order), np.int64)
        positions[order] = np.arange(len(order))
        return positions[dictionary_indices(encoded)]
    if pa.types.is_decimal128(data_type):
        words = decimal_words(column)
        order = np.lexsort((words[:, 0] ^ _SIGN, words[:, 1]))
        return _dense_ranks(np.ascontiguousarray(words).view("V16").ravel(), order)
    if pa.types.is_struct(data_type):
        return combine_ranks([ranks(child) for child in column.flatten()], len(column)).values
    if pa.types.is_list(data_type):
        return _list_ranks(column)
    raise NotSupportedError(f"ordering by a value of type {ddl(logical(data_type))} is not supported")


def _list_ranks(column: pa.Array) -> Integers:
    """Return an int64 per row that sorts like the list: lists are compared element by element, and a prefix
    comes before the longer list."""
    starts = numpy_view(column.offsets).astype(np.int64)
    child = column.values
    element_ranks = (ranks(child).values + 1).tolist()
    rows = [
        tuple(element_ranks[start:stop])
        for start, stop in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)
    ]
    positions = {row: position for position, row in enumerate(sorted(set(rows)))}
    return np.array([positions[row] for row in rows], np.int64)
