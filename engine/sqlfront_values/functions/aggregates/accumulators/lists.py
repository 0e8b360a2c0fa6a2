"""Aggregates that hold all values of a group, in list columns: collections, percentiles, modes, and
DISTINCT."""

from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sqlfront_values.arrow import kernels as pc
from sqlfront_values.arrow.arrays import from_numpy, numpy_view, scalar
from sqlfront_values.columns.batches import Mask, Rows, gather, row_indices
from sqlfront_values.columns.encoding import Codes, canonical, combine, encode
from sqlfront_values.columns.grouping import group_codes
from sqlfront_values.columns.lists import outer, take_apart
from sqlfront_values.columns.ordering import combine_ranks, ranks, sorting_order
from sqlfront_values.functions import growth
from sqlfront_values.functions.aggregates.accumulators.base import (
    Accumulator,
    Groups,
    integers,
    pick_rows,
    without_nulls,
)
from sqlfront_values.room import claim
from sqlfront_values.types import DOUBLE, STRING, logical, physical


class ListResult(Protocol):
    """A function that computes the result of each group from its list of values, which holds no nulls."""

    def __call__(self, lists: pa.ListArray) -> pa.Array:
        """Return one result per list of ``lists``."""


class CollectedValues(msgspec.Struct, frozen=True):
    """An accumulator that collects the non-null values of each group in a list; ``type`` is the values'
    logical type. ``result`` computes a group's result from its list; if ``result`` is None, the list is the
    result. If ``unique``, equal values of a group count once; if ``nulls``, nulls are collected, too."""

    type: pa.DataType
    unique: bool = False
    result: ListResult | None = None
    nulls: bool = False

    @property
    def state_types(self) -> tuple[pa.DataType, ...]:
        return (physical(pa.list_(self.type)),)

    def update(self, groups: Groups, arguments: Sequence[pa.Array]) -> list[pa.Array]:
        values = arguments[0]
        if not self.nulls:
            groups, (values,) = without_nulls(groups, [values])
        if self.unique:
            groups, (values,) = distinct_rows(groups, [values])
        return to_lists(groups, [values])

    def merge(self, groups: Groups, states: Sequence[pa.Array]) -> list[pa.Array]:
        return self.update(*flatten_lists(groups, states))

    def finish(self, states: Sequence[pa.Array]) -> pa.Array:
        return states[0] if self.result is None else self.result(states[0])


class CollectedElements(msgspec.Struct, frozen=True):
    """An accumulator that collects the different elements of each group's arrays in a list; ``type`` is the
    arrays' logical type. If ``nulls``, a null element is collected, too; null arrays never count."""

    type: pa.DataType
    nulls: bool = False

    @property
    def state_types(self) -> tuple[pa.DataType, ...]:
        return (physical(self.type),)

    def update(self, groups: Groups, arguments: Sequence[pa.Array]) -> list[pa.Array]:
        lists = take_apart(arguments[0])
        elements = Groups(np.repeat(groups.ids, lists.lengths), groups.size)
        return self._values.update(elements, [outer(lists.flat())])

    def merge(self, groups: Groups, states: Sequence[pa.Array]) -> list[pa.Array]:
        return self._values.merge(groups, states)

    def finish(self, states: Sequence[pa.Array]) -> pa.Array:
        return states[0]

    @property
    def _values(self) -> CollectedValues:
        return CollectedValues(self.type.value_type, unique=True, nulls=self.nulls)


class Distinct(msgspec.Struct, frozen=True):
    """An accumulator for an aggregate with DISTINCT: ``inner``, the accumulator of the aggregate, gets each
    group's argument rows without duplicates. ``types`` are the arguments' logical types."""

    inner: Accumulator
    types: tuple[pa.DataType, ...]

    @property
    def state_types(self) -> tuple[pa.DataType, ...]:
        return tuple(physical(pa.list_(data_type)) for data_type in self.types)

    def update(self, groups: Groups, arguments: Sequence[pa.Array]) -> list[pa.Array]:
        return to_lists(*distinct_rows(groups, arguments))

    def merge(self, groups: Groups, states: Sequence[pa.Array]) -> list[pa.Array]:
        return self.update(*flatten_lists(groups, states))

    def finish(self, states: Sequence[pa.Array]) -> pa.Array:
        size = len(states[0])
        groups, arguments = flatten_lists(Groups(np.arange(size), size), states)
        return self.inner.finish(self.inner.update(groups, arguments))


def distinct_rows(groups: Groups, arguments: Sequence[pa.Array]) -> tuple[Groups, list[pa.Array]]:
    """Drop repeated argument rows within each group. Return the groups and the arguments of the remaining
    rows, the arguments in the form of :func:`~sqlfront_values.columns.encoding.canonical`."""
    arguments = [canonical(argument) for argument in arguments]
    codes = [Codes(groups.ids, groups.size), *(encode(argument) for argument in arguments)]
    first = group_codes(combine(codes, len(groups.ids))).rows
    return Groups(groups.ids[first], groups.size), [
        gather(argument, row_indices(first)) for argument in arguments
    ]


def to_lists(groups: Groups, columns: Sequence[pa.Array]) -> list[pa.Array]:
    """Return one list column per column of ``columns``, with a list per group, which holds the values of the
    group's rows in input order."""
    order = sorting_order(Codes(groups.ids, groups.size))
    offsets = np.zeros(groups.size + 1, np.int32)
    np.cumsum(groups.counts(), out=offsets[1:])
    indices = row_indices(order)
    return [_list_column(offsets, gather(column, indices)) for column in columns]


def flatten_lists(groups: Groups, lists: Sequence[pa.Array]) -> tuple[Groups, list[pa.Array]]:
    """Undo :func:`to_lists`: return the columns of the lists' elements, in physical form, and the group of
    each element. ``groups`` has the group of each list."""
    offsets = numpy_view(lists[0].offsets).astype(np.int64)
    ids = np.repeat(groups.ids, np.diff(offsets))
    elements = [column.flatten() for column in lists]
    return Groups(ids, groups.size), [
        column.cast(physical(column.type)) if column.type != physical(column.type) else column
        for column in elements
    ]


def _list_column(offsets: npt.NDArray[np.int32], values: pa.Array) -> pa.Array:
    plain = logical(values.type)
    if values.type != plain:
        if pa.types.is_dictionary(values.type):
            claim("an aggregate of texts", int(growth.sizes(values).sum()))
        values = values.cast(plain)
    data_type = pa.list_(plain)
    return pa.Array.from_buffers(
        data_type, len(offsets) - 1, [None, pa.py_buffer(offsets)], children=[values]
    )


def _sorted_values(lists: pa.ListArray) -> tuple[pa.Array, Rows, Rows]:
    """Return the values of all lists end to end, sorted within each list, and for each list the position of
    its first value and its length."""
    starts = numpy_view(lists.offsets).astype(np.int64)
    lengths = np.diff(starts)
    values = lists.flatten()
    parents = Codes(np.repeat(np.arange(len(lists)), lengths), max(1, len(lists)))
    order = sorting_order(combine_ranks([parents, ranks(values)], len(values)))
    return gather(values, row_indices(order)), starts[:-1] - starts[0], lengths


class Percentile(msgspec.Struct, frozen=True):
    """A function from lists of doubles or intervals to their percentile or median at each of ``fractions`` (0
    to 1), by linear interpolation at ``(n - 1) * fraction``; null for an empty list. If ``several``, a result
    is an array with a value per fraction; else the value of the only fraction. If ``discrete``, a result is
    the first value such that at least that fraction of the values is not behind it. If ``descending``, the
    values count from the greatest down. ``type`` is the type of a value of the result."""

    fractions: tuple[float, ...]
    several: bool = False
    discrete: bool = False
    descending: bool = False
    type: pa.DataType = DOUBLE

    def __call__(self, lists: pa.ListArray) -> pa.Array:
        values, starts, lengths = _sorted_values(lists)
        last = max(0, len(values) - 1)
        values = values.cast(physical(values.type)) if values.type != physical(values.type) else values
        return self.of_groups(values, lengths, lambda places: np.minimum(starts + places, last))

    def of_groups(self, column: pa.Array, lengths: Rows, at: Callable[[Rows], Rows]) -> pa.Array:
        """Return the results of groups with ``lengths`` values each; ``at`` returns the rows of ``column``
        that have the value number n (from 0) of each group, in ascending order."""
        values, valid = numpy_view(column), lengths > 0
        if len(values) == 0:
            values = np.zeros(1)

        def value(places: Rows) -> npt.NDArray[np.float64]:
            places = np.maximum(lengths - 1 - places if self.descending else places, 0)
            return values[at(places)].astype(np.float64)

        results = [self._result(lengths, fraction, value) for fraction in self.fractions]
        kind = physical(self.type)
        flat = np.stack(results, axis=1).ravel()
        if kind != DOUBLE:
            # As in Java, a fraction of a month or microsecond is cut off.
            flat = np.trunc(flat).astype(np.int32 if pa.types.is_int32(kind) else np.int64)
        if not self.several:
            return from_numpy(flat, kind, valid)
        return _fixed_lists(from_numpy(flat, kind), len(results), valid)

    def _result(
        self, lengths: Rows, fraction: float, value: Callable[[Rows], npt.NDArray[np.float64]]
    ) -> npt.NDArray[np.float64]:
        if self.discrete:
            return value(np.maximum(np.ceil(lengths * fraction).astype(np.int64) - 1, 0))
        position = np.maximum(lengths - 1, 0) * fraction
        lower, upper = np.floor(position).astype(np.int64), np.ceil(position).astype(np.int64)
        low, high = value(lower), value(upper)
        # As in Spark, equal values are not interpolated (they may be infinite).
        with np.errstate(all="ignore"):
            between = low + (position - lower) * (high - low)
        return np.where((lower == upper) | (low == high), low, between)


class ApproximatePercentile(msgspec.Struct, frozen=True):
    """A function from lists to their percentile_approx at each of ``fractions`` (0 to 1): the least value
    such that at least that fraction of the values is not greater. The result is exact, whatever accuracy was
    requested, and null for an empty list. If ``several``, a result is an array with a value per fraction;
    else the value of the only fraction."""

    fractions: tuple[float, ...]
    several: bool = False

    def __call__(self, lists: pa.ListArray) -> pa.Array:
        values, starts, lengths = _sorted_values(lists)
        values, valid = values.cast(physical(values.type)), lengths > 0
        rows = [
            starts + np.clip(np.ceil(lengths * fraction).astype(np.int64) - 1, 0, np.maximum(lengths - 1, 0))
            for fraction in self.fractions
        ]
        if not self.several:
            return pick_rows([values], rows[0], valid)[0]
        chosen = pick_rows([values], np.stack(rows, axis=1).ravel(), np.repeat(valid, len(rows)))[0]
        return _fixed_lists(chosen, len(rows), valid)


def most_frequent(lists: pa.ListArray) -> pa.Array:
    """Return for each list its mode, one of its most frequent values; null for an empty list."""
    size = len(lists)
    groups, (values,) = flatten_lists(Groups(np.arange(size), size), [lists])
    values = canonical(values)
    pairs = group_codes(combine([Codes(groups.ids, max(1, size)), encode(values)], len(values)))
    counts = np.bincount(pairs.ids, minlength=pairs.size)
    rows = np.zeros(size, np.int64)
    order = np.argsort(counts, kind="stable")
    # The last assignment to a place stays: the assignment of the greatest count.
    rows[groups.ids[pairs.rows[order]]] = pairs.rows[order]
    return pick_rows([values], rows, groups.counts() > 0)[0]


class DelimitedText(msgspec.Struct, frozen=True):
    """A function from lists of texts to the results of listagg: a list's values joined by ``delimiter``, null
    for an empty list. ``type`` is the type of the values and the delimiter, string or binary."""

    delimiter: str | bytes
    type: pa.DataType = STRING

    def __call__(self, lists: pa.ListArray) -> pa.Array:
        delimiter = scalar(self.delimiter, self.type)
        claim("listagg", growth.size_of(lists) + len(lists.values) * growth.size_of(delimiter))
        joined = pc.binary_join(lists, delimiter)
        return pick_rows([joined], np.arange(len(lists)), integers(pc.list_value_length(lists)) > 0)[0]


def _fixed_lists(values: pa.Array, length: int, valid: Mask) -> pa.Array:
    """Cut the values into lists of ``length`` consecutive values each; a list is null where ``valid`` is
    false."""
    offsets = np.arange(len(valid) + 1, dtype=np.int32) * np.int32(length)
    lists = _list_column(offsets, values)
    return pick_rows([lists], np.arange(len(valid)), valid)[0]
