"""Aggregates over the ordered values of a group: listagg, mode and percentiles by ``WITHIN GROUP (ORDER BY
...)``, and percentiles of values with frequencies."""

from collections.abc import Sequence
from typing import Protocol

import msgspec
import numpy as np
import pyarrow as pa

from sqlfront_values.arrow import kernels as pc
from sqlfront_values.arrow.arrays import valid_mask
from sqlfront_values.columns.batches import Rows, gather, row_indices
from sqlfront_values.columns.encoding import Codes, canonical, combine, encode
from sqlfront_values.columns.grouping import group_codes
from sqlfront_values.columns.ordering import combine_ranks, ranks, sorting_order
from sqlfront_values.errors import spark_error
from sqlfront_values.expressions import SortOrder
from sqlfront_values.functions.aggregates.accumulators.base import (
    Groups,
    integers,
    keep_rows,
    pick_rows,
)
from sqlfront_values.functions.aggregates.accumulators.lists import (
    DelimitedText,
    Percentile,
    flatten_lists,
    to_lists,
)
from sqlfront_values.types import physical


class GroupRowsResult(Protocol):
    """A function that computes the result of each group from the rows of the group."""

    def __call__(self, groups: Groups, columns: Sequence[pa.Array]) -> pa.Array:
        """Return one result per group; no row has a null in the first column."""


class CollectedRows(msgspec.Struct, frozen=True):
    """An accumulator that collects the argument rows of each group, but for rows with a null in the first
    argument. ``types`` are the arguments' logical types, ``result`` computes a group's result from its
    rows."""

    types: tuple[pa.DataType, ...]
    result: GroupRowsResult

    @property
    def state_types(self) -> tuple[pa.DataType, ...]:
        return tuple(physical(pa.list_(data_type)) for data_type in self.types)

    def update(self, groups: Groups, arguments: Sequence[pa.Array]) -> list[pa.Array]:
        return to_lists(*keep_rows(groups, arguments, valid_mask(arguments[0])))

    def merge(self, groups: Groups, states: Sequence[pa.Array]) -> list[pa.Array]:
        return to_lists(*flatten_lists(groups, states))

    def finish(self, states: Sequence[pa.Array]) -> pa.Array:
        size = len(states[0])
        return self.result(*flatten_lists(Groups(np.arange(size), size), states))


class OrderedText(msgspec.Struct, frozen=True):
    """The result of listagg with an order: the values of the first column, a text per row, joined in the
    order of the other columns, which are sorted by ``orders``."""

    text: DelimitedText
    orders: tuple[SortOrder, ...]

    def __call__(self, groups: Groups, columns: Sequence[pa.Array]) -> pa.Array:
        values, *keys = columns
        codes = [ranks(key, order) for key, order in zip(keys, self.orders, strict=True)]
        parents = Codes(groups.ids, max(1, groups.size))
        rows = sorting_order(combine_ranks([parents, *codes], len(values)))
        return self.text(
            to_lists(Groups(groups.ids[rows], groups.size), [gather(values, row_indices(rows))])[0]
        )


class MostFrequent(msgspec.Struct, frozen=True):
    """The result of mode with an order: the most frequent value of each group, of several the least or, if
    ``greatest``, the greatest; null for a group without rows."""

    greatest: bool

    def __call__(self, groups: Groups, columns: Sequence[pa.Array]) -> pa.Array:
        values = canonical(columns[0])
        pairs = group_codes(combine([Codes(groups.ids, max(1, groups.size)), encode(values)], len(values)))
        counts = np.bincount(pairs.ids, minlength=pairs.size)
        order = SortOrder.ASCENDING if self.greatest else SortOrder.DESCENDING
        places = ranks(values, order).values[pairs.rows]
        rows = np.zeros(groups.size, np.int64)
        # The last assignment to a place stays: the greatest count and, of equal counts, the wanted value.
        best = np.lexsort((places, counts))
        rows[groups.ids[pairs.rows[best]]] = pairs.rows[best]
        return pick_rows([values], rows, groups.counts() > 0)[0]


class WeightedPercentile(msgspec.Struct, frozen=True):
    """The result of percentile with frequencies: the percentile of the first column's values, each as often
    as the second column says. A value with the frequency null or 0 doesn't count."""

    percentile: Percentile

    def __call__(self, groups: Groups, columns: Sequence[pa.Array]) -> pa.Array:
        values, frequencies = columns
        counts, valid = integers(frequencies), valid_mask(frequencies)
        counts = counts if valid is None else np.where(valid, counts, 0)
        if (counts < 0).any():
            least = int(counts.min())
            raise spark_error(
                "NEGATIVE_VALUES_IN_FREQUENCY_EXPRESSION",
                f"Found the negative value in the frequency: {least}L, but expected a positive integral "
                "value.",
            )
        ids, values, counts = _counted(groups, values, counts)
        starts = np.searchsorted(ids, np.arange(groups.size))
        before = np.concatenate([[0], np.cumsum(counts)])
        ends = np.searchsorted(ids, np.arange(groups.size), "right")
        totals = before[ends] - before[starts]

        def at(places: Rows) -> Rows:
            """Return the row of the value number ``places`` (from 0) of each group."""
            found = np.searchsorted(before, before[starts] + places, "right") - 1
            return np.minimum(found, max(0, len(values) - 1))

        return self.percentile.of_groups(values, totals, at)


def _counted(groups: Groups, values: pa.Array, counts: Rows) -> tuple[Rows, pa.Array, Rows]:
    """Return the groups, values and counts of the rows with a count, sorted by group and value."""
    kept = np.flatnonzero(counts > 0)
    values = gather(values, row_indices(kept))
    ids, counts = groups.ids[kept], counts[kept]
    order = sorting_order(combine_ranks([Codes(ids, max(1, groups.size)), ranks(values)], len(kept)))
    return ids[order], gather(values, row_indices(order)), counts[order]


class BestRows(msgspec.Struct, frozen=True):
    """The aggregate max_by or min_by with a number: a list of the first arguments of the ``count`` rows with
    the greatest (least) second arguments, the best first; null for a group without such rows. Rows with a
    null second argument don't count. ``types`` are the arguments' logical types."""

    types: tuple[pa.DataType, pa.DataType]
    greatest: bool
    count: int

    @property
    def state_types(self) -> tuple[pa.DataType, ...]:
        return tuple(physical(pa.list_(data_type)) for data_type in self.types)

    def update(self, groups: Groups, arguments: Sequence[pa.Array]) -> list[pa.Array]:
        groups, (values, keys) = keep_rows(groups, arguments, valid_mask(arguments[1]))
        order = ranks(keys, SortOrder.DESCENDING if self.greatest else SortOrder.ASCENDING)
        rows = sorting_order(combine_ranks([Codes(groups.ids, max(1, groups.size)), order], len(keys)))
        ids = groups.ids[rows]
        places = np.arange(len(rows)) - np.searchsorted(ids, ids)
        rows = rows[places < self.count]
        indices = row_indices(rows)
        return to_lists(Groups(groups.ids[rows], groups.size), [gather(c, indices) for c in (values, keys)])

    def merge(self, groups: Groups, states: Sequence[pa.Array]) -> list[pa.Array]:
        return self.update(*flatten_lists(groups, states))

    def finish(self, states: Sequence[pa.Array]) -> pa.Array:
        found = integers(pc.list_value_length(states[0])) > 0
        return pick_rows([states[0]], np.arange(len(found)), found)[0]
