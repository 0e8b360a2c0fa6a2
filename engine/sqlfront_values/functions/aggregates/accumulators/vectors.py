"""vector_sum and vector_avg: sums and means of vectors (arrays of floats), element by element.

Spark adds floats without a wider type in between, in the order of the rows, and so do these: a mean is a
running mean. A row without a vector, or with a null in its vector, doesn't count.
"""

from collections.abc import Sequence
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sqlfront_values.arrow.arrays import from_numpy, numpy_view, valid_mask
from sqlfront_values.columns.batches import Integers, Mask
from sqlfront_values.columns.lists import Lists, put_together, take_apart
from sqlfront_values.errors import spark_error
from sqlfront_values.functions.aggregates.accumulators.base import Groups, integers
from sqlfront_values.room import check
from sqlfront_values.types import BIGINT, FLOAT

_VECTOR: Final = pa.list_(FLOAT)
_ONE: Final = np.float32(1)

Floats = npt.NDArray[np.float32]


class VectorTotal(msgspec.Struct, frozen=True):
    """The aggregate ``function``: vector_sum, or (``mean``) vector_avg. A state is the sum or mean of the
    vectors so far, null if there is none, and their number."""

    function: str
    mean: bool = False
    state_types = (_VECTOR, BIGINT)

    def update(self, groups: Groups, arguments: Sequence[pa.Array]) -> list[pa.Array]:
        lists = take_apart(arguments[0])
        return self._combined(groups, lists, complete_rows(lists), np.ones(len(groups.ids), np.int64))

    def merge(self, groups: Groups, states: Sequence[pa.Array]) -> list[pa.Array]:
        lists = take_apart(states[0])
        given = np.ones(len(groups.ids), np.bool_) if lists.valid is None else lists.valid
        return self._combined(groups, lists, given, integers(states[1]))

    def finish(self, states: Sequence[pa.Array]) -> pa.Array:
        return states[0]

    def _combined(self, groups: Groups, lists: Lists, given: Mask, counts: Integers) -> list[pa.Array]:
        """Combine the vectors of the rows in ``given``, each of which stands for ``counts`` vectors."""
        rows = np.flatnonzero(given)
        ids = groups.ids[rows]
        rows = rows[np.argsort(ids, kind="stable")]
        ids = groups.ids[rows]
        sizes = np.bincount(ids, minlength=groups.size)
        firsts = np.cumsum(sizes) - sizes
        found = sizes > 0
        dimensions = np.zeros(groups.size, np.int64)
        dimensions[found] = lists.lengths[rows[firsts[found]]]
        self._check_dimensions(lists.lengths[rows], dimensions[ids])
        elements = numpy_view(lists.elements).astype(np.float32, copy=False)
        starts = np.cumsum(dimensions) - dimensions
        totals = np.zeros(int(dimensions.sum()), np.float32)
        for dimension in np.unique(dimensions[found]).tolist():
            chosen = np.flatnonzero(found & (dimensions == dimension))
            sums = self._folded(
                elements, lists.starts[rows], counts[rows], firsts[chosen], sizes[chosen], dimension
            )
            totals[(starts[chosen][:, None] + np.arange(dimension)).ravel()] = sums.ravel()
        numbers = np.zeros(groups.size, np.int64)
        np.add.at(numbers, ids, counts[rows])
        return [
            put_together(_VECTOR, from_numpy(totals, FLOAT), dimensions, found),
            from_numpy(numbers, BIGINT),
        ]

    def _folded(
        self,
        elements: Floats,
        starts: Integers,
        counts: Integers,
        firsts: Integers,
        sizes: Integers,
        dimension: int,
    ) -> Floats:
        """Return the total of each group, whose vectors have one dimension: a group's rows are the next ones
        from ``firsts``. Step by step the next row of all groups is added."""
        order = np.argsort(-sizes, kind="stable")
        firsts, sizes = firsts[order], sizes[order]
        places = np.arange(dimension)
        total = elements[starts[firsts][:, None] + places]
        seen = counts[firsts].copy()
        with np.errstate(all="ignore"):
            for step in range(1, int(sizes.max(initial=0))):
                if step % 256 == 0:
                    check()
                active = int(np.searchsorted(-sizes, -step, side="left"))
                rows = firsts[:active] + step
                values = elements[starts[rows][:, None] + places]
                seen[:active] += counts[rows]
                if self.mean:
                    share = _ONE / (seen[:active] / counts[rows]).astype(np.float32)
                    total[:active] += (values - total[:active]) * share[:, None]
                else:
                    total[:active] += values
        result = np.empty_like(total)
        result[order] = total
        return result

    def _check_dimensions(self, given: Integers, wanted: Integers) -> None:
        wrong = np.flatnonzero(given != wanted)
        if len(wrong):
            row = int(wrong[0])
            raise spark_error(
                "VECTOR_DIMENSION_MISMATCH",
                f"Vectors passed to `{self.function}` must have the same dimension, but got {wanted[row]} and"
                f" {given[row]}.",
            )


def complete_rows(lists: Lists) -> Mask:
    """Return the mask of the rows that are not null, and of whose elements none is null."""
    complete = np.ones(len(lists.lengths), np.bool_) if lists.valid is None else lists.valid.copy()
    valid = valid_mask(lists.elements)
    if valid is not None:
        missing = np.concatenate([[0], np.cumsum(~valid)])
        complete &= missing[lists.starts + lists.lengths] == missing[lists.starts]
    return complete
