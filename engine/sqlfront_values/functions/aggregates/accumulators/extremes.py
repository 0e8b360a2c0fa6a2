"""min and max, min_by and max_by, first and last."""

from collections.abc import Sequence

import msgspec
import numpy as np
import pyarrow as pa

from sqlfront_values.arrow.arrays import from_numpy, numpy_dtype, numpy_view, valid_mask
from sqlfront_values.columns.batches import Integers, Mask, Rows
from sqlfront_values.columns.encoding import as_integers
from sqlfront_values.columns.ordering import ranks
from sqlfront_values.columns.text import Text, is_hashable_text
from sqlfront_values.expressions import SortOrder
from sqlfront_values.functions.aggregates.accumulators.base import (
    Groups,
    best_rows,
    best_text_rows,
    pick_rows,
    without_nulls,
)
from sqlfront_values.types import BOOLEAN, physical


class Extreme(msgspec.Struct, frozen=True):
    """The aggregate min or, if ``greatest``, max of a column of the logical ``type``; nulls are skipped, NaN
    is the greatest number."""

    type: pa.DataType
    greatest: bool

    @property
    def state_types(self) -> tuple[pa.DataType, ...]:
        return (physical(self.type),)

    def update(self, groups: Groups, arguments: Sequence[pa.Array]) -> list[pa.Array]:
        groups, (values,) = without_nulls(groups, arguments)
        if not pa.types.is_floating(values.type) and not pa.types.is_decimal128(values.type):
            numbers = as_integers(values)
            if numbers is not None:
                return [self._of_integers(groups, numbers, values.type)]
        if is_hashable_text(values):
            return pick_rows([values], *best_text_rows(groups, Text(values), greatest=self.greatest))
        order = ranks(values, SortOrder.DESCENDING if self.greatest else SortOrder.ASCENDING).values
        return pick_rows([values], *best_rows(groups, order))

    def merge(self, groups: Groups, states: Sequence[pa.Array]) -> list[pa.Array]:
        return self.update(groups, states)

    def finish(self, states: Sequence[pa.Array]) -> pa.Array:
        return states[0]

    def _of_integers(self, groups: Groups, values: Integers, data_type: pa.DataType) -> pa.Array:
        limits = np.iinfo(np.int64)
        best = np.full(groups.size, limits.min if self.greatest else limits.max)
        ufunc = np.maximum if self.greatest else np.minimum
        if groups.size == 1:
            best[0] = ufunc.reduce(values, initial=best[0])
        else:
            ufunc.at(best, groups.ids, values)
        found = groups.counts() > 0
        return from_numpy(np.where(found, best, 0).astype(numpy_dtype(data_type)), data_type, found)


class ExtremeBy(msgspec.Struct, frozen=True):
    """The aggregate min_by or, if ``greatest``, max_by: the first argument of the row with the least
    (greatest) second argument, of the last such row if there are several. ``types`` are the arguments'
    logical types."""

    types: tuple[pa.DataType, pa.DataType]
    greatest: bool

    @property
    def state_types(self) -> tuple[pa.DataType, ...]:
        return (physical(self.types[0]), physical(self.types[1]))

    def update(self, groups: Groups, arguments: Sequence[pa.Array]) -> list[pa.Array]:
        rows, found = self._rows(groups, arguments[1])
        return pick_rows(arguments, rows, found)

    def merge(self, groups: Groups, states: Sequence[pa.Array]) -> list[pa.Array]:
        return self.update(groups, states)

    def finish(self, states: Sequence[pa.Array]) -> pa.Array:
        return states[0]

    def _rows(self, groups: Groups, keys: pa.Array) -> tuple[Rows, Mask]:
        valid = valid_mask(keys)
        order = ranks(keys, SortOrder.DESCENDING if self.greatest else SortOrder.ASCENDING).values
        if valid is None:
            return best_rows(groups, order, last=True)
        kept = np.flatnonzero(valid)
        rows, found = best_rows(groups.select(valid), order[valid], last=True)
        return (kept[rows] if len(kept) else rows), found


class FirstOrLast(msgspec.Struct, frozen=True):
    """The aggregate first (any_value) or, if ``last``, last: the value of a group's first or last row in
    input order, of the first or last row that is not null if ``ignore_nulls``. ``type`` is the value's
    logical type."""

    type: pa.DataType
    last: bool
    ignore_nulls: bool

    @property
    def state_types(self) -> tuple[pa.DataType, ...]:
        return (physical(self.type), BOOLEAN)

    def update(self, groups: Groups, arguments: Sequence[pa.Array]) -> list[pa.Array]:
        values = arguments[0]
        return self._pick(groups, values, valid_mask(values) if self.ignore_nulls else None)

    def merge(self, groups: Groups, states: Sequence[pa.Array]) -> list[pa.Array]:
        return self._pick(groups, states[0], numpy_view(states[1]).astype(np.bool_))

    def finish(self, states: Sequence[pa.Array]) -> pa.Array:
        return states[0]

    def _pick(self, groups: Groups, values: pa.Array, mask: Mask | None) -> list[pa.Array]:
        """Return two columns with a row per group: the value of the group's first or last row, among the rows
        where the mask is true (None = all rows), and a boolean that says whether there is such a row."""
        numbers = np.arange(len(values)) if mask is None else np.flatnonzero(mask)
        ids = groups.ids if mask is None else groups.ids[mask]
        rows = np.full(groups.size, -1, np.int64)
        # Of several assignments to one place the last assignment stays.
        if self.last:
            rows[ids] = numbers
        else:
            rows[ids[::-1]] = numbers[::-1]
        found = rows >= 0
        return [*pick_rows([values], rows, found), from_numpy(found, BOOLEAN)]


class Bits(msgspec.Struct, frozen=True):
    """The aggregate bit_and, bit_or or bit_xor of whole numbers; null if a group has no values. ``operation``
    is the numpy function of the aggregate, ``type`` the logical type of the values."""

    type: pa.DataType
    operation: np.ufunc

    @property
    def state_types(self) -> tuple[pa.DataType, ...]:
        return (self.type,)

    def update(self, groups: Groups, arguments: Sequence[pa.Array]) -> list[pa.Array]:
        groups, (values,) = without_nulls(groups, arguments)
        result = np.full(groups.size, self.operation.identity, numpy_dtype(self.type))
        self.operation.at(result, groups.ids, numpy_view(values))
        return [from_numpy(result, self.type, groups.counts() > 0)]

    def merge(self, groups: Groups, states: Sequence[pa.Array]) -> list[pa.Array]:
        return self.update(groups, states)

    def finish(self, states: Sequence[pa.Array]) -> pa.Array:
        return states[0]
