"""The rows that an expression is evaluated over: a whole batch or a part."""

from collections.abc import Callable
from typing import Final

import pyarrow as pa

from sqlfront_values.arrow import kernels as pc
from sqlfront_values.arrow.forms import Datum
from sqlfront_values.stacks import on_fresh_stack

_TAKE: Final = pc.function("array_take", "TakeOptions", boundscheck=False)


class Rows:
    """The input rows of an evaluation: all rows of a batch. ``memo`` stores values of repeated
    subexpressions, under the numbers that :meth:`Sharing.slot` gives them."""

    __slots__ = ("batch", "length", "memo")

    def __init__(self, batch: pa.RecordBatch) -> None:
        self.batch = batch
        self.length: int = batch.num_rows
        self.memo: dict[int, object] = {}

    def column(self, ordinal: int) -> pa.Array:
        """Return the values of the batch's column ``ordinal`` for these rows."""
        return self.batch.column(ordinal)

    def select(self, indices: pa.Array) -> "Rows":
        """Return the rows at ``indices`` (positions among these rows), without the values of expressions that
        were computed for all rows. A column is gathered when it is first read."""
        return _SelectedRows(self, indices)

    def part(self, start: int, length: int) -> "Rows":
        """Return ``length`` of these rows, from row ``start`` on, without the values of expressions that were
        computed for all rows."""
        return Rows(self.batch.slice(start, length))


class _SelectedRows(Rows):
    """The rows of ``parent`` at the positions ``indices``; a column is gathered when it is first read."""

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

    def part(self, start: int, length: int) -> Rows:
        return _SelectedRows(self._parent, self._indices.slice(start, length))


#: A compiled expression: returns its values for rows, or one value for all rows.
Evaluator = Callable[[Rows], Datum]

#: Levels of operands after which an expression is compiled, and evaluated, on another stack: few frames a
#: level, and a new stack costs a thread.
LEVELS_OF_A_STACK: Final = 60


def on_another_stack(evaluator: Evaluator) -> Evaluator:
    """Return an evaluator that runs ``evaluator`` on a separate stack, so that deeply nested expressions
    don't overflow the caller's."""
    return lambda rows: on_fresh_stack(evaluator, rows)
