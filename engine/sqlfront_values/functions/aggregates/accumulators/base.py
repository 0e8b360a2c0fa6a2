"""The contract of an accumulator, and the sums and counts per group that most accumulators use."""

from collections.abc import Sequence
from typing import Final, Protocol

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sqlfront_values.arrow.arrays import numpy_view, valid_mask
from sqlfront_values.columns.batches import Integers, Mask, Rows, gather, mask_array, row_indices
from sqlfront_values.columns.grouping import RowGroups
from sqlfront_values.columns.text import Text

#: Whole numbers up to this bound are exact in a float64.
EXACT_DOUBLE: Final = 2**53

Doubles = npt.NDArray[np.float64]


class Groups(msgspec.Struct, frozen=True):
    """The group of each row of a batch: ``0 <= ids[row] < size``; a group may have no row at all."""

    ids: Rows
    size: int
    _counts: list[Integers] = msgspec.field(default_factory=list)

    @staticmethod
    def of(grouping: RowGroups) -> "Groups":
        """Build the groups of the same rows as ``grouping``, with the number of rows per group if
        ``grouping`` has it."""
        known = [] if grouping.counts is None else [grouping.counts]
        return Groups(grouping.ids, grouping.size, known)

    def counts(self) -> Integers:
        """Return the number of rows of each group; computed at the first call."""
        if not self._counts:
            self._counts.append(np.bincount(self.ids, minlength=self.size))
        return self._counts[0]

    def select(self, mask: Mask | None) -> "Groups":
        """Return the groups of only those rows where the mask is true (None = of all rows). ``size``, the
        number of groups, stays the same, so that a group may then have no row."""
        return self if mask is None else Groups(self.ids[mask], self.size)


class Accumulator(Protocol):
    """The computation of an aggregate function over groups. A state, the intermediate result of a group (such
    as a sum and a count), is a row of one or several Arrow columns; the accumulator object itself has no
    state.

    ``update`` and ``merge`` return one row per group, for a group without rows the state of an empty input.
    Rows with a null argument reach the accumulator, which decides how to treat them.
    """

    @property
    def state_types(self) -> tuple[pa.DataType, ...]:
        """Physical types of the columns that make up a state."""

    def update(self, groups: Groups, arguments: Sequence[pa.Array]) -> list[pa.Array]:
        """Aggregate rows of argument values: return the state columns, one row per group. ``arguments`` has a
        column per argument, ``groups`` the group of each row."""

    def merge(self, groups: Groups, states: Sequence[pa.Array]) -> list[pa.Array]:
        """Combine states: return the state columns, one row per group, from ``states``, state columns of
        which any number of rows may belong to a group."""

    def finish(self, states: Sequence[pa.Array]) -> pa.Array:
        """Return the result of each row of the state columns, as a column in physical form."""


def all_valid(arguments: Sequence[pa.Array]) -> Mask | None:
    """Return a mask that is true for the rows without a null argument; None if no row has a null argument."""
    result: Mask | None = None
    for argument in arguments:
        valid = valid_mask(argument)
        if valid is not None:
            result = valid if result is None else result & valid
    return result


def keep_rows(
    groups: Groups, arguments: Sequence[pa.Array], mask: Mask | None
) -> tuple[Groups, list[pa.Array]]:
    """Return the groups and the arguments of only those rows where the mask is true; None = of all rows."""
    if mask is None:
        return groups, list(arguments)
    chosen = mask_array(mask)
    return groups.select(mask), [argument.filter(chosen) for argument in arguments]


def without_nulls(groups: Groups, arguments: Sequence[pa.Array]) -> tuple[Groups, list[pa.Array]]:
    """Return the groups and the arguments of only those rows that have no null argument."""
    return keep_rows(groups, arguments, all_valid(arguments))


def sum_doubles(groups: Groups, values: npt.NDArray[np.generic]) -> Doubles:
    """Return the sum of each group's values as a double, 0.0 for a group without rows."""
    if groups.size == 1:
        with np.errstate(over="ignore", invalid="ignore"):
            return np.array([values.sum(dtype=np.float64)])
    sums = np.bincount(groups.ids, weights=values, minlength=groups.size)
    return sums.astype(np.float64, copy=False)


def doubles(column: pa.Array) -> Doubles:
    """Return the values of a double column as a numpy vector; undefined under nulls."""
    return numpy_view(column).astype(np.float64, copy=False)


def integers(column: pa.Array) -> Integers:
    """Return the values of a column of whole numbers as an int64 vector; undefined under nulls."""
    return numpy_view(column).astype(np.int64, copy=False)


def peak(values: Integers) -> int:
    """Return the greatest absolute value, 0 if there are no values."""
    return max(int(values.max()), -int(values.min())) if len(values) else 0


def sum_integers(groups: Groups, values: Integers) -> Integers | None:
    """Return the exact sum of each group; None if some sum might not fit 64 bits, judged by the number and
    the greatest absolute value of the ``values``."""
    limit = peak(values) * len(values)
    if limit >= 2**63:
        return None
    if groups.size == 1:
        return np.array([values.sum(dtype=np.int64)])
    if limit < EXACT_DOUBLE:
        return np.bincount(groups.ids, weights=values, minlength=groups.size).astype(np.int64)
    sums = np.zeros(groups.size, np.int64)
    np.add.at(sums, groups.ids, values)
    return sums


def best_rows(groups: Groups, ranks: Integers, *, last: bool = False) -> tuple[Rows, Mask]:
    """Return for each group the number of its row with the lowest of the ``ranks``, and whether the group has
    any row. Of several such rows the first counts, or the last if ``last``. A group without rows gets row
    0."""
    found = groups.counts() > 0
    hits = np.flatnonzero(ranks == _least(groups, ranks)[groups.ids])
    rows = np.zeros(groups.size, np.int64)
    # Of several assignments to one place the last assignment stays.
    hits = hits if last else hits[::-1]
    rows[groups.ids[hits]] = hits
    return rows, found


def best_text_rows(groups: Groups, text: Text, *, greatest: bool) -> tuple[Rows, Mask]:
    """Return for each group the number of a row with the group's least (or ``greatest``) string, and whether
    the group has any row; a group without rows gets row 0.

    To be fast, strings are compared by one 8-byte word after the other, each time only among the rows that
    are still candidates, and at last by length, since strings that differ in trailing zero bytes have equal
    words.
    """
    candidates = np.arange(len(groups.ids))
    for number in range(text.words.shape[1] + 1):
        values = (
            text.sortable(number, candidates) if number < text.words.shape[1] else text.lengths[candidates]
        )
        if greatest:
            values = ~values
        ids = groups.ids[candidates]
        candidates = candidates[values == _least(Groups(ids, groups.size), values)[ids]]
    rows = np.zeros(groups.size, np.int64)
    rows[groups.ids[candidates]] = candidates
    return rows, groups.counts() > 0


def _least(groups: Groups, values: Integers) -> Integers:
    """Return the least value of each group; for a group without rows the greatest 64-bit integer."""
    least = np.full(groups.size, np.iinfo(np.int64).max)
    np.minimum.at(least, groups.ids, values)
    return least


def pick_rows(columns: Sequence[pa.Array], rows: Rows, found: Mask) -> list[pa.Array]:
    """Return each column's values at the row numbers ``rows``, null where ``found`` is False."""
    indices = row_indices(rows, found)
    return [gather(column, indices) for column in columns]
