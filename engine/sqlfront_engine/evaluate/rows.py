"""The rows that an expression is evaluated over: a batch, or some rows of it."""

from collections.abc import Callable
from typing import Final

import pyarrow as pa

from sqlfront_engine import kernels as pc
from sqlfront_engine.forms import Datum

_TAKE: Final = pc.function("array_take", "TakeOptions", boundscheck=False)


class Rows:
    """All rows of a batch. ``memo`` keeps the values of subexpressions that occur several times."""

    __slots__ = ("batch", "length", "memo")

    def __init__(self, batch: pa.RecordBatch) -> None:
        self.batch = batch
        self.length: int = batch.num_rows
        self.memo: dict[int, object] = {}

    def column(self, ordinal: int) -> pa.Array:
        """The column's values for these rows."""
        return self.batch.column(ordinal)

    def select(self, indices: pa.Array) -> "Rows":
        """Those of these rows at ``indices``; a column is gathered when it is first asked for."""
        return _SelectedRows(self, indices)


class _SelectedRows(Rows):
    """Some rows of others."""

    __slots__ = ("_columns", "_indices", "_parent")

    def __init__(self, parent: Rows, indices: pa.Array) -> None:
        self.batch = parent.batch
        self.length = len(indices)
        self.memo = {}
        self._parent = parent
        self._indices = indices
        self._columns: dict[int, pa.Array] = {}

    def column(self, ordinal: int) -> pa.Array:
        values = self._columns.get(ordinal)
        if values is None:
            values = self._columns[ordinal] = _TAKE.call([self._parent.column(ordinal), self._indices])
        return values


#: A compiled expression: its values for rows, or one value that all of them have.
Evaluator = Callable[[Rows], Datum]
