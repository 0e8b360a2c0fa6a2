"""Sorting of arrays by a lambda that compares two elements."""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from sqlfront_values import room
from sqlfront_values.columns.batches import Integers
from sqlfront_values.errors import DatabaseError, DataError, spark_error
from sqlfront_values.java.tim_sort import InconsistentOrder, tim_sort

#: Compares elements at the positions ``left`` with those at ``right``, in arrays of the given rows.
Compare: TypeAlias = Callable[[Integers, Integers, Integers], pa.Array]


def sorted_places(firsts: Integers, lengths: Integers, compare: Compare) -> Integers:
    """Return the positions of the elements in the order of each array's sort. Row ``i`` has the elements
    ``firsts[i]`` to ``firsts[i] + lengths[i] - 1``.

    All arrays are sorted at the same time: each has a comparison that it waits for, and all of these are
    evaluated together. Raises COMPARATOR_RETURNS_NULL if a comparison is null."""
    places = np.arange(int(lengths.sum()))
    items: list[list[int]] = []
    waiting = []
    for row in np.flatnonzero(lengths > 1).tolist():
        first = int(firsts[row])
        own = list(range(first, first + int(lengths[row])))
        items.append(own)
        sort = tim_sort(own)
        waiting.append((row, sort, next(sort)))
    held = room.held()
    while waiting:
        room.check()
        pairs = np.array([pair for _, _, pair in waiting], np.int64)
        rows = np.array([row for row, _, _ in waiting], np.int64)
        results = compare(pairs[:, 0], pairs[:, 1], rows)
        if results.null_count:
            raise _null_comparison()
        again = []
        for (row, sort, _), result in zip(waiting, results.to_pylist(), strict=True):
            try:
                again.append((row, sort, sort.send(result)))
            except StopIteration:
                pass
            except InconsistentOrder:
                raise DataError("Comparison method violates its general contract!") from None
        waiting = again
        room.give_back(held)
    for own in items:
        places[min(own) : min(own) + len(own)] = own
    return places


def _null_comparison() -> DatabaseError:
    return spark_error(
        "COMPARATOR_RETURNS_NULL",
        "The comparator has returned a NULL for a comparison between two elements. It should return a"
        ' positive integer for "greater than", 0 for "equal" and a negative integer for "less than".',
    )
