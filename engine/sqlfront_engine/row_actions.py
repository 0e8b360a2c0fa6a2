"""Changes of a table's rows, as the rows of a job: the output of a MERGE's plan.

Each batch has the table's columns, perhaps columns that say where the row is, the number of the changed row,
and last a :class:`RowAction`.
"""

from collections.abc import Sequence
from enum import IntEnum
from typing import TypeAlias

import msgspec
import numpy as np
import pyarrow as pa

from sqlfront_values.arrow import kernels as pc
from sqlfront_values.arrow.arrays import from_numpy, numpy_view
from sqlfront_values.errors import DatabaseError, spark_error
from sqlfront_values.types import BOOLEAN

#: Numbers of rows, one after the other.
Numbers: TypeAlias = "np.ndarray[tuple[int], np.dtype[np.int64]]"


class RowAction(IntEnum):
    """The change that a row of a job makes in a table."""

    KEEP = 0
    """The numbered row stays as it is; it has been found, so that another change of it is an error."""
    DELETE = 1
    """The numbered row is deleted."""
    UPDATE = 2
    """The row replaces the numbered one."""
    INSERT = 3
    """The row is added; it has no number."""
    MOVE = 4
    """The numbered row is deleted, since another row of the job, an INSERT, replaces it elsewhere."""


class RowChanges(msgspec.Struct, frozen=True):
    """The changes in some batches. ``numbers``: the numbers of the rows to delete, distinct. ``added``: the
    rows to add, with the table's columns. ``count``: the number of rows that the statement affects."""

    numbers: Numbers
    added: list[pa.RecordBatch]
    count: int


def changes_in(batches: Sequence[pa.RecordBatch], width: int, *, distinct: bool) -> RowChanges:
    """Return the changes in all batches of a job; ``width``: the number of the table's columns. ``distinct``:
    each row may be found once only.

    Raises MERGE_CARDINALITY_VIOLATION if a row is found twice and ``distinct`` is set.
    """
    gone, added, count = [np.zeros(0, np.int64)], list[pa.RecordBatch](), 0
    found = FoundRows(distinct=distinct)
    for batch in batches:
        actions = numpy_view(batch.column(batch.num_columns - 1))
        numbers = numbers_found(batch)
        found.add(numbers)
        gone.append(numbers[np.isin(actions[actions != RowAction.INSERT], _DELETED)])
        stored = np.isin(actions, (RowAction.UPDATE, RowAction.INSERT))
        if stored.any():
            rows = batch.select(list(range(width)))
            added.append(rows if stored.all() else rows.filter(from_numpy(stored, BOOLEAN)))
        count += int((actions == RowAction.INSERT).sum())
        count -= int((actions == RowAction.MOVE).sum())
    found.check()
    deleted = np.unique(np.concatenate(gone))
    return RowChanges(deleted, added, count + len(deleted))


def numbers_found(batch: pa.RecordBatch) -> Numbers:
    """Return the numbers of the rows of the batch that have one, in order: all but the inserted rows."""
    numbers = pc.drop_null(batch.column(batch.num_columns - 2))
    return numpy_view(numbers).astype(np.int64, copy=False)


class FoundRows:
    """The numbers of the rows that a job has found. ``distinct``: each may be found once only."""

    def __init__(self, *, distinct: bool) -> None:
        self._distinct = distinct
        self._numbers: list[Numbers] = []

    def add(self, numbers: Numbers) -> None:
        """Add further numbers."""
        if self._distinct:
            self._numbers.append(numbers)

    def check(self) -> None:
        """Raise MERGE_CARDINALITY_VIOLATION if a row was found twice."""
        if self._numbers:
            numbers = np.concatenate(self._numbers)
            if len(np.unique(numbers)) < len(numbers):
                raise found_twice()


def found_twice() -> DatabaseError:
    """Return the error MERGE_CARDINALITY_VIOLATION."""
    return spark_error(
        "MERGE_CARDINALITY_VIOLATION",
        "The ON search condition of the MERGE statement matched a single row from the target table with "
        "multiple rows of the source table.\nThis could result in the target row being operated on more than "
        "once with an update or delete operation and is not allowed.",
    )


_DELETED = (RowAction.DELETE, RowAction.UPDATE, RowAction.MOVE)
