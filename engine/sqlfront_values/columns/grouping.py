"""Grouping of rows: rows with equal keys get the same number, the number of their group, counted from 0."""

from collections.abc import Sequence
from typing import Final

import msgspec
import numpy as np
import pyarrow as pa

from sqlfront_values.arrow import kernels as pc
from sqlfront_values.columns.batches import Integers, Rows, gather, row_indices
from sqlfront_values.columns.encoding import SAMPLE_ROWS, Codes, combine, encode
from sqlfront_values.columns.hashing import IntegerTable

#: Codes are addressed directly if their bound is at most this many times the number of rows, or at most
#: SMALL_BOUND codes (a table of 32 KiB, which stays in the processor's cache). For larger bounds a hash table
#: is as fast, and takes less memory.
DENSITY: Final = 4
SMALL_BOUND: Final = 4096
#: Rows per code from which on codes are few, and counted first.
ROWS_PER_CODE: Final = 8


class RowGroups(msgspec.Struct, frozen=True):
    """The groups of some rows. ``ids[row]`` is the group of each row, 0 to ``size`` - 1; ``rows[group]`` is
    an arbitrary row of each group; ``counts[group]`` is the number of the group's rows, ``counts`` None if
    the rows were not counted."""

    ids: Rows
    size: int
    rows: Rows
    counts: Integers | None = None


def group_rows(columns: Sequence[pa.Array], length: int) -> RowGroups:
    """Group ``length`` rows by the values of all ``columns``; nulls are equal. Without columns all rows form
    a single group, even with zero rows.

    >>> grouping = group_rows([pa.array(["b", "a", "b", None])], 4)
    >>> grouping.ids.tolist(), grouping.size
    ([1, 0, 1, 2], 3)
    """
    if not columns:
        return RowGroups(np.zeros(length, np.int64), 1, np.zeros(1, np.int64))
    plain = [column for column in columns if not _is_costly(column)]
    if not plain or len(plain) == len(columns):
        return group_codes(combine([encode(column) for column in columns], length))
    grouping = group_codes(combine([encode(column) for column in plain], length))
    splitting = [column for column in columns if _is_costly(column) and not _follows(column, grouping)]
    if not splitting:
        return grouping
    codes = [Codes(grouping.ids, grouping.size), *(encode(column) for column in splitting)]
    return group_codes(combine(codes, length))


def _is_costly(column: pa.Array) -> bool:
    """Return whether encoding the column takes much longer than comparing its values: True for plain strings
    and binaries."""
    return bool(pa.types.is_string(column.type) or pa.types.is_binary(column.type))


def _follows(column: pa.Array, grouping: RowGroups) -> bool:
    """Return whether each group's rows have one value in the column, as when a customer's number determines
    the name. Returns False without comparing if the column has nulls. Compares a sample of the rows first."""
    if grouping.size == len(column):
        return True
    if column.null_count:
        return False
    for rows in (min(len(column), SAMPLE_ROWS), len(column)):
        others = row_indices(grouping.rows[grouping.ids[:rows]])
        if pc.all(pc.equal(column.slice(0, rows), gather(column, others))).as_py() is False:
            return False
    return True


def group_codes(codes: Codes) -> RowGroups:
    """Group rows by their codes: two rows are in one group exactly where their codes are equal."""
    length = len(codes.values)
    if codes.bound <= max(DENSITY * length, SMALL_BOUND):
        return _group_dense(codes)
    return _numbered(IntegerTable(codes.values).numbers)


def _numbered(rows: Rows) -> RowGroups:
    """Build groups from ``rows``, which has for each row the position of the row that represents the row's
    group (a representative has its own position)."""
    stands = np.zeros(len(rows), np.bool_)
    stands[rows] = True
    first = np.flatnonzero(stands)
    numbers = np.empty(len(rows), np.int64)
    numbers[first] = np.arange(len(first))
    return RowGroups(numbers[rows], len(first), first)


def _group_dense(codes: Codes) -> RowGroups:
    """Group rows by codes of a small bound, with an array that has an entry for every possible code."""
    length = len(codes.values)
    if codes.bound * ROWS_PER_CODE <= length:
        return _group_few(codes)
    # Places of codes that no row has are never read, so they need not be filled.
    place = np.empty(codes.bound, np.int32)
    place[codes.values] = np.arange(length, dtype=np.int32)
    chosen = place[codes.values]
    # A row that finds itself represents its group.
    rows = np.flatnonzero(chosen == np.arange(length, dtype=np.int32))
    place[codes.values[rows]] = np.arange(len(rows), dtype=np.int32)
    return RowGroups(place[codes.values].astype(np.int64), len(rows), rows)


def _group_few(codes: Codes) -> RowGroups:
    """Group rows by codes of which each occurs many times, and count the rows of each group. Only as many
    rows are searched for the groups' representative rows as are needed."""
    ids, counts = codes.values, np.bincount(codes.values, minlength=codes.bound)
    present = counts > 0
    size = int(present.sum())
    if size < codes.bound:
        counts, ids = counts[present], (np.cumsum(present) - 1)[ids]
    rows = np.full(size, -1, np.int64)
    start, step = 0, ROWS_PER_CODE * codes.bound
    while start < len(ids) and (start == 0 or (rows < 0).any()):
        part = ids[start : start + step]
        rows[part] = np.arange(start, start + len(part))
        start, step = start + step, 2 * step
    return RowGroups(ids, size, rows, counts)
