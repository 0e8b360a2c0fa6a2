"""Conditions as filters: conjunct by conjunct; rows are copied only after the wanted rows are known."""

from collections.abc import Callable
from typing import Final

import msgspec
import pyarrow as pa

from sqlfront_values.arrow import kernels as pc
from sqlfront_values.arrow.arrays import true_rows
from sqlfront_values.arrow.forms import is_scalar
from sqlfront_values.evaluate.compiler import Compiler
from sqlfront_values.evaluate.fallible import can_fail, is_deterministic
from sqlfront_values.evaluate.rows import Evaluator, Rows
from sqlfront_values.expressions import Expr, conjuncts, walk
from sqlfront_values.settings import Settings
from sqlfront_values.types import STRING

_AND: Final = pc.get_function("and_kleene")
_TAKE: Final = pc.get_function("array_take")
_TAKE_ROWS: Final = pc.get_function("take")
_UNCHECKED: Final = pc.TakeOptions(boundscheck=False)

#: The share of rows below which later conjuncts read the remaining rows only: gathering the rows costs more
#: than computing on all for a larger share.
_FEW: Final = 0.125

_NO_ROWS: Final = pa.nulls(0, pa.uint64())


class Selection(msgspec.Struct, frozen=True):
    """A selection of ``count`` rows among some rows: the rows where ``mask`` is true, or the rows at
    ``indices``; all rows if both are None. A ``count`` of 0 means no rows, whatever the other fields are."""

    count: int
    mask: pa.Array | None = None
    indices: pa.Array | None = None

    def of_batch(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the selected rows of ``batch``, the batch that the selection was computed from (unchanged if
        all rows are selected)."""
        if self.count == batch.num_rows:
            return batch
        if self.count == 0:
            return batch.slice(0, 0)
        return _TAKE_ROWS.call([batch, self.rows()], _UNCHECKED)

    def of_rows(self, rows: Rows) -> Rows:
        """Return the selected rows of ``rows``, the rows that the selection was computed from (the same
        object if all rows are selected)."""
        if self.count == rows.length:
            return rows
        if self.count == 0:
            return rows.select(_NO_ROWS)
        return rows.select(self.rows())

    def rows(self) -> pa.Array:
        """Return the numbers of the selected rows. Call this only if ``mask`` or ``indices`` is set; in a
        selection of all rows or of no rows, both may be None."""
        return true_rows(self.mask) if self.indices is None else self.indices


def compile_selection(condition: Expr, settings: Settings) -> Callable[[Rows], Selection]:
    """Compile a condition to a function that finds the rows for which the condition is true.

    A conjunct that can fail is evaluated only for rows where all conjuncts before are true, as in Spark's
    filter.
    """
    parts = _cheap_first(conjuncts(condition))
    compiler = Compiler(settings)
    steps = [(compiler.node(part), can_fail(part)) for part in parts]

    def select(rows: Rows) -> Selection:
        progress = _Progress(rows)
        for run, fails in steps:
            if fails:
                progress.commit()
            if progress.count == 0:
                break
            progress.restrict(run)
        return progress.selection()

    return select


def _cheap_first(parts: tuple[Expr, ...]) -> list[Expr]:
    """Return the conjuncts with the expensive ones, those over strings, moved to the end. No conjunct moves
    past a conjunct that can fail or is not deterministic."""
    ordered: list[Expr] = []
    run: list[Expr] = []
    for part in parts:
        if can_fail(part) or not is_deterministic(part):
            ordered += [*sorted(run, key=_cost), part]
            run = []
        else:
            run.append(part)
    return [*ordered, *sorted(run, key=_cost)]


def _cost(expression: Expr) -> int:
    return sum(10 if node.type.id == STRING.id else 1 for node in walk(expression))


class _Progress:
    """The rows of a filter that passed the conjuncts so far: those of ``rows`` where ``mask`` is true (None =
    all), ``count`` in number. ``rows`` are the filter's input rows at ``indices`` (None = all)."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.count = rows.length
        self._indices: pa.Array | None = None
        self._mask: pa.Array | None = None

    def restrict(self, condition: Evaluator) -> None:
        mask = condition(self.rows)
        if is_scalar(mask):
            self.count = self.count if mask.as_py() else 0
            return
        if self._mask is not None:
            mask = _AND.call([self._mask, mask])
        self.count = mask.true_count
        self._mask = mask if self.count < self.rows.length else None
        if self.count < self.rows.length * _FEW:
            self.commit()

    def commit(self) -> None:
        """Apply the conjuncts evaluated so far: drop the rows that did not pass from ``rows``, so that later
        conjuncts are evaluated only for the rows that passed."""
        if self._mask is None or self.count == 0:
            return
        chosen = true_rows(self._mask)
        self._indices = chosen if self._indices is None else _TAKE.call([self._indices, chosen], _UNCHECKED)
        self.rows = self.rows.select(chosen)
        self._mask = None

    def selection(self) -> Selection:
        if self._indices is not None:
            self.commit()
            return Selection(self.count, None, self._indices)
        return Selection(self.count, self._mask, None)
